// SPDX-License-Identifier: Apache-2.0
// test/flame.test.ts - trees against the stacks that they are made of, added up one by one

import assert from "node:assert/strict";
import { test } from "node:test";
import { TreeBuilder } from "../src/flame/build.ts";
import { colorFrames } from "../src/flame/color.ts";
import { callees, callers, invert } from "../src/flame/derive.ts";
import { functionTotals } from "../src/flame/functions.ts";
import { widestOf } from "../src/flame/heaviest.ts";
import { fit, visible } from "../src/flame/names.ts";
import { compared, norms, widths } from "../src/flame/compared.ts";
import { plainRows } from "../src/flame/fold.ts";
import { follow, pathOf } from "../src/flame/path.ts";
import { withoutRecursion } from "../src/flame/recursion.ts";
import { search } from "../src/flame/search.ts";
import { sampled } from "../src/flame/significance.ts";
import { FormatError, type Tree, decodeTree, makeTexts, nameOf, ownOf } from "../src/flame/tree.ts";
import { Rects, layout, nodeAt } from "../src/flame/view.ts";
import { columnsOf, extrasOf, sorted } from "../src/table/columns.ts";
import { tsvOf } from "../src/table/csv.ts";
import { type Stack, encode, random, randomStacks, treeOf } from "./random.ts";

const name = (t: Tree, node: number) => nameOf(t.functions, t.func[node]);

function chainOf(t: Tree, node: number): string[] {
  const names: string[] = [];
  for (let i = node; i > 0; i = t.parent[i]) names.unshift(name(t, i));
  return names;
}

/** Every path of a tree with its total. */
function paths(t: Tree): Map<string, number> {
  const out = new Map<string, number>();
  const texts: string[] = [""];
  for (let i = 1; i < t.n; i++) {
    texts[i] = `${texts[t.parent[i]]}/${name(t, i)}`;
    out.set(texts[i], t.total[i]);
  }
  return out;
}

function expectedPaths(stacks: Stack[], map: (names: string[]) => string[] | null): Map<string, number> {
  const out = new Map<string, number>();
  for (const s of stacks) {
    let text = "";
    for (const n of map(s.names) ?? []) {
      text += `/${n}`;
      out.set(text, (out.get(text) ?? 0) + s.value);
    }
  }
  return out;
}

test("a tree's bytes read back as the tree", () => {
  for (let seed = 1; seed < 30; seed++) {
    const t = treeOf(randomStacks(seed, seed * 7));
    const back = decodeTree(encode(t));
    for (const column of ["func", "depth", "parent", "end", "self", "total", "x"] as const) assert.deepEqual(back[column], t[column]);
    assert.equal(back.maxDepth, t.maxDepth);
    assert.deepEqual(paths(back), paths(t));
  }
});

test("a thousand mutations are refused or read, and never hang or take memory", () => {
  const whole = encode(treeOf(randomStacks(5, 60)));
  const r = random(9);
  let refused = 0;
  for (let i = 0; i < 1000; i++) {
    const bytes = whole.slice(0, r(10) === 0 ? r(whole.length) : whole.length);
    for (let k = r(4); k >= 0 && bytes.length; k--) bytes[r(bytes.length)] = r(256);
    try {
      const t = decodeTree(bytes);
      assert.ok(t.n <= whole.length);
    } catch (e) {
      assert.ok(e instanceof FormatError, String(e));
      refused++;
    }
  }
  assert.ok(refused > 300);
});

test("a head that claims 2^32 nodes is refused before memory is taken", () => {
  const bytes = encode(treeOf(randomStacks(5, 60)));
  new DataView(bytes.buffer).setUint32(8, 0xffffffff, true);
  assert.throws(() => decodeTree(bytes), FormatError);
});

test("a tree whose parents or functions are negative numbers is refused", () => {
  const whole = encode(treeOf([{ names: ["a", "b", "c"], value: 1 }]));
  const view = new DataView(whole.buffer);
  for (const tag of ["NUPS", "NFUN"]) {
    const bytes = whole.slice();
    for (let i = 0; i < view.getUint32(28, true); i++) {
      const at = 64 + i * 24;
      if (new TextDecoder().decode(whole.subarray(at, at + 4)) !== tag) continue;
      new DataView(bytes.buffer).setUint32(at + 4, 2, true); // zigzag
      bytes[Number(view.getBigUint64(at + 8, true)) + 1] = 1; // -1
    }
    assert.throws(() => decodeTree(bytes), FormatError, tag);
  }
});

