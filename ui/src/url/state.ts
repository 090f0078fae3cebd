// SPDX-License-Identifier: Apache-2.0
// url/state.ts - the whole state of a page in its address
//
// Defaults are left out, the order is fixed, keys that nobody knows are kept. What is wrong is ignored and told, and
// never stops anything: addresses come from other people.

import { type ColorBy, colorModes } from "../flame/color.ts";
import { type Norm, type Width, norms, widths } from "../flame/compared.ts";
import { MOST_DETAIL, USUAL_DETAIL } from "../flame/names.ts";
import { readNames, writeNames } from "../query/selector.ts";
import { type Extra, extraColumns } from "../table/columns.ts";
import { moment, resolve } from "./range.ts";

export type Screen = "nowhere" | "explore" | "compare" | "function" | "targets" | "pipeline" | "status" | "open";
export const screens: Screen[] = ["explore", "compare", "function", "targets", "pipeline", "status", "open"];

export type ChipKind = "SS" | "HS" | "SFF" | "HF";
export interface Chip {
  kind: ChipKind;
  text: string; // a filter as the server takes it: RE, FIELD:~RE or FIELD:=TEXT
}

/** What a filter looks at: as the server names it. */
export const fields = ["fn", "bin", "file", "line", "addr", "kind"] as const;
export type FilterField = (typeof fields)[number];
export interface FilterText {
  field: FilterField;
  exact: boolean; // the whole text; else an expression
  text: string;
}

/** Alone, an expression is of functions. */
export function readChipText(text: string): FilterText {
  const m = /^(fn|bin|file|line|addr|kind):([=~])(.*)$/s.exec(text);
  return m ? { field: m[1] as FilterField, exact: m[2] === "=", text: m[3] } : { field: "fn", exact: false, text };
}

export function chipText(f: FilterText): string {
  return `${f.field}:${f.exact ? "=" : "~"}${f.text}`;
}

const chipKinds: ChipKind[] = ["SS", "HS", "SFF", "HF"];

export type Panel = "flame" | "table" | "both" | "sandwich";
const panels: Panel[] = ["flame", "table", "both", "sandwich"];
export type Group = "function" | "line" | "file" | "binary" | "address";
export const groups: Group[] = ["function", "line", "file", "binary", "address"];

export interface State {
  q: string;
  from: string;
  to: string;
  sel: [number, number] | null; // of the graph: what the panels are of
  panel: Panel;
  sum: string[];
  group: Group;
  by: string[]; // labels that lead each stack
  chips: Chip[];
  inverted: boolean;
  flame: boolean; // the root at the bottom
  byName: boolean; // siblings, and not the heaviest first
  loops: boolean; // recursion is folded: no function stands below itself
  folded: boolean; // chains of only children
  detail: number; // of names: flame/names.ts
  max: number; // nodes; 0: as many as the server sends unasked
  color: ColorBy;
  search: string;
  zoom: string;
  selected: string;
  sandwich: string;
  sort: string;
  columns: Extra[]; // of the table, beside those that are always there
  utc: boolean;
  b: { q: string; from: string; to: string };
  significant: boolean;
  norm: Norm; // of a diff
  wide: Width;
  unknown: [string, string][];
}

export const defaults: State = {
  q: "", from: "now-1h", to: "now", sel: null, panel: "flame", sum: [], group: "function", by: [], chips: [],
  inverted: false, flame: false, byName: false, loops: false, folded: false, detail: USUAL_DETAIL, max: 0, color: "binary", search: "", zoom: "", selected: "", sandwich: "",
  sort: "-self", columns: [], utc: false, b: { q: "", from: "", to: "" }, significant: true, norm: "", wide: "", unknown: [],
};

/** A row for each key: how it is read, undefined for what is wrong, and how it is written, "" for the default. */
interface Key {
  key: string;
  read: (text: string, s: State) => boolean;
  write: (s: State) => string;
}

