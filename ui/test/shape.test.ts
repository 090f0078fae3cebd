// SPDX-License-Identifier: Apache-2.0
// test/shape.test.ts - trees in another shape: by name, folded, with a part put in, and what is drawn of them

import assert from "node:assert/strict";
import { test } from "node:test";
import { colorFrames, colorModes } from "../src/flame/color.ts";
import { callees, invert } from "../src/flame/derive.ts";
import { exactTotals } from "../src/flame/exact.ts";
import { chainOf, foldChains, headOf, plainRows } from "../src/flame/fold.ts";
import { functionTotals } from "../src/flame/functions.ts";
import { heaviest, wholeOf, widestOf } from "../src/flame/heaviest.ts";
import { mirror } from "../src/flame/mirror.ts";
import { MOST_DETAIL, fit } from "../src/flame/names.ts";
import { byName } from "../src/flame/order.ts";
import { splice, shareTrimmed } from "../src/flame/splice.ts";
import { Kind, type Tree, functionsNamed, makeTexts, nameOf, place, sameFunction, settle, weightsOf } from "../src/flame/tree.ts";
import { Rects, TRIMMED, besides, layout, nodeAt, sameView, viewOf } from "../src/flame/view.ts";
import { sorted } from "../src/table/columns.ts";
import { parse } from "../src/url/state.ts";
import { type Stack, random, randomStacks, treeOf } from "./random.ts";

const name = (t: Tree, node: number) => nameOf(t.functions, t.func[node]);

function way(t: Tree, node: number): string {
  let text = "";
  for (let i = node; i > 0; i = t.parent[i]) text = `/${name(t, i)}${text}`;
  return text;
}

/** From a node up to below the root. */
function* ways(t: Tree, node: number): Generator<number> {
  for (let i = node; i > 0; i = t.parent[i]) yield i;
}

/** Every path with what it has, in the order of the columns. */
function columns(t: Tree): [string, number, number, number][] {
  return Array.from({ length: t.n }, (_, i) => [way(t, i), t.self[i], t.total[i], t.trimmed.get(i) ?? 0]);
}

/** Preorder, depths, ends and places agree with each other. */
function sound(t: Tree): void {
  const { end } = settle(t.n, t.parent, t.self, t.trimmed);
  assert.deepEqual(t.end, end);
  assert.deepEqual(t.x, place(t.n, t.parent, t.width));
  for (let i = 1; i < t.n; i++) assert.ok(t.parent[i] < i && t.depth[i] === t.depth[t.parent[i]] + 1);
  assert.equal(t.maxDepth, Math.max(...t.depth));
}

/** As the server trims: nodes below a weight are left out, and told. */
function trimmed(t: Tree, least: number): Tree {
  const kept = Array.from({ length: t.n }, (_, i) => i).filter((i) => i === 0 || t.total[i] >= least);
  const to = new Map(kept.map((old, i) => [old, i]));
  const lost = new Map<number, number>();
  for (let i = 1; i < t.n; i++) if (!to.has(i) && to.has(t.parent[i])) lost.set(to.get(t.parent[i])!, (lost.get(to.get(t.parent[i])!) ?? 0) + t.total[i]);
  const n = kept.length;
  const parent = Int32Array.from(kept, (old) => (old ? to.get(t.parent[old])! : -1));
  const self = Float64Array.from(kept, (old) => t.self[old]);
  const depth = Uint16Array.from(kept, (old) => t.depth[old]);
  const { total, end } = settle(n, parent, self, lost);
  const meta = { ...t.meta, trimmed_nodes: t.n - n };
  return { ...t, n, meta, maxDepth: Math.max(...depth), func: Int32Array.from(kept, (old) => t.func[old]), depth, parent, end, self, total, width: total, x: place(n, parent, total), trimmed: lost };
}

test("by name: the same paths, siblings in the order of their names", () => {
  for (let seed = 1; seed < 25; seed++) {
    const t = treeOf(randomStacks(seed, 150, 12, 9));
    const named = byName(t);
    sound(named);
    assert.deepEqual(columns(named).sort(), columns(t).sort());
    for (let i = 1; i < named.n; i++) {
      const next = named.end[i];
      if (next < named.end[named.parent[i]]) assert.ok(name(named, i) < name(named, next));
    }
    const small = byName(trimmed(t, 60));
    sound(small);
    assert.deepEqual(columns(small).sort(), columns(trimmed(t, 60)).sort());
  }
});

