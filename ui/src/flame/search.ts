// SPDX-License-Identifier: Apache-2.0
// flame/search.ts - what a search matches, and how much of the whole that is

import { type Tree, nameOf } from "./tree.ts";

export interface Matches {
  functions: Uint8Array; // 1 for each that matches
  nodes: number; // how many nodes
  weight: number; // of all stacks through one: nested ones once
  weightB: number;
}

export function search(t: Tree, expression: RegExp): Matches {
  const functions = new Uint8Array(t.functions.n);
  for (let f = 0; f < functions.length; f++) functions[f] = expression.test(nameOf(t.functions, f)) ? 1 : 0;
  return { functions, ...weigh(t, functions) };
}

/** Stacks through a marked function: of nodes below another one nothing is added. */
export function weigh(t: Tree, marked: Uint8Array): { nodes: number; weight: number; weightB: number } {
  let nodes = 0;
  let weight = 0;
  let weightB = 0;
  for (let i = 1, free = 0; i < t.n; i++) {
    if (!marked[t.func[i]]) continue;
    nodes++;
    if (i < free) continue;
    weight += t.total[i];
    weightB += t.b ? t.b.total[i] : 0;
    free = t.end[i];
  }
  return { nodes, weight, weightB };
}
