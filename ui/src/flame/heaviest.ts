// SPDX-License-Identifier: Apache-2.0
// flame/heaviest.ts - the functions that somebody looks for first: with the most weight of their own, or the most changed

import { type Tree, weightsOf } from "./tree.ts";

export interface Heavy {
  func: number;
  weight: number; // its own; of a diff what B has more than A, as rates where they are compared
}

/** What weights are told as shares of: of a diff A's, so that they add up with it; B's where A has nothing. */
export function wholeOf(t: Tree): number {
  return t.total[0] || (t.b ? t.b.total[0] * t.b.factor : 0);
}

/** Of each function what it has itself; of a diff the change of it. */
function ownOf(t: Tree): Float64Array {
  if (!t.b) return t.weights ?? weightsOf(t);
  const own = new Float64Array(t.functions.n);
  for (let i = 1; i < t.n; i++) own[t.func[i]] += t.b.self[i] * t.b.factor - t.self[i];
  return own;
}

/** The first `most`, largest first, those alike by number; those that weigh nothing are none. */
export function heaviest(t: Tree, most: number): Heavy[] {
  const own = ownOf(t);
  const out: Heavy[] = [];
  for (let func = 0; func < own.length; func++) {
    const weight = own[func];
    if (weight === 0 || (out.length === most && Math.abs(weight) <= Math.abs(out[most - 1].weight))) continue;
    if (out.length === most) out.pop();
    let at = out.length;
    while (at > 0 && Math.abs(out[at - 1].weight) < Math.abs(weight)) at--;
    out.splice(at, 0, { func, weight });
  }
  return out;
}

/** The widest frame of a function, leaves first of those that have something themselves; 0: it has none. */
export function widestOf(t: Tree, func: number): number {
  let widest = 0;
  for (let i = 1; i < t.n; i = t.leavesFirst ? t.end[i] : i + 1) if (t.func[i] === func && (widest === 0 || t.width[i] > t.width[widest])) widest = i;
  return widest;
}
