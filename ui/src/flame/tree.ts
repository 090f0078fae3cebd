// SPDX-License-Identifier: Apache-2.0
// flame/tree.ts - a flame tree as columns, and its reader: "flametree" version 1, docs/FORMATS.md
//
// The bytes may come from anywhere: every count is held against the length of its section before memory is taken for
// it, and what does not fit is an error with a sentence. Texts are what profiled programs called things: any bytes, of which
// what is no UTF-8 becomes U+FFFD. They are decoded when somebody reads them.

import type { Lack } from "./quality.ts";

export const Kind = { native: 0, kernel: 1, jit: 2, interpreted: 3, note: 4, label: 7 } as const;
export const kindNames = ["native", "kernel", "jit", "interpreted", "note", "", "", "label"];

/** Texts [n], one behind the other in bytes. */
export interface Texts {
  readonly n: number;
  readonly offsets: Uint32Array; // [n + 1]
  readonly bytes: Uint8Array;
}

/** Frames that nodes refer to: columns of n. */
export interface Functions {
  readonly n: number;
  readonly names: Texts;
  readonly files: Texts;
  readonly binaries: Texts;
  readonly buildIds: Texts;
  readonly reasons: Texts;
  readonly file: Uint32Array;
  readonly binary: Uint32Array;
  readonly buildId: Uint32Array;
  readonly reason: Uint32Array;
  readonly line: Float64Array;
  readonly address: BigUint64Array; // the kernel's have no exact double
  readonly flags: Uint32Array;
}

/** How the sides of a diff compare: docs/API.md, "Differences". */
export interface Comparison {
  by: "rate" | "mean" | "total" | "share"; // share: of files, here
  level: number;
  untested: string | null;
  sides: { seconds: number; samples: number | null }[];
}

/** What the server says of the whole, in its own words. */
export interface Meta {
  type?: string; // the profile type, which whoever asked knows; of a file without a name and a period: ":cpu:nanoseconds"
  unit?: string;
  total?: number[];
  filtered?: number[];
  trimmed_nodes?: number;
  period?: number; // what a sample stands for; 0: nobody knows
  left_out?: { what: string; why: string; from_ms: number; to_ms: number; profiles: number }[];
  left_out_more?: number;
  compare?: Comparison;
}

/** Weights as they came; times `factor` they are of as much time as side A's. */
export interface SideB {
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly trimmed: Map<number, number>;
  readonly factor: number;
}

/**
 * Nodes are columns in preorder; node 0 is the root, and has no function. x is where a node begins: the weight of all
 * that stands left of it. Of a diff, side b is there.
 */
export interface Tree {
  readonly n: number;
  readonly maxDepth: number;
  readonly func: Int32Array; // -1: the root
  readonly depth: Uint16Array;
  readonly parent: Int32Array; // -1: of the root
  readonly end: Uint32Array; // behind the last descendant
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly width: Float64Array; // total, or of a diff as much as the larger side
  readonly x: Float64Array;
  readonly trimmed: Map<number, number>;
  readonly b?: SideB;
  readonly functions: Functions;
  readonly meta: Meta;
  readonly byName?: boolean; // siblings are; else the heaviest comes first
  readonly leavesFirst?: boolean; // callers stand below what they call: `self` is of the stacks that begin at a frame
  // What passes over all nodes, and was worked out by whoever made the tree, so that the page need not:
  readonly weights?: Float64Array; // of functions: what their nodes have themselves, without signs
  readonly lacks?: Lacks;
  readonly significant?: Uint8Array; // of a diff: significance.ts
}

/** What has no name, and what has no root. */
export interface Lacks {
  readonly unnamed: Lack[];
  readonly truncated: Lack[];
}

const HEAD_BYTES = 64;
const ENTRY_BYTES = 24;
const MAX_SECTIONS = 64;
const MAX_NODES = 16_000_000;
const MAX_DEPTH = 65_000;

export class FormatError extends Error {}

interface Section {
  codec: number;
  bytes: Uint8Array;
}

function fail(what: string): never {
  throw new FormatError(`The server's answer is damaged: ${what}.`);
}

