// SPDX-License-Identifier: Apache-2.0
// flame/paint.ts - frames onto a canvas
//
// Rectangles go by colour, so that the fill changes a dozen times and not thousands; labels are cut by counting letters of a
// fixed width, never by measuring. What changes with the mouse is on a canvas of its own.

import { diffDark, diffLight, diffStep, fills } from "./color.ts";
import { digits } from "../app/format.ts";
import type { Rows } from "./fold.ts";
import { fit, visible } from "./names.ts";
import { type Tree, nameOf } from "./tree.ts";
import { type Panel, type Rects, SMALL, TRIMMED, type View, yOf } from "./view.ts";

export interface Theme {
  dark: boolean;
  muted: string;
  unmatched: string;
  match: string;
  text: string; // on fills
  line: string; // selection
  hover: string;
  panel: string;
  stripes: string;
}

export interface Look {
  theme: Theme;
  colors: Uint8Array; // by function: index into fills
  marked: Uint8Array | null; // by function: found by the search
  selected: number;
  names: Map<number, string>; // what has been read already
  significant: Uint8Array | null; // of a diff, by node: 0 is drawn neutral
  rows: Rows;
  detail: number; // of names
}

const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const CHAR = 7.25;
const PADDING = 3;
const SLOTS = 64;

export function nameFor(t: Tree, look: { names: Map<number, string> }, node: number): string {
  const f = t.func[node];
  if (f < 0) return "all";
  let name = look.names.get(f);
  if (name === undefined) look.names.set(f, (name = visible(nameOf(t.functions, f))));
  return name;
}

/** Which of the colours a node has. */
export function slotOf(t: Tree, node: number, look: Look): number {
  if (node === TRIMMED) return 59;
  if (node === SMALL) return 60;
  if (look.marked && node > 0 && look.marked[t.func[node]]) return 61;
  if (look.marked && node > 0) return 62;
  if (t.b) return 32 + (look.significant && !look.significant[node] ? 4 : diffStep(t.total[node], t.b.total[node] * t.b.factor));
  return node === 0 ? 63 : look.colors[t.func[node]];
}

function fillOf(slot: number, look: Look): string {
  if (slot === 59) return look.theme.panel;
  if (slot === 60) return look.theme.muted;
  if (slot === 61) return look.theme.match;
  if (slot === 62) return look.theme.unmatched;
  if (slot === 63) return look.theme.unmatched;
  if (slot >= 32) return (look.theme.dark ? diffDark : diffLight)[slot - 32];
  return fills[slot % fills.length];
}

const counts = new Uint32Array(SLOTS + 1);

/** Rectangles in the order of their fills: a counting sort. */
function byFill(t: Tree, rects: Rects, look: Look, slots: Uint8Array, order: Uint32Array): void {
  counts.fill(0);
  for (let i = 0; i < rects.n; i++) {
    slots[i] = slotOf(t, rects.node[i], look);
    counts[slots[i] + 1]++;
  }
  for (let s = 0; s < SLOTS; s++) counts[s + 1] += counts[s];
  const next = counts.slice();
  for (let i = 0; i < rects.n; i++) order[next[slots[i]]++] = i;
}

let slots = new Uint8Array(4096);
let order = new Uint32Array(4096);

export function prepare(canvas: HTMLCanvasElement, p: Panel): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  const w = Math.round(p.width * ratio);
  const h = Math.round(p.height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const c = canvas.getContext("2d")!;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, p.width, p.height);
  return c;
}

export function paint(canvas: HTMLCanvasElement, t: Tree, p: Panel, rects: Rects, look: Look): void {
  const c = prepare(canvas, p);
  if (slots.length < rects.n) {
    slots = new Uint8Array(rects.node.length);
    order = new Uint32Array(rects.node.length);
  }
  byFill(t, rects, look, slots, order);
  const gap = 1;
  let slot = -1;
  for (let k = 0; k < rects.n; k++) {
    const i = order[k];
    if (slots[i] !== slot) c.fillStyle = fillOf((slot = slots[i]), look);
    const x = Math.max(rects.x[i], -1);
    const right = Math.min(rects.x[i] + rects.w[i], p.width + 1);
    c.fillRect(x, rects.y[i], Math.max(right - x - (right - x > 3 ? gap : 0), 0.5), p.row - gap);
  }
  hatch(c, t, p, rects, look);
  label(c, t, p, rects, look);
}

