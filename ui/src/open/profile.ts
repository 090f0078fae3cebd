// SPDX-License-Identifier: Apache-2.0
// open/profile.ts - a file that somebody has: what it is, and the tree of its stacks
//
// What it holds is stacks of frames with one value or several, whatever the format. Gzip has been unpacked by whoever reads
// the file. Bytes may come from anywhere: what does not fit is an error with a sentence.

import { TreeBuilder } from "../flame/build.ts";
import { type Tree, decodeTree, isFlameTree, nameOf, textAt } from "../flame/tree.ts";
import { readFolded } from "./folded.ts";
import { isMeta } from "./meta.ts";
import { isPerf, readPerf } from "./perf.ts";
import { readPprof } from "./pprof.ts";
import { readSpeedscope } from "./speedscope.ts";

export interface SampleType {
  type: string;
  unit: string;
}

export interface Frame {
  name: string;
  file: string;
  binary: string;
  line: number;
}

/** Stacks are ids of frames from the root on, and a value for each of the types. */
export interface Profile {
  types: SampleType[];
  usual: number; // which of them is shown unasked
  frames: Frame[];
  stacks: { frames: number[]; values: number[] }[];
}

export class NotAProfile extends Error {}

/** Stacks out of a tree, each with what its leaf has itself: to be held against those of another file. */
function stacksOf(t: Tree): Profile {
  if (t.b) throw new NotAProfile("This flame tree is a comparison already.");
  const f = t.functions;
  const frames = Array.from({ length: f.n }, (_, i) => ({ name: nameOf(f, i), file: textAt(f.files, f.file[i]), binary: textAt(f.binaries, f.binary[i]), line: f.line[i] }));
  const stacks: Profile["stacks"] = [];
  const way: number[] = [];
  for (let i = 0; i < t.n; i++) {
    way.length = Math.max(t.depth[i] - 1, 0);
    if (i > 0) way.push(t.func[i]);
    const own = t.self[i] + (t.trimmed.get(i) ?? 0);
    if (own) stacks.push({ frames: [...way], values: [own] });
  }
  return { types: [typeOf(t)], usual: 0, frames, stacks };
}

const typeOf = (t: Tree): SampleType => ({ type: "weight", unit: t.meta.unit ?? "count" });

/** What is drawn of a file: by itself, or beside another one. */
export function treeOfFile(file: { bytes: Uint8Array; name: string }, against: { bytes: Uint8Array; name: string } | null, wanted: number): { tree: Tree; types: SampleType[]; index: number } {
  // As the server sends it: a tree, and no stacks.
  if (!against && isFlameTree(file.bytes)) {
    const tree = decodeTree(file.bytes, isMeta);
    return { tree, types: [typeOf(tree)], index: 0 };
  }
  const profile = readProfile(file.bytes, file.name);
  const index = wanted < 0 ? profile.usual : wanted;
  const tree = against ? treeOfTwo(profile, readProfile(against.bytes, against.name), index) : treeOfProfile(profile, index);
  return { tree, types: profile.types, index };
}

export function readProfile(bytes: Uint8Array, name: string): Profile {
  if (isFlameTree(bytes)) return stacksOf(decodeTree(bytes, isMeta));
  const first = bytes.find((b) => b > 0x20);
  if (first === undefined) throw new NotAProfile(`${name} is empty.`);
  if (first === 0x7b) return readSpeedscope(JSON.parse(new TextDecoder().decode(bytes)));
  // A pprof begins with a field of its first kinds; text has no byte below a tab.
  const text = bytes.subarray(0, 4096).every((b) => b >= 0x09 && b !== 0x7f) && bytes[0] !== 0x0a;
  if (!text) return readPprof(bytes);
  const lines = new TextDecoder().decode(bytes);
  return isPerf(lines) ? readPerf(lines) : readFolded(lines);
}

/** A and B in one tree: of both the values that are named alike, which B must have. Frames are one by name, file and binary. */
export function treeOfTwo(a: Profile, b: Profile, index: number): Tree {
  const { type, unit } = a.types[index];
  const same = b.types.findIndex((t) => t.type === type && t.unit === unit);
  if (same < 0) throw new NotAProfile(`the other file has no ${type} (${unit}), but ${b.types.map((t) => `${t.type} (${t.unit})`).join(", ")}.`);
  const builder = new TreeBuilder();
  const ids = new Map<string, number>();
  for (const [p, side] of [[a, "a"], [b, "b"]] as const) {
    const idOf = p.frames.map((f) => {
      const key = JSON.stringify([f.name, f.file, f.binary]);
      let id = ids.get(key);
      if (id === undefined) {
        ids.set(key, (id = ids.size));
        builder.frame(f);
      }
      return id;
    });
    for (const s of p.stacks) {
      const frames = s.frames.map((f) => idOf[f]);
      if (side === "a") builder.add(frames, s.values[index]);
      else builder.add(frames, 0, s.values[same]);
    }
  }
  return builder.finish(unit, true);
}

export function treeOfProfile(p: Profile, index: number): Tree {
  const builder = new TreeBuilder();
  for (const f of p.frames) builder.frame(f);
  for (const s of p.stacks) builder.add(s.frames, s.values[index]);
  return builder.finish(p.types[index].unit);
}
