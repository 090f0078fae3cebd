// SPDX-License-Identifier: Apache-2.0
// flame/compared.ts - a diff held side by side in another way: by its shares or as it is, and as wide as one of its sides

import { type Tree, diffWidths, place } from "./tree.ts";

/** "": as the server found it fit: rates of what adds up, means of what does not. */
export const norms = ["", "share", "total"] as const;
export type Norm = (typeof norms)[number];
/** "": of both sides the larger. */
export const widths = ["", "a", "b"] as const;
export type Width = (typeof widths)[number];

function factorOf(t: Tree, norm: Norm): number {
  const b = t.b!;
  if (norm === "total") return 1;
  // Of an empty side there are no shares: it is as it is.
  if (norm === "share") return b.total[0] && t.total[0] ? t.total[0] / b.total[0] : 1;
  return b.factor;
}

/** The same tree where nothing else is asked for. */
export function compared(t: Tree, norm: Norm, wide: Width): Tree {
  if (!t.b || (norm === "" && wide === "")) return t;
  const factor = factorOf(t, norm);
  const none = new Float64Array(t.n);
  const width = diffWidths(t.parent, wide === "b" ? none : t.total, wide === "a" ? none : t.b.total, factor);
  const { compare } = t.meta;
  const meta = compare && norm ? { ...t.meta, compare: { ...compare, by: norm } } : t.meta;
  return { ...t, meta, width, x: place(t.n, t.parent, width), b: { ...t.b, factor } };
}
