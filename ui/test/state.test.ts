// SPDX-License-Identifier: Apache-2.0
// test/state.test.ts - addresses and selectors: what is written is read again, and nothing that is read throws

import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../src/table/csv.ts";
import * as format from "../src/app/format.ts";
import { isCpuTime } from "../src/flame/samples.ts";
import { functionTotals } from "../src/flame/functions.ts";
import { faultTold, meaning, parseSelector, placeAt, quote, readLabel, readNames, withMatcher, writeName, writeNames, writeSelector } from "../src/query/selector.ts";
import { moment, readMoment, resolve, shifted } from "../src/url/range.ts";
import { type State, chipText, defaults, fields, fixedTimes, parse, readChipText, screenOf, sideB, write } from "../src/url/state.ts";
import { random, randomStacks, treeOf } from "./random.ts";

const now = Date.UTC(2026, 10, 30);

test("an address holds the state", () => {
  const s: State = {
    ...defaults, q: 'cpu{a="b c&d=\\"é"}', from: "now-15m", sel: [1000, 2000], panel: "both", sum: ["pod", "zone"], group: "line", by: ["comm"],
    chips: [{ kind: "HF", text: "bin:=libc.so.6" }, { kind: "SS", text: "fn:~^a,b" }], inverted: true, flame: true, byName: true, loops: true, folded: true, detail: 1, max: 4000, color: "kind", search: "x|y&",
    zoom: "AbC_12-z", selected: "AbC_", sandwich: "f<a,b>", sort: "name", columns: ["change", "file"], utc: true, b: { q: "x{}", from: "now-2h", to: "now-1h" }, significant: false, norm: "share", wide: "b", unknown: [["later", "1"]],
  };
  assert.deepEqual(parse(write(s)), { state: s, wrong: [] });
  assert.equal(write(defaults), "");
});

test("a link with fixed times means the same whenever it is followed", () => {
  const later = now + 3600_000;
  const all = [defaults, { ...defaults, sel: [1000, 2000] as [number, number] }, { ...defaults, from: "5", to: "now-1m" }, { ...defaults, b: { q: "x{}", from: "now-2h", to: "" } }, { ...defaults, b: { q: "", from: "now-3h", to: "now-2h" } }];
  for (const s of all) {
    const explore = { ...s, ...fixedTimes(s, "explore", now) };
    assert.deepEqual(explore.sel ?? resolve(explore, later), s.sel ?? resolve(s, now));
    const compare = { ...s, ...fixedTimes(s, "compare", now) };
    assert.deepEqual([compare, sideB(compare)].map((r) => resolve(r, later)), [s, sideB(s)].map((r) => resolve(r, now)));
    assert.equal(compare.b.q, s.b.q);
  }
});

test("whatever moment an address says can be asked for and written as a day, or is none", () => {
  const times = ["now", "now-1h", "now-9999999999d", "now-1e9w", "now-99999w", "0", "1", "999999999999999", "9999999999999999", "-1", "now-0.5s", `now-${"9".repeat(400)}d`];
  for (const a of times)
    for (const b of times) {
      const { state, wrong } = parse(new URLSearchParams({ from: a, to: b, "b.from": b }).toString());
      for (const text of [state.from, state.to, readMoment(a, true) ?? "now"]) {
        const ms = moment(text, Date.now());
        assert.ok(ms >= 0 && new Date(ms).toISOString());
        assert.ok(format.dayAndClock(ms, true).day);
      }
      assert.equal(wrong.includes("from"), Number.isNaN(moment(a, Date.now())));
    }
  assert.deepEqual(parse("from=now-9999999999d").wrong, ["from"]);
});

