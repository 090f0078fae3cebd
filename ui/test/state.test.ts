// SPDX-License-Identifier: Apache-2.0
// test/state.test.ts - addresses and selectors: what is written is read again, and nothing that is read throws

import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../src/table/csv.ts";
import * as format from "../src/app/format.ts";
import { functionTotals } from "../src/flame/functions.ts";
import { parseSelector, placeAt, withMatcher, writeSelector } from "../src/query/selector.ts";
import { moment, readMoment, resolve } from "../src/url/range.ts";
import { type State, chipText, defaults, fields, parse, readChipText, screenOf, write } from "../src/url/state.ts";
import { random, randomStacks, treeOf } from "./random.ts";

test("an address holds the state", () => {
  const s: State = {
    ...defaults, q: 'cpu{a="b c&d=\\"é"}', from: "now-15m", sel: [1000, 2000], panel: "both", sum: ["pod", "zone"], group: "line", by: ["comm"],
    chips: [{ kind: "HF", text: "bin:=libc.so.6" }, { kind: "SS", text: "fn:~^a,b" }], inverted: true, flame: true, byName: true, loops: true, folded: true, detail: 1, max: 4000, color: "kind", search: "x|y&",
    zoom: "AbC_12-z", selected: "AbC_", sandwich: "f<a,b>", sort: "name", columns: ["change", "file"], utc: true, b: { q: "x{}", from: "now-2h", to: "now-1h" }, significant: false, norm: "share", wide: "b", unknown: [["later", "1"]],
  };
  assert.deepEqual(parse(write(s)), { state: s, wrong: [] });
  assert.equal(write(defaults), "");
});

test("500 addresses of anything: no exception, what is wrong is told", () => {
  const r = random(3);
  const keys = ["q", "from", "to", "sel", "v", "sum", "group", "by", "f", "inv", "flame", "ord", "fold", "nm", "max", "cb", "s", "z", "x", "sw", "sort", "tz", "b.q", "b.from", "sig", "zz"];
  for (let i = 0; i < 500; i++) {
    const text = Array.from({ length: r(8) }, () => `${keys[r(keys.length)]}=${Array.from({ length: r(12) }, () => String.fromCharCode(r(0x250))).join("")}`).join("&");
    const { state } = parse(text);
    assert.deepEqual(parse(write(state)).state, state);
  }
  assert.deepEqual(parse("v=nothing&inv=7&sel=9-3&nm=5&max=-1").wrong, ["v", "inv", "sel", "nm", "max"]);
});

test("screens by the last part of a path", () => {
  assert.equal(screenOf("/x/y/compare"), "compare");
  assert.equal(screenOf("/"), "explore");
});

test("moments", () => {
  assert.equal(moment("now-15m", 1e12), 1e12 - 900_000);
  assert.ok(Number.isNaN(moment("yesterday", 0)));
  assert.equal(resolve({ from: "now", to: "now-1h" }, 0), null);
});

test("selectors are read, written, and faults have a place", () => {
  const r = parseSelector('process_cpu:cpu:ns:cpu:ns:delta{a="1", b!~"x\\"y",}');
  assert.ok("selector" in r);
  assert.deepEqual(r.selector.matchers, [{ name: "a", op: "=", value: "1" }, { name: "b", op: "!~", value: 'x"y' }]);
  const again = parseSelector(writeSelector(r.selector));
  assert.deepEqual(again, r);
  const faults: [string, number][] = [["{a=1}", 3], ['x{a="1"', 7], ['x{a "1"}', 4], ['x{} y', 4], ["", 0], ['x{a="1" b="2"}', 8]];
  for (const [text, at] of faults) {
    const f = parseSelector(text);
    assert.ok("fault" in f, text);
    assert.equal(f.fault.at, at, `${text}: ${f.fault.text}`);
  }
  const more = withMatcher(r.selector, { name: "a", op: "!=", value: "1" });
  assert.equal(more.matchers.length, 2);
});

