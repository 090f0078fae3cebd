// SPDX-License-Identifier: Apache-2.0
// flame/paint.ts - frames onto a canvas
//
// On whole pixels, for half covered ones cost most of the time. Few rectangles go by colour, so that the fill changes a dozen times and
// not thousands; many as pixels (flame/raster.ts). What changes with the mouse is on a canvas of its own, of which only that is wiped.

import { oneSided } from "./label.ts";
import { type Look, type Theme, SLOTS, fillOf, slotOf } from "./look.ts";
import { type Scale, edges, raster } from "./raster.ts";
import type { Tree } from "./tree.ts";
import { type Panel, type Rects, SMALL, type View, yOf } from "./view.ts";

const counts = new Uint32Array(SLOTS + 1);
let order = new Uint32Array(4096);

/** Rectangles in the order of their fills: a counting sort. */
function byFill(rects: Rects): void {
  if (order.length < rects.n) order = new Uint32Array(rects.node.length);
  counts.fill(0);
  for (let i = 0; i < rects.n; i++) counts[rects.slot[i] + 1]++;
  for (let s = 0; s < SLOTS; s++) counts[s + 1] += counts[s];
  const next = counts.slice();
  for (let i = 0; i < rects.n; i++) order[next[rects.slot[i]]++] = i;
}

/** How a panel's pixels are the screen's. */
function scaleOf(p: Panel): Scale {
  const ratio = devicePixelRatio || 1;
  return { ratio, width: Math.round(p.width * ratio), gap: Math.max(Math.round(ratio), 1) };
}

/** The canvas with as many pixels as its place has; whether it is a new one, with nothing on it. */
function fitTo(canvas: HTMLCanvasElement, p: Panel, s: Scale): boolean {
  const height = Math.round(p.height * s.ratio);
  if (canvas.width === s.width && canvas.height === height) return false;
  canvas.width = s.width;
  canvas.height = height;
  return true;
}

/** All of it in one colour; null where the browser lets nobody draw. */
function ground(canvas: HTMLCanvasElement, p: Panel, theme: Theme): CanvasRenderingContext2D | null {
  fitTo(canvas, p, scaleOf(p));
  // Nothing shines through, so that nobody has to mix it with what is below.
  const c = canvas.getContext("2d", { alpha: false });
  if (!c) return null;
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.fillStyle = theme.panel;
  c.fillRect(0, 0, canvas.width, canvas.height);
  return c;
}

/** Ahead of the first frame, which has enough to do: for the memory that paint() draws on a browser waits milliseconds. */
export const prepare = (canvas: HTMLCanvasElement, p: Panel, theme: Theme): void => void ground(canvas, p, theme);

/** More rectangles than this go by their pixels, and not one by one. */
const MANY = 6000;

/** All but the names, which go onto the context that it returns; null where the browser lets nobody draw. */
export function paint(canvas: HTMLCanvasElement, t: Tree, p: Panel, rects: Rects, look: Look): CanvasRenderingContext2D | null {
  const s = scaleOf(p);
  const c = ground(canvas, p, look.theme);
  if (!c) return null;
  for (let i = 0; i < rects.n; i++) rects.slot[i] = slotOf(t, rects.node[i], look);
  if (rects.n > MANY) raster(c, p, rects, s, colorsOf(look));
  else fill(c, p, rects, s, look);
  c.setTransform(s.ratio, 0, 0, s.ratio, 0, 0);
  hatch(c, t, p, rects, look);
  return c;
}

function fill(c: CanvasRenderingContext2D, p: Panel, rects: Rects, s: Scale, look: Look): void {
  byFill(rects);
  let slot = -1;
  for (let k = 0; k < rects.n; k++) {
    const i = order[k];
    if (rects.slot[i] !== slot) c.fillStyle = fillOf((slot = rects.slot[i]), look);
    const [left, right] = edges(rects, i, s);
    const y = Math.round(rects.y[i] * s.ratio);
    c.fillRect(left, y, right - left, Math.round((rects.y[i] + p.row) * s.ratio) - y - s.gap);
  }
}

/** Fills as a canvas has them in memory, and the ground. */
function colorsOf(look: Look): Uint32Array {
  const bytes = new Uint8Array((SLOTS + 1) * 4).fill(255);
  for (let slot = 0; slot <= SLOTS; slot++) {
    const text = slot < SLOTS ? fillOf(slot, look) : look.theme.panel;
    for (let i = 0; i < 3; i++) bytes[slot * 4 + i] = parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  }
  return new Uint32Array(bytes.buffer);
}