test("filters of names with several lines are read again", () => {
  for (const text of ["fn:=a\nb", "fn:=\n", "fn:~\n\n x", "bin:=a\n HF:fn:=b", "fn:=a\nHF:fn:=b", "fn:=a\\nb"]) {
    const chips = [{ kind: "HF" as const, text }, { kind: "SS" as const, text: "fn:=main" }];
    assert.deepEqual(parse(write({ ...defaults, chips })), { state: { ...defaults, chips }, wrong: [] });
  }
  // As addresses have been written so far.
  assert.deepEqual(parse(`f=${encodeURIComponent("HF:fn:=a\nSS:b")}`).state.chips, [{ kind: "HF", text: "fn:=a" }, { kind: "SS", text: "b" }]);
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

test("a time that is moved stays as long as it is, and behind 1970", () => {
  assert.deepEqual([-200, 300, -5000].map((by) => shifted([1000, 1500], by)), [{ from: "800", to: "1300" }, { from: "1300", to: "1800" }, { from: "0", to: "500" }]);
});

test("what the server says of a selector stands where it is wrong", () => {
  const q = 'cpu{größe=~"("}';
  const problem = 'selector: column 14: regular expression "(": a ( has no ) (offset 0)';
  assert.deepEqual(faultTold(problem, q), { at: q.indexOf('"'), text: 'regular expression "(": a ( has no ) (offset 0)' });
  assert.deepEqual(["", "A", "B"].map((side) => faultTold(problem.replace("selector", "selector B"), q, side) !== null), [false, false, true]);
  assert.equal(faultTold('hide: regular expression "(": a ( has no )', q), null);
});

test("screens by the last part of a path", () => {
  assert.equal(screenOf("/x/y/compare"), "compare");
  assert.equal(screenOf("/"), "explore");
  assert.equal(screenOf("/explorer"), "nowhere");
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

const names = ["a", "_b0", "service.name", "k8s/pod", "0", "größe", "a\u00a0b", "🔥", "a b", "", "a=b", "a,b", "{a}", "!~", 'say "x"', "it's", "`tick`", "back\\slash", "\\", "\\n", "\\x41", "\n", "a\tb\r\n", "\0", "\x07\x7f", "\u202egnp", "\ufeffa"];

test("a label's name is any that the server takes: what is written is read again", () => {
  // As core/query/selector.c says: these may be bare. What turns the text around, or shows nothing, is written as what it is.
  for (const name of ["a", "_b0", "service.name", "k8s/pod", "0", "größe", "a\u00a0b", "🔥", "back\\slash", "a:b-c"]) assert.equal(writeName(name), name);
  for (const [name, written] of [["a b", '"a b"'], ["a=b", '"a=b"'], ['say "x"', '"say \\"x\\""'], ["it's", '"it\'s"'], ["\\ \n\t", '"\\\\ \\n\\t"'], ["\u202ea", '"\\u202ea"'], ["\0", '"\\u0000"']]) assert.equal(writeName(name), written);
  for (const name of names.filter(Boolean))
    for (const op of ["=", "!=", "=~", "!~"] as const)
      for (const value of names) {
        const selector = { type: "cpu:cpu:ns:cpu:ns", matchers: [{ name, op, value }, { name: "last", op, value: name }] };
        const text = writeSelector(selector);
        assert.deepEqual(parseSelector(text), { selector });
        // Nothing that a field of one line would lose.
        assert.ok(!/[\0-\x1f\x7f]/.test(text), text);
        const next = `${text.slice(0, -1)}, `;
        assert.deepEqual(placeAt(`${next}x`, next.length + 1), { what: "label", from: next.length, text: "x", quoted: false });
      }
});

test("lists of labels hold any name, in addresses too", () => {
  const all = names.filter(Boolean);
  assert.deepEqual(readNames(writeNames(all)), all);
  for (const name of all) {
    const s: State = { ...defaults, sum: [name, "pod"], by: ["pod", name] };
    assert.deepEqual(parse(write(s)), { state: s, wrong: [] }, name);
  }
  // As core/query/selector.c says. What addresses have had so far is what it was.
  const read: [string, string[] | null][] = [
    ["", []], ["comm", ["comm"]], ["a b,c=d,{e}", ["a b", "c=d", "{e}"]], [",a,", ["a"]], ['"a,b",c', ["a,b", "c"]], ["'a,b',`\\,`,\"\\\"\\u00e9\"", ["a,b", "\\,", '"é']], ['a"b,it\'s', ['a"b', "it's"]],
    ['a,"b', null], ['"a"b', null], ['"\\q"', null], ['"\\xff"', null],
  ];
  for (const [text, want] of read) assert.deepEqual(readNames(text), want, text);
  assert.deepEqual(parse(new URLSearchParams({ by: '"a', sum: "pod" }).toString()), { state: { ...defaults, sum: ["pod"] }, wrong: ["by"] });
});

test("of a frame that stands for a label, the name ends where the server says", () => {
  for (const name of names.filter(Boolean)) for (const value of names) assert.deepEqual(readLabel(`${writeName(name)}=${value}`), [name, value]);
  // As core/query writes what is bare there, and what is not.
  assert.deepEqual(readLabel("\u202eback=v=w"), ["\u202eback", "v=w"]);
  assert.deepEqual(readLabel('"a\\x7f=\\"b"=v'), ['a\x7f="b', "v"]);
});

test("strings are read as the server reads them", () => {
  const read: [string, string][] = [
    ['"a"', "a"], ["'a\"b'", 'a"b'], ["'a\\'b'", "a'b"], ['`a\\n"\'`', 'a\\n"\''], ["`a\nb`", "a\nb"], ['"\\a\\b\\f\\n\\r\\t\\v\\\\"', "\x07\b\f\n\r\t\v\\"], ['"\\101\\x4a\\u00e9\\U0001F525"', "AJé🔥"],
    ['"gr\\xc3\\xb6\\303\\237e"', "größe"], ['"\\\\x41"', "\\x41"], ['"a\tb\rc"', "a\tb\rc"], ['"\\xef\\xbb\\xbfa"', "\ufeffa"],
  ];
  for (const [text, value] of read)
    for (const whole of [`x{a=${text}}`, `x{${text}="v"}`]) {
      const r = parseSelector(whole);
      assert.ok("selector" in r, whole);
      assert.equal(whole.startsWith("x{a=") ? r.selector.matchers[0].value : r.selector.matchers[0].name, value, whole);
    }
  for (const text of ['"\\d"', '"\\/"', '"\\\'"', "'\\\"'", '"\\x4"', '"\\400"', '"\\08"', '"\\ud83d\\udd25"', '"\\U00110000"', '"\\u12"', '"a\nb"', '"a', "'a\"", '"a\\"', "`a", '"a"b']) assert.ok("fault" in parseSelector(`x{a=${text}}`), text);
  const faults: [string, number][] = [['x{a="b\\d"}', 6], ['x{"a="1"}', 6], ['x{""="1"}', 2], ['x{"\\xff"="1"}', 2], ["x{a\u00a0=1}", 5], ['x{"a b" "1"}', 8]];
  for (const [text, at] of faults) {
    const f = parseSelector(text);
    assert.ok("fault" in f, text);
    assert.equal(f.fault.at, at, `${text}: ${f.fault.text}`);
  }
  // Bytes that are no text stay what they are.
  for (const text of ['x{a="\\xff"}', 'x{a="é\\xc3\\xc3\\xa9z\\x80"}']) {
    const r = parseSelector(text);
    assert.ok("selector" in r);
    assert.equal(writeSelector(r.selector), text);
  }
});

test("500 selectors of anything: no exception, what is read is written and read again", () => {
  const r = random(5);
  const letters = ["a", "é", "🔥", " ", "=", "!", "~", ",", "{", "}", '"', "'", "`", "\\", "x4", "u00e", "\n", "\0", '="', '",'];
  for (let i = 0; i < 500; i++) {
    const text = `t{${Array.from({ length: r(12) }, () => letters[r(letters.length)]).join("")}="1"}`;
    for (let at = 0; at <= text.length; at++) placeAt(text, at);
    const read = parseSelector(text);
    if ("selector" in read) assert.deepEqual(parseSelector(writeSelector(read.selector)), read, text);
  }
});

test("what may come next, wherever the caret is", () => {
  const whole = 'cpu{serv="a", pod=~"x';
  const want = ["type", "type", "type", "type", "label", "label", "label", "label", "label"];
  for (let i = 0; i < want.length; i++) assert.equal(placeAt(whole, i).what, want[i], `at ${i}`);
  assert.deepEqual(placeAt(whole, 10), { what: "value", from: 10, text: "", label: "serv", quoted: true });
  assert.deepEqual(placeAt(whole, whole.length), { what: "value", from: 20, text: "x", label: "pod", quoted: true });
  assert.deepEqual(placeAt("cpu{serv", 8), { what: "label", from: 4, text: "serv", quoted: false });
  assert.equal(placeAt('cpu{a="b"}', 10).what, "nothing");
  // Names in quotes, begun, whole, and behind others.
  const ends = (text: string) => placeAt(text, text.length);
  assert.deepEqual(ends('cpu{"'), { what: "label", from: 5, text: "", quoted: true });
  assert.deepEqual(ends('cpu{a="1", "a b'), { what: "label", from: 12, text: "a b", quoted: true });
  assert.deepEqual(ends('cpu{"a b"'), { what: "operator", from: 9, text: "" });
  assert.deepEqual(ends("cpu{größe !"), { what: "operator", from: 10, text: "!" });
  assert.deepEqual(ends('cpu{"a \\"b\\""="'), { what: "value", from: 15, text: "", label: 'a "b"', quoted: true });
  assert.deepEqual(ends("cpu{k8s/pod=~'x\\"), { what: "nothing" });
  assert.deepEqual(ends("cpu{k8s/pod=~'x\"y"), { what: "value", from: 14, text: 'x"y', label: "k8s/pod", quoted: true });
  assert.deepEqual(ends('cpu{"a, b}"="1", service.name="}", größe=`"`, x'), { what: "label", from: 46, text: "x", quoted: false });
  assert.deepEqual(ends('cpu{"a b"="1"'), { what: "label", from: 13, text: "", quoted: false });
  assert.equal(ends('cpu{"a b"="1"}').what, "nothing");
  assert.deepEqual(["a\\", 'a\\"b', "a\\q"].map((begun) => meaning(begun, '"')), ["a\\", 'a"b', "a\\q"]);
  assert.equal(meaning("a\\n", "`"), "a\\n");
  assert.equal(quote('a"\\'), '"a\\"\\\\"');
});

test("numbers read as people say them", () => {
  assert.equal(format.value(1_500_000, "nanoseconds"), "1.5 ms");
  assert.equal(format.value(3 * 1024 ** 3, "bytes"), "3 GiB");
  assert.equal(format.value(1234567, "count"), "1.23 M");
  assert.equal(format.rate(3.2e9 * 10, 10, "nanoseconds", isCpuTime("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta")), "3.2 cores");
  for (const type of ["wall:wall:nanoseconds:wall:nanoseconds:delta", "mutex:delay:nanoseconds:contentions:count:delta", ":off_cpu:nanoseconds", ""]) assert.equal(format.rate(3.2e9 * 10, 10, "nanoseconds", isCpuTime(type)), "3.2 s/s");
  assert.equal(format.percent(1, 3), "33.3 %");
  assert.equal(format.percent(0, 0), "\u2013");
  // What is rounded to a thousand is one of the next unit.
  assert.deepEqual([999.4, 999.6, 999_600, 999_600_000, 119.96e9, 7199e9].map(format.duration), ["999 ns", "1 \u00b5s", "1 ms", "1 s", "2 min", "2 h"]);
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