test("numbers up to 2^53 are exact", () => {
  const t = treeOf([{ names: ["a"], value: 2 ** 53 - 1 }]);
  assert.equal(decodeTree(encode(t)).self[1], 2 ** 53 - 1);
});

test("addresses of 64 bits are exact", () => {
  const t = treeOf([{ names: ["a", "b"], value: 1 }]);
  t.functions.address[0] = 0xffffffff81000123n;
  t.functions.address[1] = 2n ** 64n - 1n;
  assert.deepEqual(decodeTree(encode(t)).functions.address, t.functions.address);
});

test("inverted, callers and callees are what the stacks say", () => {
  for (let seed = 1; seed < 30; seed++) {
    // Few and even, so that nothing is too light to be made.
    const stacks = randomStacks(seed, 40, 8, 7);
    const t = treeOf(stacks);
    assert.deepEqual(paths(invert(t)), expectedPaths(stacks, (n) => [...n].reverse()));
    // Two together are one: the outermost of either.
    for (let f = 0; f < t.functions.n; f++)
      for (const funcs of [[f], [f, (f + 1) % t.functions.n]]) {
        const wanted = funcs.map((i) => nameOf(t.functions, i));
        const cut = (n: string[]) => n.findIndex((name) => wanted.includes(name));
        assert.deepEqual(paths(callees(t, funcs)), expectedPaths(stacks, (n) => (cut(n) < 0 ? null : n.slice(cut(n) + 1))));
        assert.deepEqual(paths(callers(t, funcs)), expectedPaths(stacks, (n) => (cut(n) < 0 ? null : n.slice(0, cut(n)).reverse())));
      }
  }
});

test("inverted, functions weigh what they did before, and what a frame has itself is told where it has something", () => {
  for (let seed = 1; seed < 20; seed++) {
    const t = treeOf(randomStacks(seed, 60, 8, 7));
    const inverted = invert(t);
    const { self } = functionTotals(t);
    assert.deepEqual(inverted.weights, self);
    assert.deepEqual(colorFrames(inverted, "self").of, colorFrames(t, "self").of);
    for (let i = 0; i < inverted.n; i++) assert.equal(ownOf(inverted, i), inverted.depth[i] === 1 ? self[inverted.func[i]] : null);
    for (let i = 0; i < t.n; i++) assert.equal(ownOf(t, i), t.self[i]);
    for (let f = 0; f < t.functions.n; f++) {
      const widest = widestOf(inverted, f);
      assert.equal(widest ? inverted.total[widest] : 0, self[f]);
    }
    const up = callers(t, [0]);
    for (let i = 0; i < up.n; i++) assert.equal(ownOf(up, i), null);
  }
});

test("what is too light is trimmed, and no weight is lost", () => {
  const t = treeOf(randomStacks(3, 20000, 300, 20));
  const inverted = invert(t);
  const children = new Float64Array(inverted.n);
  for (let i = 1; i < inverted.n; i++) children[inverted.parent[i]] += inverted.total[i];
  for (let i = 0; i < inverted.n; i++) assert.equal(inverted.total[i], inverted.self[i] + children[i] + (inverted.trimmed.get(i) ?? 0));
  assert.ok(inverted.n < 200_000 && inverted.total[0] === t.total[0]);
  assert.ok(inverted.trimmed.size > 0);
});

test("inverted, all that calls what is zoomed to is there, wherever it is, and no weight is lost", () => {
  const many = randomStacks(5, 40000, 3000, 40);
  const t = treeOf(many);
  const expected = expectedPaths(many, (n) => [...n].reverse());
  const coarse = invert(t);
  const below = (of: Tree, text: string) => new Map([...paths(of)].filter(([path]) => path.startsWith(`${text}/`)));
  const deep = (zoom: string, text: string) => {
    const tree = invert(t, zoom);
    const { node, whole } = follow(tree, zoom);
    assert.ok(whole && `/${chainOf(tree, node).join("/")}` === text);
    const children = new Float64Array(tree.n);
    for (let i = 1; i < tree.n; i++) children[tree.parent[i]] += tree.total[i];
    for (let i = 0; i < tree.n; i++) assert.equal(tree.total[i], tree.self[i] + children[i] + (tree.trimmed.get(i) ?? 0));
    assert.deepEqual(below(tree, text), new Map([...expected].filter(([path]) => path.startsWith(`${text}/`))));
    return { tree, node };
  };
  // The lightest of the first level below which something was left out.
  let light = 0;
  for (let i = 1; i < coarse.n; i = coarse.end[i]) if (coarse.trimmed.has(i)) light = i;
  assert.ok(light > 0);
  const { tree, node } = deep(pathOf(coarse, light), `/${name(coarse, light)}`);
  // And further in: of these the whole has nothing.
  const third = [...Array(tree.end[node] - node).keys()].map((k) => node + k).find((i) => tree.depth[i] === 3)!;
  const text = `/${chainOf(tree, third).join("/")}`;
  assert.ok(!paths(coarse).has(text));
  deep(pathOf(tree, third), text);
  // What is nowhere changes nothing but how much there is of the rest.
  assert.equal(invert(t, "AAAA").total[0], t.total[0]);
});