/** Of a diff: what is on one side alone. */
function oneSided(t: Tree, node: number): "new" | "gone" | "" {
  if (!t.b || node <= 0) return "";
  if (t.total[node] === 0) return t.b.total[node] === 0 ? "" : "new";
  return t.b.total[node] === 0 ? "gone" : "";
}

/** Stripes over what is not there: trimmed weight, and frames that one side of a diff lacks. */
function hatch(c: CanvasRenderingContext2D, t: Tree, p: Panel, rects: Rects, look: Look): void {
  if (t.trimmed.size === 0 && !t.b) return;
  c.strokeStyle = look.theme.stripes;
  c.lineWidth = 1;
  c.beginPath();
  for (let i = 0; i < rects.n; i++) {
    const node = rects.node[i];
    if (node === SMALL || (node >= 0 && !oneSided(t, node))) continue;
    stripes(c, { x: Math.max(rects.x[i], 0), right: Math.min(rects.x[i] + rects.w[i], p.width) - 1, y: rects.y[i], height: p.row - 1 });
  }
  c.stroke();
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

const WORD_ROOM = 14;

/** What a frame says: how many it is drawn for, its name, and of a diff what became of it, where there is room. */
function textOf(t: Tree, node: number, look: Look, room: number): string {
  const many = look.rows.frames?.[node] ?? 1;
  const before = many > 1 ? `(${many}) ` : "";
  const after = t.b && room > WORD_ROOM ? changeText(t, node) : "";
  return before + fit(nameFor(t, look, node), room - before.length - after.length, look.detail) + after;
}

function changeText(t: Tree, node: number): string {
  const word = oneSided(t, node);
  if (word) return ` ${word}`;
  const change = (t.b!.total[node] * t.b!.factor) / t.total[node] - 1;
  if (!(Math.abs(change) >= 0.005)) return "";
  return change > 0 ? ` \u25b2 +${digits(change * 100)} %` : ` \u25bc ${digits(change * 100)} %`;
}

/** White letters on the dark ends of the diff's palette. */
function inkOf(slot: number, look: Look): string {
  const dark = look.theme.dark;
  if (slot >= 32 && slot <= 40) {
    if (dark) return slot >= 35 && slot <= 37 ? "#e7ebf0" : "#111111";
    return slot === 32 ? "#ffffff" : "#111111";
  }
  if (slot === 63 || slot === 60 || slot === 62) return dark ? "#e7ebf0" : "#15181d";
  return "#111111";
}

function label(c: CanvasRenderingContext2D, t: Tree, p: Panel, rects: Rects, look: Look): void {
  c.font = FONT;
  c.textBaseline = "middle";
  let ink = "";
  for (let k = 0; k < rects.n; k++) {
    const i = order[k];
    const x = Math.max(rects.x[i], 0);
    const room = Math.floor((Math.min(rects.x[i] + rects.w[i], p.width) - x - 2 * PADDING) / CHAR);
    if (rects.node[i] < 0 || room < 3) continue;
    const text = textOf(t, rects.node[i], look, room);
    if (!text) continue;
    const wanted = inkOf(slots[i], look);
    if (wanted !== ink) c.fillStyle = ink = wanted;
    c.fillText(text, x + PADDING, rects.y[i] + p.row / 2);
  }
}

/** What moves with the mouse and the keys: outlines. */
export function paintOverlay(canvas: HTMLCanvasElement, t: Tree, v: View, p: Panel, look: Look, hovered: number): void {
  const c = prepare(canvas, p);
  const scale = p.width / (v.x1 - v.x0);
  const outline = (node: number, color: string, thick: number) => {
    if (node < 0 || node >= t.n) return;
    const x = (t.x[node] - v.x0) * scale;
    const w = t.width[node] * scale;
    const left = Math.max(x, -4);
    const right = Math.min(x + w, p.width + 4);
    if (right <= left) return;
    c.strokeStyle = color;
    c.lineWidth = thick;
    c.strokeRect(left + thick / 2, yOf(p, v, look.rows.row[node]) + thick / 2 - 0.5, Math.max(right - left - thick - 1, 1), p.row - thick);
  };
  if (hovered >= 0 && hovered !== look.selected) outline(hovered, look.theme.hover, 1);
  outline(look.selected, look.theme.line, 2);
}
