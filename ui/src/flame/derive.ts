// SPDX-License-Identifier: Apache-2.0
// flame/derive.ts - trees out of a tree: leaves first, who calls a function, what it calls
//
// A node of the new tree stands for a set of nodes of the old one. Its children are the old nodes' children, or their
// parents, grouped by function. It is made level by level, down to what has room on a screen: the whole inverted tree of a
// million nodes would have ten times as many.

import { codeOf, codesOf } from "./path.ts";
import { type Functions, type Meta, type Tree, diffWidths, hasTrimmed, place, weightsOf } from "./tree.ts";

/**
 * Where all that there is would be more than MAX_NODES, nodes below the first level that are lighter than this share of the whole are
 * not made; what they weigh is trimmed of their parent. Half of the nodes are kept for what is below a node that somebody has zoomed
 * to: all of it, or what is not lighter than this share of that node.
 */
const MIN_SHARE = 1 / 8192;
const MAX_NODES = 200_000;

/** nodes: of the old tree, in the pool; beside each stands whose node says what it brings. */
interface Draft {
  func: number;
  parent: number;
  depth: number;
  from: number; // in the pool
  to: number;
  familyEnd: number; // where its siblings' end there
  sumA: number;
  sumB: number;
  least: number; // what its children have to weigh
  leads: boolean; // to the zoom
  isNear: boolean; // so, or is below it
}

const unplaced = { parent: -1, depth: 0, from: 0, to: 0, familyEnd: 0, sumA: 0, sumB: 0, least: 0, leads: false, isNear: false };

function longer(from: Int32Array, n: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(Math.max(n, 2 * from.length));
  to.set(from);
  return to;
}

/**
 * Old nodes by draft. This is passed once by each old node that a new one stands for, so that they lie one behind the other
 * in columns: those that a family brings are gathered, counted by function, and put where they belong. What lies behind
 * a draft's family is of drafts that are done when it is its turn, and is written over.
 */
class Pool {
  nodes = new Int32Array(1 << 16);
  brings = new Int32Array(1 << 16);
  private gathered = new Int32Array(1 << 12);
  private gatheredBrings = new Int32Array(1 << 12);
  private n = 0;
  private readonly t: Tree;
  private readonly count: Int32Array; // [functions.n]; all 0 between families
  private readonly at: Int32Array; // [functions.n]
  private readonly a: Float64Array; // by old node: what it brings
  private readonly b: Float64Array | null;

  constructor(t: Tree, a: Float64Array, b: Float64Array | null) {
    this.t = t;
    this.count = new Int32Array(t.functions.n);
    this.at = new Int32Array(t.functions.n);
    this.a = a;
    this.b = b;
  }

  add(node: number, brings: number): void {
    if (this.n === this.gathered.length) {
      this.gathered = longer(this.gathered, 0);
      this.gatheredBrings = longer(this.gatheredBrings, 0);
    }
    this.gathered[this.n] = node;
    this.gatheredBrings[this.n++] = brings;
  }

  /** What the gathered ones bring, which are none any more. */
  drop(): [a: number, b: number] {
    let [sumA, sumB] = [0, 0];
    for (let i = 0; i < this.n; i++) {
      sumA += this.a[this.gatheredBrings[i]];
      sumB += this.b?.[this.gatheredBrings[i]] ?? 0;
    }
    this.n = 0;
    return [sumA, sumB];
  }

  /** The gathered ones as the drafts of one parent, in the order in which their functions came; behind `end` nothing is kept. */
  take(end: number, parent: number, depth: number): Draft[] {
    const { n, gathered, gatheredBrings, count, at, a, b } = this;
    const { func } = this.t;
    const drafts: Draft[] = [];
    if (end + n > this.nodes.length) {
      this.nodes = longer(this.nodes, end + n);
      this.brings = longer(this.brings, end + n);
    }
    const { nodes, brings } = this;
    this.n = 0;
    const familyEnd = end + n;
    for (let i = 0; i < n; i++) {
      const f = func[gathered[i]];
      if (count[f]++ === 0) drafts.push({ ...unplaced, func: f, parent, depth, familyEnd });
    }
    for (const d of drafts) {
      d.from = at[d.func] = end;
      d.to = end += count[d.func];
      count[d.func] = 0;
    }
    for (let i = 0; i < n; i++) {
      const k = at[func[gathered[i]]]++;
      nodes[k] = gathered[i];
      brings[k] = gatheredBrings[i];
    }
    for (const d of drafts)
      for (let k = d.from; k < d.to; k++) {
        d.sumA += a[brings[k]];
        if (b) d.sumB += b[brings[k]];
      }
    return drafts;
  }
}