test("inverted, every function that has something itself is there, and all that calls it where that is not too much", () => {
  const many = randomStacks(5, 40000, 3000, 40);
  const t = treeOf(many);
  const { self } = functionTotals(t);
  const inverted = invert(t);
  const roots = new Set<number>();
  for (let i = 1; i < inverted.n; i = inverted.end[i]) roots.add(inverted.func[i]);
  assert.ok(inverted.trimmed.size > 0 && !inverted.trimmed.has(0));
  self.forEach((weight, f) => assert.equal(roots.has(f), weight > 0));
  // One sample of very many: lighter than anything that has room.
  const few = [{ names: ["a", "b", "c"], value: 1 }, { names: ["a", "d"], value: 1e6 }];
  assert.deepEqual(paths(invert(treeOf(few))), expectedPaths(few, (n) => [...n].reverse()));
});

test("the table counts recursion once", () => {
  for (let seed = 1; seed < 20; seed++) {
    const stacks = randomStacks(seed, 100, 6, 10);
    const t = treeOf(stacks);
    const totals = functionTotals(t);
    for (let f = 0; f < t.functions.n; f++) {
      const n = nameOf(t.functions, f);
      assert.equal(totals.total[f], stacks.filter((s) => s.names.includes(n)).reduce((a, s) => a + s.value, 0));
      assert.equal(totals.self[f], stacks.filter((s) => s.names.at(-1) === n).reduce((a, s) => a + s.value, 0));
    }
  }
});

test("a search weighs each stack once", () => {
  for (let seed = 1; seed < 20; seed++) {
    const stacks = randomStacks(seed, 200);
    const found = search(treeOf(stacks), /f1|2$/);
    assert.equal(found.weight, stacks.filter((s) => s.names.some((n) => /f1|2$/.test(n))).reduce((a, s) => a + s.value, 0));
  }
});

test("every frame that has a pixel is drawn where it is, and found there", () => {
  const panel = { width: 800, height: 400, row: 20, letters: 12, flip: false };
  for (let seed = 1; seed < 12; seed++) {
    const t = treeOf(randomStacks(seed, 300, 40, 15));
    const rects = new Rects();
    const r = random(seed);
    const x0 = (t.total[0] / 100) * r(50);
    const view = { x0, x1: x0 + (t.total[0] / 100) * (1 + r(50)), top: r(3) };
    for (const flip of [false, true]) {
      const p = { ...panel, flip };
      layout(t, view, p, rects, plainRows(t));
      const drawn = new Map<number, number>();
      for (let i = 0; i < rects.n; i++) if (rects.node[i] >= 0) drawn.set(rects.node[i], i);
      const scale = p.width / (view.x1 - view.x0);
      for (let i = 0; i < t.n; i++) {
        const left = (t.x[i] - view.x0) * scale;
        const w = t.total[i] * scale;
        const seen = left + w > 0.01 && left < p.width - 0.01 && t.depth[i] >= view.top && t.depth[i] < view.top + p.height / p.row;
        if (seen && w >= 1.01) assert.ok(drawn.has(i), `seed ${seed}: node ${i} of ${w} px`);
        if (drawn.has(i) && seen && w > 3) {
          const k = drawn.get(i)!;
          const px = Math.min(Math.max(rects.x[k] + rects.w[k] / 2, 0.5), p.width - 0.5);
          if (px > rects.x[k] && px < rects.x[k] + rects.w[k]) assert.equal(nodeAt(t, view, p, { x: px, y: rects.y[k] + 10 }, plainRows(t)), i);
        }
      }
    }
  }
});

test("stacks of 3,000 frames", () => {
  const names = Array.from({ length: 3000 }, (_, i) => `f${i}`);
  const t = treeOf([{ names, value: 7 }]);
  assert.equal(decodeTree(encode(t)).maxDepth, 3000);
  assert.equal(invert(t).n, 3001);
  const path = pathOf(t, 3000);
  assert.ok(path.length < 200);
  assert.deepEqual(follow(t, path), { node: 3000, whole: true });
});

