// SPDX-License-Identifier: Apache-2.0
// worker/rpc.ts - the page's side of the worker

import type { Norm, Width } from "../flame/compared.ts";
import type { Totals } from "../flame/functions.ts";
import type { Matches } from "../flame/search.ts";
import type { Tree } from "../flame/tree.ts";
import type { SampleType } from "../open/profile.ts";

export interface Kept {
  id: number;
  tree: Tree;
}

/** A file's bytes, unpacked. */
export interface Unpacked {
  name: string;
  bytes: Uint8Array;
}

/** How a tree is shown: of two sides, how they are compared, and then in which order. */
export interface Arrangement {
  norm: Norm;
  wide: Width;
  loops: boolean;
  inverted: boolean;
  into: string; // of an inverted one: the path of the node below which it is made in more detail; "": of none
  byName: boolean;
}

export type Request =
  | { op: "decode"; bytes: Uint8Array; type: string }
  | { op: "open"; file: Unpacked; against: Unpacked | null; index: number } // index: of the file's sample types; -1: the usual one
  | { op: "arrange"; tree: number; how: Arrangement }
  | { op: "splice"; tree: number; node: number; bytes: Uint8Array }
  | { op: "callers"; tree: number; funcs: number[] }
  | { op: "callees"; tree: number; funcs: number[] }
  | { op: "functions"; tree: number; from: number }
  | { op: "search"; tree: number; text: string; flags: string };

export interface Answers {
  open: Kept & { types: SampleType[]; index: number };
  decode: Kept;
  arrange: Kept & { upright?: Kept }; // upright: before it was inverted, where that is another tree than the one that was arranged
  splice: Kept | null; // null: the bytes have nothing there
  callers: Kept;
  callees: Kept;
  functions: Totals;
  search: Matches;
}

interface Waiting {
  resolve: (answer: never) => void;
  reject: (error: Error) => void;
  limit?: number; // ms from when the worker begins
  timer?: ReturnType<typeof setTimeout>;
}

/** With each request: of the trees up to number `seen` the page uses those in `held`, and no others any more. */
export interface Uses {
  held: number[];
  seen: number;
}

/** What the worker says of a call: that it begins with it, or how it ended. */
export type Said = { call: number; begun?: true; answer?: unknown; error?: string };

/** Trusted Types: the one address that may become code. */
interface Policy {
  createScriptURL(url: string): string;
}
type Factory = { createPolicy(name: string, rules: Policy): Policy };
const factory = (window as unknown as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy("decima-worker", { createScriptURL: (url) => url });

export class TimedOut extends Error {}
/** The worker was ended for another call. Whoever made that asks for the tree again, and what hangs on a tree is asked again with it. */
export class EndedToo extends Error {}

class Rpc {
  private worker: Worker | null = null;
  private calls = new Map<number, Waiting>();
  private last = 0;
  private seen = 0;
  private readonly url: string;
  /** The numbers of the trees that the page has a use for. */
  held: () => number[] = () => [];

  constructor(url: string) {
    this.url = url;
  }

  private start(): Worker {
    const worker = new Worker((policy ? policy.createScriptURL(this.url) : this.url) as string);
    worker.onmessage = (event: MessageEvent<Said>) => {
      const { call, begun, answer, error } = event.data;
      const waiting = this.calls.get(call);
      if (!waiting) return;
      if (begun) {
        if (waiting.limit) waiting.timer = setTimeout(() => this.endFor(waiting), waiting.limit);
        return;
      }
      this.calls.delete(call);
      clearTimeout(waiting.timer);
      if (error !== undefined) waiting.reject(new Error(error));
      else {
        waiting.resolve(answer as never);
        this.noteSeen(answer);
      }
    };
    // It could not be fetched, or has no memory left. The next question starts another one.
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.worker) this.end(new Error(`the page's worker has ended${event.message ? `: ${event.message}` : ""}`));
    };
    return worker;
  }

  /** Once whoever waits for the answer has put it where `held` finds it. */
  private noteSeen(answer: unknown): void {
    const { id = 0, upright } = (answer ?? {}) as { id?: number; upright?: Kept };
    setTimeout(() => (this.seen = Math.max(this.seen, id, upright?.id ?? 0)));
  }

  /** limit: ms of work after which the worker is ended, with all that it keeps. */
  ask<K extends keyof Answers>(request: Extract<Request, { op: K }>, limit?: number): Promise<Answers[K]> {
    this.worker ??= this.start();
    const call = ++this.last;
    return new Promise((resolve, reject) => {
      this.calls.set(call, { resolve: resolve as (a: never) => void, reject, limit });
      this.worker!.postMessage({ call, request, uses: { held: this.held(), seen: this.seen } satisfies Uses });
    });
  }

  private endFor(slow: Waiting): void {
    slow.reject(new TimedOut("this takes too long"));
    this.end(new EndedToo("the page's worker was ended for something else"));
  }

  private end(why: Error): void {
    this.worker?.terminate();
    this.worker = null;
    for (const w of this.calls.values()) {
      clearTimeout(w.timer);
      w.reject(why);
    }
    this.calls.clear();
  }
}

/** Trees, and what is made of them. */
declare const WORKER: string; // its name, put in by build.mjs
export const trees = new Rpc(WORKER);