type Step = (t: Tree, of: Draft, pool: Pool) => void;

/** Callers: each old node's parent, which brings as much. */
const up: Step = (t, of, pool) => {
  const { nodes, brings } = pool;
  for (let k = of.from; k < of.to; k++) {
    const p = t.parent[nodes[k]];
    if (p > 0) pool.add(p, brings[k]);
  }
};

/** Callees: each old node's children, with their totals. */
const down: Step = (t, of, pool) => {
  const { nodes } = pool;
  const { end } = t;
  for (let k = of.from; k < of.to; k++) {
    const node = nodes[k];
    for (let c = node + 1; c < end[node]; c = end[c]) pool.add(c, c);
  }
};

/** By new node: what is not in its children, on both sides. */
class Lost {
  readonly a = new Map<number, number>();
  readonly b = new Map<number, number>();

  add(node: number, a: number, b: number): void {
    if (a) this.a.set(node, (this.a.get(node) ?? 0) + a);
    if (b) this.b.set(node, (this.b.get(node) ?? 0) + b);
  }
}

interface Result {
  functions: Functions;
  meta: Meta;
  factor: number; // of side B; 0: there is none
}

/** Drafts in preorder become columns. What their parents have and they do not is self, or trimmed. */
function finish(drafts: Draft[], lost: Lost, from: Result): Tree {
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
  for (const [node, weight] of lost.a) self[node] -= weight;
  for (const [node, weight] of lost.b) selfB[node] -= weight;
  const width = from.factor ? diffWidths(parent, total, totalB, from.factor) : total;
  const tree = { n, maxDepth, func, depth, parent, end, self, total, width, x: place(n, parent, width), trimmed: lost.a };
  const rest = { functions: from.functions, meta: from.meta };
  return from.factor ? { ...tree, ...rest, b: { self: selfB, total: totalB, trimmed: lost.b, factor: from.factor } } : { ...tree, ...rest };
}

/** What was trimmed below old nodes: whose frames it is of nobody knows, so it is trimmed of the new one too. */
function addTrimmed(t: Tree, lost: Lost, node: number, old: Iterable<number>): void {
  for (const i of old) lost.add(node, t.trimmed.get(i) ?? 0, t.b?.trimmed.get(i) ?? 0);
}

interface Plan {
  root: Draft;
  first: Draft[]; // below it
  most: number; // nodes that there can be at most
  step: Step;
  pool: Pool;
  lost: Lost; // of the root, so far
  into?: string; // the zoom's path
}

