// SPDX-License-Identifier: Apache-2.0
// query/selector.ts - TYPE{label="value", ...}: what is wrong with it and where, and what may come next
//
// As core/query/selector.c reads it: a name stands bare or in quotes, as values do; of quotes there are three kinds, and
// between the last one nothing is an escape.

import { visible } from "../flame/names.ts";

export interface Matcher {
  name: string;
  op: "=" | "!=" | "=~" | "!~";
  value: string;
}

export interface Selector {
  type: string;
  matchers: Matcher[];
}

export interface Fault {
  at: number; // in UTF-16 units
  text: string;
}

/** Where the caret stands in it, and what has been written there so far: of what is quoted, behind the quote and with its escapes. */
export type Place =
  | { what: "type"; from: number; text: string }
  | { what: "label"; from: number; text: string; quoted: boolean }
  | { what: "operator"; from: number; text: string }
  | { what: "value"; from: number; text: string; label: string; quoted: boolean }
  | { what: "nothing" };

const BLANK = "[ \\t\\n\\r]*";
const BARE = "[^\\0- \\x7f{},=!~\"'`]+";
/** Between a mark and its like; and what may stand there. */
const INSIDE: Record<string, string> = { '"': '(?:[^"\\\\\\n]|\\\\[^])*', "'": "(?:[^'\\\\\\n]|\\\\[^])*", "`": "[^`]*" };
const QUOTED = Object.entries(INSIDE).map(([mark, inside]) => mark + inside + mark).join("|");
const OPERATOR = "=~|!~|!=|=";

const bare = new RegExp(BARE, "y");
const quoted = new RegExp(QUOTED, "y");
const operator = new RegExp(OPERATOR, "y");
const unclosed = new RegExp(`(?:${Object.entries(INSIDE).map(([mark, inside]) => `${mark}${inside}`).join("|")})$`, "y");
const wholeMatcher = new RegExp(`${BLANK},?${BLANK}(?:${BARE}|${QUOTED})${BLANK}(?:${OPERATOR})${BLANK}(?:${QUOTED})${BLANK}`, "y");

class Scanner {
  at = 0;
  readonly s: string;
  constructor(s: string) {
    this.s = s;
  }
  blanks(): void {
    this.take(/[ \t\n\r]+/y);
  }
  take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const m = pattern.exec(this.s);
    if (!m || m.index !== this.at) return "";
    this.at += m[0].length;
    return m[0];
  }
  get done(): boolean {
    return this.at >= this.s.length;
  }
}

class Wrong extends Error {
  readonly at: number;
  constructor(at: number, text: string) {
    super(text);
    this.at = at;
  }
}

const ESCAPED = "abfnrtv\\";
const MEANT = "\x07\b\f\n\r\t\v\\";
/** Bytes that stand together first: a character may have several. */
const ESCAPES = /(?:\\(?:x[\dA-Fa-f]{2}|[0-3][0-7]{2}))+|\\(?:u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|([^]?))/g;

/** Bytes that are no UTF-8, which only escapes can write, are kept as U+DC80 to U+DCFF, which no text has alone. */
const KEPT = 0xdc00;

function textOfBytes(bytes: number[]): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return String.fromCharCode(...bytes.map((b) => (b < 0x80 ? b : KEPT + b)));
  }
}

/** Of what stands behind a mark, or between two; `wrong` is told where an escape is none, which else means itself. */
export function meaning(inside: string, mark: string, wrong?: (at: number) => void): string {
  if (mark === "`") return inside;
  return inside.replace(ESCAPES, (all: string, u: string | undefined, U: string | undefined, one: string | undefined, at: number) => {
    const code = u ?? U;
    if (code !== undefined) {
      const c = parseInt(code, 16);
      if (c <= 0x10ffff && (c < 0xd800 || c > 0xdfff)) return String.fromCodePoint(c);
    } else if (one === undefined) {
      return textOfBytes(Array.from(all.matchAll(/x(..)|\\(\d..)/g), ([, hex, octal]) => (hex ? parseInt(hex, 16) : parseInt(octal, 8))));
    } else if (one === mark) return mark;
    else if (one && ESCAPED.includes(one)) return MEANT[ESCAPED.indexOf(one)];
    wrong?.(at);
    return all;
  });
}

/** What stands in quotes here, whose faults nobody is told; null: nothing does. */
function takeQuoted(k: Scanner): string | null {
  const raw = k.take(quoted);
  return raw ? meaning(raw.slice(1, -1), raw[0]) : null;
}