test("what may come next, wherever the caret is", () => {
  const whole = 'cpu{serv="a", pod=~"x';
  const want = ["type", "type", "type", "type", "label", "label", "label", "label", "label"];
  for (let i = 0; i < want.length; i++) assert.equal(placeAt(whole, i).what, want[i], `at ${i}`);
  assert.deepEqual(placeAt(whole, 10), { what: "value", from: 10, text: "", label: "serv", quoted: true });
  assert.deepEqual(placeAt(whole, whole.length), { what: "value", from: 20, text: "x", label: "pod", quoted: true });
  assert.deepEqual(placeAt("cpu{serv", 8), { what: "label", from: 4, text: "serv" });
  assert.equal(placeAt('cpu{a="b"}', 10).what, "nothing");
});

test("numbers read as people say them", () => {
  assert.equal(format.value(1_500_000, "nanoseconds"), "1.5 ms");
  assert.equal(format.value(3 * 1024 ** 3, "bytes"), "3 GiB");
  assert.equal(format.value(1234567, "count"), "1.23 M");
  assert.equal(format.rate(3.2e9 * 10, 10, "nanoseconds"), "3.2 cores");
  assert.equal(format.percent(1, 3), "33.3 %");
  assert.equal(format.percent(0, 0), "\u2013");
});

test("a table as CSV, without formulas", () => {
  const t = treeOf([{ names: ["=cmd()", 'a,"b'], value: 3 }, ...randomStacks(1, 5)]);
  const rows = Uint32Array.from({ length: t.functions.n }, (_, i) => i);
  const csv = csvOf(t, functionTotals(t), rows);
  assert.ok(csv.includes(",'=cmd(),") && csv.includes('"a,""b"'));
  assert.equal(csv.trimEnd().split("\r\n").length, t.functions.n + 1);
});

test("moments as people write them, in their zone; what is none is none", () => {
  const today = new Date("2026-11-26T07:00:00Z");
  const utc = (text: string) => readMoment(text, true, today);
  assert.equal(utc("2026-11-23 14:02"), String(Date.UTC(2026, 10, 23, 14, 2)));
  assert.equal(utc("2026-11-23T14:02:09"), String(Date.UTC(2026, 10, 23, 14, 2, 9)));
  assert.equal(utc("2026-11-23"), String(Date.UTC(2026, 10, 23)));
  assert.equal(utc(" 9:05 "), String(Date.UTC(2026, 10, 26, 9, 5)));
  assert.deepEqual(["now", "now-90m", "1700000000000"].map(utc), ["now", "now-90m", "1700000000000"]);
  for (const wrong of ["", "yesterday", "now+1h", "2026-02-30", "2026-13-01", "25:00", "12:60", "14:02:60", "12"]) assert.equal(utc(wrong), null, wrong);
  // By the browser's own clock, summer or winter.
  for (const day of ["2026-01-15", "2026-07-15"]) assert.equal(readMoment(`${day} 10:00`, false), String(new Date(`${day}T10:00`).getTime()));
});

test("a filter's text is taken apart, and put together to the same", () => {
  for (const field of fields)
    for (const exact of [true, false])
      for (const text of ["a", "std::x=~y:=z", "=", "a\nb"]) assert.deepEqual(readChipText(chipText({ field, exact, text })), { field, exact, text });
  assert.deepEqual(readChipText("^main$"), { field: "fn", exact: false, text: "^main$" });
  assert.deepEqual(readChipText("std::vector"), { field: "fn", exact: false, text: "std::vector" });
});

test("counts are written as the language has them", () => {
  const r = random(3);
  const all = [0, 1, 999, 1000, -1000, 123456789, 1e15, ...Array.from({ length: 500 }, (_, i) => (r(2) ? 1 : -1) * r(10 ** (1 + (i % 9)))), 1.5, 1234.567, -0.25];
  for (const n of all) assert.equal(format.count(n), (n === 0 ? 0 : n).toLocaleString("en-US"));
});
