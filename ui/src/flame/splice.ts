// SPDX-License-Identifier: Apache-2.0
// flame/splice.ts - a part of a tree, put in for a part that was trimmed

import { type Functions, type SideB, type Texts, type Tree, diffWidths, nameOf, place, settle, textAt } from "./tree.ts";

function keyOf(f: Functions, i: number): string {
  return [nameOf(f, i), textAt(f.files, f.file[i]), textAt(f.binaries, f.binary[i]), f.line[i], f.address[i], f.flags[i] & 7].join("\n");
}

function joinTexts(a: Texts, b: Texts): Texts {
  const offsets = new Uint32Array(a.n + b.n + 1);
  offsets.set(a.offsets);
  for (let i = 1; i <= b.n; i++) offsets[a.n + i] = a.offsets[a.n] + b.offsets[i];
  const bytes = new Uint8Array(a.offsets[a.n] + b.offsets[b.n]);
  bytes.set(a.bytes.subarray(0, a.offsets[a.n]));
  bytes.set(b.bytes.subarray(0, b.offsets[b.n]), a.offsets[a.n]);
  return { n: a.n + b.n, offsets, bytes };
}

function join<T extends Uint32Array | Float64Array>(a: T, b: T, shift: number): T {
  const out = new (a.constructor as new (n: number) => T)(a.length + b.length);
  out.set(a);
  for (let i = 0; i < b.length; i++) out[a.length + i] = b[i] + shift;
  return out;
}

/** All functions of a, those of b behind them, whether a has them or not: `ids` says which b's nodes are to name. */
function joinFunctions(a: Functions, b: Functions): { functions: Functions; ids: Int32Array } {
  const known = new Map<string, number>();
  for (let i = 0; i < a.n; i++) known.set(keyOf(a, i), i);
  const ids = Int32Array.from({ length: b.n }, (_, i) => known.get(keyOf(b, i)) ?? a.n + i);
  const address = new BigUint64Array(a.n + b.n);
  address.set(a.address);
  address.set(b.address, a.n);
  return {
    ids,
    functions: {
      n: a.n + b.n,
      names: joinTexts(a.names, b.names), files: joinTexts(a.files, b.files), binaries: joinTexts(a.binaries, b.binaries),
      buildIds: joinTexts(a.buildIds, b.buildIds), reasons: joinTexts(a.reasons, b.reasons),
      file: join(a.file, b.file, a.files.n), binary: join(a.binary, b.binary, a.binaries.n),
      buildId: join(a.buildId, b.buildId, a.buildIds.n), reason: join(a.reason, b.reason, a.reasons.n),
      line: join(a.line, b.line, 0), address, flags: join(a.flags, b.flags, 0),
    },
  };
}

/** The node of `part` on the way that `node` has in `t`; -1: there is none. */
function sameNode(t: Tree, node: number, part: Tree, ids: Int32Array): number {
  const way: number[] = [];
  for (let i = node; i > 0; i = t.parent[i]) way.unshift(t.func[i]);
  let at = 0;
  for (const f of way) {
    let child = at + 1;
    while (child < part.end[at] && ids[part.func[child]] !== f) child = part.end[child];
    if (child >= part.end[at]) return -1;
    at = child;
  }
  return at;
}

/** t with all below a node as `part` has it, which is of the same question asked under that node; null: nothing is there. */
export function splice(t: Tree, node: number, part: Tree): Tree | null {
  const { functions, ids } = joinFunctions(t.functions, part.functions);
  const from = sameNode(t, node, part, ids);
  if (from < 0 || !t.b !== !part.b) return null;
  const size = part.end[from] - from;
  const gone = t.end[node] - node;
  const n = t.n - gone + size;
  const behind = t.end[node];
  /** Nodes before, those of the part, and nodes behind. */
  const each = <T extends { [i: number]: number }>(out: T, a: T, b: T, mapA: (v: number) => number = (v) => v, mapB = mapA): T => {
    for (let i = 0; i < node; i++) out[i] = a[i];
    for (let i = 0; i < size; i++) out[node + i] = mapB(b[from + i]);
    for (let i = behind; i < t.n; i++) out[i - gone + size] = mapA(a[i]);
    return out;
  };
  const parent = each(new Int32Array(n), t.parent, part.parent, (p) => (p >= behind ? p - gone + size : p), (p) => p - from + node);
  parent[node] = t.parent[node];
  const moved = (a: Map<number, number>, b: Map<number, number>) => {
    const out = new Map<number, number>();
    for (const [i, w] of a) if (i < node || i >= behind) out.set(i < node ? i : i - gone + size, w);
    for (const [i, w] of b) if (i >= from && i < part.end[from]) out.set(i - from + node, w);
    return out;
  };
  const depth = each(new Uint16Array(n), t.depth, part.depth);
  const self = each(new Float64Array(n), t.self, part.self);
  const trimmed = moved(t.trimmed, part.trimmed);
  const { total, end } = settle(n, parent, self, trimmed);
  const common = {
    n, maxDepth: depth.reduce((a, b) => Math.max(a, b), 0), depth, parent, end, self, total, trimmed, functions,
    func: each(new Int32Array(n), t.func, part.func, (f) => f, (f) => ids[f]),
  };
  const meta = (places: number) => ({ ...t.meta, trimmed_nodes: Math.max((t.meta.trimmed_nodes ?? 0) - (size - gone), places) });
  if (!t.b || !part.b) return { ...common, meta: meta(trimmed.size), width: total, x: place(n, parent, total) };
  const b = sideB(t.b, part.b, { n, parent, each, moved });
  const width = diffWidths(parent, total, b.total, b.factor);
  return { ...common, meta: meta(Math.max(trimmed.size, b.trimmed.size)), b, width, x: place(n, parent, width) };
}

interface Seam {
  n: number;
  parent: Int32Array;
  each: (out: Float64Array, a: Float64Array, b: Float64Array) => Float64Array;
  moved: (a: Map<number, number>, b: Map<number, number>) => Map<number, number>;
}

function sideB(t: SideB, part: SideB, seam: Seam): SideB {
  const self = seam.each(new Float64Array(seam.n), t.self, part.self);
  const trimmed = seam.moved(t.trimmed, part.trimmed);
  return { self, trimmed, total: settle(seam.n, seam.parent, self, trimmed).total, factor: t.factor };
}

function below(t: Tree, node: number, trimmed: Map<number, number>): number {
  let sum = 0;
  for (const [i, w] of trimmed) if (i >= node && i < t.end[node]) sum += Math.abs(w);
  return sum;
}

/** What share of what a node weighs is in frames that are not there: of a diff that of the side that lacks more. */
export function shareTrimmed(t: Tree, node: number): number {
  const share = (part: number, whole: number) => (whole ? part / Math.abs(whole) : 0);
  const a = share(below(t, node, t.trimmed), t.total[node]);
  return t.b ? Math.max(a, share(below(t, node, t.b.trimmed), t.b.total[node])) : a;
}
