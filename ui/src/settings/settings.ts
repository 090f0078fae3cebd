// SPDX-License-Identifier: Apache-2.0
// settings/settings.ts - what somebody wants of every page: kept by the browser, and as a file
//
// An address with anything in it shows what it says, and the usual for the rest, so that a link shows the same to everybody;
// settings say what a page begins with whose address says nothing. A file comes from anybody: it is taken whole or not at all.

export interface Choice {
  key: string;
  title: string;
  usual: string;
  options: [value: string, text: string][];
}

const choice = (key: string, title: string, usual: string, options: [string, string][]): Choice => ({ key, title, usual, options });

/** Those of `view` are also in the address. */
export const choices: Choice[] = [
  choice("theme", "Theme", "system", [["system", "as the system"], ["light", "light"], ["dark", "dark"]]),
  choice("zone", "Times", "local", [["local", "local time"], ["utc", "UTC"]]),
  choice("bytes", "Bytes", "1024", [["1024", "KiB, MiB, GiB"], ["1000", "kB, MB, GB"]]),
  choice("changes", "Less and more", "blue-orange", [["blue-orange", "blue and orange"], ["purple-green", "purple and green"]]),
  choice("colour", "Colour of frames", "binary", [["binary", "by binary"], ["kind", "by kind"], ["file", "by source folder"], ["name", "by function"], ["self", "by self weight"], ["none", "one colour"]]),
  choice("names", "Names of frames", "fitting", [["last", "last part only"], ["plain", "no template arguments"], ["short", "no arguments"], ["fitting", "what fits"], ["whole", "whole"]]),
  choice("order", "Order of frames", "weight", [["weight", "heaviest first"], ["name", "by name"]]),
  choice("root", "Root of the graph", "top", [["top", "at the top"], ["bottom", "at the bottom"]]),
  choice("rows", "Rows of the graph", "20", [["16", "small"], ["20", "usual"], ["26", "large"]]),
  choice("letters", "Letters of the graph", "rows", [["rows", "as its rows"], ["11", "small"], ["12", "usual"], ["14", "large"]]),
  choice("motion", "Motion", "system", [["system", "as the system"], ["none", "none"]]),
  choice("single_keys", "Single keys", "on", [["on", "on"], ["off", "off"]]),
];

export interface Shortcut {
  id: string;
  usual: string;
  text: string;
}

const shortcut = (id: string, usual: string, text: string): Shortcut => ({ id, usual, text });
export const shortcuts: Shortcut[] = [
  shortcut("search", "/", "search"), shortcut("flame", "1", "flame graph"), shortcut("table", "2", "table"), shortcut("both", "3", "both"),
  shortcut("sandwich", "4", "callers and callees"), shortcut("invert", "i", "leaves first"), shortcut("loops", "r", "recursion folded"), shortcut("orientation", "o", "root below or above"),
  shortcut("colour", "b", "next colouring"), shortcut("theme", "t", "next theme"), shortcut("settings", ",", "settings"), shortcut("go", "g", "then e, c, t, p, s or o: a screen"),
  shortcut("next", "n", "next match"), shortcut("previous", "N", "match before"), shortcut("focus", "f", "begin stacks at the selected frame"),
  shortcut("filter", "F", "write a filter"),
  shortcut("hide", "x", "leave the selected frame out"), shortcut("drop", "d", "stacks without the selected frame"), shortcut("callers", "s", "callers and callees of the selected frame"),
  shortcut("copy", "c", "copy its name"), shortcut("copy_stack", "C", "copy its stack"), shortcut("copy_link", "L", "copy the link"),
  shortcut("earlier", "[", "the time before"), shortcut("later", "]", "the time after"), shortcut("compare", "=", "compare with the time before"),
  shortcut("help", "?", "this list"),
];

/** A value for each choice, and a key for each shortcut. */
export interface Settings {
  values: Readonly<Record<string, string>>;
  keys: Readonly<Record<string, string>>;
}

export const usual: Settings = {
  values: Object.fromEntries(choices.map((c) => [c.key, c.usual])),
  keys: Object.fromEntries(shortcuts.map((s) => [s.id, s.usual])),
};

/** Files of another kind, or of a page that knows more, say something else here. */
const KIND = "settings of Decima's pages, 1";
export const MOST_BYTES = 65_536;

/** What the graph's own keys are, and so no shortcut's. */
const taken = ["0", "+", "-"];

/** Why a key cannot be the one of a shortcut; "": it can. */
export function keyFault(keys: Readonly<Record<string, string>>, id: string): string {
  const key = keys[id];
  if ([...key].length !== 1 || /\s/.test(key)) return `keys.${id} is ${JSON.stringify(key)}: it must be one character, and no space`;
  if (taken.includes(key)) return `keys.${id} is "${key}", which is the graph's own`;
  const other = shortcuts.find((s) => s.id !== id && keys[s.id] === key);
  return other ? `keys.${id} and keys.${other.id} are both "${key}"` : "";
}

const listed = (all: string[]) => `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
const isRecord = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);
const shortened = (v: unknown) => JSON.stringify(v)?.slice(0, 60) ?? String(v);

function readKeys(given: unknown): Record<string, string> {
  if (!isRecord(given)) throw new Error(`keys is ${shortened(given)}: it must be an object`);
  const keys: Record<string, string> = { ...usual.keys };
  for (const [id, key] of Object.entries(given)) {
    if (!shortcuts.some((s) => s.id === id)) throw new Error(`keys.${id.slice(0, 60)} is not known; there are ${listed(shortcuts.map((s) => s.id))}`);
    if (typeof key !== "string") throw new Error(`keys.${id} is ${shortened(key)}: it must be a text of one character`);
    keys[id] = key;
  }
  const fault = shortcuts.map((s) => keyFault(keys, s.id)).find(Boolean);
  if (fault) throw new Error(fault);
  return keys;
}

/** Settings of a file's text; what it does not name is as usual. Throws a sentence about the first fault. */
export function read(text: string): Settings {
  if (text.length > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES / 1024} KiB: settings are never`);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (e) {
    throw new Error(`it is not JSON: ${(e as Error).message}`);
  }
  if (!isRecord(given)) throw new Error("it is no object of JSON");
  if (given.what !== KIND) throw new Error(`what is ${shortened(given.what)}, and not ${JSON.stringify(KIND)}`);
  const values: Record<string, string> = { ...usual.values };
  let keys = usual.keys;
  for (const [key, value] of Object.entries(given)) {
    if (key === "what") continue;
    if (key === "keys") {
      keys = readKeys(value);
      continue;
    }
    const known = choices.find((c) => c.key === key);
    if (!known) throw new Error(`${key.slice(0, 60)} is not known; there are ${listed([...choices.map((c) => c.key), "keys"])}`);
    const option = known.options.find(([v]) => v === value);
    if (!option) throw new Error(`${key} is ${shortened(value)}: it must be ${listed(known.options.map(([v]) => JSON.stringify(v)))}`);
    values[key] = option[0];
  }
  return { values, keys };
}

export function write(s: Settings): string {
  return `${JSON.stringify({ what: KIND, ...s.values, keys: s.keys }, null, 2)}\n`;
}

export function isUsual(s: Settings): boolean {
  return write(s) === write(usual);
}
