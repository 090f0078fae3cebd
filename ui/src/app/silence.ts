// SPDX-License-Identifier: Apache-2.0
// app/silence.ts - of lines over time: which of them had ended before the time did

import type { Series, SeriesAnswer } from "../api/client.ts";

export interface Silent {
  of: Series;
  last: number; // ms: the step in which it was heard last
}

/** How far its points usually are from each other; of one alone nobody knows. */
function usualGap(t: number[], otherwise: number): number {
  const gaps = t.slice(1).map((at, i) => at - t[i]).sort((a, b) => a - b);
  return gaps.length ? gaps[Math.floor(gaps.length / 2)] : otherwise;
}

/** Those that are silent for much longer than they usually are, at `end`; the last ones first. */
export function silentAt(answer: SeriesAnswer, from: number, end: number): Silent[] {
  const heard = answer.series.filter((s) => s.t_ms.length).map((s) => ({ of: s, last: s.t_ms[s.t_ms.length - 1] }));
  const isSilent = ({ of, last }: Silent) => end - last > 3 * usualGap(of.t_ms, (end - from) / 4) + answer.step_ms;
  return heard.filter(isSilent).sort((a, b) => b.last - a.last);
}
