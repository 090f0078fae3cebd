// SPDX-License-Identifier: Apache-2.0
// flame/color.ts - what fills a frame: by binary, kind, file, name, label or change
//
// Twelve fills, of which the first are the furthest apart: what weighs most gets them first. Colour is never the only cue:
// labels, gaps, the legend and the tooltip say the same.

import { Kind, type Texts, type Tree, kindNames, nameOf, textAt, weightsOf } from "./tree.ts";

export const fills = [
  "#8fb4e3", "#f0b27a", "#8fcfa0", "#e79bb3", "#bda9e6", "#e6d37a",
  "#7fcfd1", "#cdb79e", "#a9c2a0", "#dca0dd", "#9fb0cc", "#f4a39a",
  // From little to much.
  "#efe6d8", "#f5d9ae", "#f5c27d", "#f0a650", "#e88a2a",
];
const CATEGORIES = 12;
const heatSteps = [0.1, 1, 5, 20];

export type ColorBy = "binary" | "kind" | "file" | "name" | "label" | "self" | "none";
export const colorModes: ColorBy[] = ["binary", "kind", "file", "name", "label", "self", "none"];

/** From less to more in nine steps. The middle one of both is no change. */
export const changePalettes: Record<string, { light: string[]; dark: string[] }> = {
  "blue-orange": {
    light: ["#2b7bba", "#5fa3d6", "#94c3e8", "#c8e0f4", "#e6e6e6", "#fbe0c0", "#f6c083", "#ea9a45", "#cf7310"],
    dark: ["#6cb6ff", "#4a94dc", "#3a73ac", "#33526f", "#3d434d", "#664c2e", "#98661f", "#cc8420", "#ffad4d"],
  },
  "purple-green": {
    light: ["#7b3f94", "#9f73b5", "#c3a5cf", "#e3d3e8", "#e6e6e6", "#d3ecce", "#a3d69d", "#5bae63", "#24803f"],
    dark: ["#d79bf0", "#b078c9", "#85599a", "#58406a", "#3d434d", "#36553c", "#3f7f4b", "#52a862", "#7fdb8d"],
  },
};
export const diffSteps = [0.02, 0.1, 0.25, 0.5];

export interface LegendEntry {
  text: string;
  fill: number;
  weight: number;
}

/** For each function, or for each node, its fill; and what the fills mean, heaviest first. */
export interface Coloring {
  byNode: boolean;
  of: Uint8Array;
  legend: LegendEntry[];
  entry: Uint32Array; // its place in the legend
}

