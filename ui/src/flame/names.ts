// SPDX-License-Identifier: Apache-2.0
// flame/names.ts - names that fit: what a reader can do without goes first
//
// In steps, each only when the one before was not enough: arguments, template arguments, the path in front, then letters
// from the left. The last identifier, which tells one function from another, stays longest.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Characters that show nothing, or turn what follows around, are shown as what they are. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Cuts what stands between a pair of brackets, however deep; "operator<" and "operator()" keep theirs. */
function without(name: string, open: string, close: string): string {
  if (!name.includes(open)) return name;
  let depth = 0;
  let out = "";
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    const isOperator = depth === 0 && /operator\s*[(<>\-=]*$/.test(out);
    if (c === open && !isOperator) depth++;
    if (depth === 0) out += c;
    if (c === close && depth > 0) depth--;
  }
  return depth === 0 && out.trim() !== "" ? out : name;
}

/** Where the last identifier begins, behind its path or namespace. */
function lastPart(name: string): number {
  const slash = name.lastIndexOf("/");
  const rest = name.slice(slash + 1);
  const colons = rest.lastIndexOf("::");
  const dot = rest.includes("::") ? -1 : rest.lastIndexOf(".");
  if (colons >= 0) return slash + 1 + colons + 2;
  return dot > 0 && slash >= 0 ? slash + 1 : slash + 1;
}

/** At most `room` characters of a name; "" where there is no room for three. */
export function fit(name: string, room: number): string {
  if (name.length <= room) return name;
  if (room < 3) return "";
  let s = without(name, "(", ")");
  if (s.length <= room) return s;
  s = without(s, "<", ">");
  if (s.length <= room) return s;
  const from = lastPart(s);
  const last = s.slice(from);
  if (last.length <= room) {
    const before = room - last.length - 1;
    return before > 2 ? "\u2026" + s.slice(from - before) : last;
  }
  return "\u2026" + last.slice(last.length - room + 1);
}
