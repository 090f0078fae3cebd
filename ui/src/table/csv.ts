// SPDX-License-Identifier: Apache-2.0
// table/csv.ts - the table as a file for spreadsheets

import type { Totals } from "../flame/functions.ts";
import { type Tree, nameOf, textAt } from "../flame/tree.ts";
import { columnsOf } from "./columns.ts";

/** RFC 4180; what a spreadsheet would take for a formula begins with a quote. */
export function csvOf(tree: Tree, totals: Totals, rows: Uint32Array): string {
  const field = (s: string) => {
    const safe = /^[=+\-@\t\r]/.test(s) ? `'${s}` : s;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const columns = columnsOf(totals);
  const lines = [[...columns.map((c) => c.key), "function", "file", "binary"].join(",")];
  for (const f of rows) {
    const fns = tree.functions;
    const texts = [nameOf(fns, f), textAt(fns.files, fns.file[f]), textAt(fns.binaries, fns.binary[f])].map(field);
    lines.push([...columns.map((c) => String(c.get(f))), ...texts].join(","));
  }
  return lines.join("\r\n") + "\r\n";
}
