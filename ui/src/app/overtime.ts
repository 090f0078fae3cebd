// SPDX-License-Identifier: Apache-2.0
// app/overtime.ts - one function's totals over time: each step is a question of its own

import * as api from "../api/client.ts";
import { wholeStep } from "../chart/steps.ts";
import { remembered } from "./remembered.ts";
import { selectorText, stepFor } from "./store.ts";

const MOST_STEPS = 30;
const DAY = 86_400_000;
/** Until then a step may still get profiles, of whoever sends them late. */
const SETTLED = 60_000;

interface Sums {
  unit: string;
  total: number[];
  filtered: number[];
}

/** Steps that so long a range has few enough of, in ms. */
export function stepOf(range_ms: number): number {
  const step = stepFor((range_ms / 1000) * (240 / MOST_STEPS)) * 1000;
  return Math.max(step, step < DAY ? 0 : Math.ceil(range_ms / MOST_STEPS / DAY) * DAY);
}

/** The same, and no shorter than a profile usually is of all that are selected: as the server tells of a few of them. */
async function stepOfProfiles(from: number, to: number, signal: AbortSignal): Promise<number> {
  const step = stepOf(to - from);
  const params: api.Params = [["q", selectorText.value], ["from", api.at(Math.floor(from / step) * step)], ["to", api.at(Math.ceil(to / step) * step)], ["step", `${step / 1000}s`], ["top", 1]];
  return wholeStep(await remembered<api.SeriesAnswer>("series", params, signal));
}

/** As the server's lines are, one of one function, of which paramsOf() asks: steps in which nothing was collected are left out. */
export async function overTime(paramsOf: (from: number, to: number) => api.Params, [from, to]: [number, number], signal: AbortSignal): Promise<api.SeriesAnswer> {
  const step = await stepOfProfiles(from, to, signal);
  const line: api.Series = { labels: {}, t_ms: [], value: [], duration_ns: [], profiles: [] };
  let unit = "";
  for (let at = Math.floor(from / step) * step; at < to; at += step) {
    const params: api.Params = [...paramsOf(Math.max(at, from), Math.min(at + step, to)), ["max_rows", 1]];
    // What is over is asked for once: a refresh may come before the last step has been answered.
    const sums = await (at + step + SETTLED < Date.now() ? remembered<Sums>("functions", params, signal) : api.json<Sums>("functions", params, signal));
    unit = sums.unit;
    if (sums.total[0] === 0 && sums.filtered[0] === 0) continue;
    line.t_ms.push(at);
    line.value.push(sums.total[0]);
    line.duration_ns.push(step * 1e6);
    line.profiles.push(1);
  }
  return { step_ms: step, unit, series: [line] };
}
