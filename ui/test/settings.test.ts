// SPDX-License-Identifier: Apache-2.0
// test/settings.test.ts - files of settings: what is written is read, and what is wrong is told

import assert from "node:assert/strict";
import { test } from "node:test";
import { changePalettes, fills } from "../src/flame/color.ts";
import { inkFor } from "../src/flame/look.ts";
import { choices, isUsual, keyFault, read, shortcuts, usual, write } from "../src/settings/settings.ts";

test("settings: what is written is read, for each option of each", () => {
  assert.deepEqual(read(write(usual)), usual);
  for (const c of choices)
    for (const [value] of c.options) {
      const set = { ...usual, values: { ...usual.values, [c.key]: value } };
      assert.deepEqual(read(write(set)), set);
      assert.equal(isUsual(set), value === c.usual);
    }
  for (const c of choices) assert.ok(c.options.some(([v]) => v === c.usual), c.key);
  const keys = { ...usual, keys: { ...usual.keys, invert: "\u00fc" } };
  assert.deepEqual(read(write(keys)), keys);
});

test("settings: what a file does not name is as usual", () => {
  const { what } = JSON.parse(write(usual));
  const some = read(JSON.stringify({ what, theme: "dark" }));
  assert.deepEqual(some, { ...usual, values: { ...usual.values, theme: "dark" } });
});

test("settings: the first fault of a file is named", () => {
  const good = JSON.parse(write(usual));
  const told = (text: string) => {
    try {
      read(text);
    } catch (e) {
      return (e as Error).message;
    }
    return "nothing";
  };
  const faults: [unknown, RegExp][] = [
    [[], /no object/], [null, /no object/], [{}, /^what is undefined/], [{ ...good, what: 1 }, /^what is 1, and not/],
    [{ ...good, theme: "pink" }, /^theme is "pink": it must be "system", "light" or "dark"$/], [{ ...good, rows: 20 }, /^rows is 20/],
    [{ ...good, thema: "dark" }, /^thema is not known; there are theme, .* or keys$/], [{ ...good, __proto__x: 1 }, /not known/],
    [{ ...good, keys: "x" }, /^keys is "x"/], [{ ...good, keys: { dance: "x" } }, /^keys.dance is not known/],
    [{ ...good, keys: { invert: 1 } }, /^keys.invert is 1/], [{ ...good, keys: { invert: "" } }, /one character/],
    [{ ...good, keys: { invert: "ab" } }, /one character/], [{ ...good, keys: { invert: " " } }, /no space/],
    [{ ...good, keys: { invert: "0" } }, /the graph's own/], [{ ...good, keys: { invert: "o" } }, /^keys.invert and keys.orientation are both "o"$/],
  ];
  for (const [file, want] of faults) assert.match(told(JSON.stringify(file)), want);
  assert.match(told("{"), /not JSON/);
  assert.match(told(`"${"x".repeat(70_000)}"`), /larger than 64 KiB/);
  assert.deepEqual(read(`{"what":${JSON.stringify(good.what)},"keys":{"invert":"o","orientation":"i"}}`).keys.invert, "o");
});

test("settings: no two shortcuts have one key", () => {
  for (const s of shortcuts) assert.equal(keyFault(usual.keys, s.id), "", s.id);
});

test("names stand out from every fill", () => {
  const light = (c: string) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((n, v, i) => n + v * [0.2126, 0.7152, 0.0722][i], 0);
  const all = [...fills, ...Object.values(changePalettes).flatMap((p) => [...p.light, ...p.dark])];
  for (const fill of all) {
    const [a, b] = [light(fill), light(inkFor(fill))].sort((x, y) => y - x);
    assert.ok((a + 0.05) / (b + 0.05) >= 4.5, `${inkFor(fill)} on ${fill}: ${(a + 0.05) / (b + 0.05)}`);
  }
});