/** In preorder, siblings heaviest first; a stack of our own, since there may be thousands of levels. */
function expand(t: Tree, plan: Plan): Tree {
  const { root, step, pool, lost } = plan;
  const factor = t.b?.factor ?? 1;
  const isTrimmed = step === down && hasTrimmed(t);
  const weightOf = (d: Draft) => Math.max(Math.abs(d.sumA), Math.abs(d.sumB * factor));
  const share = plan.most > MAX_NODES ? MIN_SHARE : 0;
  const way = codesOf(plan.into ?? "");
  const drafts: Draft[] = [root];
  const todo: Draft[] = [];
  /** Is there room for all callers, if no two were the same? */
  const isFew = (d: Draft) => {
    let most = 0;
    for (let k = d.from; k < d.to; k++) most += t.depth[pool.nodes[k]];
    return most <= MAX_NODES / 2;
  };
  let far = way.length ? MAX_NODES / 2 : MAX_NODES; // that may yet be made away from the zoom
  const push = (children: Draft[], index: number, of: Draft, least: number) => {
    const made: Draft[] = [];
    for (const d of children) {
      d.leads = of.leads && d.depth <= way.length && codeOf(t.functions, d.func) === way[d.depth - 1];
      d.isNear = d.leads || (of.isNear && of.depth >= way.length);
      d.least = !d.leads || d.depth < way.length ? of.least : isFew(d) ? 0 : weightOf(d) * share;
      if (weightOf(d) >= least || d.leads) made.push(d);
      else lost.add(index, d.sumA, d.sumB);
    }
    made.sort((p, q) => weightOf(q) - weightOf(p) || p.func - q.func);
    for (let i = made.length - 1; i >= 0; i--) todo.push(made[i]);
  };
  Object.assign(root, { least: weightOf(root) * share, leads: true, isNear: true });
  push(plan.first, 0, root, 0);
  for (let d = todo.pop(); d && drafts.length < MAX_NODES; d = todo.pop()) {
    if (!d.isNear && far-- <= 0) {
      lost.add(d.parent, d.sumA, d.sumB);
      continue;
    }
    const index = drafts.length;
    drafts.push(d);
    if (isTrimmed) addTrimmed(t, lost, index, pool.nodes.subarray(d.from, d.to));
    step(t, d, pool);
    // What is below one that is too light is so, too.
    if (weightOf(d) < d.least && !d.leads) lost.add(index, ...pool.drop());
    else push(pool.take(d.familyEnd, index, d.depth + 1), index, d, d.least);
  }
  for (const d of todo) lost.add(d.parent, d.sumA, d.sumB);
  return finish(drafts, lost, { functions: t.functions, meta: t.meta, factor: t.b?.factor ?? 0 });
}

/**
 * Leaves first: a child of the root for each function with self, its callers below it. Functions weigh what they did before.
 * `into` is the path of a node to which somebody has zoomed: what is below it is told in more detail.
 */
export function invert(t: Tree, into = ""): Tree {
  const pool = new Pool(t, t.self, t.b?.self ?? null);
  let most = 0;
  for (let i = 1; i < t.n; i++)
    if (t.self[i] !== 0 || (t.b && t.b.self[i] !== 0)) {
      pool.add(i, i);
      most += t.depth[i];
    }
  const root = { ...unplaced, func: -1, sumA: t.total[0], sumB: t.b ? t.b.total[0] : 0 };
  const lost = new Lost();
  if (hasTrimmed(t)) addTrimmed(t, lost, 0, new Set([...t.trimmed.keys(), ...(t.b?.trimmed.keys() ?? [])]));
  return { ...expand(t, { root, first: pool.take(0, 0, 1), most, step: up, pool, lost, into }), leavesFirst: true, weights: t.weights ?? weightsOf(t) };
}

/** Drafts of one family as one, called after the first. */
function united(drafts: Draft[]): Draft {
  const whole = { ...unplaced, ...drafts[0] };
  for (const d of drafts.slice(1)) {
    whole.to = d.to;
    whole.sumA += d.sumA;
    whole.sumB += d.sumB;
  }
  return whole;
}

/** The outermost calls of functions, which are one to whoever asks, and from them on. */
function from(t: Tree, funcs: number[], step: Step): Tree {
  const pool = new Pool(t, t.total, t.b?.total ?? null);
  const isWanted = new Uint8Array(t.functions.n);
  for (const f of funcs) isWanted[f] = 1;
  let most = 0;
  for (let i = 1, free = 0; i < t.n; i++) {
    if (!isWanted[t.func[i]] || i < free) continue;
    pool.add(i, i);
    most += step === up ? t.depth[i] : t.end[i] - i;
    free = t.end[i];
  }
  const root = { ...united(pool.take(0, -1, 0)), func: funcs[0] };
  const lost = new Lost();
  if (step === down) addTrimmed(t, lost, 0, pool.nodes.subarray(root.from, root.to));
  step(t, root, pool);
  return expand(t, { root, first: pool.take(root.familyEnd, 0, 1), most, step, pool, lost });
}

export function callers(t: Tree, funcs: number[]): Tree {
  return { ...from(t, funcs, up), leavesFirst: true };
}

export function callees(t: Tree, funcs: number[]): Tree {
  return from(t, funcs, down);
}
