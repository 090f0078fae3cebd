// SPDX-License-Identifier: Apache-2.0
// flame/functions.ts - the table of functions: self, and total with recursion counted once

import type { Tree } from "./tree.ts";

/** Columns by function id. */
export interface Totals {
  self: Float64Array;
  total: Float64Array;
  selfB?: Float64Array;
  totalB?: Float64Array;
}

function totalsOf(t: Tree, from: number, self: Float64Array, total: Float64Array): { self: Float64Array; total: Float64Array } {
  const selfOf = new Float64Array(t.functions.n);
  const totalOf = new Float64Array(t.functions.n);
  /* Until which node each function is on the path: below itself it adds nothing to its total. */
  const until = new Uint32Array(t.functions.n);
  for (let i = Math.max(from, 1); i < t.end[from]; i++) {
    const f = t.func[i];
    selfOf[f] += self[i];
    if (i < until[f]) continue;
    totalOf[f] += total[i];
    until[f] = t.end[i];
  }
  return { self: selfOf, total: totalOf };
}

/** Of the stacks below a node; 0: of all. */
export function functionTotals(t: Tree, from = 0): Totals {
  const a = totalsOf(t, from, t.self, t.total);
  if (!t.b) return a;
  const b = totalsOf(t, from, t.b.self, t.b.total);
  return { ...a, selfB: b.self, totalB: b.total };
}
