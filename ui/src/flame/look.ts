// SPDX-License-Identifier: Apache-2.0
// flame/look.ts - which colour a frame has, and what is written on it

import { type Coloring, changePalettes, diffStep, fills } from "./color.ts";
import type { Rows } from "./fold.ts";
import type { Tree } from "./tree.ts";
import { SMALL, TRIMMED } from "./view.ts";

export interface Theme {
  dark: boolean;
  muted: string;
  unmatched: string;
  match: string;
  line: string; // selection
  hover: string;
  panel: string;
  stripes: string; // over the ground
  veil: string; // stripes over fills, below names
}

export interface Look {
  theme: Theme;
  coloring: Coloring;
  changes: string; // a diff's palette
  marked: Uint8Array | null; // by function: found by the search
  alone?: number; // of the legend: all else is as if not found
  func?: number; // whose frames are pointed out; -1: none's
  selected: number;
  zoom: number; // what leads to it is faded
  names: Map<number, string>; // what has been read already
  significant: Uint8Array | null; // of a diff, by node: 0 is drawn neutral
  rows: Rows;
  detail: number; // of names
}

export const SLOTS = 64;
const CHANGES = 32; // the first of a diff's nine
const OUTSIDE = 59;
const BLOCK = 60;
const FOUND = 61;
const NOT_FOUND = 62;
const ROOT = 63;

/** Whether a node is on the way to another one. */
export function isAbove(t: Tree, node: number, other: number): boolean {
  return node < other && other < t.end[node];
}

/** Which of the colours a node has. */
export function slotOf(t: Tree, node: number, look: Look): number {
  if (node === TRIMMED) return OUTSIDE;
  if (node === SMALL) return BLOCK;
  if (look.marked && node > 0) return look.marked[t.func[node]] ? FOUND : NOT_FOUND;
  const { coloring } = look;
  const at = coloring.byNode ? node : t.func[node];
  if (look.alone !== undefined && node > 0 && coloring.entry[at] !== look.alone) return NOT_FOUND;
  if (node > 0 && isAbove(t, node, look.zoom)) return NOT_FOUND;
  if (t.b) return CHANGES + (look.significant && !look.significant[node] ? 4 : diffStep(t.total[node], t.b.total[node] * t.b.factor));
  return node === 0 ? ROOT : coloring.of[at];
}

/** As #rrggbb; what is no colour's number is the ground. */
export function fillOf(slot: number, look: Look): string {
  const { theme } = look;
  if (slot === BLOCK) return theme.muted;
  if (slot === FOUND) return theme.match;
  if (slot === NOT_FOUND || slot === ROOT) return theme.unmatched;
  if (slot >= CHANGES) return changePalettes[look.changes][theme.dark ? "dark" : "light"][slot - CHANGES] ?? theme.panel;
  return fills[slot] ?? theme.panel;
}

/** Relative luminance by WCAG 2.2. */
function luminance(color: string): number {
  const part = (at: number) => {
    const v = parseInt(color.slice(at, at + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

const DARK_INK = "#111111";
const LIGHT_INK = "#ffffff";
const inks = new Map<string, string>();

/** The one that stands out more from a fill. */
export function inkFor(fill: string): string {
  let ink = inks.get(fill);
  if (ink === undefined) {
    const l = luminance(fill);
    const dark = (l + 0.05) / (luminance(DARK_INK) + 0.05);
    const light = 1.05 / (l + 0.05);
    inks.set(fill, (ink = dark >= light ? DARK_INK : LIGHT_INK));
  }
  return ink;
}

export function inkOf(slot: number, look: Look): string {
  return inkFor(fillOf(slot, look));
}
