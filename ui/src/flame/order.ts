// SPDX-License-Identifier: Apache-2.0
// flame/order.ts - the same tree with siblings by name, to be found where they were the last time

import { type Tree, nameOf, place } from "./tree.ts";

/** For each function its place among all names; those alike by number. */
function ranks(t: Tree): Uint32Array {
  const names = Array.from({ length: t.functions.n }, (_, f) => nameOf(t.functions, f));
  const order = names.map((_, f) => f).sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
  const rank = new Uint32Array(names.length);
  order.forEach((f, i) => (rank[f] = i));
  return rank;
}

/** Old numbers in the new preorder. */
function preorder(t: Tree): Uint32Array {
  const rank = ranks(t);
  const from = new Uint32Array(t.n);
  const todo = [0];
  const children: number[] = [];
  for (let i = 0; todo.length; i++) {
    const node = todo.pop()!;
    from[i] = node;
    children.length = 0;
    for (let c = node + 1; c < t.end[node]; c = t.end[c]) children.push(c);
    if (children.length > 1) children.sort((a, b) => rank[t.func[b]] - rank[t.func[a]]);
    for (const c of children) todo.push(c);
  }
  return from;
}

export function byName(t: Tree): Tree {
  const from = preorder(t);
  const to = new Int32Array(t.n);
  from.forEach((old, i) => (to[old] = i));
  const doubles = (column: Float64Array) => Float64Array.from(from, (old) => column[old]);
  const moved = (weights: Map<number, number>) => new Map([...weights].map(([old, w]) => [to[old], w]));
  const parent = Int32Array.from(from, (old) => (t.parent[old] < 0 ? -1 : to[t.parent[old]]));
  const width = doubles(t.width);
  return {
    ...t,
    byName: true,
    func: Int32Array.from(from, (old) => t.func[old]),
    depth: Uint16Array.from(from, (old) => t.depth[old]),
    parent,
    end: Uint32Array.from(from, (old, i) => i + t.end[old] - old),
    self: doubles(t.self),
    total: doubles(t.total),
    width,
    x: place(t.n, parent, width),
    trimmed: moved(t.trimmed),
    b: t.b && { ...t.b, self: doubles(t.b.self), total: doubles(t.b.total), trimmed: moved(t.b.trimmed) },
  };
}
