// SPDX-License-Identifier: Apache-2.0
// flame/path.ts - a node's way from the root as a short text, which finds it again in other data
//
// Four characters a level: 24 bits of a hash of the function's name and its binary's base name. Node numbers change with
// every answer, call paths do not. Long ones keep their first and last twenty levels and say how many there were.

import { baseName } from "./color.ts";
import { type Functions, type Tree, nameOf, textAt } from "./tree.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const LONG = 60;
const KEPT = 20;

/** FNV-1a of the UTF-16 units, folded to 24 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return ((h >>> 24) ^ h) & 0xffffff;
}

/** Of a function. */
export function codeOf(f: Functions, id: number): string {
  const h = hash(`${nameOf(f, id)}\n${baseName(textAt(f.binaries, f.binary[id]))}`);
  return ALPHABET[h >> 18] + ALPHABET[(h >> 12) & 63] + ALPHABET[(h >> 6) & 63] + ALPHABET[h & 63];
}

const code = (t: Tree, node: number) => codeOf(t.functions, t.func[node]);

/** The codes of a path's levels, of a long one those that it has from the root on. */
export function codesOf(path: string): string[] {
  return path.split(".")[0].match(/.{4}/g) ?? [];
}

export function pathOf(t: Tree, node: number): string {
  const codes: string[] = [];
  for (let i = node; i > 0; i = t.parent[i]) codes.push(code(t, i));
  codes.reverse();
  if (codes.length <= LONG) return codes.join("");
  return `${codes.slice(0, KEPT).join("")}.${codes.length}.${codes.slice(-KEPT).join("")}`;
}

function childWith(t: Tree, node: number, want: string): number {
  for (let c = node + 1; c < t.end[node]; c = t.end[c]) if (code(t, c) === want) return c;
  return -1;
}

/** The deepest node that the path leads to, and whether that is all of it. Siblings alike: the heavier one. */
export function follow(t: Tree, path: string): { node: number; whole: boolean } {
  const [, length, tail] = path.split(".");
  let node = 0;
  for (const want of codesOf(path)) {
    const child = childWith(t, node, want);
    if (child < 0) return { node, whole: false };
    node = child;
  }
  if (!length) return { node, whole: true };
  // Between head and tail anything may be: the heaviest node at that depth whose way ends as it should.
  const depth = Number(length);
  const ending = tail ?? "";
  for (let i = node; i < t.end[node]; i++) {
    if (t.depth[i] !== depth) continue;
    if (endsWith(t, i, ending)) return { node: i, whole: true };
  }
  return { node, whole: false };
}

function endsWith(t: Tree, node: number, ending: string): boolean {
  let i = node;
  for (let at = ending.length - 4; at >= 0; at -= 4, i = t.parent[i]) if (i <= 0 || code(t, i) !== ending.slice(at, at + 4)) return false;
  return true;
}
