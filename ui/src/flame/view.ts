// SPDX-License-Identifier: Apache-2.0
// flame/view.ts - which frames of a tree are on the screen, and where
//
// One pass in preorder over what can be seen: what lies left of the view is jumped over whole, the pass ends right of it,
// and frames narrower than a pixel become one muted block with their neighbours. So a tree of a million
// nodes costs the few thousand that have room. No recursion: stacks may be thousands of frames deep.

import type { Rows } from "./fold.ts";
import { follow, pathOf } from "./path.ts";
import { type Tree, hasTrimmed } from "./tree.ts";

/** What is seen: weights [x0, x1) of the tree across `width` pixels, levels from `top` on. */
export interface View {
  x0: number;
  x1: number;
  top: number; // level at the panel's edge, a fraction while it moves
}

/** A node from its left edge to its right one; of one without weight, all. */
export function viewOf(t: Tree, node: number): { x0: number; x1: number } {
  const x0 = t.x[node];
  const x1 = x0 + t.width[node];
  return x1 > x0 ? { x0, x1 } : { x0: 0, x1: Math.max(t.width[0], 1) };
}

/** The deepest node that is in sight from the left to the right. */
function around(t: Tree, v: { x0: number; x1: number }): number {
  let node = 0;
  for (let c = 1; c < t.end[node]; )
    if (t.x[c] <= v.x0 && v.x1 <= t.x[c] + t.width[c]) node = c++;
    else c = t.end[c];
  return node;
}

/** What is seen of one tree, in another one that has other weights: by the way to what is there; null: that is not in it, or another zoom is asked for. */
export function sameView(from: Tree, zoom: number, v: View, to: Tree, zoomed: number): { x0: number; x1: number } | null {
  if (follow(to, pathOf(from, zoom)).node !== zoomed) return null;
  const own = viewOf(from, zoom);
  if (v.x0 === own.x0 && v.x1 === own.x1) return viewOf(to, zoomed);
  const node = around(from, v);
  const there = follow(to, pathOf(from, node));
  if (!there.whole) return null;
  const [a, b] = [viewOf(from, node), viewOf(to, there.node)];
  const scale = (b.x1 - b.x0) / (a.x1 - a.x0);
  return { x0: b.x0 + (v.x0 - a.x0) * scale, x1: b.x0 + (v.x1 - a.x0) * scale };
}

export interface Panel {
  width: number; // CSS pixels
  height: number;
  row: number; // height of a frame
  letters: number; // their size
  flip: boolean; // the root is at the bottom
}

/** What a rectangle is of, beside a node. */
export const SMALL = -1; // a muted block that stands for several
export const TRIMMED = -2; // weight of its parent whose frames are not there

/** Rectangles [n] in CSS pixels. */
export class Rects {
  n = 0;
  node = new Int32Array(4096);
  x = new Float32Array(4096);
  y = new Float32Array(4096);
  w = new Float32Array(4096);
  slot = new Uint8Array(4096); // its colour: flame/look.ts

  add(node: number, x: number, y: number, w: number): void {
    if (this.n === this.node.length) this.grow();
    this.node[this.n] = node;
    this.x[this.n] = x;
    this.y[this.n] = y;
    this.w[this.n] = w;
    this.n++;
  }

  private grow(): void {
    const longer = <T extends Int32Array | Float32Array | Uint8Array>(from: T, to: T): T => (to.set(from), to);
    const n = this.node.length * 2;
    this.node = longer(this.node, new Int32Array(n));
    this.x = longer(this.x, new Float32Array(n));
    this.y = longer(this.y, new Float32Array(n));
    this.w = longer(this.w, new Float32Array(n));
    this.slot = longer(this.slot, new Uint8Array(n));
  }
}

export function yOf(p: Panel, v: View, level: number): number {
  const y = (level - v.top) * p.row;
  return p.flip ? p.height - y - p.row : y;
}

const MIN_WIDTH = 1;

