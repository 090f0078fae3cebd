// SPDX-License-Identifier: Apache-2.0
// flame/mirror.ts - what of a graph a screen reader can walk: the way to a frame, frames beside it, and those below it

import type { Tree } from "./tree.ts";

export interface Item {
  node: number;
  place: number; // among its siblings, from 1 on
  of: number; // how many they are
}

const MOST_ABOVE = 60;
const MOST_BESIDE = 25; // on either side
const MOST_BELOW = 50;

/** Of a node's children those at [from, to). */
function children(t: Tree, node: number, from: number, to: number): Item[] {
  const out: Item[] = [];
  let n = 0;
  for (let c = node + 1; c < t.end[node]; c = t.end[c], n++) if (n >= from && n < to) out.push({ node: c, place: n + 1, of: 0 });
  return out.map((item) => ({ ...item, of: n }));
}

/** Which of its parent's children a node is, from 0 on. */
function placeOf(t: Tree, node: number): number {
  let n = 0;
  for (let c = t.parent[node] + 1; c < node; c = t.end[c]) n++;
  return n;
}

/** In the order of the tree. */
export function mirror(t: Tree, node: number): Item[] {
  const out = new Map<number, Item>();
  const add = (items: Item[]) => items.forEach((item) => out.set(item.node, item));
  for (let i = node; i > 0 && out.size < MOST_ABOVE; i = t.parent[i]) {
    const at = placeOf(t, i);
    const beside = i === node ? MOST_BESIDE : 0;
    add(children(t, t.parent[i], at - beside, at + beside + 1));
  }
  add([{ node: 0, place: 1, of: 1 }, ...children(t, node, 0, MOST_BELOW)]);
  return [...out.values()].sort((a, b) => a.node - b.node);
}
