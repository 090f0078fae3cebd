// SPDX-License-Identifier: Apache-2.0
// flame/significance.ts - which nodes of a diff changed more than chance explains

import type { Tree } from "./tree.ts";

/** How many samples each side has, and what share of them a weight is; null where that is not known. */
function samples(t: Tree) {
  const compare = t.meta.compare;
  const n1 = compare?.sides[0].samples;
  const n2 = compare?.sides[1].samples;
  if (!t.b || !compare || !n1 || !n2) return null;
  const all1 = (t.meta.total?.[0] ?? t.total[0]) + (t.meta.filtered?.[0] ?? 0);
  const all2 = (t.meta.total?.[1] ?? t.b.total[0]) + (t.meta.filtered?.[1] ?? 0);
  return { compare, n1, n2, shares: (a: number, b: number) => [all1 ? a / all1 : 0, all2 ? b / all2 : 0] };
}

/** Tells of two weights, A's and B's, whether more than chance made them differ; null where nothing is tested. */
export function tester(t: Tree): ((a: number, b: number) => boolean) | null {
  const of = samples(t);
  if (!of || of.compare.untested) return null;
  const { n1, n2 } = of;
  return (a, b) => {
    const [p1, p2] = of.shares(a, b);
    const p = (p1 * n1 + p2 * n2) / (n1 + n2);
    const z = p > 0 && p < 1 ? (p2 - p1) / Math.sqrt(p * (1 - p) * (1 / n1 + 1 / n2)) : 0;
    return Math.abs(z) >= of.compare.level && Math.min(n1, n2) * Math.min(p, 1 - p) >= 5;
  };
}

/** Of a diff: which nodes changed more than chance explains; null where nothing is tested. */
export function significance(t: Tree): Uint8Array | null {
  const test = tester(t);
  if (!test) return null;
  const out = new Uint8Array(t.n);
  for (let i = 1; i < t.n; i++) out[i] = test(t.total[i], t.b!.total[i]) ? 1 : 0;
  return out;
}

/** How many samples of each side have a node, and by how much its share of the samples changed. */
export interface Sampled {
  a: number;
  b: number;
  change: number; // of shares: B's less A's
  from: number; // of that, with 95 % confidence
  to: number;
}

const Z95 = 1.959964;

/**
 * null: no samples are known, or more of a node than there are. The interval is as if each side had one sample more that has the
 * node and one that has not, which holds what it says with few samples and with none, too (Agresti and Caffo, The American
 * Statistician 54, 2000).
 */
export function sampled(t: Tree, node: number): Sampled | null {
  const of = samples(t);
  if (!of) return null;
  const { n1, n2 } = of;
  const [p1, p2] = of.shares(t.total[node], t.b!.total[node]);
  if (!(p1 >= 0 && p1 <= 1 && p2 >= 0 && p2 <= 1)) return null;
  const q1 = (p1 * n1 + 1) / (n1 + 2);
  const q2 = (p2 * n2 + 1) / (n2 + 2);
  const within = Z95 * Math.sqrt((q1 * (1 - q1)) / (n1 + 2) + (q2 * (1 - q2)) / (n2 + 2));
  return { a: p1 * n1, b: p2 * n2, change: p2 - p1, from: q2 - q1 - within, to: q2 - q1 + within };
}
