// SPDX-License-Identifier: Apache-2.0
// flame/derive.ts - trees out of a tree: leaves first, who calls a function, what it calls
//
// A node of the new tree stands for a set of nodes of the old one. Its children are the old nodes' children, or their
// parents, grouped by function. It is made level by level, down to what has room on a screen: the whole inverted tree of a
// million nodes would have ten times as many.

import { type Functions, type Meta, type Tree, diffWidths, place } from "./tree.ts";

/** Nodes lighter than this share of the whole are not made; what they weigh is trimmed of their parent. */
const MIN_SHARE = 1 / 8192;
const MAX_NODES = 200_000;

interface Draft {
  func: number;
  parent: number;
  depth: number;
  nodes: number[]; // of the old tree
  brings: number[]; // whose node of the old tree says what each of them brings
  sumA: number;
  sumB: number;
}

function draft(func: number, parent: number, depth: number): Draft {
  return { func, parent, depth, nodes: [], brings: [], sumA: 0, sumB: 0 };
}

/** Drafts of one parent, by function. This is asked once for each old node that a new one stands for. */
class Family {
  private readonly t: Tree;
  private readonly at: Int32Array; // [functions.n] in drafts; -1: there is none
  private readonly a: Float64Array; // by old node: what it brings
  private readonly b: Float64Array | null;
  private drafts: Draft[] = [];

  constructor(t: Tree, a: Float64Array, b: Float64Array | null) {
    this.t = t;
    this.at = new Int32Array(t.functions.n).fill(-1);
    this.a = a;
    this.b = b;
  }

  add(node: number, brings: number, parent: number, depth: number): void {
    const func = this.t.func[node];
    let at = this.at[func];
    if (at < 0) {
      at = this.at[func] = this.drafts.length;
      this.drafts.push(draft(func, parent, depth));
    }
    const d = this.drafts[at];
    d.nodes.push(node);
    d.brings.push(brings);
    d.sumA += this.a[brings];
    if (this.b) d.sumB += this.b[brings];
  }

  /** In the order in which they came; the next family begins. */
  take(): Draft[] {
    const { drafts } = this;
    for (const d of drafts) this.at[d.func] = -1;
    this.drafts = [];
    return drafts;
  }
}

type Step = (t: Tree, of: Draft, index: number, to: Family) => void;

/** Callers: each old node's parent, which brings as much. */
const up: Step = (t, of, index, to) => {
  for (let k = 0; k < of.nodes.length; k++) {
    const p = t.parent[of.nodes[k]];
    if (p > 0) to.add(p, of.brings[k], index, of.depth + 1);
  }
};

/** Callees: each old node's children, with their totals. */
const down: Step = (t, of, index, to) => {
  for (const node of of.nodes) for (let c = node + 1; c < t.end[node]; c = t.end[c]) to.add(c, c, index, of.depth + 1);
};

function weightOf(d: Draft): number {
  return Math.max(Math.abs(d.sumA), Math.abs(d.sumB));
}

interface Result {
  functions: Functions;
  meta: Meta;
  factor: number; // of side B; 0: there is none
}

/** Drafts in preorder become columns. What their parents have and they do not is self, or trimmed. */
function finish(drafts: Draft[], lost: Map<number, number>, from: Result): Tree {
  const n = drafts.length;
  const func = new Int32Array(n);
  const depth = new Uint16Array(n);
  const parent = new Int32Array(n);
  const total = new Float64Array(n);
  const totalB = new Float64Array(n);
  const end = new Uint32Array(n);
  let maxDepth = 0;
  drafts.forEach((d, i) => {
    func[i] = d.func;
    depth[i] = d.depth;
    parent[i] = d.parent;
    total[i] = d.sumA;
    totalB[i] = d.sumB;
    maxDepth = Math.max(maxDepth, d.depth);
  });
  const self = Float64Array.from(total);
  const selfB = Float64Array.from(totalB);
  for (let i = n - 1; i >= 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    const p = parent[i];
    if (p < 0) continue;
    self[p] -= total[i];
    selfB[p] -= totalB[i];
    if (end[p] === 0) end[p] = end[i];
  }
  for (const [node, weight] of lost) self[node] -= weight;
  const width = from.factor ? diffWidths(parent, total, totalB, from.factor) : total;
  const tree = { n, maxDepth, func, depth, parent, end, self, total, width, x: place(n, parent, width), trimmed: lost };
  const rest = { functions: from.functions, meta: from.meta };
  return from.factor ? { ...tree, ...rest, b: { self: selfB, total: totalB, trimmed: new Map(), factor: from.factor } } : { ...tree, ...rest };
}

/** In preorder, siblings heaviest first; a stack of our own, since there may be thousands of levels. */
function expand(t: Tree, root: Draft, first: Draft[], step: Step, family: Family): Tree {
  const least = weightOf(root) * MIN_SHARE;
  const drafts: Draft[] = [root];
  const lost = new Map<number, number>();
  const todo: Draft[] = [];
  const push = (children: Draft[], index: number) => {
    const heavy = children.filter((d) => weightOf(d) >= least);
    for (const d of children)
      if (weightOf(d) < least) lost.set(index, (lost.get(index) ?? 0) + d.sumA);
    heavy.sort((p, q) => weightOf(q) - weightOf(p) || p.func - q.func);
    for (let i = heavy.length - 1; i >= 0; i--) todo.push(heavy[i]);
  };
  push(first, 0);
  for (let d = todo.pop(); d && drafts.length < MAX_NODES; d = todo.pop()) {
    const index = drafts.length;
    drafts.push(d);
    step(t, d, index, family);
    push(family.take(), index);
  }
  for (const d of todo) lost.set(d.parent, (lost.get(d.parent) ?? 0) + d.sumA);
  return finish(drafts, lost, { functions: t.functions, meta: t.meta, factor: t.b?.factor ?? 0 });
}

/** Leaves first: a child of the root for each function with self, its callers below it. */
export function invert(t: Tree): Tree {
  const root = draft(-1, -1, 0);
  const family = new Family(t, t.self, t.b?.self ?? null);
  root.sumA = t.total[0];
  root.sumB = t.b ? t.b.total[0] : 0;
  for (let i = 1; i < t.n; i++) if (t.self[i] !== 0 || (t.b && t.b.self[i] !== 0)) family.add(i, i, 0, 1);
  return expand(t, root, family.take(), up, family);
}

/** A function's outermost calls, and from them on. */
function from(t: Tree, func: number, step: Step): Tree {
  const root = draft(func, -1, 0);
  const family = new Family(t, t.total, t.b?.total ?? null);
  for (let i = 1, free = 0; i < t.n; i++) {
    if (t.func[i] !== func || i < free) continue;
    root.nodes.push(i);
    root.brings.push(i);
    root.sumA += t.total[i];
    if (t.b) root.sumB += t.b.total[i];
    free = t.end[i];
  }
  step(t, root, 0, family);
  return expand(t, root, family.take(), step, family);
}

export function callers(t: Tree, func: number): Tree {
  return from(t, func, up);
}

export function callees(t: Tree, func: number): Tree {
  return from(t, func, down);
}