/** Frames narrower than `least` pixels are one block. */
export function layout(t: Tree, v: View, p: Panel, out: Rects, rows: Rows, least = MIN_WIDTH): void {
  const { width } = t;
  // Else a wide sibling may stand behind a narrow one.
  const heaviestFirst = !t.byName && !t.b;
  out.n = 0;
  const scale = p.width / (v.x1 - v.x0);
  const levels = Math.ceil(p.height / p.row) + 1;
  const isTrimmed = hasTrimmed(t);
  for (let i = 0; i < t.n; ) {
    const left = (t.x[i] - v.x0) * scale;
    const w = width[i] * scale;
    if (left + w <= 0) {
      i = t.end[i];
      continue;
    }
    const parent = t.parent[i];
    if (left >= p.width) {
      // What follows under this parent lies further right.
      i = parent < 0 ? t.n : t.end[parent];
      continue;
    }
    const level = rows.row[i];
    const visible = level >= v.top - 1;
    if (w < least) {
      const rest = parent >= 0 && heaviestFirst ? childrenEnd(t, parent) : t.x[i] + width[i];
      if (visible && rows.frames?.[i] !== 0) small(out, left, yOf(p, v, level), Math.min((rest - v.x0) * scale, p.width));
      i = parent < 0 ? t.n : heaviestFirst ? t.end[parent] : t.end[i];
      continue;
    }
    if (level - v.top > levels) {
      i = t.end[i];
      continue;
    }
    if (visible && rows.frames?.[i] !== 0) out.add(i, left, yOf(p, v, level), w);
    const lost = isTrimmed ? lostOf(t, i) * scale : 0;
    if (lost >= least) out.add(TRIMMED, (childrenEnd(t, i) - v.x0) * scale, yOf(p, v, level + 1), lost);
    i++;
  }
}

/** Where the room of a node's children ends; self and what is trimmed come behind. */
function childrenEnd(t: Tree, node: number): number {
  if (!t.b) return t.x[node] + t.width[node] - t.self[node] - (t.trimmed.get(node) ?? 0);
  let end = t.x[node];
  for (let c = node + 1; c < t.end[node]; c = t.end[c]) end = t.x[c] + t.width[c];
  return end;
}

/** The width of what was trimmed right below a node: of a diff the larger side, as far as there is room behind the children. */
function lostOf(t: Tree, node: number): number {
  const a = t.trimmed.get(node) ?? 0;
  if (!t.b) return a;
  const lost = Math.max(Math.abs(a), Math.abs((t.b.trimmed.get(node) ?? 0) * t.b.factor));
  return lost && Math.min(lost, t.x[node] + t.width[node] - childrenEnd(t, node));
}

/** One block for neighbours. */
function small(out: Rects, left: number, y: number, right: number): void {
  const last = out.n - 1;
  if (last >= 0 && out.node[last] === SMALL && out.y[last] === Math.fround(y) && out.x[last] + out.w[last] >= left - 0.5) {
    out.w[last] = Math.max(out.w[last], right - out.x[last]);
    return;
  }
  out.add(SMALL, left, y, Math.max(right - left, 0.5));
}

/** The node at a point, or -1. Walks down from the root: a few siblings a level. */
export function nodeAt(t: Tree, v: View, p: Panel, at: { x: number; y: number }, rows: Rows): number {
  const { width } = t;
  const y = p.flip ? p.height - at.y : at.y;
  const level = Math.floor(y / p.row + v.top);
  const x = v.x0 + (at.x / p.width) * (v.x1 - v.x0);
  if (level < 0 || level > rows.last || x < 0 || x >= width[0]) return -1;
  let node = 0;
  while (rows.row[node] < level) {
    let child = node + 1;
    while (child < t.end[node] && x >= t.x[child] + width[child]) child = t.end[child];
    if (child >= t.end[node] || x < t.x[child]) return -1;
    node = child;
  }
  return node;
}

/** Where what is `height` high begins: below y, or above it where there is no room, and in [from, to) in any case that has room for it. */
export function besides(y: number, height: number, from: number, to: number): number {
  const below = y + 18;
  const above = y - 10 - height;
  if (below + height <= to) return below;
  return above >= from ? above : Math.max(to - height, from);
}
