// SPDX-License-Identifier: Apache-2.0
// flame/exact.ts - of a tree without its smallest frames, what its functions weigh with them: as the server adds them up

import type { Totals } from "./functions.ts";
import { type Tree, nameOf, textAt } from "./tree.ts";

/** A row of /api/v1/functions. */
export interface ExactRow {
  name: string;
  file: string;
  binary: string;
  self: number[];
  total: number[];
}

export interface Exact {
  totals: Totals;
  missing: number; // functions of which no frame is there, and so no row
  missingSelf: number; // what these have themselves
}

/** What the tree has of each function is at least what is left where the answer has no row for it. */
export function exactTotals(t: Tree, totals: Totals, rows: ExactRow[]): Exact {
  const f = t.functions;
  const files = Array.from({ length: f.files.n }, (_, i) => textAt(f.files, i));
  const binaries = Array.from({ length: f.binaries.n }, (_, i) => textAt(f.binaries, i));
  const keyOf = (name: string, file: string, binary: string) => `${name}\0${file}\0${binary}`;
  const ids = new Map<string, number>();
  for (let i = 0; i < f.n; i++) ids.set(keyOf(nameOf(f, i), files[f.file[i]], binaries[f.binary[i]]), i);
  const exact = { self: totals.self.slice(), total: totals.total.slice() };
  let missing = 0;
  let missingSelf = 0;
  for (const r of rows) {
    const id = ids.get(keyOf(r.name, r.file, r.binary));
    if (id === undefined) {
      missing++;
      missingSelf += r.self[0];
      continue;
    }
    exact.self[id] = r.self[0];
    exact.total[id] = r.total[0];
  }
  return { totals: exact, missing, missingSelf };
}