function readSections(bytes: Uint8Array, view: DataView, n: number): Map<string, Section> {
  const sections = new Map<string, Section>();
  if (n > MAX_SECTIONS || HEAD_BYTES + n * ENTRY_BYTES > bytes.length) fail("it has too many sections");
  for (let i = 0; i < n; i++) {
    const at = HEAD_BYTES + i * ENTRY_BYTES;
    const tag = String.fromCharCode(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    const offset = Number(view.getBigUint64(at + 8, true));
    const length = Number(view.getBigUint64(at + 16, true));
    if (offset > bytes.length || length > bytes.length - offset) fail(`section ${tag} lies outside of it`);
    sections.set(tag, { codec: view.getUint32(at + 4, true), bytes: bytes.subarray(offset, offset + length) });
  }
  return sections;
}

/** Numbers of seven bits a byte; those beyond 2^53 have no exact double and are not written. */
export class Numbers {
  private readonly bytes: Uint8Array;
  private readonly zigzag: boolean;
  private readonly tag: string;
  private at = 0;

  constructor(section: Section, tag: string) {
    this.tag = tag;
    if (section.codec !== 1 && section.codec !== 2) fail(`section ${tag} is not read as numbers`);
    this.bytes = section.bytes;
    this.zigzag = section.codec === 2;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  protected byte(): number {
    if (this.left <= 0) fail(`section ${this.tag} ends too early`);
    return this.bytes[this.at++];
  }

  /** One of at most seven bytes, which has an exact double; -1, and nothing is read: it is longer. */
  protected nextShort(): number {
    let v = 0;
    for (let at = this.at, scale = 1; at < this.at + 7 && at < this.bytes.length; scale *= 128) {
      const b = this.bytes[at++];
      v += (b & 0x7f) * scale;
      if (b < 0x80) {
        this.at = at;
        return v;
      }
    }
    return -1;
  }

  protected tooLong(): never {
    return fail(`a number of section ${this.tag} is too long`);
  }

  next(): number {
    const { bytes } = this;
    let at = this.at;
    let b = bytes[at++];
    let v = b & 0x7f;
    if (b >= 0x80) {
      let scale = 128;
      do {
        if (scale > 2 ** 56) this.tooLong();
        b = bytes[at++];
        v += (b & 0x7f) * scale;
        scale *= 128;
      } while (b >= 0x80);
    }
    // Behind the end there is undefined, of which NaN has become.
    if (b === undefined) fail(`section ${this.tag} ends too early`);
    this.at = at;
    if (!this.zigzag) return v;
    return v % 2 === 0 ? v / 2 : -(v + 1) / 2;
  }
}

/** Numbers of up to 64 bits. */
class LongNumbers extends Numbers {
  nextLong(): bigint {
    const short = this.nextShort();
    if (short >= 0) return BigInt(short);
    let v = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const b = this.byte();
      v |= BigInt(b & 0x7f) << shift;
      if (b < 0x80) return BigInt.asUintN(64, v);
      if (shift > 56n) this.tooLong();
    }
  }
}

class Reader {
  private readonly sections: Map<string, Section>;

  constructor(sections: Map<string, Section>) {
    this.sections = sections;
  }

  section(tag: string): Section {
    return this.sections.get(tag) ?? fail(`section ${tag} is missing`);
  }

  has(tag: string): boolean {
    return this.sections.has(tag);
  }

  numbers(tag: string, n: number): Numbers {
    const numbers = new Numbers(this.section(tag), tag);
    if (numbers.left < n) fail(`section ${tag} is too short`);
    return numbers;
  }

  texts(lengths: string, blob: string, n: number): Texts {
    const numbers = this.numbers(lengths, n);
    const bytes = this.section(blob).bytes;
    const offsets = new Uint32Array(n + 1);
    let at = 0;
    for (let i = 0; i < n; i++) {
      at += numbers.next();
      if (at > bytes.length) fail(`texts of section ${blob} lie outside of it`);
      offsets[i + 1] = at;
    }
    return { n, offsets, bytes };
  }

  ids(tag: string, n: number, limit: number): Uint32Array {
    const numbers = this.numbers(tag, n);
    const ids = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      const id = numbers.next();
      if (!(id >= 0 && id < limit)) fail(`section ${tag} names an entry that is not there`);
      ids[i] = id;
    }
    return ids;
  }

  doubles(tag: string, n: number): Float64Array {
    const numbers = this.numbers(tag, n);
    const values = new Float64Array(n);
    for (let i = 0; i < n; i++) values[i] = numbers.next();
    return values;
  }

  longs(tag: string, n: number): BigUint64Array {
    const numbers = new LongNumbers(this.section(tag), tag);
    if (numbers.left < n) fail(`section ${tag} is too short`);
    const values = new BigUint64Array(n);
    for (let i = 0; i < n; i++) values[i] = numbers.nextLong();
    return values;
  }

  /** How many texts there are is known by their lengths alone. */
  countTexts(lengths: string): number {
    let n = 0;
    for (const byte of this.section(lengths).bytes) n += byte < 0x80 ? 1 : 0;
    return n;
  }
}

