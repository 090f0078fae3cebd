// SPDX-License-Identifier: Apache-2.0
// open/pprof.ts - pprof's protocol buffers: https://github.com/google/pprof, proto/profile.proto

import { type Frame, NotAProfile, type Profile } from "./profile.ts";

function wrong(what: string): never {
  throw new NotAProfile(`This is no profile that can be read: ${what}.`);
}

/** The fields of a message, one behind the other. Numbers beyond 2^53 lose their last digits. */
class Message {
  private at = 0;
  private readonly bytes: Uint8Array;
  field = 0;
  number = 0;
  data: Uint8Array = new Uint8Array(0);

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  varint(): number {
    const from = this.at;
    let v = 0;
    for (let shift = 0; ; shift += 7) {
      const b = this.bytes[this.at++];
      if (b === undefined || shift > 63) wrong("a number ends too early");
      v += (b & 0x7f) * 2 ** shift;
      if (b < 0x80) return shift < 49 ? v : this.long(from);
    }
  }

  /** Of more than 53 bits: negative ones have all 64. */
  private long(from: number): number {
    let v = 0n;
    for (let i = this.at - 1; i >= from; i--) v = (v << 7n) | BigInt(this.bytes[i] & 0x7f);
    return Number(BigInt.asIntN(64, v));
  }

  next(): boolean {
    if (this.at >= this.bytes.length) return false;
    const key = this.varint();
    this.field = Math.floor(key / 8);
    const kind = key % 8;
    if (kind === 0) this.number = this.varint();
    else if (kind === 1) this.at += 8;
    else if (kind === 5) this.at += 4;
    else if (kind === 2) {
      const n = this.varint();
      if (!(n >= 0 && n <= this.bytes.length - this.at)) wrong("a part is longer than the whole");
      this.data = this.bytes.subarray(this.at, this.at + n);
      this.at += n;
    } else wrong("a field has a kind that is not known");
    this.isData = kind === 2;
    return true;
  }
  isData = false;

  get rest(): boolean {
    return this.at < this.bytes.length;
  }
}

/** A repeated number: packed, or one a field. */
function numbers(m: Message, into: number[]): void {
  if (!m.isData) {
    into.push(m.number);
    return;
  }
  const packed = new Message(m.data);
  while (packed.rest) into.push(packed.varint());
}

interface Line {
  func: number;
  line: number;
}
interface Location {
  mapping: number;
  address: number;
  lines: Line[];
}

function location(bytes: Uint8Array, into: Map<number, Location>): void {
  const l: Location = { mapping: 0, address: 0, lines: [] };
  let id = 0;
  for (const m = new Message(bytes); m.next(); ) {
    if (m.field === 1) id = m.number;
    else if (m.field === 2) l.mapping = m.number;
    else if (m.field === 3) l.address = m.number;
    else if (m.field === 4) {
      const line: Line = { func: 0, line: 0 };
      for (const n = new Message(m.data); n.next(); ) {
        if (n.field === 1) line.func = n.number;
        else if (n.field === 2) line.line = n.number;
      }
      l.lines.push(line);
    }
  }
  into.set(id, l);
}

/** Numbers of a message's fields by field: all that functions, mappings and types have. */
function flat(bytes: Uint8Array): number[] {
  const out: number[] = [];
  for (const m = new Message(bytes); m.next(); ) out[m.field] = m.number;
  return out;
}

export function readPprof(bytes: Uint8Array): Profile {
  const texts: string[] = [];
  const types: number[][] = [];
  const samples: { locations: number[]; values: number[] }[] = [];
  const mappings = new Map<number, number[]>();
  const locations = new Map<number, Location>();
  const functions = new Map<number, number[]>();
  const decoder = new TextDecoder();
  let usual = 0;
  for (const m = new Message(bytes); m.next(); ) {
    if (m.field === 1) types.push(flat(m.data));
    else if (m.field === 2) {
      const s = { locations: [] as number[], values: [] as number[] };
      for (const n = new Message(m.data); n.next(); ) {
        if (n.field === 1) numbers(n, s.locations);
        else if (n.field === 2) numbers(n, s.values);
      }
      samples.push(s);
    } else if (m.field === 3) {
      const f = flat(m.data);
      mappings.set(f[1], f);
    } else if (m.field === 4) location(m.data, locations);
    else if (m.field === 5) {
      const f = flat(m.data);
      functions.set(f[1], f);
    } else if (m.field === 6) texts.push(decoder.decode(m.data));
    else if (m.field === 14) usual = m.number;
  }
  if (!types.length || !texts.length) wrong("it has no sample type");
  return assemble({ texts, types, usual, samples, mappings, locations, functions });
}

interface Tables {
  texts: string[];
  types: number[][];
  usual: number; // of the texts: the name of the type that is shown unasked; 0: none is named, and it is the last
  samples: { locations: number[]; values: number[] }[];
  mappings: Map<number, number[]>;
  locations: Map<number, Location>;
  functions: Map<number, number[]>;
}

function assemble(t: Tables): Profile {
  const text = (i: number | undefined) => t.texts[i ?? 0] ?? "";
  const frames: Frame[] = [];
  const ids = new Map<string, number>();
  const idOf = (f: Frame): number => {
    const key = `${f.name}\n${f.file}\n${f.binary}`;
    let id = ids.get(key);
    if (id === undefined) {
      ids.set(key, (id = frames.length));
      frames.push(f);
    }
    return id;
  };
  /* Of a location its frames from the caller to what was inlined into it last. */
  const framesOf = new Map<number, number[]>();
  for (const [id, l] of t.locations) {
    const binary = text(t.mappings.get(l.mapping)?.[5]);
    const named = l.lines.map((line) => {
      const f = t.functions.get(line.func);
      return idOf({ name: text(f?.[2]), file: text(f?.[4]), binary, line: f?.[5] ?? 0 });
    });
    const bare = () => idOf({ name: `${binary.slice(binary.lastIndexOf("/") + 1)}+0x${l.address.toString(16)}`, file: "", binary, line: 0 });
    framesOf.set(id, named.length ? named.reverse() : [bare()]);
  }
  const stacks = t.samples.map((s) => {
    if (s.values.length !== t.types.length) wrong("a sample has not as many values as there are types");
    const way = [...s.locations].reverse().flatMap((id) => framesOf.get(id) ?? wrong("a sample names a location that is not there"));
    return { frames: way, values: s.values };
  });
  const named = t.usual ? t.types.findIndex((v) => text(v[1]) === text(t.usual)) : -1;
  return { types: t.types.map((v) => ({ type: text(v[1]), unit: text(v[2]) })), usual: named < 0 ? t.types.length - 1 : named, frames, stacks };
}
