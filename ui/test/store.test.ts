// SPDX-License-Identifier: Apache-2.0
// test/store.test.ts - which questions the state of a page asks: without a page, whose parts stand here

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { linesOf } from "../src/chart/steps.ts";
import type { Tree } from "../src/flame/tree.ts";
import { treeOf } from "./random.ts";

const asked: string[] = [];
const nothing = (_: URL): unknown => ({ types: [], series: [] });
let answerOf = nothing;
const quiet = { addEventListener: () => undefined, hidden: false };
const page = {
  ...quiet,
  location: { search: "", pathname: "/explore", href: "http://decima/explore" },
  history: { state: null, pushState: () => undefined, replaceState: () => undefined },
  document: { ...quiet, baseURI: "http://decima/", documentElement: { dataset: {} } },
  matchMedia: () => ({ ...quiet, matches: false }),
  localStorage: { getItem: () => null, setItem: () => undefined, removeItem: () => undefined },
  sessionStorage: { getItem: () => null },
  Worker: class {
    postMessage(): void {}
  },
  fetch: async (url: string, options: RequestInit) => {
    options.signal?.throwIfAborted();
    if (options.method !== "DELETE") asked.push(url);
    return new Response(JSON.stringify(answerOf(new URL(url, "http://decima"))));
  },
};
Object.assign(globalThis, page, { window: globalThis });
const { go, linesKey, series, seriesB, start, tree } = await import("../src/app/store.ts");
const { exactQuestion } = await import("../src/app/exact.ts");
const { hatchedBecause } = await import("../src/app/menu.tsx");
const { overTime, stepOf } = await import("../src/app/overtime.ts");
start();

const linesAsked = () => asked.filter((url) => url.includes("/series?")).map((url) => new URL(url, "http://decima").searchParams);
const answered = async () => {
  while (series.value.loading || seriesB.value.loading) await new Promise((r) => setTimeout(r));
};

const q = "cpu:samples:count:cpu:nanoseconds:delta{}";
const qB = 'cpu:samples:count:cpu:nanoseconds:delta{a="b"}';

beforeEach(async () => {
  go({ q, from: "1000", to: "2000", sum: [], b: { q: "", from: "", to: "" } }, true, "status");
  await answered();
  asked.length = 0;
  answerOf = nothing;
});

test("lines are asked for by the labels that are picked, of the range", async () => {
  go({ sum: ["a b", "pod"] }, true, "explore");
  await answered();
  const [one, ...more] = linesAsked();
  assert.equal(more.length, 0);
  assert.deepEqual(["q", "from", "sum_by"].map((k) => one.get(k)), [q, new Date(1000).toISOString(), '"a b",pod']);
});

test("of a comparison both sides' lines are asked for, around both ranges; another selector of B asks for B's alone", async () => {
  go({ from: "15000", to: "19000", b: { q: "", from: "11000", to: "13000" } }, true, "compare");
  await answered();
  assert.deepEqual(new Set(linesAsked().map((p) => p.get("from"))), new Set([new Date(9000).toISOString()]));
  asked.length = 0;
  go({ b: { q: qB, from: "11000", to: "13000" } });
  await answered();
  assert.deepEqual(linesAsked().map((p) => p.get("q")), [qB]);
});

test("a comparison whose B has no time asks for nothing, and nothing fails", async () => {
  go({ b: { q: "", from: "5", to: "5" } }, true, "compare");
  await answered();
  assert.deepEqual(linesAsked(), []);
  assert.equal(series.value.error, undefined);
  assert.equal(seriesB.value.error, undefined);
});

test("where there are no lines none are asked for", async () => {
  go({}, true, "explore");
  assert.notEqual(linesKey.value, "");
  go({}, true, "open");
  assert.equal(linesKey.value, "");
  await answered();
});

/** Of whose second frame a third is in frames that are not there. */
function trimmedTree(): Tree {
  const t = treeOf([{ names: ["a", "b"], value: 3 }]);
  return { ...t, trimmed: new Map([[2, 1]]) };
}

