// SPDX-License-Identifier: Apache-2.0
// flame/recursion.ts - a tree in which no function stands below itself: where a call comes back to a function, its
// stack goes on where that one was called first
//
// So a loop of several functions becomes one turn of it, and weighs what all of its turns weigh. What stands below is one
// with what stood there before, and each stack counts once. What a call passed through on its way back is not above what
// that one calls then: it has none of its weight, and is left out where nothing else is left of it.

import { type Tree, diffWidths, place, settle } from "./tree.ts";

/** New nodes, in the order in which they are found: parents come first. */
class Found {
  readonly func: number[] = [-1];
  readonly parent: number[] = [-1];
  private readonly below: Map<number, number>[] = [];

  /** The node that stands for a call of a function out of a node: one above it, or one below. */
  step(from: number, func: number): number {
    const known = (this.below[from] ??= new Map());
    let to = known.get(func);
    if (to !== undefined) return to;
    for (to = from; to > 0 && this.func[to] !== func; ) to = this.parent[to];
    if (to <= 0) {
      to = this.func.push(func) - 1;
      this.parent.push(from);
    }
    known.set(func, to);
    return to;
  }
}

/** Found nodes in preorder, siblings heaviest first, those alike by function; without those of no mass. */
function preorder(found: Found, weight: Float64Array, mass: Float64Array): Int32Array {
  const { func, parent } = found;
  const n = func.length;
  const first = new Int32Array(n).fill(-1);
  const next = new Int32Array(n);
  for (let i = n - 1; i > 0; i--) {
    next[i] = first[parent[i]];
    first[parent[i]] = i;
  }
  const order = new Int32Array(n);
  const todo = [0];
  let k = 0;
  while (todo.length) {
    const node = todo.pop()!;
    order[k++] = node;
    const children: number[] = [];
    for (let c = first[node]; c >= 0; c = next[c]) if (mass[c] !== 0) children.push(c);
    if (children.length > 1) children.sort((a, b) => weight[a] - weight[b] || func[b] - func[a]);
    for (const c of children) todo.push(c);
  }
  return order.slice(0, k);
}

interface Weights {
  self: Float64Array;
  trimmed: Map<number, number>;
}

/** What old nodes have, added up by the nodes that stand for them. */
function moved(of: Weights, to: Int32Array, n: number): Weights {
  const self = new Float64Array(n);
  const trimmed = new Map<number, number>();
  of.self.forEach((w, i) => (self[to[i]] += w));
  for (const [i, w] of of.trimmed) trimmed.set(to[i], (trimmed.get(to[i]) ?? 0) + w);
  return { self, trimmed };
}

function totals(parent: readonly number[], own: Weights): Float64Array {
  const total = Float64Array.from(own.self);
  for (const [i, w] of own.trimmed) total[i] += w;
  for (let i = total.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

const sizes = (own: Weights): Weights => ({ self: own.self.map(Math.abs), trimmed: new Map([...own.trimmed].map(([i, w]) => [i, Math.abs(w)])) });

/** Where each found node goes in the new tree, and whose place each of that is. */
function arrange(found: Found, a: Weights, b: Weights | undefined, factor: number): { order: Int32Array; placeOf: Int32Array } {
  const weight = totals(found.parent, a).map(Math.abs);
  const mass = totals(found.parent, sizes(a));
  if (b) {
    totals(found.parent, b).forEach((w, i) => (weight[i] = Math.max(weight[i], Math.abs(w * factor))));
    totals(found.parent, sizes(b)).forEach((w, i) => (mass[i] += w));
  }
  const order = preorder(found, weight, mass);
  const placeOf = new Int32Array(found.func.length).fill(-1);
  order.forEach((old, i) => (placeOf[old] = i));
  return { order, placeOf };
}

export function withoutRecursion(t: Tree): Tree {
  const found = new Found();
  const to = new Int32Array(t.n);
  for (let i = 1; i < t.n; i++) to[i] = found.step(to[t.parent[i]], t.func[i]);
  const a = moved(t, to, found.func.length);
  const b = t.b && moved(t.b, to, found.func.length);
  const factor = t.b?.factor ?? 1;
  const { order, placeOf } = arrange(found, a, b, factor);
  const n = order.length;
  const parent = Int32Array.from(order, (old) => (old ? placeOf[found.parent[old]] : -1));
  const depth = new Uint16Array(n);
  let maxDepth = 0;
  for (let i = 1; i < n; i++) maxDepth = Math.max(maxDepth, (depth[i] = depth[parent[i]] + 1));
  // Zeros that were trimmed of a node without mass go with it.
  const sorted = (w: Weights): Weights => ({ self: Float64Array.from(order, (old) => w.self[old]), trimmed: new Map([...w.trimmed].filter(([old]) => placeOf[old] >= 0).map(([old, v]) => [placeOf[old], v])) });
  const sideA = sorted(a);
  const { total, end } = settle(n, parent, sideA.self, sideA.trimmed);
  const columns = { n, maxDepth, func: Int32Array.from(order, (old) => found.func[old]), depth, parent, end, ...sideA, total, functions: t.functions, meta: t.meta };
  if (!b) return { ...columns, width: total, x: place(n, parent, total) };
  const sideB = sorted(b);
  const totalB = settle(n, parent, sideB.self, sideB.trimmed).total;
  const width = diffWidths(parent, total, totalB, factor);
  return { ...columns, width, x: place(n, parent, width), b: { ...sideB, total: totalB, factor } };
}
