// SPDX-License-Identifier: Apache-2.0
// chart/steps.ts - totals by steps of time as lines: steps that whole profiles fit into, on one axis, with gaps where nothing came

import type { Series, SeriesAnswer } from "../api/client.ts";
import { quote, writeName } from "../query/selector.ts";

export type Line = Pick<Series, "labels" | "t_ms" | "value">;

/** Tells a line from all others, which its name does not: a value may hold what looks like another label. */
export function keyOf(s: Pick<Line, "labels">): string {
  return JSON.stringify(Object.entries(s.labels));
}

/** What stands for a label without a value. */
const NONE = "\u2013";

/** As a value is written where it could be read as anything else: with what looks like another label in it, or as none. */
const valueText = (v: string): string => (v === "" ? NONE : v.includes("=") || /^["'`]|^\u2013$/.test(v) ? quote(v) : v);

/** What people read. */
export function nameOfSeries(s: Pick<Line, "labels">): string {
  const entries = Object.entries(s.labels);
  return entries.length ? entries.map(([k, v]) => `${writeName(k)}=${valueText(v)}`).join(" ") : "all";
}

export interface Lines {
  step_ms: number;
  lines: Line[];
}

/** How long one profile usually collects, in ms; 0: none says. */
function usualDuration(all: Series[]): number {
  const each = all.flatMap((s) => s.duration_ns.map((d, i) => d / 1e6 / s.profiles[i])).filter((d) => d > 0);
  return each.sort((a, b) => a - b)[Math.floor(each.length / 2)] ?? 0;
}

const NEAR = 0.05;
const LONGEST = 8; // profiles in a step that fits

/** How many steps make one that so many whole profiles fit into; where none does, as many as one profile takes. */
function stepsOfOne(step: number, duration: number): number {
  const least = Math.max(Math.ceil((duration / step) * (1 - NEAR)), 1);
  for (let k = least; k * step <= duration * LONGEST; k++) {
    const n = (k * step) / duration;
    if (Math.abs(n - Math.round(n)) <= NEAR * n) return k;
  }
  return least;
}

/** A step, of some of an answer's, that whole profiles fit into, in ms. */
export function wholeStep({ step_ms, series }: SeriesAnswer): number {
  return stepsOfOne(step_ms, usualDuration(series)) * step_ms;
}

/**
 * What a step has is the weight of the profiles that begin in it. In steps shorter than a profile most have none, and one has
 * what several steps' time has weighed: several are one there.
 */
export function linesOf(answer: SeriesAnswer): Lines {
  const step_ms = wholeStep(answer);
  if (step_ms === answer.step_ms) return { step_ms, lines: answer.series };
  const lines = answer.series.map((s) => {
    const sums = new Map<number, number>();
    s.t_ms.forEach((t, i) => {
      const at = Math.floor(t / step_ms) * step_ms;
      sums.set(at, (sums.get(at) ?? 0) + s.value[i]);
    });
    return { labels: s.labels, t_ms: [...sums.keys()], value: [...sums.values()] };
  });
  return { step_ms, lines };
}

export function totalOf(line: Line): number {
  return line.value.reduce((a, b) => a + b, 0);
}

export type Column = (number | null)[];

/** Columns on one axis of seconds, what they have divided. A step without profiles is a gap, not nothing. */
export function align(lines: Line[], step_ms: number, divisor: number): { axis: number[]; columns: Column[] } {
  let first = Infinity;
  let last = -Infinity;
  for (const s of lines)
    for (const t of s.t_ms) {
      first = Math.min(first, t);
      last = Math.max(last, t);
    }
  const axis: number[] = [];
  for (let t = first; t <= last; t += step_ms) axis.push(t);
  const at = new Map(axis.map((t, i) => [t, i]));
  const columns = lines.map((s) => {
    const column: Column = new Array<number | null>(axis.length).fill(null);
    s.t_ms.forEach((t, i) => (column[at.get(t) ?? 0] = s.value[i] / divisor));
    return column;
  });
  return { axis: axis.map((t) => t / 1000), columns };
}

/** Where a value stands alone between gaps: there is no line through it, so that it needs a point to be seen. */
export function alone(column: ArrayLike<number | null | undefined>): number[] {
  const out: number[] = [];
  for (let i = 0; i < column.length; i++) if (column[i] != null && column[i - 1] == null && column[i + 1] == null) out.push(i);
  return out;
}