/** null: there is none. */
function takeString(k: Scanner, what: string): string | null {
  const from = k.at;
  const raw = k.take(quoted);
  if (raw)
    return meaning(raw.slice(1, -1), raw[0], (at) => {
      throw new Wrong(from + 1 + at, `this ${what} has an escape that is none`);
    });
  if (/["'`]/.test(k.s[from] ?? "")) throw new Wrong(from, `this ${what} has no closing quote`);
  return null;
}

function readName(k: Scanner): string {
  const from = k.at;
  const name = takeString(k, "name") ?? k.take(bare);
  if (!name) throw new Wrong(from, "a label's name belongs here");
  if (/[\udc80-\udcff]/u.test(name)) throw new Wrong(from, "this name is not UTF-8");
  return name;
}

function readMatcher(k: Scanner): Matcher {
  const name = readName(k);
  k.blanks();
  const at = k.at;
  const op = k.take(operator);
  if (!op) throw new Wrong(at, "one of = != =~ !~ belongs here");
  k.blanks();
  const value = takeString(k, "value");
  if (value === null) throw new Wrong(k.at, 'a value in quotes belongs here: "..."');
  return { name, op: op as Matcher["op"], value };
}

function read(s: string): Selector {
  const k = new Scanner(s);
  k.blanks();
  const type = k.take(bare);
  k.blanks();
  const matchers: Matcher[] = [];
  if (k.done) {
    if (!type) throw new Wrong(0, "choose a profile type");
    return { type, matchers };
  }
  if (!k.take(/\{/y)) throw new Wrong(k.at, "{ belongs here");
  for (k.blanks(); !k.take(/\}/y); k.blanks()) {
    if (k.done) throw new Wrong(k.at, "} is missing");
    if (matchers.length && !k.take(/,/y)) throw new Wrong(k.at, ", or } belongs here");
    k.blanks();
    if (matchers.length && k.take(/\}/y)) return end(k, type, matchers);
    matchers.push(readMatcher(k));
  }
  return end(k, type, matchers);
}

function end(k: Scanner, type: string, matchers: Matcher[]): Selector {
  k.blanks();
  if (!k.done) throw new Wrong(k.at, "nothing belongs behind the closing }");
  return { type, matchers };
}

export function parseSelector(s: string): { selector: Selector } | { fault: Fault } {
  try {
    return { selector: read(s) };
  } catch (e) {
    if (e instanceof Wrong) return { fault: { at: e.at, text: e.message } };
    throw e;
  }
}

/** What the server says of a selector, of a comparison of side A or B; null: it says something else. */
export function faultTold(problem: string, s: string, side = ""): Fault | null {
  const m = /^selector(?: ([AB]))?: column (\d+): (.*)$/s.exec(problem);
  if (!m || (m[1] ?? "") !== side) return null;
  // Its columns are bytes, from 1 on.
  const before = new TextEncoder().encode(s).subarray(0, Number(m[2]) - 1);
  return { at: new TextDecoder().decode(before).length, text: m[3] };
}

/** What shows nothing is written as what it is: a field of one line would lose the ends of lines. */
export function quote(text: string): string {
  const shown = visible(text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t"));
  return `"${shown.replace(/[\udc80-\udcff]/gu, (c) => `\\x${(c.charCodeAt(0) - KEPT).toString(16)}`)}"`;
}

/** Bare where it can be. */
export function writeName(name: string): string {
  bare.lastIndex = 0;
  return bare.exec(name)?.[0] === name && visible(name) === name ? name : quote(name);
}

/** As core/query's selector__names() reads them; "" is left out. null: they are no list. */
export function readNames(text: string): string[] | null {
  const k = new Scanner(text);
  const names: string[] = [];
  try {
    do names.push(takeString(k, "name") ?? k.take(/[^,]*/y));
    while (k.take(/,/y));
  } catch (e) {
    if (e instanceof Wrong) return null;
    throw e;
  }
  return k.done && !names.some((n) => /[\udc80-\udcff]/u.test(n)) ? names.filter(Boolean) : null;
}

export const writeNames = (names: string[]): string => names.map(writeName).join(",");

/** Name and value of a label that leads stacks: "name=value", the name as in a selector. */
export function readLabel(frame: string): [name: string, value: string] {
  const k = new Scanner(frame);
  const name = takeQuoted(k) ?? k.take(/[^=]*/y);
  return [name, frame.slice(k.at + 1)];
}

export const writeMatcher = (m: Matcher): string => writeName(m.name) + m.op + quote(m.value);

export function writeSelector(s: Selector): string {
  return `${s.type}{${s.matchers.map(writeMatcher).join(", ")}}`;
}

/** The same with a matcher more; one that is there already stands once. */
export function withMatcher(s: Selector, m: Matcher): Selector {
  const same = (x: Matcher) => x.name === m.name && x.op === m.op && x.value === m.value;
  const opposite = (x: Matcher) => x.name === m.name && x.value === m.value && x.op !== m.op;
  return { ...s, matchers: [...s.matchers.filter((x) => !same(x) && !opposite(x)), m] };
}

/** What the caret is in: found from the left, so that a fault behind it does not matter. */
export function placeAt(s: string, caret: number): Place {
  const left = s.slice(0, caret);
  const brace = left.indexOf("{");
  if (brace < 0) return { what: "type", from: left.length - left.trimStart().length, text: left.trim() };
  const k = new Scanner(left);
  k.at = brace + 1;
  while (k.take(wholeMatcher));
  k.blanks();
  k.take(/,/y);
  k.blanks();
  const from = k.at;
  const begun = k.take(unclosed);
  if (begun) return { what: "label", from: from + 1, text: begun.slice(1), quoted: true };
  const inQuotes = takeQuoted(k);
  const name = inQuotes ?? k.take(bare);
  if (k.done && inQuotes === null) return { what: "label", from, text: name, quoted: false };
  if (!name) return { what: "nothing" };
  k.blanks();
  const behind = k.at;
  const op = k.take(operator) || k.take(/!/y);
  if (!op || op === "!") return k.done ? { what: "operator", from: behind, text: op } : { what: "nothing" };
  k.blanks();
  const at = k.at;
  const value = k.take(unclosed);
  if (value) return { what: "value", from: at + 1, text: value.slice(1), label: name, quoted: true };
  const text = k.take(/[^"'`\\]*/y);
  return k.done ? { what: "value", from: at, text, label: name, quoted: false } : { what: "nothing" };
}
