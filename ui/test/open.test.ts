// SPDX-License-Identifier: Apache-2.0
// test/open.test.ts - files that somebody has

import assert from "node:assert/strict";
import { test } from "node:test";
import { readAll } from "../src/base/stream.ts";
import { colorFrames } from "../src/flame/color.ts";
import { plainRows } from "../src/flame/fold.ts";
import type { Look } from "../src/flame/look.ts";
import { svgOf } from "../src/flame/svg.ts";
import { FormatError, type Tree, nameOf } from "../src/flame/tree.ts";
import { NotAProfile, readProfile, treeOfFile, treeOfProfile, treeOfTwo } from "../src/open/profile.ts";
import { encode, random, randomStacks, treeOf } from "./random.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A protobuf message out of [field, number | text | message]. */
function message(fields: [number, number | string | Uint8Array][]): Uint8Array {
  const out: number[] = [];
  const varint = (v: number) => {
    for (let n = BigInt.asUintN(64, BigInt(v)); ; n >>= 7n) {
      if (n < 128n) return void out.push(Number(n));
      out.push(Number(n & 127n) + 128);
    }
  };
  for (const [field, v] of fields) {
    if (typeof v === "number") {
      varint(field * 8);
      varint(v);
      continue;
    }
    const data = typeof v === "string" ? bytes(v) : v;
    varint(field * 8 + 2);
    varint(data.length);
    out.push(...data);
  }
  return Uint8Array.from(out);
}

const pprof = message([
  [1, message([[1, 1], [2, 2]])], [1, message([[1, 3], [2, 4]])],
  [2, message([[1, Uint8Array.from([2, 1])], [2, Uint8Array.from([3, 30])]])],
  [2, message([[1, 1], [2, 1], [2, 10]])],
  [2, message([[1, 3], [2, 2], [2, -5]])],
  [3, message([[1, 1], [5, 7]])],
  [4, message([[1, 1], [2, 1], [4, message([[1, 1]])]])],
  [4, message([[1, 2], [2, 1], [4, message([[1, 3]])], [4, message([[1, 2]])]])],
  [4, message([[1, 3], [2, 1], [3, 0x1234]])],
  [5, message([[1, 1], [2, 5]])], [5, message([[1, 2], [2, 6]])], [5, message([[1, 3], [2, 8], [4, 9]])],
  ...["", "samples", "count", "cpu", "nanoseconds", "main", "work", "/bin/prog", "inlined", "a.c"].map((t): [number, string] => [6, t]),
]);

test("pprof: packed and single numbers, inlined calls, frames without a name, negative values", () => {
  const p = readProfile(pprof, "x.pb");
  assert.deepEqual(p.types, [{ type: "samples", unit: "count" }, { type: "cpu", unit: "nanoseconds" }]);
  const name = (i: number) => p.frames[i].name;
  assert.deepEqual(p.stacks.map((s) => [s.frames.map(name).join(";"), ...s.values]), [["main;work;inlined", 3, 30], ["main", 1, 10], ["prog+0x1234", 2, -5]]);
  assert.equal(treeOfProfile(p, 1).total[0], 35);
  assert.equal(treeOfProfile(p, 0).meta.unit, "count");
});

test("a pprof that is cut or changed is refused with a sentence, or read", () => {
  const r = random(4);
  for (let i = 0; i < 1000; i++) {
    const cut = pprof.slice(0, r(3) ? pprof.length : 1 + r(pprof.length - 1));
    if (r(3)) cut[r(cut.length)] = r(256);
    try {
      treeOfProfile(readProfile(cut, "x"), 0);
    } catch (e) {
      assert.ok(e instanceof NotAProfile || e instanceof SyntaxError, String(e));
    }
  }
});

test("folded stacks", () => {
  const p = readProfile(bytes("# a comment\nmain;a b;c 3\nmain 4\n\n"), "x.folded");
  assert.equal(treeOfProfile(p, 0).total[0], 7);
  assert.throws(() => readProfile(bytes("main;a\n"), "x"), NotAProfile);
});

