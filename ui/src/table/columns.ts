// SPDX-License-Identifier: Apache-2.0
// table/columns.ts - what a function's row has, and the order of rows

import type { Totals } from "../flame/functions.ts";
import { type Tree, nameOf } from "../flame/tree.ts";

export type Column = { key: string; head: string; get: (f: number) => number };

export function columnsOf(t: Totals): Column[] {
  const b = t.selfB && t.totalB;
  if (!b) return [
    { key: "self", head: "Self", get: (f) => t.self[f] },
    { key: "total", head: "Total", get: (f) => t.total[f] },
  ];
  return [
    { key: "self", head: "Self A", get: (f) => t.self[f] },
    { key: "selfB", head: "Self B", get: (f) => t.selfB![f] },
    { key: "total", head: "Total A", get: (f) => t.total[f] },
    { key: "totalB", head: "Total B", get: (f) => t.totalB![f] },
    { key: "delta", head: "Change of self", get: (f) => t.selfB![f] - t.self[f] },
  ];
}

/** Function ids in the order of the table; equal ones by name. */
export function sorted(tree: Tree, totals: Totals, sort: string, marked: Uint8Array | null): Uint32Array {
  const down = sort.startsWith("-");
  const key = down ? sort.slice(1) : sort;
  const ids = new Uint32Array(tree.functions.n);
  let n = 0;
  for (let f = 0; f < ids.length; f++) if (!marked || marked[f]) if (totals.total[f] !== 0 || totals.totalB?.[f]) ids[n++] = f;
  const kept = ids.subarray(0, n);
  const sign = down ? -1 : 1;
  if (key === "name") {
    const names = new Map<number, string>();
    kept.forEach((f) => names.set(f, nameOf(tree.functions, f)));
    return kept.sort((p, q) => sign * names.get(p)!.localeCompare(names.get(q)!) || p - q);
  }
  const column = columnsOf(totals).find((c) => c.key === key) ?? columnsOf(totals)[0];
  const value = key === "delta" ? (f: number) => Math.abs(column.get(f)) : column.get;
  return kept.sort((p, q) => sign * (value(p) - value(q)) || totals.total[q] - totals.total[p] || p - q);
}
