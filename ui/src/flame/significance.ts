// SPDX-License-Identifier: Apache-2.0
// flame/significance.ts - which nodes of a diff changed more than chance explains

import type { Tree } from "./tree.ts";

/** Tells of two weights, A's and B's, whether more than chance made them differ; null where nothing is tested. */
export function tester(t: Tree): ((a: number, b: number) => boolean) | null {
  const compare = t.meta.compare;
  const n1 = compare?.sides[0].samples;
  const n2 = compare?.sides[1].samples;
  if (!t.b || !compare || compare.untested || !n1 || !n2) return null;
  const { level } = compare;
  const allA = (t.meta.total?.[0] ?? t.total[0]) + (t.meta.filtered?.[0] ?? 0);
  const allB = (t.meta.total?.[1] ?? t.b.total[0]) + (t.meta.filtered?.[1] ?? 0);
  return (a, b) => {
    const p1 = allA ? a / allA : 0;
    const p2 = allB ? b / allB : 0;
    const p = (p1 * n1 + p2 * n2) / (n1 + n2);
    const z = p > 0 && p < 1 ? (p2 - p1) / Math.sqrt(p * (1 - p) * (1 / n1 + 1 / n2)) : 0;
    return Math.abs(z) >= level && Math.min(n1, n2) * Math.min(p, 1 - p) >= 5;
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

/** How many samples of each side have a node, and by how much its share of the samples changed, at 95 % confidence. */
export interface Sampled {
  a: number;
  b: number;
  change: number; // of shares: B's less A's
  within: number; // on either side of it
}

const Z95 = 1.959964;

/** null: no samples are known, or more of a node than there are. Wald's interval of two proportions. */
export function sampled(t: Tree, node: number): Sampled | null {
  const n1 = t.meta.compare?.sides[0].samples;
  const n2 = t.meta.compare?.sides[1].samples;
  if (!t.b || !n1 || !n2) return null;
  const all1 = (t.meta.total?.[0] ?? t.total[0]) + (t.meta.filtered?.[0] ?? 0);
  const all2 = (t.meta.total?.[1] ?? t.b.total[0]) + (t.meta.filtered?.[1] ?? 0);
  const p1 = all1 ? t.total[node] / all1 : 0;
  const p2 = all2 ? t.b.total[node] / all2 : 0;
  if (!(p1 >= 0 && p1 <= 1 && p2 >= 0 && p2 <= 1)) return null;
  return { a: p1 * n1, b: p2 * n2, change: p2 - p1, within: Z95 * Math.sqrt((p1 * (1 - p1)) / n1 + (p2 * (1 - p2)) / n2) };
}