function oneOf<T extends string>(all: readonly T[], text: string, set: (v: T) => void): boolean {
  const v = all.find((x) => x === text);
  if (v !== undefined) set(v);
  return v !== undefined;
}

function text(key: string, get: (s: State) => string, set: (s: State, v: string) => void): Key {
  return { key, read: (v, s) => (set(s, v), true), write: get };
}

function choice<T extends string>(key: string, all: readonly T[], get: (s: State) => T, set: (s: State, v: T) => void, def: T): Key {
  return { key, read: (v, s) => oneOf(all, v, (x) => set(s, x)), write: (s) => (get(s) === def ? "" : get(s)) };
}

function flag(key: string, get: (s: State) => boolean, set: (s: State, v: boolean) => void, def = false): Key {
  return {
    key,
    read: (v, s) => (v === "0" || v === "1") && (set(s, v === "1"), true),
    write: (s) => (get(s) === def ? "" : get(s) ? "1" : "0"),
  };
}

/** A whole one, of at most `most`. */
function number(key: string, most: number, get: (s: State) => number, set: (s: State, v: number) => void, def: number): Key {
  return {
    key,
    read: (v, s) => /^\d{1,7}$/.test(v) && Number(v) <= most && (set(s, Number(v)), true),
    write: (s) => (get(s) === def ? "" : String(get(s))),
  };
}

function instant(key: string, get: (s: State) => string, set: (s: State, v: string) => void, def: string): Key {
  return { key, read: (v, s) => !Number.isNaN(moment(v, Date.now())) && (set(s, v), true), write: (s) => (get(s) === def ? "" : get(s)) };
}

/** Of labels. */
function names(key: string, get: (s: State) => string[], set: (s: State, v: string[]) => void): Key {
  const read = (v: string, s: State) => {
    const all = readNames(v);
    if (all) set(s, all);
    return all !== null;
  };
  return { key, read, write: (s) => writeNames(get(s)) };
}

/** One a line; a text's own lines go on behind a space, with which none begins. */
function writeChips(chips: Chip[]): string {
  return chips.map((c) => `${c.kind}:${c.text.replace(/\n/g, "\n ")}`).join("\n");
}

function readChips(v: string, s: State): boolean {
  const chips = v.split(/\n(?! )/).filter(Boolean).map((line) => {
    const colon = line.indexOf(":");
    return { kind: line.slice(0, colon) as ChipKind, text: line.slice(colon + 1).replace(/\n /g, "\n") };
  });
  if (!chips.every((c) => chipKinds.includes(c.kind) && c.text)) return false;
  s.chips = chips;
  return true;
}

function readSelection(v: string, s: State): boolean {
  const m = /^(\d{1,15})-(\d{1,15})$/.exec(v);
  if (!m || Number(m[1]) >= Number(m[2])) return false;
  s.sel = [Number(m[1]), Number(m[2])];
  return true;
}

function readColumns(v: string, s: State): boolean {
  const wanted = v.split(",").filter(Boolean);
  s.columns = extraColumns.filter((c) => wanted.includes(c));
  return s.columns.length === wanted.length;
}