test("a path finds its node in other data, or the deepest part of it", () => {
  const stacks = randomStacks(4, 300);
  const a = treeOf(stacks);
  const b = treeOf(stacks.map((s, i) => ({ ...s, value: 1 + (i * 37) % 90 })));
  for (let i = 0; i < a.n; i++) {
    const there = follow(b, pathOf(a, i));
    assert.ok(there.whole);
    const way = (t: Tree, n: number): string => (n <= 0 ? "" : `${way(t, t.parent[n])}/${name(t, n)}`);
    assert.equal(way(b, there.node), way(a, i));
  }
  assert.equal(follow(b, "zzzz").node, 0);
});

test("names are cut where it hurts least", () => {
  assert.equal(fit("main", 10), "main");
  assert.equal(fit("ns::Class<int, std::string>::method(int, char const*)", 40), "ns::Class<int, std::string>::method");
  assert.equal(fit("ns::Class<int, std::string>::method(int, char const*)", 20), "ns::Class::method");
  assert.equal(fit("ns::Class<int, std::string>::method(int, char const*)", 8), "method");
  assert.equal(fit("github.com/user/project/package.(*Type).Method", 20).endsWith("Method"), true);
  assert.equal(fit("abcdef", 2), "");
  for (const n of ["operator<(A, B)", "std::operator<<(x)", "a<b<c>>::d()", "f(g(h))", "(((", "<<<"]) for (let room = 3; room < 20; room++) assert.ok(fit(n, room).length <= room);
});

test("what cannot be seen is shown", () => {
  assert.equal(visible("a\u202eb\u0000c"), "a\\u202eb\\u0000c");
});

test("a tree is built from stacks as by the plain way", () => {
  for (let seed = 1; seed < 20; seed++) {
    const stacks = randomStacks(seed, 200, 9, 9);
    const ids = new Map<string, number>();
    const builder = new TreeBuilder();
    for (const s of stacks) for (const n of s.names) if (!ids.has(n)) ids.set(n, ids.size);
    for (const name of ids.keys()) builder.frame({ name, file: "", binary: "", line: 0 });
    for (const s of stacks) builder.add(s.names.map((n) => ids.get(n)!), s.value);
    const t = builder.finish("count");
    assert.deepEqual(paths(t), paths(treeOf(stacks)));
    for (let i = 1; i < t.n; i++) {
      const next = t.end[i];
      if (next < t.end[t.parent[i]]) assert.ok(t.total[next] <= t.total[i]);
    }
  }
});

test("names that end at their address come without it, and are read with it", () => {
  const addresses = [0n, 1n, 0xfn, 0x10n, 0xffff_ffffn, 0x1_0000_0000n, 0x7f3a_5512_abc0n, 0x2_0000_0000_0001n, 0x123_4567_89ab_cdefn, 0xffff_ffff_8100_0000n, (1n << 64n) - 1n];
  const stacks = addresses.map((a, i): Stack => ({ names: [`${["libo\u2603.so", "a", "[anon]"][i % 3]}+0x${a.toString(16)}`, `named${i}`], value: 100 - i }));
  const t = treeOf(stacks);
  for (let f = 0; f < t.functions.n; f++) {
    const text = nameOf(t.functions, f);
    t.functions.flags[f] = text.includes("+0x") ? 48 : 1;
    t.functions.address[f] = text.includes("+0x") ? BigInt(text.slice(text.indexOf("+") + 1)) : 7n;
  }
  const bytes = encode(t);
  assert.ok(!new TextDecoder().decode(bytes).includes("+0x"));
  const back = decodeTree(bytes);
  assert.deepEqual(paths(back), paths(t));
  assert.deepEqual(back.functions.address, t.functions.address);
});

test("names that stand for a long one each do not take memory without end", () => {
  const t = treeOf(Array.from({ length: 3000 }, (_, i) => ({ names: [`f${i}`], value: 1 })));
  const n = t.functions.n;
  const functions = { ...t.functions, names: makeTexts(Array.from({ length: n }, () => "+0x0")), binaries: makeTexts(["", "b".repeat(400_000)]), flags: new Uint32Array(n).fill(48) };
  assert.throws(() => decodeTree(encode({ ...t, functions })), FormatError);
});