test("chains of only children are a row, others stay", () => {
  const chain = (s: string, value = 10): Stack => ({ names: s.split(""), value });
  const t = treeOf([chain("abcde"), chain("abcdf"), chain("xy"), chain("pqrs", 100), chain("pq", 1)]);
  const rows = foldChains(t, () => false);
  const row = (s: string) => rows.row[columns(t).findIndex((c) => c[0] === s)];
  const frames = (s: string) => rows.frames![columns(t).findIndex((c) => c[0] === s)];
  assert.deepEqual([frames("/a"), frames("/a/b"), frames("/a/b/c/d"), frames("/a/b/c/d/e")], [4, 0, 0, 1]);
  assert.deepEqual([row("/a"), row("/a/b/c/d"), row("/a/b/c/d/e")], [1, 1, 2]);
  assert.deepEqual([frames("/x"), frames("/x/y"), row("/x/y")], [1, 1, 2]);
  // 100 of 101 are 99 %.
  assert.deepEqual([frames("/p"), row("/p/q/r/s")], [4, 1]);
  assert.equal(rows.last, 2);
  const open = foldChains(t, (head) => name(t, head) === "a");
  assert.equal(open.last, 5);
  for (let i = 1; i < t.n; i++) {
    const head = chainOf(t, i);
    assert.equal(headOf(t, rows, i), head < 0 ? i : head);
    if (rows.frames![i] === 0) assert.equal(rows.row[i], rows.row[head]);
  }
});

test("folded trees lose no frame that is not in a chain, and all are found where they are", () => {
  const panel = { width: 800, height: 400, row: 20, letters: 12, flip: false };
  for (let seed = 1; seed < 25; seed++) {
    const t = treeOf(randomStacks(seed, 6, 12, 10));
    const rows = foldChains(t, (head) => head % 5 === 0);
    const rects = new Rects();
    const view = { x0: 0, x1: t.total[0], top: 0 };
    layout(t, view, panel, rects, rows);
    const drawn = new Set(rects.node.subarray(0, rects.n));
    for (let i = 0; i < t.n; i++) assert.equal(drawn.has(i), rows.frames![i] !== 0);
    for (let k = 0; k < rects.n; k++)
      assert.equal(nodeAt(t, view, panel, { x: rects.x[k] + rects.w[k] / 2, y: rects.y[k] + 10 }, rows), rects.node[k]);
  }
});

test("a part that is put in makes of a trimmed tree what it was", () => {
  for (let seed = 1; seed < 25; seed++) {
    const stacks = randomStacks(seed, 120, 10, 8);
    const t = treeOf(stacks);
    const less = trimmed(t, 200);
    const named = new Map(columns(t).map((c) => [c[0], c]));
    for (let node = 1; node < less.n; node++) {
      const path = way(less, node).slice(1).split("/");
      const part = treeOf(stacks.filter((s) => path.every((n, i) => s.names[i] === n)));
      const whole = splice(less, node, part)!;
      sound(whole);
      assert.equal(whole.total[0], t.total[0]);
      assert.equal(shareTrimmed(whole, node), 0);
      assert.ok(Math.abs(shareTrimmed(whole, 0) * whole.total[0] - (shareTrimmed(less, 0) * less.total[0] - shareTrimmed(less, node) * less.total[node])) < 1e-6);
      for (const c of columns(whole).slice(node, whole.end[node])) assert.deepEqual(c, named.get(c[0]));
      assert.equal(whole.end[node] - node, [...named.keys()].filter((p) => `${p}/`.startsWith(`${way(less, node)}/`)).length);
      const before = columns(less);
      assert.deepEqual(columns(whole).slice(0, node), before.slice(0, node));
      assert.deepEqual(columns(whole).slice(whole.end[node]), before.slice(less.end[node]));
    }
    assert.equal(splice(less, 1, treeOf([{ names: ["nobody"], value: 1 }])), null);
  }
});

