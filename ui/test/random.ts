// SPDX-License-Identifier: Apache-2.0
// test/random.ts - trees out of a seed, with the stacks that they are made of; and their bytes

import { type Functions, type Texts, type Tree, makeTexts as textsOf, place, settle } from "../src/flame/tree.ts";

/** mulberry32 */
export function random(seed: number): (below: number) => number {
  let a = seed >>> 0;
  return (below) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * below);
  };
}

export interface Stack {
  names: string[]; // from the root on
  value: number;
}

export function randomStacks(seed: number, n: number, functions = 30, depth = 12): Stack[] {
  const r = random(seed);
  return Array.from({ length: n }, () => ({ names: Array.from({ length: r(depth + 1) }, () => `f${r(r(functions) + 1)}`), value: 1 + r(100) }));
}

export function functionsOf(names: string[]): Functions {
  const n = names.length;
  const none = () => new Uint32Array(n);
  const empty = textsOf([""]);
  return {
    n, names: textsOf(names), files: empty, binaries: textsOf(["", "/bin/a"]), buildIds: empty, reasons: empty,
    file: none(), binary: none().fill(1), buildId: none(), reason: none(), line: new Float64Array(n), address: new BigUint64Array(n), flags: none(),
  };
}

interface Node {
  name: string;
  self: number;
  total: number;
  children: Map<string, Node>;
}

/** The slow and plain way. */
export function treeOf(stacks: Stack[]): Tree {
  const root: Node = { name: "", self: 0, total: 0, children: new Map() };
  for (const s of stacks) {
    let at = root;
    at.total += s.value;
    for (const name of s.names) {
      if (!at.children.has(name)) at.children.set(name, { name, self: 0, total: 0, children: new Map() });
      at = at.children.get(name)!;
      at.total += s.value;
    }
    at.self += s.value;
  }
  const names: string[] = [];
  const ids = new Map<string, number>();
  const func: number[] = [];
  const depth: number[] = [];
  const parent: number[] = [];
  const self: number[] = [];
  const walk = (n: Node, p: number, d: number) => {
    const i = func.length;
    if (p >= 0 && !ids.has(n.name)) ids.set(n.name, names.push(n.name) - 1);
    func.push(p < 0 ? -1 : ids.get(n.name)!);
    depth.push(d);
    parent.push(p);
    self.push(n.self);
    for (const c of [...n.children.values()].sort((a, b) => b.total - a.total)) walk(c, i, d + 1);
  };
  walk(root, -1, 0);
  const n = func.length;
  const parents = Int32Array.from(parent);
  const selfs = Float64Array.from(self);
  const { total, end } = settle(n, parents, selfs, new Map());
  return {
    n, maxDepth: depth.reduce((a, b) => Math.max(a, b), 0), func: Int32Array.from(func), depth: Uint16Array.from(depth), parent: parents, end, self: selfs, total,
    width: total, x: place(n, parents, total), trimmed: new Map(), functions: functionsOf(names), meta: { unit: "count" },
  };
}

function varint(out: number[], value: number | bigint): void {
  let big = BigInt(value);
  for (; big > 0xffff_ffffn; big >>= 7n) out.push(Number(big & 127n) + 128);
  let v = Number(big);
  while (v >= 128) {
    out.push((v % 128) + 128);
    v = Math.floor(v / 128);
  }
  out.push(v);
}

function withoutAddresses(f: Functions): Texts {
  return textsOf(
    Array.from({ length: f.n }, (_, i) => {
      const name = new TextDecoder().decode(f.names.bytes.subarray(f.names.offsets[i], f.names.offsets[i + 1]));
      const end = `+0x${f.address[i].toString(16)}`;
      if (f.flags[i] & 32 && !name.endsWith(end)) throw new Error(`${name} does not end with ${end}`);
      const binary = new TextDecoder().decode(f.binaries.bytes.subarray(f.binaries.offsets[f.binary[i]], f.binaries.offsets[f.binary[i] + 1]));
      const place = name.slice(0, -end.length);
      return f.flags[i] & 32 ? (place === binary.split("/").at(-1) ? "" : place) : name;
    }),
  );
}

/** As docs/FORMATS.md says, by a hand that has not seen the server's. */
export function encode(t: Tree): Uint8Array {
  const numbers = (values: Iterable<number | bigint>) => {
    const out: number[] = [];
    for (const v of values) varint(out, v);
    return Uint8Array.from(out);
  };
  const ups: number[] = [];
  for (let i = 1; i < t.n; i++) ups.push(t.depth[i - 1] + 1 - t.depth[i]);
  const lengths = (x: Texts) => Array.from({ length: x.n }, (_, i) => x.offsets[i + 1] - x.offsets[i]);
  const f = { ...t.functions, names: withoutAddresses(t.functions) };
  const sections: [string, number, Uint8Array][] = [
    ["META", 0, new TextEncoder().encode(JSON.stringify(t.meta))],
    ["NLEN", 1, numbers(lengths(f.names))], ["NBLB", 0, f.names.bytes],
    ["FLEN", 1, numbers(lengths(f.files))], ["FBLB", 0, f.files.bytes],
    ["MLEN", 1, numbers(lengths(f.binaries))], ["MBLB", 0, f.binaries.bytes],
    ["BLEN", 1, numbers(lengths(f.buildIds))], ["BBLB", 0, f.buildIds.bytes],
    ["WLEN", 1, numbers(lengths(f.reasons))], ["WBLB", 0, f.reasons.bytes],
    ["FFIL", 1, numbers(f.file)], ["FMAP", 1, numbers(f.binary)], ["FBID", 1, numbers(f.buildId)], ["FWHY", 1, numbers(f.reason)],
    ["FLIN", 1, numbers(f.line)], ["FADR", 1, numbers(f.address)], ["FFLG", 1, numbers(f.flags)],
    ["NUPS", 1, numbers(ups)], ["NFUN", 1, numbers(t.func.subarray(1))], ["NSLA", 1, numbers(t.self)],
    ["XNEW", 7, new Uint8Array(3)], // what later servers may add
  ];
  const head = 64 + sections.length * 24;
  const size = sections.reduce((n, s) => n + s[2].length, head);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("FTR1"));
  view.setUint16(4, 1, true);
  [t.n, f.n, f.files.n, f.binaries.n, t.maxDepth, sections.length].forEach((v, i) => view.setUint32(8 + 4 * i, v, true));
  view.setFloat64(32, t.total[0], true);
  view.setFloat64(48, 1, true);
  view.setBigUint64(56, BigInt(size), true);
  let at = head;
  sections.forEach(([tag, codec, data], i) => {
    bytes.set(new TextEncoder().encode(tag), 64 + i * 24);
    view.setUint32(68 + i * 24, codec, true);
    view.setBigUint64(72 + i * 24, BigInt(at), true);
    view.setBigUint64(80 + i * 24, BigInt(data.length), true);
    bytes.set(data, at);
    at += data.length;
  });
  return bytes;
}
