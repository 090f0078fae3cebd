// SPDX-License-Identifier: Apache-2.0
// test/store.test.ts - which questions the state of a page asks: without a page, whose parts stand here

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const asked: string[] = [];
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
    if (options.method !== "DELETE") asked.push(url);
    return new Response(JSON.stringify({ types: [], series: [] }));
  },
};
Object.assign(globalThis, page, { window: globalThis });
const { go, series, seriesB, start } = await import("../src/app/store.ts");
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
