// SPDX-License-Identifier: Apache-2.0
// test/rank.test.ts - letters that are typed find what is meant

import assert from "node:assert/strict";
import { test } from "node:test";
import { best, fitOf } from "../src/app/rank.ts";
import { random } from "./random.ts";

const find = (typed: string, all: string[]) => best(typed, all, (s) => s, 10);

test("what is typed in one piece comes first, at the beginning of a word before within one, and the shorter one", () => {
  assert.deepEqual(find("inv", ["a long inverted thing", "reinvent", "Invert", "i n v"]), ["Invert", "a long inverted thing", "reinvent", "i n v"]);
  assert.deepEqual(find("grline", ["Group by file", "Group by line", "line"]), ["Group by line"]);
  assert.deepEqual(find("GROUP BY", ["group by x"]), ["group by x"]);
  assert.deepEqual(find("", ["b", "a"]), ["b", "a"]);
});

test("of what comes in one piece some come first, and only of that", () => {
  const all = ["Go to Status", "beta", "Run beta"];
  assert.deepEqual(best("beta", ["Begin at a", ...all], (s) => s, 10, (s) => s.startsWith("Run") || s.startsWith("Begin")), ["Run beta", "beta", "Begin at a"]);
});

test("letters fit where they come in this order, and nowhere else", () => {
  const r = random(7);
  const word = (n: number) => Array.from({ length: n }, () => "abc"[r(3)]).join("");
  for (let i = 0; i < 2000; i++) {
    const typed = word(1 + r(4));
    const text = word(1 + r(8));
    const isIn = new RegExp([...typed].join(".*")).test(text);
    assert.equal(fitOf(typed, text) >= 0, isIn, `${typed} in ${text}`);
  }
  assert.equal(fitOf("(", "no bracket"), -1);
});
