// SPDX-License-Identifier: Apache-2.0
// flame/names.ts - names that fit: what a reader can do without goes first
//
// In steps, each only when the one before was not enough: arguments, template arguments, the path in front, then letters
// in the middle of the last identifier, which tells one function from another: many begin alike, and many end so.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Characters that show nothing, or turn what follows around, are shown as what they are. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Cuts what stands between a pair of brackets, however deep, where it says more of a name in front of it: not a name's own
 * beginning, the receiver of a method, or what belongs to an operator.
 */
function without(name: string, open: string, close: string): string {
  if (!name.includes(open)) return name;
  const operator = open === "(" ? /operator\s*$/ : /operator\s*[<>\-=]*$/;
  let depth = 0;
  let kept = 0; // levels of brackets that stay
  let out = "";
  for (const c of name) {
    if (c === open && depth === 0 && (kept > 0 || !/(?:[\w\])>}~$]|operator\s*[^\w\s(]+)$/.test(out) || operator.test(out))) kept++;
    else if (c === open) depth++;
    if (depth === 0) out += c;
    if (c === close && depth > 0) depth--;
    else if (c === close && kept > 0) kept--;
  }
  return depth === 0 && out.trim() !== "" ? out : name;
}

/** Words that compilers put behind a name. */
const CLONE = /^(?:\d|cold|part|isra|constprop|llvm|lto_priv|localalias|so\b)/;

/** Where the last identifier begins, behind its path, namespace or class. */
function lastPart(name: string): number {
  const slash = name.lastIndexOf("/") + 1;
  const colons = name.lastIndexOf("::");
  let from = Math.max(slash, colons < 0 ? 0 : colons + 2);
  if (/^[^(]*\+0x/.test(name.slice(slash))) return slash;
  for (let dot = name.indexOf(".", from); dot >= 0; dot = name.indexOf(".", dot + 1))
    if (dot > from && dot + 1 < name.length && !CLONE.test(name.slice(dot + 1))) from = dot + 1;
  return from;
}

/** How much of names there is: the last identifier alone, all but arguments and template arguments, all but arguments, as much as fits, all. */
export const detailNames = ["last", "plain", "short", "fitting", "whole"];
export const MOST_DETAIL = 4;
export const USUAL_DETAIL = 3;

const BOTH_ENDS = 8;

/** Its beginning; with its end, where there is room for a piece of either. */
function shortened(name: string, room: number): string {
  const back = room < BOTH_ENDS ? 0 : Math.floor((room - 1) / 3);
  return name.slice(0, room - 1 - back) + "\u2026" + (back ? name.slice(-back) : "");
}

/** The last identifier, what its place leaves of what stands before it, and its ends where there is not even room for it. */
function last(name: string, room: number): string {
  const from = lastPart(name);
  const own = name.slice(from);
  if (own.length > room) return shortened(own, room);
  const before = room - own.length - 1;
  return before > 2 && from > 0 ? "\u2026" + name.slice(Math.max(from - before, 1)) : own;
}

/** At most `room` characters of a name; "" where there is no room for three. */
export function fit(name: string, room: number, detail = USUAL_DETAIL): string {
  if (room < 3 && name.length > room) return "";
  if (detail >= MOST_DETAIL) return name.length <= room ? name : name.slice(0, room - 1) + "\u2026";
  if (detail === USUAL_DETAIL && name.length <= room) return name;
  let s = without(name, "(", ")").replace(/\)?( const| volatile| &+|&+)+$/, (end) => (end.startsWith(")") ? ")" : ""));
  if (detail >= USUAL_DETAIL - 1 && s.length <= room) return s;
  s = without(s, "<", ">");
  if (detail >= 1 && s.length <= room) return s;
  return detail === 0 ? last(s.slice(lastPart(s)), room) : last(s, room);
}