/** What functions are coloured by: texts, and of each function which one. Functions are many, their binaries and files few: each is read once. */
function groupsOf(t: Tree, by: ColorBy): { texts: string[]; of: Uint32Array } {
  const fns = t.functions;
  const places = new Map<string, number>();
  const place = (text: string) => {
    const at = places.get(text) ?? places.size;
    places.set(text, at);
    return at;
  };
  const all = (texts: Texts, of: (text: string) => string) => Array.from({ length: texts.n }, (_, i) => place(of(textAt(texts, i))));
  const binaries = by === "binary" || by === "file" ? all(fns.binaries, (text) => baseName(text) || "[unknown]") : [];
  const folders = by === "file" ? all(fns.files, (text) => text.replace(/\/[^/]*$/, "")) : [];
  const none = place("");
  const groupOf: Record<string, (f: number) => number> = {
    binary: (f) => binaries[fns.binary[f]],
    file: (f) => (folders[fns.file[f]] !== none ? folders[fns.file[f]] : binaries[fns.binary[f]]),
    kind: (f) => place(kindNames[fns.flags[f] & 7] || "native"),
    name: (f) => place(nameOf(fns, f)),
  };
  const groupBy = groupOf[by] ?? (() => none);
  const of = new Uint32Array(fns.n);
  for (let f = 0; f < fns.n; f++) of[f] = groupBy(f);
  return { texts: [...places.keys()], of };
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** By how much of the whole a function has itself. */
function colorBySelf(t: Tree, self: Float64Array): Coloring {
  const all = Math.abs(t.total[0]) || 1;
  const step = (weight: number) => heatSteps.filter((s) => (weight / all) * 100 >= s).length;
  const of = Uint8Array.from(self, (w) => CATEGORIES + step(w));
  const texts = heatSteps.map((s, i) => (i ? `${heatSteps[i - 1]} to ${s} % self` : `less than ${s} % self`));
  const legend = [...texts, `${heatSteps.at(-1)} % self and more`].map((text, i) => ({ text, fill: CATEGORIES + i, weight: 0 })).reverse();
  return { byNode: false, of, legend, entry: Uint32Array.from(of, (fill) => legend.length - 1 - (fill - CATEGORIES)) };
}

/** Entries in order of weight, with the fills that are the furthest apart first. */
function legendOf(weights: Map<string, number>): LegendEntry[] {
  return [...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([text, weight], i) => ({ text, fill: i % CATEGORIES, weight }));
}

const NO_LABEL = "no label leads it";
const NO_LABEL_FILL = CATEGORIES; // no label's, however many there are

/** By the label that leads a node's stack, the outermost of some. Leaves first a frame is of several, and none leads. */
function colorByLabel(t: Tree): Coloring {
  const leads = new Int32Array(t.n).fill(-1); // by node: the function that stands for its label
  const texts = new Map([[-1, NO_LABEL]]);
  const weights = new Map([[NO_LABEL, 0]]);
  for (let i = 1; i < t.n; i++) {
    const above = leads[t.parent[i]];
    const f = t.func[i];
    leads[i] = above < 0 && (t.functions.flags[f] & 7) === Kind.label ? f : above;
    if (!texts.has(leads[i])) texts.set(leads[i], nameOf(t.functions, f));
    if (t.self[i]) weights.set(texts.get(leads[i])!, (weights.get(texts.get(leads[i])!) ?? 0) + t.self[i]);
  }
  for (const text of texts.values()) if (!weights.has(text)) weights.set(text, 0);
  const legend = legendOf(weights).map((e) => (e.text === NO_LABEL ? { ...e, fill: NO_LABEL_FILL } : e));
  const places = new Map(legend.map((e, i) => [e.text, i]));
  const entry = Uint32Array.from(leads, (f) => places.get(texts.get(f)!)!);
  return { byNode: true, of: Uint8Array.from(entry, (i) => legend[i].fill), legend, entry };
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The filter that finds the frames of an entry, as the server takes it; "": there is none. */
export function filterOfEntry(by: ColorBy, text: string): string {
  if (by === "kind") return `kind:=${text}`;
  if (by === "binary" && text !== "[unknown]") return `bin:~(^|/)${escaped(text)}$`;
  if (by === "file" && text.includes("/")) return `file:~^${escaped(text)}/[^/]*$`;
  return "";
}

export function colorFrames(t: Tree, by: ColorBy): Coloring {
  const self = t.weights ?? weightsOf(t);
  if (by === "self") return colorBySelf(t, self);
  if (by === "label") return colorByLabel(t);
  const { texts, of: group } = groupsOf(t, by);
  const weights = new Float64Array(texts.length);
  const isUsed = new Uint8Array(texts.length);
  for (let f = 0; f < group.length; f++) {
    weights[group[f]] += self[f];
    isUsed[group[f]] = 1;
  }
  const legend = legendOf(new Map(texts.map((text, i): [string, number] => [text, weights[i]]).filter((_, i) => isUsed[i])));
  const places = new Map(legend.map((e, i) => [e.text, i]));
  const entries = texts.map((text) => places.get(text) ?? 0);
  const entry = new Uint32Array(group.length);
  const of = new Uint8Array(group.length);
  for (let f = 0; f < group.length; f++) of[f] = legend[(entry[f] = entries[group[f]])].fill;
  return { byNode: false, of, legend, entry };
}

/** 0 to 8, 4 is neutral: by relative change of a node's total, in steps of the legend. */
export function diffStep(a: number, b: number): number {
  if (a === b) return 4;
  if (a === 0) return b > 0 ? 8 : 0;
  const change = (b - a) / Math.abs(a);
  let step = 0;
  while (step < 4 && Math.abs(change) >= diffSteps[step]) step++;
  return change > 0 ? 4 + step : 4 - step;
}