const AT_ADDRESS = 32;
const MAX_NAME_BYTES = 2 ** 30;

/** What of each function's name is written: of those without one, nothing where it is their binary's. */
function writtenNames(names: Texts, binaries: Texts, binary: Uint32Array, flags: Uint32Array) {
  const { n } = binaries;
  const begins = new Uint32Array(n); // of their base names
  for (let b = 0; b < n; b++) {
    let at = binaries.offsets[b + 1];
    while (at > binaries.offsets[b] && binaries.bytes[at - 1] !== 0x2f) at--;
    begins[b] = at;
  }
  return (i: number): [Uint8Array, number, number] =>
    flags[i] & AT_ADDRESS && names.offsets[i] === names.offsets[i + 1]
      ? [binaries.bytes, begins[binary[i]], binaries.offsets[binary[i] + 1]]
      : [names.bytes, names.offsets[i], names.offsets[i + 1]];
}

/** Names with what stands in other columns: of those at an address, "+0x1f" comes behind. */
function wholeNames(names: Texts, binaries: Texts, f: { address: BigUint64Array; flags: Uint32Array; binary: Uint32Array }): Texts {
  const { address, flags } = f;
  const written = writtenNames(names, binaries, f.binary, flags);
  const halves = new Uint32Array(address.buffer, address.byteOffset, 2 * address.length); // the lower one first
  const offsets = new Uint32Array(names.n + 1);
  const digitsOf = (i: number) => (halves[2 * i + 1] ? 8 + ((35 - Math.clz32(halves[2 * i + 1])) >> 2) : Math.max((35 - Math.clz32(halves[2 * i])) >> 2, 1));
  let size = 0;
  for (let i = 0; i < names.n; i++) {
    const [, from, to] = written(i);
    size += to - from + (flags[i] & AT_ADDRESS ? 3 + digitsOf(i) : 0);
    if (size > MAX_NAME_BYTES) fail("its names are impossibly long");
    offsets[i + 1] = size;
  }
  const bytes = new Uint8Array(offsets[names.n]);
  for (let i = 0; i < names.n; i++) {
    const [source, from, to] = written(i);
    let at = offsets[i];
    for (let k = from; k < to; k++) bytes[at++] = source[k];
    if (!(flags[i] & AT_ADDRESS)) continue;
    bytes[at] = 0x2b;
    bytes[at + 1] = 0x30;
    bytes[at + 2] = 0x78;
    for (let k = offsets[i + 1] - 1, digit = 0; k >= at + 3; k--, digit++) {
      const v = (halves[2 * i + (digit >> 3)] >>> (4 * (digit & 7))) & 15;
      bytes[k] = v < 10 ? 0x30 + v : 0x57 + v;
    }
  }
  return { n: names.n, offsets, bytes };
}

function readFunctions(r: Reader, n: number): Functions {
  const table = (lengths: string, blob: string) => r.texts(lengths, blob, r.countTexts(lengths));
  const files = table("FLEN", "FBLB");
  const binaries = table("MLEN", "MBLB");
  const buildIds = table("BLEN", "BBLB");
  const reasons = table("WLEN", "WBLB");
  const address = r.longs("FADR", n);
  const flags = r.ids("FFLG", n, 256);
  const binary = r.ids("FMAP", n, binaries.n);
  const names = r.texts("NLEN", "NBLB", n);
  return {
    n,
    names: flags.some((f) => (f & AT_ADDRESS) !== 0) ? wholeNames(names, binaries, { address, flags, binary }) : names,
    files,
    binaries,
    buildIds,
    reasons,
    file: r.ids("FFIL", n, files.n),
    binary,
    buildId: r.ids("FBID", n, buildIds.n),
    reason: r.ids("FWHY", n, reasons.n),
    line: r.doubles("FLIN", n),
    address,
    flags,
  };
}

