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
  const columns = columnsOf(tree, totals);
  const lines = [[...columns.map((c) => c.key), "function", "file", "binary"].join(",")];
  for (const f of rows) {
    const fns = tree.functions;
    const texts = [nameOf(fns, f), textAt(fns.files, fns.file[f]), textAt(fns.binaries, fns.binary[f])].map(field);
    lines.push([...columns.map((c) => String(c.get(f))), ...texts].join(","));
  }
  return lines.join("\r\n") + "\r\n";
}

/** Of a name: what would end a field or a row is a space. */
const plain = (text: string) => text.replace(/[\t\r\n]/g, " ");

/** As it stands on the screen, to be pasted. */
export function tsvOf(tree: Tree, totals: Totals, rows: ArrayLike<number>, extra: readonly string[]): string {
  const fns = tree.functions;
  const columns = columnsOf(tree, totals, extra);
  const withFile = extra.includes("file");
  const lines = [[...columns.map((c) => c.head), "Function", ...(withFile ? ["File"] : []), "Binary"].join("\t")];
  for (const f of Array.from(rows)) {
    const texts = [nameOf(fns, f), ...(withFile ? [textAt(fns.files, fns.file[f])] : []), textAt(fns.binaries, fns.binary[f])].map(plain);
    lines.push([...columns.map((c) => (c.text ? c.text(f) : String(c.get(f)))), ...texts].join("\t"));
  }
  return `${lines.join("\n")}\n`;
}
