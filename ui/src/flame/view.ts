// SPDX-License-Identifier: Apache-2.0
// flame/view.ts - which frames of a tree are on the screen, and where
//
// One pass in preorder over what can be seen: what lies left of the view is jumped over whole, the pass ends right of it,
// and where a frame is narrower than a pixel its siblings, which are no wider, become one muted block. So a tree of a million
// nodes costs the few thousand that have room. No recursion: stacks may be thousands of frames deep.

import type { Tree } from "./tree.ts";

/** What is seen: weights [x0, x1) of the tree across `width` pixels, levels from `top` on. */
export interface View {
  x0: number;
  x1: number;
  top: number; // level at the panel's edge, a fraction while it moves
}

export interface Panel {
  width: number; // CSS pixels
  height: number;
  row: number; // height of a frame
  flip: boolean; // the root is at the bottom
}

/** Rectangles [n] in CSS pixels. node is -1 of a muted block that stands for several. */
export class Rects {
  n = 0;
  node = new Int32Array(4096);
  x = new Float32Array(4096);
  y = new Float32Array(4096);
  w = new Float32Array(4096);

  add(node: number, x: number, y: number, w: number): void {
    if (this.n === this.node.length) this.grow();
    this.node[this.n] = node;
    this.x[this.n] = x;
    this.y[this.n] = y;
    this.w[this.n] = w;
    this.n++;
  }

  private grow(): void {
    const longer = <T extends Int32Array | Float32Array>(from: T, to: T): T => (to.set(from), to);
    const n = this.node.length * 2;
    this.node = longer(this.node, new Int32Array(n));
    this.x = longer(this.x, new Float32Array(n));
    this.y = longer(this.y, new Float32Array(n));
    this.w = longer(this.w, new Float32Array(n));
  }
}

export function yOf(p: Panel, v: View, level: number): number {
  const y = (level - v.top) * p.row;
  return p.flip ? p.height - y - p.row : y;
}

/** Frames narrower than this are one block. */
const MIN_WIDTH = 1;

export function layout(t: Tree, v: View, p: Panel, out: Rects): void {
  const { width } = t;
  out.n = 0;
  const scale = p.width / (v.x1 - v.x0);
  const levels = Math.ceil(p.height / p.row) + 1;
  for (let i = 0; i < t.n; ) {
    const left = (t.x[i] - v.x0) * scale;
    const w = width[i] * scale;
    if (left + w <= 0) {
      i = t.end[i];
      continue;
    }
    if (left >= p.width) {
      // What follows under this parent lies further right.
      i = t.parent[i] < 0 ? t.n : t.end[t.parent[i]];
      continue;
    }
    const level = t.depth[i];
    const visible = level >= v.top - 1;
    if (w < MIN_WIDTH) {
      const parent = t.parent[i];
      const end = parent < 0 ? t.n : t.end[parent];
      const last = parent < 0 ? w : (t.x[parent] + width[parent] - v.x0) * scale - left;
      if (visible) out.add(-1, left, yOf(p, v, level), Math.max(Math.min(last, p.width - left), 0.5));
      i = end;
      continue;
    }
    if (level - v.top > levels) {
      i = t.end[i];
      continue;
    }
    if (visible) out.add(i, left, yOf(p, v, level), w);
    i++;
  }
}

/** The node at a point, or -1. Walks down from the root: a few siblings a level. */
export function nodeAt(t: Tree, v: View, p: Panel, px: number, py: number): number {
  const { width } = t;
  const y = p.flip ? p.height - py : py;
  const level = Math.floor(y / p.row + v.top);
  const x = v.x0 + (px / p.width) * (v.x1 - v.x0);
  if (level < 0 || level > t.maxDepth || x < 0 || x >= width[0]) return -1;
  let node = 0;
  for (let depth = 0; depth < level; depth++) {
    let child = node + 1;
    while (child < t.end[node] && x >= t.x[child] + width[child]) child = t.end[child];
    if (child >= t.end[node] || x < t.x[child]) return -1;
    node = child;
  }
  return node;
}
