// SPDX-License-Identifier: Apache-2.0
// worker/worker.ts - the work on trees that the page must not wait for
//
// Trees stay here under a number, as long as the page shows them; it has a copy to draw from. A question that is not answered any more (a regular
// expression that does not end) is ended with its worker: the page starts another one and sends the bytes again.

import { compared } from "../flame/compared.ts";
import { callees, callers, invert } from "../flame/derive.ts";
import { functionTotals } from "../flame/functions.ts";
import { byName } from "../flame/order.ts";
import { lacksOf } from "../flame/quality.ts";
import { withoutRecursion } from "../flame/recursion.ts";
import { search } from "../flame/search.ts";
import { significance } from "../flame/significance.ts";
import { splice } from "../flame/splice.ts";
import { type Tree, decodeTree, weightsOf } from "../flame/tree.ts";
import type { treeOfFile } from "../open/profile.ts";
import type { Answers, Request, Said, Uses } from "./rpc.ts";

/** Of the build: the file that files.ts is in. */
declare const FILES: string;
declare function importScripts(url: string): void;

/** Most people open no file: what reads them comes with the first one. */
function reader(): typeof treeOfFile {
  const all = globalThis as { treeOfFile?: typeof treeOfFile };
  if (!all.treeOfFile) importScripts(FILES);
  return all.treeOfFile!;
}

const trees = new Map<number, Tree>();
/** Another worker, started when this one has ended, does not give its numbers again. */
let last = Math.floor(performance.timeOrigin);

/** To be drawn, and nothing else. */
function drawn(made: Tree): { id: number; tree: Tree } {
  return { id: ++last, tree: { ...made, weights: made.weights ?? weightsOf(made), significant: significance(made) ?? undefined } };
}

/** Until the page has no use for it. */
function keep(made: Tree): { id: number; tree: Tree } {
  const kept = drawn(made);
  trees.set(kept.id, kept.tree);
  return kept;
}

function forget({ held, seen }: Uses): void {
  for (const id of trees.keys()) if (id <= seen && !held.includes(id)) trees.delete(id);
}

function ofType(tree: Tree, type: string): Tree {
  return { ...tree, meta: { ...tree.meta, type } };
}

/** One that the page shows as an answer, whose quality it tells. */
function keepWhole(tree: Tree): { id: number; tree: Tree } {
  return keep({ ...tree, lacks: lacksOf(tree) });
}

function treeOf(id: number): Tree {
  const tree = trees.get(id);
  if (!tree) throw new Error("this tree is not here any more");
  return tree;
}

type Handlers = { [K in keyof Answers]: (r: Extract<Request, { op: K }>) => Answers[K] };

const handlers: Handlers = {
  decode: (r) => keepWhole(ofType(decodeTree(r.bytes), r.type)),
  open: (r) => {
    const { tree, types, index } = reader()(r.file, r.against, r.index);
    const { type, unit } = types[index];
    return { ...keepWhole(ofType(tree, `:${type}:${unit}`)), types, index };
  },
  arrange: (r) => {
    const { norm, wide, loops, inverted, into, byName: isByName } = r.how;
    const whole = treeOf(r.tree);
    const held = compared(whole, norm, wide);
    const upright = loops ? withoutRecursion(held) : held;
    const t = inverted ? invert(upright, into) : upright;
    return { ...keep(isByName ? byName(t) : t), upright: inverted && upright !== whole ? keep(upright) : undefined };
  },
  splice: (r) => {
    const whole = splice(treeOf(r.tree), r.node, decodeTree(r.bytes));
    return whole && keepWhole(whole);
  },
  callers: (r) => drawn(callers(treeOf(r.tree), r.funcs)),
  callees: (r) => drawn(callees(treeOf(r.tree), r.funcs)),
  functions: (r) => functionTotals(treeOf(r.tree), r.from),
  search: (r) => search(treeOf(r.tree), new RegExp(r.text, r.flags)),
};

/** A copy whose numbers can be moved to the page, which then has nothing to do with them when they come. */
function copied(value: unknown, moved: Transferable[]): unknown {
  if (ArrayBuffer.isView(value)) {
    const own = (value as Uint8Array).slice();
    moved.push(own.buffer);
    return own;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Map) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, copied(v, moved)]));
}

self.onmessage = (event: MessageEvent<{ call: number; request: Request; uses: Uses }>) => {
  const { call, request, uses } = event.data;
  forget(uses);
  self.postMessage({ call, begun: true } satisfies Said);
  try {
    const answer = (handlers[request.op] as (r: Request) => unknown)(request);
    const moved: Transferable[] = [];
    self.postMessage({ call, answer: copied(answer, moved) }, { transfer: moved });
  } catch (e) {
    self.postMessage({ call, error: e instanceof Error ? e.message : String(e) });
  }
};
