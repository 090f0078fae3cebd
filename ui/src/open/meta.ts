// SPDX-License-Identifier: Apache-2.0
// open/meta.ts - whether what a flame tree says of itself is what the page reads: of a file, which may come from anywhere

import type { IsMeta } from "../flame/tree.ts";

type Check = (v: unknown) => boolean;

const text: Check = (v) => typeof v === "string";
const number: Check = Number.isFinite;
/** As far as dates go. */
const moment: Check = (v) => number(v) && Math.abs(v as number) <= 8.64e15;
const list = (is: Check, least = 0): Check => (v) => Array.isArray(v) && v.length >= least && v.every(is);
const none = (is: Check): Check => (v) => v == null || is(v);
const fields = (of: Record<string, Check>): Check => (v) => v === Object(v) && !Array.isArray(v) && Object.keys(of).every((k) => of[k]((v as Record<string, unknown>)[k]));

const side = fields({ seconds: number, samples: none(number) });

export const isMeta = fields({
  unit: none(text),
  total: none(list(number)),
  filtered: none(list(number)),
  trimmed_nodes: none(number),
  period: none(number),
  left_out: none(list(fields({ what: text, why: text, from_ms: moment, to_ms: moment }))),
  left_out_more: none(number),
  compare: none(fields({ by: text, level: number, untested: none(text), sides: list(side, 2) })),
}) as IsMeta;
