// SPDX-License-Identifier: Apache-2.0
// flame/label.ts - what frames say: the widest first, for as long as a frame of the screen has time
//
// Letters cost more than all else that is drawn. Names are cut by counting letters of a fixed width, never by measuring, and what
// was cut is remembered. While the view moves, those that have no time left are not written; when it rests, the next frames write
// them, a few milliseconds each, so that thousands of small names stop nobody.

import { digits } from "../app/format.ts";
import { inkOf, type Look } from "./look.ts";
import { fit, visible } from "./names.ts";
import { type Tree, nameOf } from "./tree.ts";
import type { Panel, Rects } from "./view.ts";

const FAMILY = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const PADDING = 3;
const LEAST = 3; // letters
const BUCKETS = 16;

const widths = new Map<number, number>();
function letterWidth(c: CanvasRenderingContext2D, size: number): number {
  let width = widths.get(size);
  if (width === undefined) widths.set(size, (width = c.measureText("0".repeat(100)).width / 100 + 0.02));
  return width;
}

export function nameFor(t: Tree, look: { names: Map<number, string> }, node: number): string {
  const f = t.func[node];
  if (f < 0) return "all";
  let name = look.names.get(f);
  if (name === undefined) look.names.set(f, (name = visible(nameOf(t.functions, f))));
  return name;
}

/** Of a diff: what is on one side alone. */
export function oneSided(t: Tree, node: number): "new" | "gone" | "" {
  if (!t.b || node <= 0) return "";
  if (t.total[node] === 0) return t.b.total[node] === 0 ? "" : "new";
  return t.b.total[node] === 0 ? "gone" : "";
}

function changeText(t: Tree, node: number): string {
  const word = oneSided(t, node);
  if (word) return ` ${word}`;
  if (t.total[node] === 0) return "";
  const change = (t.b!.total[node] * t.b!.factor) / t.total[node] - 1;
  if (!(Math.abs(change) >= 0.005)) return "";
  return change > 0 ? ` \u25b2 +${digits(change * 100)} %` : ` \u25bc ${digits(change * 100)} %`;
}

const WORD_ROOM = 14;
const MOST_ROOM = 4096;
const MOST_CUT = 40_000;

/** What is to be written on one canvas. */
export class Labels {
  private order = new Uint32Array(1024);
  private n = 0;
  private next = 0;
  private cut = new Map<number, string>();
  private cutOf: [Tree, number] | null = null;
  private of: { t: Tree; p: Panel; rects: Rects; look: Look; width: number } | null = null;

  /** All that has room for letters, by how much. */
  plan(c: CanvasRenderingContext2D, t: Tree, p: Panel, rects: Rects, look: Look): void {
    this.style(c, p);
    const width = letterWidth(c, p.letters);
    this.of = { t, p, rects, look, width };
    if (this.cutOf?.[0] !== t || this.cutOf[1] !== look.detail || this.cut.size > MOST_CUT) {
      this.cut.clear();
      this.cutOf = [t, look.detail];
    }
    const starts = new Uint32Array(BUCKETS + 1);
    const bucket = (i: number) => {
      const room = rects.w[i] < LEAST * width || rects.node[i] < 0 ? 0 : this.room(i);
      return room < LEAST ? -1 : BUCKETS - 1 - Math.min(31 - Math.clz32(room), BUCKETS - 1);
    };
    this.n = this.next = 0;
    for (let i = 0; i < rects.n; i++) {
      const b = bucket(i);
      if (b >= 0) (starts[b + 1]++, this.n++);
    }
    for (let b = 0; b < BUCKETS; b++) starts[b + 1] += starts[b];
    if (this.order.length < this.n) this.order = new Uint32Array(this.n * 2);
    for (let i = 0; i < rects.n; i++) {
      const b = bucket(i);
      if (b >= 0) this.order[starts[b]++] = i;
    }
  }

  /** Writes for so many milliseconds; whether all is written. */
  write(c: CanvasRenderingContext2D, ms: number): boolean {
    if (!this.of) return true;
    const { t, p, rects, look } = this.of;
    const ratio = this.style(c, p);
    const end = performance.now() + ms;
    let ink = "";
    for (; this.next < this.n; this.next++) {
      if ((this.next & 31) === 31 && performance.now() > end) return false;
      const i = this.order[this.next];
      const text = this.textOf(t, rects.node[i], look, this.room(i));
      if (!text) continue;
      const wanted = inkOf(rects.slot[i], look);
      if (wanted !== ink) c.fillStyle = ink = wanted;
      // On whole pixels, where the letters are that were drawn before.
      c.fillText(text, Math.round(Math.max(rects.x[i], 0) * ratio) / ratio + PADDING, Math.round((rects.y[i] + p.row / 2) * ratio) / ratio);
    }
    return true;
  }

  private style(c: CanvasRenderingContext2D, p: Panel): number {
    const ratio = devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = `${p.letters}px ${FAMILY}`;
    c.textBaseline = "middle";
    return ratio;
  }

  private room(i: number): number {
    const { p, rects, width } = this.of!;
    const x = Math.max(rects.x[i], 0);
    return Math.min(Math.floor((Math.min(rects.x[i] + rects.w[i], p.width) - x - 2 * PADDING) / width), MOST_ROOM - 1);
  }

  private fitted(t: Tree, node: number, look: Look, room: number): string {
    const key = (t.func[node] + 1) * MOST_ROOM + room;
    let text = this.cut.get(key);
    if (text === undefined) this.cut.set(key, (text = fit(nameFor(t, look, node), room, look.detail)));
    return text;
  }

  /** How many a frame is drawn for, its name, and of a diff what became of it, where there is room. */
  private textOf(t: Tree, node: number, look: Look, room: number): string {
    const many = look.rows.frames?.[node] ?? 1;
    const before = many > 1 ? `(${many}) ` : "";
    const after = t.b && room > WORD_ROOM ? changeText(t, node) : "";
    return before + this.fitted(t, node, look, Math.max(room - before.length - after.length, 0)) + after;
  }
}
