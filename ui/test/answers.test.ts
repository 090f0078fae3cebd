// SPDX-License-Identifier: Apache-2.0
// test/answers.test.ts - which answers are remembered, who has stopped, what an event is of

import assert from "node:assert/strict";
import { test } from "node:test";
import { around, concerns, textOf } from "../src/app/events.ts";
import { silentAt } from "../src/app/silence.ts";
import { Remembered } from "../src/base/remembered.ts";
import { random } from "./random.ts";

test("answers that were used last are remembered, and no more bytes of them than may be", () => {
  const below = random(7);
  const kept = new Remembered<number>(5, 100);
  let model: { key: string; value: number; bytes: number }[] = []; // the one that was used last is last
  for (let i = 0; i < 5000; i++) {
    const key = `q${below(12)}`;
    if (below(2) === 0) {
      const found = model.find((m) => m.key === key);
      assert.equal(kept.get(key), found?.value);
      if (found) model = [...model.filter((m) => m !== found), found];
    } else if (below(10) === 0) {
      kept.forget(key);
      model = model.filter((m) => m.key !== key);
    } else {
      const bytes = below(4) ? below(20) : below(130);
      kept.keep(key, i, bytes);
      model = model.filter((m) => m.key !== key);
      if (bytes <= 100) model.push({ key, value: i, bytes });
      while (model.length > 5 || model.reduce((n, m) => n + m.bytes, 0) > 100) model.shift();
    }
  }
  kept.clear();
  for (let i = 0; i < 12; i++) assert.equal(kept.get(`q${i}`), undefined);
});

test("who is silent for longer than usual has stopped", () => {
  const line = (job: string, t_ms: number[]) => ({ labels: { job }, t_ms, value: t_ms.map(() => 1), duration_ns: [], profiles: [] });
  const every = (ms: number, from: number, to: number) => Array.from({ length: Math.floor((to - from) / ms) }, (_, i) => from + i * ms);
  const answer = {
    step_ms: 10_000,
    unit: "count",
    series: [
      line("to the end", every(10_000, 0, 3_600_000)),
      line("each five minutes", every(300_000, 0, 3_400_000)),
      line("stopped early", every(10_000, 0, 600_000)),
      line("stopped late", every(10_000, 0, 3_500_000)),
      line("once, lately", [3_000_000]),
      line("once, long ago", [20_000]),
      line("never", []),
    ],
  };
  assert.deepEqual(silentAt(answer, 0, 3_600_000).map((s) => s.of.labels.job), ["stopped late", "stopped early", "once, long ago"]);
});

test("an event is shown where it does not contradict the selector", () => {
  const m = (name: string, op: "=" | "!=" | "=~" | "!~", value: string) => ({ name, op, value });
  const deploy = { event: "deploy", text: "1.4.2", service_name: "api", node: "" };
  assert.ok(concerns(deploy, []));
  assert.ok(concerns(deploy, [m("service_name", "=", "api"), m("node", "=", "a"), m("comm", "=", "x")]));
  assert.ok(!concerns(deploy, [m("service_name", "=", "web")]));
  assert.ok(!concerns(deploy, [m("service_name", "!=", "api")]));
  assert.ok(concerns(deploy, [m("service_name", "=~", "w.*")]));
  assert.equal(textOf(deploy), "deploy \u00b7 1.4.2 \u00b7 api");
  assert.equal(textOf({ event: "" }), "event");
});

test("before and after an event are of one length, within the range but for a minute", () => {
  const minute = 60_000;
  assert.deepEqual(around(10 * minute, 0, 60 * minute), { before: [0, 10 * minute], after: [10 * minute, 20 * minute] });
  assert.deepEqual(around(30 * minute, 0, 60 * minute), { before: [15 * minute, 30 * minute], after: [30 * minute, 45 * minute] });
  assert.deepEqual(around(60 * minute - 1, 0, 60 * minute).after, [60 * minute - 1, 61 * minute - 1]);
});
