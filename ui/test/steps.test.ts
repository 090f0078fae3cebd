// SPDX-License-Identifier: Apache-2.0
// test/steps.test.ts - lines over time, whatever the time is that a profile collects

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeriesAnswer } from "../src/api/client.ts";
import { align, alone, keyOf, linesOf, nameOfSeries, totalOf } from "../src/chart/steps.ts";

/** As the server answers: of hosts that use one core each, a profile each `every` ms of `length` ms, by the steps that they begin in. */
function answerOf(step_ms: number, every: number, length: number, hosts = 1, until = 3_600_000): SeriesAnswer {
  const bins = new Map<number, { value: number; duration: number; n: number }>();
  for (let host = 0; host < hosts; host++)
    for (let at = 3000 + (host * every) / hosts; at < until; at += every) {
      const t = Math.floor(at / step_ms) * step_ms;
      const bin = bins.get(t) ?? { value: 0, duration: 0, n: 0 };
      bins.set(t, { value: bin.value + length * 1e6, duration: bin.duration + length * 1e6, n: bin.n + 1 });
    }
  const sorted = [...bins].sort((a, b) => a[0] - b[0]);
  const series = [{ labels: {}, t_ms: sorted.map(([t]) => t), value: sorted.map(([, b]) => b.value), duration_ns: sorted.map(([, b]) => b.duration), profiles: sorted.map(([, b]) => b.n) }];
  return { step_ms, unit: "nanoseconds", series };
}

test("one busy core is a line at one core, however long a profile collects", () => {
  for (const step of [10_000, 30_000, 60_000])
    for (const every of [1000, 5000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 90_000, 600_000])
      for (const hosts of [1, 3]) {
        const answer = answerOf(step, every, every, hosts);
        const { step_ms, lines } = linesOf(answer);
        const { axis, columns } = align(lines, step_ms, step_ms / 1000);
        assert.equal(totalOf(lines[0]), totalOf(answer.series[0]));
        assert.equal(axis[1] - axis[0], step_ms / 1000);
        assert.ok(step_ms >= 0.95 * every && step_ms % step === 0, `${step} ${every}: ${step_ms}`);
        // The first and the last step may be cut by the range.
        for (const v of columns[0].slice(1, -1)) assert.ok(v !== null && Math.abs(v / 1e9 - hosts) < 0.06 * hosts, `${step} ${every} ${hosts}: ${v}`);
      }
});

test("between profiles that are shorter than the time from one to the next there are gaps, and each is seen", () => {
  const { step_ms, lines } = linesOf(answerOf(10_000, 60_000, 10_000));
  const { columns } = align(lines, step_ms, 10);
  assert.equal(step_ms, 10_000);
  assert.deepEqual(alone(columns[0]).map((i) => columns[0][i]), lines[0].t_ms.map(() => 1e9));
});

test("what stands alone is what has a gap on both sides", () => {
  assert.deepEqual(alone([1, null, 2, 3, null, null, 0, null, 4]), [0, 6, 8]);
  assert.deepEqual(alone([]), []);
  assert.deepEqual(alone([5]), [0]);
});

test("profiles that say nothing of their time stay as they came", () => {
  const answer = answerOf(10_000, 60_000, 0);
  assert.deepEqual(linesOf(answer), { step_ms: 10_000, lines: answer.series });
  assert.deepEqual(align([], 10_000, 1), { axis: [], columns: [] });
});

test("lines whose names read alike are two all the same", () => {
  const all: Record<string, string>[] = [{ a: "1 b=2" }, { a: "1", b: "2" }, { a: "1", b: "" }, { a: "1" }, { "a=1 b": "2" }, { a: "", b: "\u2013" }, { a: "\u2013", b: "" }, {}];
  assert.equal(new Set(all.map((labels) => keyOf({ labels }))).size, all.length);
  assert.equal(keyOf({ labels: { a: "1 b=2" } }), keyOf({ labels: { a: "1 b=2" } }));
});

test("a line's value that looks like another label, or like none, stands in quotes", () => {
  assert.equal(nameOfSeries({ labels: { a: "1", b: "2" } }), "a=1 b=2");
  assert.equal(nameOfSeries({ labels: { a: "1 b=2" } }), 'a="1 b=2"');
  assert.equal(nameOfSeries({ labels: { a: '"1 b=2"' } }), 'a="\\"1 b=2\\""');
  assert.equal(nameOfSeries({ labels: { a: "", b: "\u2013" } }), 'a=\u2013 b="\u2013"');
  assert.equal(nameOfSeries({ labels: { a: "Web Content" } }), "a=Web Content");
  assert.equal(nameOfSeries({ labels: {} }), "all");
});