test("speedscope: sampled and evented", () => {
  const file = (profiles: unknown[]) => bytes(JSON.stringify({ shared: { frames: [{ name: "a" }, { name: "b" }] }, profiles }));
  const sampled = readProfile(file([{ type: "sampled", unit: "milliseconds", samples: [[0, 1], [0]], weights: [2, 3] }]), "x");
  assert.equal(treeOfProfile(sampled, 0).total[0], 5);
  const events = [["O", 0, 0], ["O", 1, 1], ["C", 1, 4], ["C", 0, 5]].map(([type, frame, at]) => ({ type, frame, at }));
  const evented = treeOfProfile(readProfile(file([{ type: "evented", unit: "seconds", events }]), "x"), 0);
  assert.deepEqual([...evented.total], [5, 5, 3]);
  assert.throws(() => readProfile(file([{ type: "sampled", samples: [[9]], weights: [1] }]), "x"), NotAProfile);
  assert.throws(() => readProfile(bytes("{}"), "x"), NotAProfile);
});

test("two files: one tree, whose sides are each file's own tree", () => {
  const a = readProfile(bytes("main;x 6\nmain;y 2\nonly_a 2\n"), "a.folded");
  const b = readProfile(bytes("main;y 40\nmain;x;z 10\nonly_b;q 50\n"), "b.folded");
  const t = treeOfTwo(a, b, 0);
  const rows = new Map<string, [number, number]>();
  const way = (i: number): string => (i > 0 ? `${way(t.parent[i])}/${nameOf(t.functions, t.func[i])}` : "");
  for (let i = 0; i < t.n; i++) rows.set(way(i), [t.total[i], t.b!.total[i]]);
  assert.deepEqual(Object.fromEntries(rows), { "": [10, 100], "/main": [8, 50], "/main/x": [6, 10], "/main/x/z": [0, 10], "/main/y": [2, 40], "/only_a": [2, 0], "/only_b": [0, 50], "/only_b/q": [0, 50] });
  // B is ten times as much, and what is a tenth of it is as wide as what is a tenth of A.
  assert.equal(t.b!.factor, 0.1);
  const at = (name: string) => [...Array(t.n).keys()].find((i) => way(i) === name)!;
  assert.equal(t.width[at("/only_b")], 5);
  assert.equal(t.width[at("/main/x")], 6);
  for (let i = 1; i < t.n; i++) assert.ok(t.x[i] + t.width[i] <= t.x[t.parent[i]] + t.width[t.parent[i]] + 1e-9, way(i));
  // The same file on both sides changes nothing, whatever order its frames come in.
  const same = treeOfTwo(a, readProfile(bytes("only_a 2\nmain;y 2\nmain;x 6\n"), "c"), 0);
  assert.deepEqual([...same.total], [...same.b!.total]);
  assert.throws(() => treeOfTwo(a, { ...b, types: [{ type: "space", unit: "bytes" }] }, 0), /no samples.*space \(bytes\)/);
});

const lookOf = (t: Tree): Look => ({
  theme: { dark: false, muted: "#d8d8d8", unmatched: "#dcdcdc", match: "#c24fd1", line: "#15181d", hover: "#15181d", panel: "#ffffff", stripes: "", veil: "" },
  coloring: colorFrames(t, "none"), changes: "blue-orange", marked: null, selected: -1, zoom: 0, names: new Map(), significant: null, rows: plainRows(t), detail: 4,
});