const keys: Key[] = [
  text("q", (s) => s.q, (s, v) => (s.q = v)),
  instant("from", (s) => s.from, (s, v) => (s.from = v), defaults.from),
  instant("to", (s) => s.to, (s, v) => (s.to = v), defaults.to),
  { key: "sel", read: readSelection, write: (s) => (s.sel ? `${s.sel[0]}-${s.sel[1]}` : "") },
  choice("v", panels, (s) => s.panel, (s, v) => (s.panel = v), defaults.panel),
  names("sum", (s) => s.sum, (s, v) => (s.sum = v)),
  choice("group", groups, (s) => s.group, (s, v) => (s.group = v), defaults.group),
  names("by", (s) => s.by, (s, v) => (s.by = v)),
  { key: "f", read: readChips, write: (s) => writeChips(s.chips) },
  flag("inv", (s) => s.inverted, (s, v) => (s.inverted = v)),
  flag("flame", (s) => s.flame, (s, v) => (s.flame = v)),
  { key: "ord", read: (v, s) => v === "name" && (s.byName = true), write: (s) => (s.byName ? "name" : "") },
  flag("rec", (s) => s.loops, (s, v) => (s.loops = v)),
  flag("fold", (s) => s.folded, (s, v) => (s.folded = v)),
  number("nm", MOST_DETAIL, (s) => s.detail, (s, v) => (s.detail = v), defaults.detail),
  number("max", 8_000_000, (s) => s.max, (s, v) => (s.max = v), 0),
  choice("cb", colorModes, (s) => s.color, (s, v) => (s.color = v), defaults.color),
  text("s", (s) => s.search, (s, v) => (s.search = v)),
  text("z", (s) => s.zoom, (s, v) => (s.zoom = v)),
  text("x", (s) => s.selected, (s, v) => (s.selected = v)),
  text("sw", (s) => s.sandwich, (s, v) => (s.sandwich = v)),
  { key: "sort", read: (v, s) => /^-?(self|total|name|file|binary|delta|selfB|totalB|change|samples)$/.test(v) && ((s.sort = v), true), write: (s) => (s.sort === defaults.sort ? "" : s.sort) },
  { key: "cols", read: readColumns, write: (s) => s.columns.join(",") },
  { key: "tz", read: (v, s) => v === "utc" && ((s.utc = true), true), write: (s) => (s.utc ? "utc" : "") },
  text("b.q", (s) => s.b.q, (s, v) => (s.b = { ...s.b, q: v })),
  instant("b.from", (s) => s.b.from, (s, v) => (s.b = { ...s.b, from: v }), ""),
  instant("b.to", (s) => s.b.to, (s, v) => (s.b = { ...s.b, to: v }), ""),
  flag("sig", (s) => s.significant, (s, v) => (s.significant = v), true),
  choice("norm", norms, (s) => s.norm, (s, v) => (s.norm = v), defaults.norm),
  choice("w", widths, (s) => s.wide, (s, v) => (s.wide = v), defaults.wide),
];

export function parse(query: string): { state: State; wrong: string[] } {
  const state: State = { ...defaults, unknown: [] };
  const wrong: string[] = [];
  for (const [key, v] of new URLSearchParams(query)) {
    const row = keys.find((k) => k.key === key);
    if (!row) state.unknown.push([key, v]);
    else if (!row.read(v, state)) wrong.push(key);
  }
  return { state, wrong };
}

export function write(s: State): string {
  const out = new URLSearchParams();
  for (const k of keys) {
    const v = k.write(s);
    if (v) out.append(k.key, v);
  }
  for (const [k, v] of s.unknown) out.append(k, v);
  // What needs no escape in a query stays readable.
  return out.toString().replace(/%(3A|7B|7D|2C|2F|7C|40)/g, (e) => decodeURIComponent(e));
}

/** B of a comparison: what it does not say is as A's. */
export function sideB(s: State): State["b"] {
  return { q: s.b.q || s.q, from: s.b.from || s.from, to: s.b.to || s.to };
}

/** What makes of relative times those that they are now, and of a selection the range: a comparison is of no selection, and has two ranges. */
export function fixedTimes(s: State, screen: Screen, now: number): Partial<State> {
  const times = (r: [number, number] | null) => (r ? { from: String(r[0]), to: String(r[1]) } : {});
  if (screen !== "compare") return { ...times(s.sel ?? resolve(s, now)), sel: null };
  return { ...times(resolve(s, now)), b: { ...s.b, ...times(resolve(sideB(s), now)) } };
}

/** The screen by the path's last segment; the rest is where the server has its pages, whose first is Explore. */
export function screenOf(path: string): Screen {
  const last = path.slice(path.lastIndexOf("/") + 1);
  return last === "" ? "explore" : (screens.find((s) => s === last) ?? "nowhere");
}