/** The stack of a call goes on where its function was called first. */
function foldedStack(names: string[]): string[] {
  const out: string[] = [];
  for (const n of names) {
    const at = out.indexOf(n);
    if (at >= 0) out.length = at + 1;
    else out.push(n);
  }
  return out;
}

test("without recursion: each stack folded by itself, and added up", () => {
  for (let seed = 1; seed < 60; seed++) {
    const stacks = randomStacks(seed, seed * 5, 3 + (seed % 5), 14);
    const t = treeOf(stacks);
    const folded = withoutRecursion(t);
    assert.deepEqual(new Map([...paths(folded)].sort()), new Map([...expectedPaths(stacks, foldedStack)].sort()));
    assert.equal(folded.total[0], t.total[0]);
    for (let i = 1; i < folded.n; i++) for (let p = folded.parent[i]; p > 0; p = folded.parent[p]) assert.notEqual(folded.func[p], folded.func[i]);
    // Heaviest first, and children behind their parents.
    for (let i = 1; i < folded.n; i++) {
      const next = folded.end[i];
      assert.ok(folded.parent[i] < i);
      if (next < folded.end[folded.parent[i]]) assert.ok(folded.total[next] <= folded.total[i]);
    }
    assert.deepEqual(paths(withoutRecursion(folded)), paths(folded));
  }
});

/** Two sides of one run of stacks: those of even numbers, and the others. */
function twoSides(seed: number, functions = 30): { t: Tree; sides: [Stack[], Stack[]] } {
  const stacks = randomStacks(seed, 80, functions);
  const builder = new TreeBuilder();
  const ids = new Map<string, number>();
  const idOf = (n: string) => {
    if (!ids.has(n)) {
      ids.set(n, ids.size);
      builder.frame({ name: n, file: "", binary: "", line: 0 });
    }
    return ids.get(n)!;
  };
  const sides: [Stack[], Stack[]] = [[], []];
  stacks.forEach((s, i) => {
    sides[i % 2].push(s);
    builder.add(s.names.map(idOf), i % 2 ? 0 : s.value, i % 2 ? s.value : 0);
  });
  return { t: builder.finish("count", true), sides };
}

test("a diff without recursion has on each side what that side has", () => {
  for (let seed = 1; seed < 20; seed++) {
    const { t, sides } = twoSides(seed, 4);
    const folded = withoutRecursion(t);
    const withWeight = (m: Map<string, number>) => new Map([...m].filter(([, w]) => w !== 0).sort());
    assert.deepEqual(withWeight(paths(folded)), withWeight(expectedPaths(sides[0], foldedStack)));
    assert.deepEqual(withWeight(paths({ ...folded, total: folded.b!.total })), withWeight(expectedPaths(sides[1], foldedStack)));
  }
});

test("a diff is held side by side as it is chosen, as wide as the side that is chosen", () => {
  for (let seed = 1; seed < 20; seed++) {
    const { t } = twoSides(seed);
    for (const norm of norms)
      for (const wide of widths) {
        const c = compared(t, norm, wide);
        const { factor } = c.b!;
        if (norm === "total") assert.equal(factor, 1);
        if (norm === "share") assert.ok(Math.abs(c.b!.total[0] * factor - c.total[0]) < 1e-6);
        for (let i = 0; i < c.n; i++) {
          const [a, b] = [c.total[i], c.b!.total[i] * factor];
          const own = wide === "a" ? a : wide === "b" ? b : Math.max(a, b);
          assert.ok(c.width[i] >= own - 1e-6 && (wide === "" || c.width[i] <= own + 1e-6), `${norm} ${wide}`);
          if (c.parent[i] >= 0) assert.ok(c.x[i] + c.width[i] <= c.x[c.parent[i]] + c.width[c.parent[i]] + 1e-6);
        }
        assert.deepEqual([...c.total], [...t.total]);
      }
  }
});

