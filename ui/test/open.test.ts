// SPDX-License-Identifier: Apache-2.0
// test/open.test.ts - files that somebody has

import assert from "node:assert/strict";
import { test } from "node:test";
import { NotAProfile, readProfile, treeOfProfile } from "../src/open/profile.ts";
import { random } from "./random.ts";

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