test("a picture of a tree holds its frames, and names are text", () => {
  const t = treeOfProfile(readProfile(bytes(`all of it;<script>alert("1")</script> 5\nall of it;a&b 4\nall of it;\u202e'q' 3\n`), "a"), 0);
  const look = lookOf(t);
  const svg = svgOf(t, 0, look, false, (n) => `${nameOf(t.functions, Math.max(t.func[n], 0))}, ${t.total[n]}`);
  assert.equal(svg.match(/<title>/g)?.length, t.n);
  assert.ok(!svg.includes("<script") && svg.includes("&#60;script&#62;") && svg.includes("a&#38;b") && svg.includes("\\u202e"), svg);
  // Nothing but the elements that it is made of, each closed.
  const left = svg.replace(/<(svg|g|title|rect|text)( [\w:-]+="[^"<>]*")*\/?>|<\/(svg|g|title|text)>/g, "");
  assert.ok(!/[<>]/.test(left), left.slice(0, 200));
  const widths = [...svg.matchAll(/<title>([^<]*)<\/title><rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"/g)].map((m) => [m[1], Number(m[3]), Number(m[4])]);
  assert.deepEqual(widths.map((w) => w[1]), [0, 18, 36, 36, 36]);
  assert.ok(Math.abs((widths[2][2] as number) - (1600 * 5) / 12 + 1) < 0.02, String(widths[2]));
});

test("in a picture what was trimmed is hatched, as on the screen", () => {
  const t = treeOfProfile(readProfile(bytes("a;b 5\na;c 5\n"), "a"), 0);
  const hatched = (svg: string) => svg.match(/fill="url\(#trimmed\)"/g)?.length ?? 0;
  const less = { ...t, self: t.self.map((v, i) => (i === 3 ? 0 : v)), trimmed: new Map([[3, 5]]) };
  assert.equal(hatched(svgOf(less, 0, lookOf(less), false, String)), 1);
  assert.equal(hatched(svgOf(t, 0, lookOf(t), false, String)), 0);
});

test("a picture of a dense tree reaches as far right as the tree, and one without room is refused", () => {
  // 1,000 towers of 120 frames, each a pixel and a half wide: more than a picture has room for.
  const towers = Array.from({ length: 1000 }, (_, i) => `${Array.from({ length: 120 }, (_, k) => `t${i}_${k}`).join(";")} 1`);
  const t = treeOfProfile(readProfile(bytes(`${towers.join("\n")}\n`), "dense"), 0);
  const svg = svgOf(t, 0, lookOf(t), false, String);
  assert.ok(svg.match(/<rect x/g)!.length <= 50_000);
  const right = (y: number) => Math.max(...[...svg.matchAll(new RegExp(`<rect x="([\\d.]+)" y="${y}" width="([\\d.]+)"`, "g"))].map((m) => Number(m[1]) + Number(m[2])));
  assert.ok(right(0) > 1598 && right(18) > 1598, `${right(0)}, ${right(18)}`);
  // Half of it is wide: that half keeps its frames, and the other is one block.
  const half = treeOfProfile(readProfile(bytes(`${towers.join("\n")}\na;b;c 1000\n`), "half"), 0);
  assert.equal(svgOf(half, 0, lookOf(half), false, String).match(/<title>/g)!.length, 4);
  const deep = treeOfProfile(readProfile(bytes(`${"f;".repeat(50_001)}f 1\n`), "deep"), 0);
  assert.throws(() => svgOf(deep, 0, lookOf(deep), false, String), /50003 frames deep.*zoom in/);
});

test("what unpacks to more than a page can hold is ended when it does, and not when all is there", async () => {
  let sent = 0;
  let isEnded = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (c) => (sent++, c.enqueue(new Uint8Array(1000).fill(sent))),
    cancel: () => void (isEnded = true),
  });
  await assert.rejects(readAll(endless, (n) => { if (n > 5000) throw new Error("too large"); }), /too large/);
  assert.ok(isEnded && sent < 10);
  const told: number[] = [];
  const whole = await readAll(new Blob([new Uint8Array(3).fill(7), new Uint8Array(2).fill(9)]).stream(), (n) => told.push(n));
  assert.deepEqual([...whole], [7, 7, 7, 9, 9]);
  assert.equal(told.at(-1), 5);
});

test("of a pprof's values those are shown that it names, else the last", () => {
  const texts = ["", "alloc_space", "bytes", "inuse_space"];
  const types = [message([[1, 1], [2, 2]]), message([[1, 3], [2, 2]])];
  const bytes = (more: [number, number][]) => message([...types.map((t): [number, Uint8Array] => [1, t]), ...texts.map((t): [number, string] => [6, t]), ...more]);
  assert.equal(readProfile(bytes([]), "x.pb").usual, 1);
  assert.equal(readProfile(bytes([[14, 1]]), "x.pb").usual, 0);
  assert.equal(readProfile(bytes([[14, 3]]), "x.pb").usual, 1);
  assert.equal(readProfile(bytes([[14, 2]]), "x.pb").usual, 1);
  assert.equal(readProfile(bytes([[14, 99]]), "x.pb").usual, 1);
});

const perf = `# captured on: some day
#
python3 18474/18475 [001] 28614.651836:   10101010 cpu-clock:pppH: 
\t          167aeb operator new(unsigned long)+0x2b (/usr/lib/libc++ (1).so)
\t          24a33c std::map<int, (anonymous namespace)::X>::at (inlined)
\t          24a33c run (a thing)+0x36c (/tmp/prog (deleted))
\tffffffff821e8fc0 do_syscall_64+0x40 ([kernel.kallsyms])
\t    7f213d65ea00 [unknown] ([unknown])

Web Content   999 28614.662585:          3 page-faults: 
\t          13d59a f (/bin/x)

         timeout 18520 28616.752119:          4 page-faults:  ffffffff81b73c18 _copy_to_user+0x28 ([kernel.vmlinux])
         timeout 18520 28616.752200:          5 page-faults:      7fe585f116f0 strtod+0x0 (/lib/libc.so.6)
swapper     0 [000] 28617.000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0
`;

test("perf script: stacks and single frames, several events, symbols with blanks and brackets", () => {
  const p = readProfile(bytes(perf), "perf.txt");
  assert.deepEqual(p.types.map((t) => `${t.type} ${t.unit}`), ["cpu-clock:pppH samples count", "cpu-clock:pppH nanoseconds", "page-faults samples count", "page-faults count", "sched:sched_switch samples count", "sched:sched_switch count"]);
  const stacks = p.stacks.map((s) => [s.frames.map((f) => `${p.frames[f].name}@${p.frames[f].binary}`).join(";"), ...s.values]);
  assert.deepEqual(stacks, [
    ["python3@;[unknown]@;do_syscall_64@[kernel];run (a thing)@/tmp/prog;std::map<int, (anonymous namespace)::X>::at@;operator new(unsigned long)@/usr/lib/libc++ (1).so", 1, 10101010, 0, 0, 0, 0],
    ["Web Content@;f@/bin/x", 0, 0, 1, 3, 0, 0],
    ["timeout@;_copy_to_user@[kernel]", 0, 0, 1, 4, 0, 0],
    ["timeout@;strtod@/lib/libc.so.6", 0, 0, 1, 5, 0, 0],
    ["swapper@", 0, 0, 0, 0, 1, 1],
  ]);
  assert.equal(treeOfProfile(p, p.usual).total[0], 10101010);
  assert.throws(() => readProfile(bytes(`${perf}what is this\n`), "x"), /line 16 is neither/);
  // Folded stacks are none of perf's, whatever they say.
  assert.equal(treeOfProfile(readProfile(bytes("main;at 12.5: 3 x: 7\n"), "x"), 0).total[0], 7);
});

test("a server's flame tree is a file as others: alone as it is, beside another one by its stacks", () => {
  const tree = treeOf(randomStacks(7, 400));
  const sent = encode(tree);
  const alone = treeOfFile({ bytes: sent, name: "t" }, null, -1);
  assert.equal(alone.tree.n, tree.n);
  assert.deepEqual([...alone.tree.total], [...tree.total]);
  const same = treeOfFile({ bytes: sent, name: "t" }, { bytes: sent, name: "t" }, -1).tree;
  assert.deepEqual([...same.total], [...same.b!.total]);
  assert.equal(same.total[0], tree.total[0]);
  assert.throws(() => treeOfFile({ bytes: sent.slice(0, 100), name: "t" }, null, -1));
});

test("perf script without stacks: a program whose name is an address's letters, behind blanks, is a sample as others", () => {
  const line = (program: string, period: number) => `${program.padStart(16)}  4711 28616.75211${period}:          ${period} cpu-clock:pppH:      7fe585f116f0 strtod+0x0 (/lib/libc.so.6)\n`;
  const p = readProfile(bytes(line("cc1", 4) + line("cc1", 5) + line("bc", 6)), "perf.txt");
  const stacks = p.stacks.map((s) => [s.frames.map((f) => p.frames[f].name).join(";"), ...s.values]);
  assert.deepEqual(stacks, [["cc1;strtod", 1, 4], ["cc1;strtod", 1, 5], ["bc;strtod", 1, 6]]);
});

test("perf script of a large machine: thousands of lines about it come first", () => {
  const p = readProfile(bytes(`${"# cpuid\n".repeat(5000)}${perf}`), "perf.txt");
  assert.equal(p.stacks.length, 5);
});

test("lines that are made to take long take none, in perf's text and in folded stacks", () => {
  const sample = "a 1 2.5: 3 x:\n";
  const blanks = " ".repeat(60_000);
  const began = performance.now();
  const lines = [
    `a${blanks}b`, `a 1${blanks}b`, `a 1 2.5:${blanks}b\u2028`, `a 1 2.5: 3 x:${blanks}${"y".repeat(5000)}\u2028z`, `\t12 ${"a".repeat(9)}${blanks}b)`, `\t12 ${"+0x1 (".repeat(10_000)}`,
    `\t12${blanks}\u2028`, `\t12 f${" (".repeat(20_000)}x`, `\t${"1".repeat(60_000)}x`, `\t${"1 ".repeat(30_000)}x`, `a 1 2.5: ${"3 ".repeat(30_000)}`, `a 1 2.5: 3 ${":".repeat(60_000)}x`,
  ];
  for (const text of lines.flatMap((line) => [`${line}\n${sample}`, `${sample}${line}\n`]))
    try {
      readProfile(bytes(text), "x");
    } catch (e) {
      assert.ok(e instanceof NotAProfile, String(e));
    }
  assert.equal(treeOfProfile(readProfile(bytes(`main;a${blanks}${blanks}b 7\n`), "x.folded"), 0).total[0], 7);
  assert.throws(() => readProfile(bytes(`${sample}\t12 ${"f".repeat(70_000)}\n`), "x"), /line 2 is longer/);
  assert.ok(performance.now() - began < 2000, `${performance.now() - began} ms`);
});

test("perf script of more events than there is room for is refused", () => {
  const line = (event: number) => `a 1 2.5: 3 e${event}:\n`;
  const of = (n: number, more = 0) => bytes(Array.from({ length: n }, (_, i) => line(i)).join("") + line(0).repeat(more));
  assert.equal(readProfile(of(500), "x").types.length, 1000);
  assert.throws(() => readProfile(of(1001), "x"), /1001 events are more than a page can hold/);
  assert.throws(() => readProfile(of(1000, 40_000), "x"), /1000 events are more than a page can hold/);
});

test("a flame tree of a file whose description is another's is refused with a sentence", () => {
  const t = treeOf([{ names: ["a"], value: 1 }]);
  const side = { seconds: 1, samples: null };
  const gap = { what: "a", why: "b", from_ms: 1, to_ms: 2, profiles: 3 };
  const compare = { by: "rate", level: 2.5, untested: null, sides: [side, side] };
  const of = (meta: unknown) => {
    const file = { bytes: encode({ ...t, meta: meta as Tree["meta"] }), name: "t" };
    assert.equal(readProfile(file.bytes, "t").stacks.length, 1);
    return treeOfFile(file, null, -1).tree;
  };
  for (const good of [{}, { unit: "bytes", total: [1], filtered: [0], trimmed_nodes: 0, period: 0, left_out: [gap], left_out_more: 0, compare, later: "x" }]) assert.deepEqual(of(good).meta, good);
  const bad = [
    null, [1], "x", 7, { unit: 7 }, { total: "x" }, { total: [null] }, { filtered: {} }, { trimmed_nodes: "1" }, { period: [1, 2] }, { left_out: "x" }, { left_out: [null] },
    { left_out: [{ ...gap, why: {} }] }, { left_out: [{ ...gap, from_ms: 1e300 }] }, { left_out: [{ what: "a" }] }, { left_out_more: "1" }, { compare: 1 }, { compare: { ...compare, sides: [] } },
    { compare: { ...compare, sides: [side, null] } }, { compare: { ...compare, by: 1 } }, { compare: { ...compare, untested: {} } },
  ];
  for (const meta of bad) assert.throws(() => of(meta), (e: Error) => e instanceof FormatError && /its description is/.test(e.message), JSON.stringify(meta));
});
