// SPDX-License-Identifier: Apache-2.0
// query/selector.ts - TYPE{label="value", ...}: what is wrong with it and where, and what may come next

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

/** Where the caret stands in it, and what has been written there so far. */
export type Place =
  | { what: "type"; from: number; text: string }
  | { what: "label"; from: number; text: string }
  | { what: "operator"; from: number; text: string }
  | { what: "value"; from: number; text: string; label: string; quoted: boolean }
  | { what: "nothing" };

class Scanner {
  at = 0;
  readonly s: string;
  constructor(s: string) {
    this.s = s;
  }
  blanks(): void {
    while (/\s/.test(this.s[this.at] ?? "")) this.at++;
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

function readValue(k: Scanner): string {
  const from = k.at;
  const raw = k.take(/"(?:[^"\\\n]|\\.)*"/y);
  if (!raw) throw new Wrong(from, k.s[from] === '"' ? "this value has no closing quote" : 'a value in quotes belongs here: "..."');
  try {
    return JSON.parse(raw.replace(/\\([^"\\/bfnrtu])/g, "\\\\$1")) as string;
  } catch {
    throw new Wrong(from, "this value has an escape that is none");
  }
}

function readMatcher(k: Scanner): Matcher {
  const from = k.at;
  const name = k.take(/[A-Za-z_][A-Za-z0-9_.]*/y);
  if (!name) throw new Wrong(from, "a label's name belongs here");
  k.blanks();
  const at = k.at;
  const op = k.take(/=~|!~|!=|=/y);
  if (!op) throw new Wrong(at, "one of = != =~ !~ belongs here");
  k.blanks();
  return { name, op: op as Matcher["op"], value: readValue(k) };
}

function read(s: string): Selector {
  const k = new Scanner(s);
  k.blanks();
  const type = k.take(/[^\s{},"]+/y);
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

export function quote(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}

export function writeSelector(s: Selector): string {
  return `${s.type}{${s.matchers.map((m) => `${m.name}${m.op}${quote(m.value)}`).join(", ")}}`;
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
  let at = brace + 1;
  for (;;) {
    const rest = left.slice(at);
    const whole = /^\s*,?\s*[A-Za-z_][A-Za-z0-9_.]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"\s*/.exec(rest);
    if (!whole) break;
    at += whole[0].length;
  }
  const rest = left.slice(at);
  if (/^\s*\}/.test(rest)) return { what: "nothing" };
  const m = /^(\s*,?\s*)([A-Za-z_][A-Za-z0-9_.]*)?(\s*)(=~|!~|!=|=|!)?(\s*)("?)((?:[^"\\]|\\.)*)$/.exec(rest);
  if (!m) return { what: "nothing" };
  const [, lead, name = "", gap, op = "", gap2, quoteMark, value] = m;
  const afterName = at + lead.length + name.length;
  if (op && op !== "!") {
    const from = afterName + gap.length + op.length + gap2.length + quoteMark.length;
    return { what: "value", from, text: value, label: name, quoted: quoteMark === '"' };
  }
  if (name && (gap || op)) return { what: "operator", from: afterName + gap.length, text: op };
  if (value) return { what: "nothing" };
  return { what: "label", from: at + lead.length, text: name };
}