test("what functions weigh is not asked for where several of them have one name, file and binary", () => {
  const t = trimmedTree();
  const of = (group: string) => {
    const question = `flame?q=x&${group}max_nodes=10`;
    tree.value = { loading: false, since: 0, value: { id: 1, tree: t, from: 0, to: 1, origin: 1, question } };
    return exactQuestion(t) === question;
  };
  go({}, true, "explore");
  assert.deepEqual(["", "group=file&", "group=binary&", "group=line&", "group=address&"].map(of), [true, true, true, false, false]);
  tree.value = { loading: false, since: 0 };
});

test("what a file has not is not offered to be loaded", () => {
  const t = trimmedTree();
  go({}, true, "explore");
  assert.match(hatchedBecause(t, 2), /zoom to it, or load more/);
  go({}, true, "open");
  assert.match(hatchedBecause(t, 2), /too small to be in the file$/);
  go({ inverted: true }, true, "open");
  assert.match(hatchedBecause(t, 2), /zoom to it$/);
  go({ inverted: false });
});

const functionsAsked = () => asked.filter((url) => url.includes("/functions?")).length;
const paramsOf = (from: number, to: number): [string, string][] => [["from", String(from)], ["to", String(to)]];

test("a function's line has at most 30 whole steps, however long the range is", () => {
  const day = 86_400_000;
  for (const range of [60_000, 300_000, 3_600_000, day, 7 * day, 30 * day, 31 * day, 90 * day, 20_000 * day]) assert.ok(range / stepOf(range) <= 30, `${range}: ${stepOf(range)}`);
  assert.deepEqual([300_000, 30 * day, 31 * day, 90 * day].map(stepOf), [10_000, day, 2 * day, 3 * day]);
});

test("a function's steps are no shorter than a profile: one busy core is a line at one core", async () => {
  // A profile of a minute each minute, of 10 s each 10 s, and of nobody knows how long.
  for (const [length, want] of [[60_000, 60_000], [10_000, 10_000], [0, 10_000]]) {
    const starts = Array.from({ length: 300_000 / (length || 10_000) }, (_, i) => 600_000 + i * (length || 10_000));
    const sumOf = (from: number, to: number) => starts.filter((t) => t >= from && t < to).length * (length || 10_000) * 1e6;
    answerOf = (url) => {
      const p = url.searchParams;
      if (url.pathname.endsWith("/series")) return { step_ms: 10_000, unit: "nanoseconds", series: [{ labels: {}, t_ms: starts, value: starts.map(() => 1), duration_ns: starts.map(() => length * 1e6), profiles: starts.map(() => 1) }] };
      return { unit: "nanoseconds", total: [sumOf(Number(p.get("from")), Number(p.get("to")))], filtered: [0] };
    };
    go({ q: `${q.slice(0, -1)}length="${length}"}` }, true, "function");
    asked.length = 0;
    const answer = await overTime((from, to) => [...paramsOf(from, to), ["length", length]], [600_000, 900_000], new AbortController().signal);
    const { step_ms, lines } = linesOf(answer);
    assert.equal(step_ms, want);
    assert.equal(functionsAsked(), 300_000 / want);
    assert.deepEqual(new Set(lines[0].value.map((v) => v / step_ms / 1e6)), new Set([1]));
  }
});

test("a function's steps that are over are asked for once, and those that may still get profiles each time", async () => {
  const to = Math.floor(Date.now() / 10_000) * 10_000;
  let controller = new AbortController();
  answerOf = (url) => {
    if (functionsAsked() === 20) controller.abort(); // a refresh, before the last one has been answered
    return url.pathname.endsWith("/series") ? { step_ms: 10_000, unit: "nanoseconds", series: [] } : { unit: "nanoseconds", total: [1], filtered: [0] };
  };
  await overTime(paramsOf, [to - 300_000, to], controller.signal).catch(() => undefined);
  asked.length = 0;
  controller = new AbortController();
  const { series: [line] } = await overTime(paramsOf, [to - 300_000, to], controller.signal);
  assert.equal(line.value.length, 30);
  assert.ok(functionsAsked() <= 11, String(functionsAsked()));
  asked.length = 0;
  await overTime(paramsOf, [to - 300_000, to], controller.signal);
  assert.ok(functionsAsked() >= 6 && functionsAsked() <= 8, String(functionsAsked()));
});