/** Totals and ends from the leaves up, then where each node begins from the root down. */
export function settle(
  n: number,
  parent: Int32Array,
  self: Float64Array,
  trimmed: Map<number, number>,
): { total: Float64Array; end: Uint32Array } {
  const total = Float64Array.from(self);
  const end = new Uint32Array(n);
  for (const [node, weight] of trimmed) total[node] += weight;
  for (let i = n - 1; i >= 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    const p = parent[i];
    if (p >= 0) {
      total[p] += total[i];
      if (end[p] === 0) end[p] = end[i];
    }
  }
  return { total, end };
}

export function place(n: number, parent: Int32Array, width: Float64Array): Float64Array {
  const x = new Float64Array(n);
  const next = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    const p = parent[i];
    x[i] = x[p] + next[p];
    next[p] += width[i];
  }
  return x;
}

function readShape(r: Reader, n: number, n_functions: number) {
  const ups = r.numbers("NUPS", n - 1);
  const functions = r.numbers("NFUN", n - 1);
  const depth = new Uint16Array(n);
  const parent = new Int32Array(n).fill(-1);
  const func = new Int32Array(n).fill(-1);
  const path = [0];
  let maxDepth = 0;
  for (let i = 1; i < n; i++) {
    const level = path.length - ups.next();
    const f = functions.next();
    // The next level below is the deepest that there is; numbers may come with a sign.
    if (!(level >= 1 && level <= path.length) || level > MAX_DEPTH) fail("a node has no parent");
    if (!(f >= 0 && f < n_functions)) fail("a node has no function");
    path.length = level;
    parent[i] = path[level - 1];
    depth[i] = level;
    func[i] = f;
    path.push(i);
    if (level > maxDepth) maxDepth = level;
  }
  return { depth, parent, func, maxDepth };
}

function readTrimmed(r: Reader, n: number, isDiff: boolean): { a: Map<number, number>; b: Map<number, number> } {
  const a = new Map<number, number>();
  const b = new Map<number, number>();
  if (!r.has("NTRM")) return { a, b };
  const numbers = r.numbers("NTRM", 0);
  for (let node = 0; numbers.left > 0; ) {
    node += numbers.next();
    if (!(node >= 0 && node < n)) fail("weight is trimmed below a node that is not there");
    a.set(node, numbers.next());
    if (isDiff) b.set(node, numbers.next());
  }
  return { a, b };
}

function scaled(values: Float64Array, scale: number): Float64Array {
  if (scale !== 1) for (let i = 0; i < values.length; i++) values[i] *= scale;
  return values;
}

/** Whether it is what the page reads. */
export type IsMeta = (v: unknown) => v is Meta;

function readMeta(r: Reader, isMeta?: IsMeta): Meta {
  let meta: Meta;
  try {
    meta = JSON.parse(new TextDecoder().decode(r.section("META").bytes)) as Meta;
  } catch {
    return fail("its description is no JSON");
  }
  return isMeta?.(meta) === false ? fail("its description is none of a flame tree") : meta;
}

function factorOf(meta: Meta): number {
  const sides = meta.compare?.sides;
  return meta.compare?.by === "rate" && sides && sides[1].seconds > 0 ? sides[0].seconds / sides[1].seconds : 1;
}

/** Widths of a diff: of a node the larger side, but never less than its children's. */
export function diffWidths(parent: Int32Array, a: Float64Array, b: Float64Array, factor: number): Float64Array {
  const width = a.map((v, i) => Math.max(Math.abs(v), Math.abs(b[i] * factor)));
  const children = new Float64Array(width.length);
  for (let i = width.length - 1; i >= 0; i--) {
    width[i] = Math.max(width[i], children[i]);
    if (parent[i] >= 0) children[parent[i]] += width[i];
  }
  return width;
}

const MAGIC = [0x46, 0x54, 0x52, 0x31]; // "FTR1"
export const isFlameTree = (bytes: Uint8Array): boolean => MAGIC.every((b, i) => bytes[i] === b) && bytes[5] === 0; // no text has a 0

