// SPDX-License-Identifier: Apache-2.0
// flame/quality.ts - what a tree lacks, by why: names, and roots

import { type Lacks, type Tree, nameOf, textAt } from "./tree.ts";

const UNNAMED = 16;
const CUT = /^\[(?:truncated: (.*)|overflow)\]$/s;
const OVERFLOW = "more different stacks than a window holds";
/** Between the kernel's part of a stack and the program's, which is whole. */
const OF_KERNEL = "the kernel's unwinder ends here";

/** Something that an answer lacks: its weight, why, and what most of it is in. */
export interface Lack {
  why: string;
  weight: number;
  most: string;
}

function add(to: Map<string, Map<string, number>>, why: string, what: string, weight: number): void {
  const parts = to.get(why) ?? new Map<string, number>();
  parts.set(what, (parts.get(what) ?? 0) + weight);
  to.set(why, parts);
}

function ranked(of: Map<string, Map<string, number>>): Lack[] {
  const sum = (parts: Map<string, number>) => [...parts.values()].reduce((a, b) => a + b, 0);
  const heaviest = (parts: Map<string, number>) => [...parts].reduce((a, b) => (b[1] > a[1] ? b : a))[0];
  return [...of].map(([why, parts]) => ({ why, weight: sum(parts), most: heaviest(parts) })).sort((a, b) => b.weight - a.weight);
}

/** Self weight of frames without a name, by the server's sentence. */
export function unnamedOf(t: Tree): Lack[] {
  const fns = t.functions;
  const self = new Float64Array(fns.n);
  for (let i = 1; i < t.n; i++) self[t.func[i]] += t.self[i];
  const out = new Map<string, Map<string, number>>();
  for (let f = 0; f < fns.n; f++)
    if (fns.flags[f] & UNNAMED && self[f]) add(out, textAt(fns.reasons, fns.reason[f]) || "nobody said why", textAt(fns.binaries, fns.binary[f]) || nameOf(fns, f), self[f]);
  return ranked(out);
}

/** Why each function's name says that a stack is cut; "" for all others. */
function cutsOf(fns: Tree["functions"]): string[] {
  const { offsets, bytes } = fns.names;
  return Array.from({ length: fns.n }, (_, f) => {
    if (bytes[offsets[f]] !== 0x5b) return "";
    const cut = CUT.exec(nameOf(fns, f));
    return !cut || cut[1] === OF_KERNEL ? "" : (cut[1] ?? OVERFLOW);
  });
}

/** Weight of stacks that do not reach their root, by why; with what follows the mark most. */
export function truncatedOf(t: Tree): Lack[] {
  const cuts = cutsOf(t.functions);
  const out = new Map<string, Map<string, number>>();
  for (let i = 1; i < t.n; i++) {
    const why = cuts[t.func[i]];
    if (!why) continue;
    let left = t.total[i];
    for (let c = i + 1; c < t.end[i]; c = t.end[c]) {
      add(out, why, nameOf(t.functions, t.func[c]), t.total[c]);
      left -= t.total[c];
    }
    if (left) add(out, why, "", left);
  }
  return ranked(out);
}

export function lacksOf(t: Tree): Lacks {
  return { unnamed: unnamedOf(t), truncated: truncatedOf(t) };
}
