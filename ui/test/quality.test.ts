// SPDX-License-Identifier: Apache-2.0
// test/quality.test.ts - what a tree lacks is what its stacks say

import assert from "node:assert/strict";
import { test } from "node:test";
import { truncatedOf, unnamedOf } from "../src/flame/quality.ts";
import { samplesOf } from "../src/flame/samples.ts";
import { makeTexts, nameOf } from "../src/flame/tree.ts";
import { randomStacks, treeOf } from "./random.ts";

const notes = ["[truncated: no frame pointer]", "[truncated: deeper than max_depth]", "[overflow]", "[truncated: the kernel's unwinder ends here]"];
const whyCut = (name: string) => (name === "[overflow]" ? "more different stacks than a window holds" : name.startsWith("[truncated: ") && !name.includes("kernel") ? name.slice(12, -1) : undefined);

test("what has no name, and what has no root, by why and weight", () => {
  const stacks = randomStacks(11, 300, 12, 6).filter((s) => s.names.length);
  for (let i = 0; i < stacks.length; i += 3) stacks[i].names.unshift(notes[(i / 3) % notes.length]);
  const tree = treeOf(stacks);
  const fns = { ...tree.functions, reasons: makeTexts(["", "stripped", "gone"]) };
  const whyUnnamed = new Map<string, string>();
  for (let f = 0; f < fns.n; f++) {
    const name = nameOf(fns, f);
    if (!name.startsWith("[") && f % 3) {
      fns.flags[f] = 16;
      fns.reason[f] = f % 3;
      whyUnnamed.set(name, ["", "stripped", "gone"][f % 3]);
    }
  }
  const sums = (why: (names: string[]) => string | undefined) => {
    const out = new Map<string, number>();
    for (const s of stacks) {
      const k = why(s.names);
      if (k) out.set(k, (out.get(k) ?? 0) + s.value);
    }
    return [...out].sort((a, b) => b[1] - a[1]);
  };
  const got = (all: { why: string; weight: number }[]) => all.map((l) => [l.why, l.weight]);
  assert.deepEqual(got(unnamedOf({ ...tree, functions: fns })), sums((names) => whyUnnamed.get(names[names.length - 1])));
  assert.deepEqual(got(truncatedOf({ ...tree, functions: fns })), sums((names) => whyCut(names[0])));
});

test("how many samples an answer is of", () => {
  const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta";
  assert.deepEqual(samplesOf(cpu, 2e9, 1e7), { n: 200, hz: 100 });
  for (const unknown of [0, undefined, -1]) assert.equal(samplesOf(cpu, 2e9, unknown), null);
  assert.equal(samplesOf("memory:inuse_space:bytes:space:bytes", 4096, 512), null);
  assert.deepEqual(samplesOf("process_cpu:samples:count:cpu:nanoseconds:delta", 42, 1e7), { n: 42, hz: 0 });
  assert.deepEqual(samplesOf("memory:space:bytes:space:bytes", 4096, 512), { n: 8, hz: 0 });
});
