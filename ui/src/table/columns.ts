// SPDX-License-Identifier: Apache-2.0
// table/columns.ts - what a function's row has, and the order of rows

import * as format from "../app/format.ts";
import type { Totals } from "../flame/functions.ts";
import { baseName } from "../flame/color.ts";
import { visible } from "../flame/names.ts";
import { samplesOf } from "../flame/samples.ts";
import { tester } from "../flame/significance.ts";
import { type Tree, nameOf, textAt } from "../flame/tree.ts";

export interface Column {
  key: string;
  head: string;
  get: (f: number) => number;
  text?: (f: number) => string; // else its value in the answer's unit, and its share
}

/** Those that are shown when somebody wants them; `file` is a text. */
export const extraColumns = ["change", "samples", "file"] as const;
export type Extra = (typeof extraColumns)[number];
export const extraNames: Record<Extra, string> = { change: "Change, and whether it may be chance", samples: "Samples of their own", file: "File" };

/** Those that this answer can have. */
export function extrasOf(tree: Tree): Extra[] {
  return extraColumns.filter((c) => (c === "change" ? tree.b : c === "samples" ? !tree.b && samplePeriod(tree) > 0 : true));
}

/** 0: its values are no samples of time. */
function samplePeriod(tree: Tree): number {
  const { type, period } = tree.meta;
  return samplesOf(type ?? "", 0, period)?.hz ? period! : 0;
}

/** B's less A's, as they are compared. */
function deltaOf(tree: Tree, t: Totals): (f: number) => number {
  const factor = tree.b?.factor ?? 1;
  return (f) => t.selfB![f] * factor - t.self[f];
}

function changeColumn(tree: Tree, t: Totals): Column {
  const delta = deltaOf(tree, t);
  const test = tester(tree);
  const get = (f: number) => (t.self[f] === 0 ? (t.selfB![f] === 0 ? 0 : Infinity) : (delta(f) / Math.abs(t.self[f])) * 100);
  const text = (f: number) => {
    const change = get(f);
    const words = change === 0 ? "none" : change === Infinity ? "new" : t.selfB![f] === 0 ? "gone" : `${change > 0 ? "+" : ""}${format.digits(change)} %`;
    return change !== 0 && test && !test(t.self[f], t.selfB![f]) ? `${words}, chance?` : words;
  };
  return { key: "change", head: "Change", get, text };
}

export function columnsOf(tree: Tree, t: Totals, extra: readonly string[] = []): Column[] {
  if (!t.selfB || !t.totalB) {
    const period = samplePeriod(tree);
    const samples = (f: number) => Math.round(t.self[f] / period);
    return [
      { key: "self", head: "Self", get: (f) => t.self[f] },
      { key: "total", head: "Total", get: (f) => t.total[f] },
      ...(extra.includes("samples") && period ? [{ key: "samples", head: "Samples", get: samples, text: (f: number) => format.count(samples(f)) }] : []),
    ];
  }
  return [
    { key: "self", head: "Self A", get: (f) => t.self[f] },
    { key: "selfB", head: "Self B", get: (f) => t.selfB![f] },
    { key: "total", head: "Total A", get: (f) => t.total[f] },
    { key: "totalB", head: "Total B", get: (f) => t.totalB![f] },
    { key: "delta", head: "Change of self", get: deltaOf(tree, t) },
    ...(extra.includes("change") ? [changeColumn(tree, t)] : []),
  ];
}

export function fileOf(t: Tree, f: number): string {
  const file = visible(textAt(t.functions.files, t.functions.file[f]));
  return file && t.functions.line[f] ? `${file}:${t.functions.line[f]}` : file;
}

export const binaryOf = (t: Tree, f: number): string => visible(baseName(textAt(t.functions.binaries, t.functions.binary[f])));

/** Those that are no numbers. */
const textColumns: Record<string, (t: Tree, f: number) => string> = { name: (t, f) => nameOf(t.functions, f), file: fileOf, binary: binaryOf };

/** Function ids in the order of the table; equal ones the heaviest first. */
export function sorted(tree: Tree, totals: Totals, sort: string, marked: Uint8Array | null): Uint32Array {
  const down = sort.startsWith("-");
  const key = down ? sort.slice(1) : sort;
  const ids = new Uint32Array(tree.functions.n);
  let n = 0;
  for (let f = 0; f < ids.length; f++) if (!marked || marked[f]) if (totals.total[f] !== 0 || totals.totalB?.[f]) ids[n++] = f;
  const kept = ids.subarray(0, n);
  const sign = down ? -1 : 1;
  const textOf = textColumns[key];
  if (textOf) {
    const texts = new Map<number, string>();
    kept.forEach((f) => texts.set(f, textOf(tree, f)));
    return kept.sort((p, q) => sign * texts.get(p)!.localeCompare(texts.get(q)!, undefined, { numeric: key === "file" }) || totals.total[q] - totals.total[p] || p - q);
  }
  const columns = columnsOf(tree, totals, extraColumns);
  const column = columns.find((c) => c.key === key) ?? columns[0];
  const value = key === "delta" ? (f: number) => Math.abs(column.get(f)) : column.get;
  const compare = (p: number, q: number) => (value(p) < value(q) ? -1 : value(p) > value(q) ? 1 : 0);
  return kept.sort((p, q) => sign * compare(p, q) || totals.total[q] - totals.total[p] || p - q);
}