/** What a server of this program says of the whole is as it should be; of a file isMeta is asked. */
export function decodeTree(bytes: Uint8Array, isMeta?: IsMeta): Tree {
  if (bytes.length < HEAD_BYTES) fail("it is too short");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== 0x31525446) fail("it is no flame tree");
  if (view.getUint16(4, true) !== 1) fail(`it has version ${view.getUint16(4, true)}, and this page knows 1`);
  if (Number(view.getBigUint64(56, true)) !== bytes.length) fail("it is cut off");
  const n = view.getUint32(8, true);
  const n_functions = view.getUint32(12, true);
  const scale = view.getFloat64(48, true);
  const r = new Reader(readSections(bytes, view, view.getUint32(28, true)));
  if (n < 1 || n > MAX_NODES || n_functions > n) fail("it has an impossible number of nodes");
  const isDiff = (view.getUint16(6, true) & 1) !== 0;
  const { depth, parent, func, maxDepth } = readShape(r, n, n_functions);
  const self = scaled(r.doubles("NSLA", n), scale);
  const trimmed = readTrimmed(r, n, isDiff);
  const a = settle(n, parent, self, trimmed.a);
  const common = { n, maxDepth, func, depth, parent, end: a.end, self, total: a.total };
  const rest = { trimmed: trimmed.a, functions: readFunctions(r, n_functions), meta: readMeta(r, isMeta) };
  if (!isDiff) return { ...common, ...rest, width: a.total, x: place(n, parent, a.total) };
  const selfB = scaled(r.doubles("NSLB", n), scale);
  const b = settle(n, parent, selfB, trimmed.b);
  const factor = factorOf(rest.meta);
  const width = diffWidths(parent, a.total, b.total, factor);
  return { ...common, ...rest, width, x: place(n, parent, width), b: { self: selfB, total: b.total, trimmed: trimmed.b, factor } };
}

export function makeTexts(texts: string[]): Texts {
  const encoder = new TextEncoder();
  const parts = texts.map((t) => encoder.encode(t));
  const offsets = new Uint32Array(parts.length + 1);
  parts.forEach((p, i) => (offsets[i + 1] = offsets[i] + p.length));
  const bytes = new Uint8Array(offsets[parts.length]);
  parts.forEach((p, i) => bytes.set(p, offsets[i]));
  return { n: parts.length, offsets, bytes };
}

const decoder = new TextDecoder();

export function textAt(t: Texts, i: number): string {
  return decoder.decode(t.bytes.subarray(t.offsets[i], t.offsets[i + 1]));
}

export function nameOf(f: Functions, i: number): string {
  return textAt(f.names, i);
}

/** Bytes are compared: to read all names takes long. */
function isNamed({ names }: Functions, i: number, name: Uint8Array): boolean {
  const at = names.offsets[i];
  if (names.offsets[i + 1] - at !== name.length) return false;
  for (let k = 0; k < name.length; k++) if (names.bytes[at + k] !== name[k]) return false;
  return true;
}

/** The functions of that name, of which each binary and file may have one. */
export function functionsNamed(f: Functions, name: string): number[] {
  const wanted = new TextEncoder().encode(name);
  // What was no UTF-8 is read otherwise than it is written.
  const isLossy = name.includes("\ufffd");
  const found: number[] = [];
  for (let i = 0; i < f.n; i++) if (isNamed(f, i, wanted) || (isLossy && nameOf(f, i) === name)) found.push(i);
  return found;
}

/** Whether weight is in frames that are not there. */
export function hasTrimmed(t: Tree): boolean {
  return t.trimmed.size > 0 || (t.b !== undefined && t.b.trimmed.size > 0);
}

/** The function of another answer that is this one by name, file, binary and line; -1: it has none. */
export function sameFunction(from: Functions, i: number, to: Functions): number {
  const rest = (f: Functions, k: number) => [textAt(f.files, f.file[k]), textAt(f.binaries, f.binary[k]), f.line[k]].join("\n");
  const name = from.names.bytes.subarray(from.names.offsets[i], from.names.offsets[i + 1]);
  const wanted = rest(from, i);
  for (let k = 0; k < to.n; k++) if (isNamed(to, k, name) && rest(to, k) === wanted) return k;
  return -1;
}

/** What a node has itself; null: leaves first, where only what has it stands right below the root. */
export function ownOf(t: Tree, node: number): number | null {
  if (!t.leavesFirst) return t.self[node];
  return t.func[0] < 0 && t.depth[node] === 1 ? t.total[node] : null;
}

/** What the nodes of each function have themselves, without signs. */
export function weightsOf(t: Tree): Float64Array {
  const weights = new Float64Array(t.functions.n);
  for (let i = 1; i < t.n; i++) weights[t.func[i]] += Math.abs(t.self[i]);
  return weights;
}