test("what is trimmed is drawn behind the children, as wide as it weighs", () => {
  const panel = { width: 1000, height: 400, row: 20, letters: 12, flip: false };
  for (let seed = 1; seed < 10; seed++) {
    const t = trimmed(treeOf(randomStacks(seed, 150, 12, 9)), 150);
    for (const tree of [t, byName(t)]) {
      const rects = new Rects();
      layout(tree, { x0: 0, x1: tree.total[0], top: 0 }, panel, rects, plainRows(tree));
      const drawn = [...rects.node.subarray(0, rects.n).entries()].filter(([, n]) => n === TRIMMED).map(([k]) => rects.w[k]);
      const want = [...tree.trimmed.values()].map((w) => (w / tree.total[0]) * panel.width).filter((w) => w >= 1);
      assert.equal(drawn.length, want.length);
      drawn.sort((a, b) => a - b);
      want.sort((a, b) => a - b).forEach((w, i) => assert.ok(Math.abs(w - drawn[i]) < 0.01));
    }
  }
});

test("no row of 192,000 frames has a hole, by weight or by name", () => {
  const r = random(1);
  const t = treeOf(Array.from({ length: 2000 }, (_, i) => ({ names: [`e${i}`, ...Array.from({ length: 95 }, () => `g${r(400)}`)], value: 1 })));
  const panel = { width: 3840, height: 2000, row: 20, letters: 12, flip: false };
  for (const tree of [t, byName(t)]) {
    const rects = new Rects();
    layout(tree, { x0: 0, x1: tree.total[0], top: 0 }, panel, rects, plainRows(tree));
    const rows = new Map<number, number>();
    for (let k = 0; k < rects.n; k++) rows.set(rects.y[k], (rows.get(rects.y[k]) ?? 0) + rects.w[k]);
    assert.equal(rows.size, 97);
    for (const w of rows.values()) assert.ok(Math.abs(w - panel.width) < 2);
  }
});

test("a wide frame behind a narrow one is drawn, where siblings are by name", () => {
  const t = byName(treeOf([{ names: ["a"], value: 1 }, { names: ["b"], value: 10_000 }, { names: ["c"], value: 1 }, { names: ["d"], value: 5000 }]));
  const rects = new Rects();
  layout(t, { x0: 0, x1: t.total[0], top: 0 }, { width: 500, height: 100, row: 20, letters: 12, flip: false }, rects, plainRows(t));
  assert.deepEqual([...rects.node.subarray(0, rects.n)].filter((n) => n > 0).map((n) => name(t, n)), ["b", "d"]);
});