test("a share's interval holds what chance does, 95 times in 100, and with few samples not less often", () => {
  const r = random(4);
  const draw = (n: number, p: number) => Array.from({ length: n }, () => (r(1_000_000) < p * 1_000_000 ? 1 : 0)).reduce<number>((x, y) => x + y, 0);
  const ROUNDS = 1500;
  for (const [n1, n2, p1, p2, most] of [
    [400, 900, 0.3, 0.35, 0.97],
    [30, 40, 0.02, 0.02, 1],
    [12, 200, 0.9, 1, 1],
  ]) {
    let held = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const [x1, x2] = [draw(n1, p1), draw(n2, p2)];
      const sides = [{ seconds: 1, samples: n1 }, { seconds: 1, samples: n2 }];
      const builder = new TreeBuilder();
      for (const name of ["x", "y"]) builder.frame({ name, file: "", binary: "", line: 0 });
      builder.add([0], x1, x2);
      builder.add([1], n1 - x1, n2 - x2);
      const t = builder.finish("count", true);
      const at = functionAt(t, "x");
      if (at < 0) {
        held++; // no sample has it, and nothing is shown of it
        continue;
      }
      const s = sampled({ ...t, meta: { ...t.meta, compare: { ...t.meta.compare!, sides } } }, at)!;
      assert.deepEqual([Math.round(s.a), Math.round(s.b)], [x1, x2]);
      assert.ok(s.from < s.to);
      if (s.from <= p2 - p1 && p2 - p1 <= s.to) held++;
    }
    assert.ok(held / ROUNDS > 0.93 && held / ROUNDS <= most, `${held} of ${ROUNDS} with ${n1} and ${n2} samples`);
  }
});

function functionAt(t: Tree, wanted: string): number {
  for (let i = 1; i < t.n; i++) if (name(t, i) === wanted) return i;
  return -1;
}

test("a table of two sides says what became of each function, by rates where they are compared", () => {
  const builder = new TreeBuilder();
  for (const n of ["same", "more", "new", "gone"]) builder.frame({ name: n, file: `${n}.c`, binary: "", line: 0 });
  const weights: [number, number][] = [[100, 200], [100, 600], [0, 50], [80, 0]];
  weights.forEach(([a, b], f) => builder.add([f], a, b));
  const made = builder.finish("count", true);
  const sides = [{ seconds: 10, samples: 280 }, { seconds: 20, samples: 850 }];
  const t = { ...made, b: { ...made.b!, factor: 0.5 }, meta: { ...made.meta, compare: { by: "rate" as const, level: 2.5758, untested: null, sides } } };
  const totals = functionTotals(t);
  const columns = columnsOf(t, totals, ["change"]);
  const change = columns.find((c) => c.key === "change")!;
  const ids = Array.from({ length: 4 }, (_, f) => f);
  const idOf = (n: string) => ids.find((f) => nameOf(t.functions, f) === n)!;
  // Twice the time: as often is as much. 100 of 280 and 200 of 850 samples are other shares all the same.
  assert.deepEqual(["same", "more", "new", "gone"].map((n) => change.text!(idOf(n))), ["none", "+200 %", "new", "gone"]);
  const delta = columns.find((c) => c.key === "delta")!;
  assert.deepEqual(["same", "more", "new", "gone"].map((n) => delta.get(idOf(n))), [0, 200, 25, -80]);
  assert.deepEqual([...sorted(t, totals, "-change", null)].map((f) => nameOf(t.functions, f)), ["new", "more", "same", "gone"]);
  const few = { ...t, meta: { ...t.meta, compare: { ...t.meta.compare, sides: [{ seconds: 10, samples: 3 }, { seconds: 20, samples: 9 }] } } };
  assert.equal(columnsOf(few, totals, ["change"]).find((c) => c.key === "change")!.text!(idOf("more")), "+200 %, chance?");
  const text = tsvOf(t, totals, [idOf("more")], ["change", "file"]);
  assert.equal(text, "Self A\tSelf B\tTotal A\tTotal B\tChange of self\tChange\tFunction\tFile\tBinary\n100\t600\t100\t600\t200\t+200 %\tmore\tmore.c\t\n");
});

test("of time whose period is of something else there are no samples", () => {
  const t = treeOf(randomStacks(1, 5));
  const delay = { ...t, meta: { type: "mutex:delay:nanoseconds:contentions:count:delta", unit: "nanoseconds", period: 1 } };
  assert.ok(!extrasOf(delay).includes("samples"));
});

test("samples of their own are what functions have, by the period", () => {
  const t = treeOf([{ names: ["a"], value: 3e7 }, { names: ["a", "b"], value: 1e7 }]);
  const timed = { ...t, meta: { type: "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", unit: "nanoseconds", period: 1e7 } };
  const samples = columnsOf(timed, functionTotals(timed), ["samples"]).find((c) => c.key === "samples")!;
  assert.deepEqual(Array.from({ length: t.functions.n }, (_, f) => samples.text!(f)).sort(), ["1", "3"]);
  assert.ok(!extrasOf({ ...t, meta: { ...timed.meta, period: 0 } }).includes("samples") && !extrasOf(timed).includes("change"));
});