/** Stripes over what is not there: trimmed weight, and frames that one side of a diff lacks. */
function hatch(c: CanvasRenderingContext2D, t: Tree, p: Panel, rects: Rects, look: Look): void {
  if (t.trimmed.size === 0 && !t.b) return;
  c.lineWidth = 1;
  for (const isOfFrames of [false, true]) {
    c.strokeStyle = isOfFrames ? look.theme.veil : look.theme.stripes;
    c.beginPath();
    for (let i = 0; i < rects.n; i++) {
      const node = rects.node[i];
      if (node === SMALL || isOfFrames !== node >= 0 || (node >= 0 && !oneSided(t, node))) continue;
      stripes(c, { x: Math.max(rects.x[i], 0), right: Math.min(rects.x[i] + rects.w[i], p.width) - 1, y: rects.y[i], height: p.row - 1 });
    }
    c.stroke();
  }
}

const STRIPE = 6;

/** Lines of one slope across a rectangle, each cut at its sides; where they are depends on the canvas, not on it. */
function stripes(c: CanvasRenderingContext2D, r: { x: number; right: number; y: number; height: number }): void {
  const first = Math.floor((r.x - r.height) / STRIPE) * STRIPE;
  for (let x = first; x < r.right; x += STRIPE) {
    const from = Math.max(x, r.x);
    const to = Math.min(x + r.height, r.right);
    if (from >= to) continue;
    c.moveTo(from, r.y + r.height - (from - x));
    c.lineTo(to, r.y + r.height - (to - x));
  }
}

/** Where something is drawn on an overlay, in CSS pixels. */
const drawnOn = new WeakMap<HTMLCanvasElement, [x: number, y: number, w: number, h: number][]>();

const LEAST_SEEN = 3;

/** All frames of the function that is pointed at, the narrowest wide enough to be seen: where it is, not how much. */
function points(c: CanvasRenderingContext2D, t: Tree, v: View, p: Panel, look: Look, func: number): void {
  const scale = p.width / (v.x1 - v.x0);
  const free = new Float64Array(look.rows.last + 1).fill(-Infinity); // by row: behind what is drawn already
  c.fillStyle = c.strokeStyle = look.theme.match;
  c.lineWidth = 2;
  for (let i = 1; i < t.n; i++) {
    if (t.func[i] !== func) continue;
    const x = (t.x[i] - v.x0) * scale;
    const w = Math.max(t.width[i] * scale - 1, LEAST_SEEN);
    const row = look.rows.row[i];
    const y = yOf(p, v, row);
    if (x + w < 0 || x > p.width || y + p.row < 0 || y > p.height || x + w <= free[row]) continue;
    free[row] = x + w;
    if (w < 8) c.fillRect(x, y, w, p.row - 1);
    else c.strokeRect(Math.max(x, -4) + 1, y + 1, Math.min(w, p.width + 4 - x) - 2, p.row - 3);
  }
}

/** What moves with the mouse and the keys: outlines. Only where they were is wiped: most of the overlay is never touched. */
export function paintOverlay(canvas: HTMLCanvasElement, t: Tree, v: View, p: Panel, look: Look, hovered: number): void {
  const s = scaleOf(p);
  const before = fitTo(canvas, p, s) ? [] : (drawnOn.get(canvas) ?? []);
  const drawn: [number, number, number, number][] = [];
  const isThere = (node: number) => node >= 0 && node < t.n;
  const func = look.func ?? -1;
  if (!before.length && !isThere(hovered) && !isThere(look.selected) && func < 0) return;
  const c = canvas.getContext("2d");
  if (!c) return;
  c.setTransform(s.ratio, 0, 0, s.ratio, 0, 0);
  for (const [x, y, w, h] of before) c.clearRect(x - 2, y - 2, w + 4, h + 4);
  const scale = p.width / (v.x1 - v.x0);
  const outline = (node: number, color: string, thick: number) => {
    if (!isThere(node)) return;
    const left = Math.max((t.x[node] - v.x0) * scale, -4);
    const right = Math.min((t.x[node] + t.width[node] - v.x0) * scale, p.width + 4);
    if (right <= left) return;
    const box: [number, number, number, number] = [left + thick / 2, yOf(p, v, look.rows.row[node]) + thick / 2 - 0.5, Math.max(right - left - thick - 1, 1), p.row - thick];
    c.strokeStyle = color;
    c.lineWidth = thick;
    c.strokeRect(...box);
    drawn.push(box);
  };
  if (func >= 0) {
    points(c, t, v, p, look, func);
    drawn.push([0, 0, p.width, p.height]);
  }
  if (hovered !== look.selected) outline(hovered, look.theme.hover, 1);
  outline(look.selected, look.theme.line, 2);
  drawnOn.set(canvas, drawn);
}
