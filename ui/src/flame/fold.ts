// SPDX-License-Identifier: Apache-2.0
// flame/fold.ts - in which row each node stands: its depth, or less where chains of only children are folded into one

import type { Tree } from "./tree.ts";

export interface Rows {
  row: Uint16Array; // of each node; of one inside a folded chain, the chain's
  last: number;
  frames: Uint16Array | null; // how many each node is drawn for; 0: it is inside a chain. null: each for itself
}

export function plainRows(t: Tree): Rows {
  return { row: t.depth, last: t.maxDepth, frames: null };
}

const LEAST = 3;
const SHARE = 0.99;

/** The last node of the chain that begins at a node: each the only child, and nearly all, of the one before. */
function chainEnd(t: Tree, node: number): number {
  let last = node;
  while (last + 1 < t.end[last] && t.end[last + 1] === t.end[last] && t.width[last + 1] >= SHARE * t.width[last]) last++;
  return last;
}

/** Chains of three or more are a row each, but for those that isOpen() says of, by their first node. */
export function foldChains(t: Tree, isOpen: (head: number) => boolean): Rows {
  const row = new Uint16Array(t.n);
  const frames = new Uint16Array(t.n).fill(1);
  let last = 0;
  for (let i = 1; i < t.n; ) {
    const end = chainEnd(t, i);
    const folds = end - i + 1 >= LEAST && !isOpen(i);
    if (folds) {
      frames[i] = end - i + 1;
      frames.fill(0, i + 1, end + 1);
    }
    for (; i <= end; i++) {
      row[i] = row[t.parent[i]] + (frames[i] ? 1 : 0);
      last = Math.max(last, row[i]);
    }
  }
  return { row, last, frames };
}

/** The node that a node is drawn as. */
export function headOf(t: Tree, rows: Rows, node: number): number {
  let i = node;
  while (i > 0 && rows.frames && rows.frames[i] === 0) i = t.parent[i];
  return i;
}

/** The head of the chain that a node is in, folded or not; -1: in none. */
export function chainOf(t: Tree, node: number): number {
  let head = node;
  while (head > 0 && t.parent[head] > 0 && chainEnd(t, t.parent[head]) >= head) head = t.parent[head];
  return head > 0 && chainEnd(t, head) - head + 1 >= LEAST && chainEnd(t, head) >= node ? head : -1;
}