test("the last identifier is there wherever eight letters fit", () => {
  const names: [string, string][] = [
    ["ns::Class<int, std::string>::method(int, char const*)", "method"], ["github.com/user/project/package.(*Type).Method", "Method"],
    ["core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "drop_in_place"], ["<alloc::vec::Vec<T> as core::ops::Drop>::drop", "drop"],
    ["java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java)", "runWorker"], ["(anonymous namespace)::Reader::next()", "next"],
    ["finish_task_switch.isra.0", "finish_task_switch.isra.0"], ["std::ostream::operator<<(int)", "operator<<"], ["a.b.c.function_name.cold", "function_name.cold"],
    ["std::function<void (int)>::operator()(int) const", "operator()"], ["libc.so.6+0x123abc", "libc.so.6+0x123abc"],
  ];
  for (const [whole, last] of names)
    for (let room = 8; room <= whole.length; room++)
      for (const detail of [0, 1, 2, 3]) {
        const text = fit(whole, room, detail).replace(/ const$/, "");
        assert.ok(text.length <= room, `${text} has no room in ${room}`);
        if (last.length <= room) {
          assert.ok(text.includes(last), `${whole} in ${room} at ${detail}: ${text}`);
          continue;
        }
        // Both of its ends, two letters at least of each.
        const [head, tail] = text.split("\u2026");
        assert.ok(last.startsWith(head) && last.endsWith(tail) && head.length >= tail.length && tail.length >= 2 && text.length === room, `${whole} in ${room} at ${detail}: ${text}`);
      }
});

test("where there is no room for both ends of a name, its beginning is there", () => {
  assert.deepEqual([3, 5, 7, 8, 12].map((room) => fit("execute_command_internal", room)), ["ex\u2026", "exec\u2026", "execut\u2026", "execu\u2026al", "execute_\u2026nal"]);
  assert.equal(fit("execute_command_internal", 2), "");
});

test("names lose more with each step", () => {
  const whole = "ns::Class<int>::method(char const*)";
  assert.deepEqual([4, 3, 2, 1, 0].map((d) => fit(whole, 60, d)), [whole, whole, "ns::Class<int>::method", "ns::Class::method", "method"]);
  assert.equal(fit(whole, 12, MOST_DETAIL), "ns::Class<i\u2026");
  assert.equal(fit("pkg.(*T).M(int)", 60, 2), "pkg.(*T).M");
});

test("functions of one binary share a fill, and each mode has its legend", () => {
  const t = treeOf(randomStacks(2, 200, 20, 8));
  for (let f = 0; f < t.functions.n; f++) {
    t.functions.binary[f] = f % 2;
    t.functions.flags[f] = f % 3;
  }
  const binary = colorFrames(t, "binary");
  for (let f = 2; f < t.functions.n; f++) assert.equal(binary.of[f], binary.of[f - 2]);
  const texts = (["binary", "kind", "name", "self"] as const).map((by) => colorFrames(t, by).legend.map((e) => e.text).join());
  assert.equal(new Set(texts).size, 4);
});

test("colours by the weights that came with a tree are those of its nodes", () => {
  const t = treeOf(randomStacks(4, 300, 20, 8));
  const weights = new Float64Array(t.functions.n);
  for (let i = 1; i < t.n; i++) weights[t.func[i]] += t.self[i];
  assert.deepEqual(weightsOf(t), weights);
  for (const by of ["binary", "self"] as const) assert.deepEqual(colorFrames({ ...t, weights }, by), colorFrames(t, by));
  const heavy = weights.slice().fill(0);
  heavy[3] = t.total[0];
  assert.notDeepEqual(colorFrames({ ...t, weights: heavy }, "self"), colorFrames(t, "self"));
});

test("functions are found by their name, as it is read", () => {
  const names = ["", "a", "ab", "b\u00e9", "aba", "ab", "\u2603"];
  const t = treeOf(randomStacks(1, 5));
  const fns = { ...t.functions, n: names.length, names: makeTexts(names) };
  for (const name of [...names, "abab", "c", "b"]) assert.deepEqual(functionsNamed(fns, name), [...names.keys()].filter((i) => names[i] === name));
  // No UTF-8: it is read as U+FFFD, and looked for so.
  fns.names.bytes[fns.names.offsets[2]] = 0xff;
  assert.deepEqual(functionsNamed(fns, "\ufffdb"), [2]);
  assert.deepEqual(functionsNamed(fns, "ab"), [5]);
});

test("the heaviest functions are those of brute force, and the widest frame of one is", () => {
  for (let seed = 1; seed < 20; seed++) {
    const t = treeOf(randomStacks(seed, 60));
    const own = new Map<number, number>();
    for (let i = 1; i < t.n; i++) own.set(t.func[i], (own.get(t.func[i]) ?? 0) + t.self[i]);
    const want = [...own].filter(([, w]) => w > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 5);
    assert.deepEqual(heaviest(t, 5).map((h) => [h.func, h.weight]), want);
    for (const [f] of want) assert.equal(t.total[widestOf(t, f)], Math.max(...Array.from(t.func, (g, i) => (g === f ? t.total[i] : 0))));
  }
});

test("what is in sight stays there in another answer, wherever it stands in it", () => {
  for (let seed = 1; seed < 25; seed++) {
    const stacks = randomStacks(seed, 80, 12, 9);
    const t = treeOf(stacks);
    // Twice the weight in another order of siblings: a view of a frame and its surroundings is of the same ones.
    const other = byName(treeOf(stacks.map((s) => ({ ...s, value: 2 * s.value }))));
    const at = new Map(columns(other).map((c, i) => [c[0], i]));
    for (let i = 0; i < t.n; i++) {
      const there = at.get(way(t, i))!;
      assert.deepEqual(sameView(t, i, { ...viewOf(t, i), top: 0 }, other, there), viewOf(other, there));
      const a = viewOf(t, i);
      const b = viewOf(other, there);
      // From within a frame that has no child as wide as that: in the same place of it.
      const within = { x0: a.x0 + (a.x1 - a.x0) * 0.1, x1: a.x1 - (a.x1 - a.x0) * 0.1, top: 2 };
      if (t.end[i] > i + 1 && t.total[i + 1] > 0.75 * t.total[i]) continue;
      const seen = sameView(t, 0, within, other, 0)!;
      assert.ok(Math.abs(seen.x0 - (b.x0 + (b.x1 - b.x0) * 0.1)) < 1e-6 && Math.abs(seen.x1 - (b.x1 - (b.x1 - b.x0) * 0.1)) < 1e-6);
    }
    assert.equal(sameView(t, 0, { ...viewOf(t, 0), top: 0 }, other, 1), null);
    const gone = treeOf([{ names: ["another"], value: 3 }]);
    assert.equal(sameView(t, 0, { ...viewOf(t, 1), top: 0 }, gone, 0), null);
  }
});

/** The same of two sides: A's weights beside so many times as much of B, in as much more time. */
function withB(t: Tree, times: number): Tree {
  const of = (column: Float64Array) => column.map((v) => v * times);
  return { ...t, b: { self: of(t.self), total: of(t.total), trimmed: new Map([...t.trimmed].map(([i, w]) => [i, w * times])), factor: 1 / times } };
}

test("what was trimmed is nobody's self, leaves first and below a function, on either side", () => {
  for (let seed = 1; seed < 25; seed++) {
    const t = trimmed(treeOf(randomStacks(seed, 80, 9, 8)), 60);
    const all = [...t.trimmed.values()].reduce((a, b) => a + b, 0);
    assert.ok(all > 0);
    for (const times of [0, 3]) {
      const d = times ? withB(t, times) : t;
      const inverted = invert(d);
      assert.equal(inverted.trimmed.get(0), all);
      assert.equal(inverted.self[0], t.self[0]);
      if (times) assert.deepEqual([inverted.b!.trimmed.get(0), inverted.b!.self[0]], [times * all, times * t.self[0]]);
      for (let f = 0; f < t.functions.n; f++) {
        const down = callees(d, [f]);
        // By brute force: the nodes that a way below an outermost call leads to.
        const self = new Map<string, number>();
        const lost = new Map<string, number>();
        const outermost = (i: number): number => [...ways(t, i)].reverse().find((k) => t.func[k] === f) ?? -1;
        for (let i = 1; i < t.n; i++) {
          const top = outermost(i);
          if (top < 0) continue;
          const path = way(t, i).slice(way(t, top).length);
          self.set(path, (self.get(path) ?? 0) + t.self[i]);
          lost.set(path, (lost.get(path) ?? 0) + (t.trimmed.get(i) ?? 0));
        }
        for (let i = 0; i < down.n; i++) {
          const path = way(down, i);
          assert.deepEqual([down.self[i], down.trimmed.get(i) ?? 0], [self.get(path) ?? 0, lost.get(path) ?? 0]);
          if (times) assert.deepEqual([down.b!.self[i], down.b!.trimmed.get(i) ?? 0], [times * down.self[i], times * (down.trimmed.get(i) ?? 0)]);
        }
      }
    }
  }
});

test("of a diff what is light as rates is left out, whichever side has more time, and what was is told of both", () => {
  // B is 144 times as long: what only A has is not light for that.
  const stacks = [{ names: ["main", "both"], value: 1000 }, { names: ["main", "old"], value: 10 }];
  const t = treeOf(stacks);
  const b = (column: Float64Array) => column.map((v, i) => (name(t, i) === "old" ? 0 : v * 144));
  const self = b(t.self);
  const d: Tree = { ...t, b: { self, total: settle(t.n, t.parent, self, new Map()).total, trimmed: new Map(), factor: 1 / 144 } };
  assert.ok(columns(invert(d)).some(([path]) => path === "/old/main"));
  const far = withB(trimmed(treeOf(randomStacks(3, 20000, 300, 20)), 40), 5);
  const up = invert(far);
  for (let i = 0; i < up.n; i++) {
    let children = 0;
    for (let c = i + 1; c < up.end[i]; c = up.end[c]) children += up.b!.total[c];
    assert.ok(Math.abs(up.b!.total[i] - children - up.b!.self[i] - (up.b!.trimmed.get(i) ?? 0)) < 1e-6);
    assert.ok(Math.abs((up.b!.trimmed.get(i) ?? 0) - 5 * (up.trimmed.get(i) ?? 0)) < 1e-6);
  }
});

test("what only B has lost is drawn and told, as a rate", () => {
  const t = trimmed(treeOf(randomStacks(3, 200, 10, 8)), 200);
  const none = new Map<number, number>();
  const both = withB(t, 4);
  const d: Tree = { ...both, trimmed: none, total: settle(t.n, t.parent, t.self, none).total };
  assert.equal(shareTrimmed(d, 0), shareTrimmed(t, 0));
  const panel = { width: 1000, height: 400, row: 20, letters: 12, flip: false };
  const drawn = (tree: Tree) => {
    const rects = new Rects();
    layout(tree, { x0: 0, x1: tree.width[0], top: 0 }, panel, rects, plainRows(tree));
    return [...rects.node.subarray(0, rects.n).entries()].filter(([, n]) => n === TRIMMED).map(([k]) => rects.w[k]).reduce((a, b) => a + b, 0);
  };
  assert.ok(drawn(d) > 1 && Math.abs(drawn(d) - drawn(t)) < 1);
});

test("a function is found again in another answer, by more than its name", () => {
  const t = treeOf([{ names: ["a", "b", "c"], value: 3 }]);
  const other = treeOf([{ names: ["c", "x", "b", "a"], value: 3 }]);
  const ids = ["a", "b", "c"].map((n) => [functionsNamed(t.functions, n)[0], functionsNamed(other.functions, n)[0]]);
  for (const [i, k] of ids) assert.equal(sameFunction(t.functions, i, other.functions), k);
  assert.equal(sameFunction(other.functions, functionsNamed(other.functions, "x")[0], t.functions), -1);
  other.functions.line[ids[1][1]] = 7;
  assert.equal(sameFunction(t.functions, ids[1][0], other.functions), -1);
});

test("what has a colour stands in the legend where that does", () => {
  for (const mode of colorModes) {
    const t = treeOf(randomStacks(3, 80));
    const { byNode, of, legend, entry } = colorFrames(t, mode);
    assert.equal(of.length, byNode ? t.n : t.functions.n);
    for (let i = 0; i < of.length; i++) assert.equal(legend[entry[i]].fill, of[i], `${mode}: ${i}`);
  }
});

test("a screen reader has the way to a frame, 25 on either side of it and 50 below it, each with its place among its siblings", () => {
  const r = random(5);
  for (let seed = 1; seed < 20; seed++) {
    const t = treeOf(randomStacks(seed, 600, 120, 3));
    const siblings = (i: number) => Array.from({ length: t.n }, (_, k) => k).filter((k) => t.parent[k] === t.parent[i]);
    const node = r(t.n);
    const way: number[] = [];
    for (let i = node; i >= 0; i = t.parent[i]) way.push(i);
    const place = siblings(node).indexOf(node);
    const beside = node ? siblings(node).slice(Math.max(place - 25, 0), place + 26) : [];
    const below = Array.from({ length: t.n }, (_, k) => k).filter((k) => t.parent[k] === node).slice(0, 50);
    const want = [...new Set([...way, ...beside, ...below])].sort((a, b) => a - b);
    assert.deepEqual(mirror(t, node), want.map((k) => ({ node: k, place: siblings(k).indexOf(k) + 1, of: siblings(k).length })));
  }
});

test("a table is sorted by any of its columns, by texts, too", () => {
  const t = treeOf(randomStacks(2, 200, 40));
  const files = { ...t.functions, files: makeTexts(["", "a/x.c", "a/b.c"]), binaries: makeTexts(["/bin/z", "/lib/c"]) };
  for (let f = 0; f < files.n; f++) (files.file[f] = f % 3), (files.line[f] = (f * 7) % 40), (files.binary[f] = f % 2);
  const tree = { ...t, functions: files };
  const totals = functionTotals(tree);
  const binaries = (sort: string) => [...sorted(tree, totals, sort, null)].map((f) => (files.binary[f] ? "c" : "z"));
  assert.deepEqual(binaries("binary"), binaries("binary").slice().sort());
  assert.deepEqual(binaries("-binary"), binaries("binary").reverse());
  const lines = [...sorted(tree, totals, "file", null)].filter((f) => files.file[f] === 2).map((f) => files.line[f]);
  assert.deepEqual(lines, lines.slice().sort((a, b) => a - b));
  assert.deepEqual(parse("sort=-file").wrong, []);
});

test("what changed is a share of A, and of B where A has nothing", () => {
  const t = treeOf([{ names: ["a"], value: 30 }, { names: ["b"], value: 10 }]);
  const nothing = { ...t, self: t.self.map(() => 0), total: t.total.map(() => 0), b: { self: t.self, total: t.total, trimmed: new Map(), factor: 2 } };
  assert.deepEqual(heaviest(nothing, 2).map((h) => h.weight / wholeOf(nothing)), [0.75, 0.25]);
  assert.equal(wholeOf({ ...t, b: nothing.b }), 40);
});

test("what no label leads has a colour of its own", () => {
  const t = treeOf(Array.from({ length: 40 }, (_, i) => ({ names: [`f${i}`, "x"], value: 1 + i })));
  for (let f = 0; f < t.functions.n; f++) if (f < 20 && nameOf(t.functions, f) !== "x") t.functions.flags[f] = Kind.label;
  const { legend } = colorFrames(t, "label");
  assert.ok(legend.length > 13);
  const none = legend.find((e) => e.text === "no label leads it")!;
  assert.ok(legend.every((e) => e === none || e.fill !== none.fill));
});

test("by label, a frame has the colour of the outermost label that leads it", () => {
  for (let seed = 1; seed < 10; seed++) {
    const t = treeOf(randomStacks(seed, 80));
    for (let f = 0; f < t.functions.n; f++) t.functions.flags[f] = f % 5 === seed % 5 ? Kind.label : Kind.native;
    const { legend, entry } = colorFrames(t, "label");
    const want = new Map<string, number>();
    for (let i = 1; i < t.n; i++) {
      let text = "no label leads it";
      for (let k = i; k > 0; k = t.parent[k]) if (t.functions.flags[t.func[k]] === Kind.label) text = nameOf(t.functions, t.func[k]);
      assert.equal(legend[entry[i]].text, text);
      want.set(text, (want.get(text) ?? 0) + t.self[i]);
    }
    for (const e of legend) assert.equal(e.weight, want.get(e.text) ?? 0, e.text);
    assert.deepEqual(legend.map((e) => e.weight), legend.map((e) => e.weight).sort((a, b) => b - a));
  }
});

test("what is told of a frame is whole in sight, and does not cover it where there is room on a side", () => {
  const below = random(11);
  for (let i = 0; i < 2000; i++) {
    const from = below(800) - 400;
    const to = from + 100 + below(1500);
    const y = from + below(to - from);
    const height = 40 + below(500);
    const top = besides(y, height, from, to);
    if (height <= to - from) assert.ok(top >= from && top + height <= to, `${y} ${height} ${from} ${to}: ${top}`);
    else assert.equal(top, from);
    if (y + 18 + height <= to || y - 10 - height >= from) assert.ok(top > y || top + height < y, `${y} ${height} ${from} ${to}: ${top}`);
  }
});

test("of a tree without its smallest frames functions weigh what the server says, and those without a frame are counted", () => {
  const t = treeOf(randomStacks(5, 300));
  const totals = functionTotals(t);
  const [a, b] = [3, 4].map((f) => nameOf(t.functions, f));
  const row = (name: string, self: number, total: number, binary = "/bin/a") => ({ name, file: "", binary, self: [self], total: [total] });
  const exact = exactTotals(t, totals, [row(a, 1e6, 2e6), row("nobody", 7, 8), row(b, 9, 9, "/bin/other")]);
  assert.deepEqual([exact.totals.self[3], exact.totals.total[3]], [1e6, 2e6]);
  assert.deepEqual([exact.totals.self[4], exact.totals.total[4]], [totals.self[4], totals.total[4]]);
  assert.deepEqual([exact.missing, exact.missingSelf], [2, 16]);
  assert.notEqual(totals.self[3], 1e6, "what was added up is another's, and stays");
});
