// SPDX-License-Identifier: Apache-2.0
// flame/samples.ts - of how many samples an answer is, and how often one was taken

/** Of a type: whether its values are time on CPUs, of which a second each second is a core. */
export function isCpuTime(type: string): boolean {
  const [, sample, unit] = type.split(":");
  return sample === "cpu" && unit === "nanoseconds";
}

export interface Samples {
  n: number;
  hz: number; // of each busy CPU; 0: they are no samples of time
}

/** Of a type "name:sample:unit:period type:period unit[:delta]"; null: its values are no multiples of a period that is known. */
export function samplesOf(type: string, weight: number, period: number | undefined): Samples | null {
  const [, sample, unit, periodType, periodUnit] = type.split(":");
  if (sample === "samples" && unit === "count") return { n: weight, hz: 0 };
  if (!period || period < 0 || sample !== periodType || unit !== periodUnit) return null;
  return { n: Math.round(weight / period), hz: unit === "nanoseconds" ? 1e9 / period : 0 };
}
