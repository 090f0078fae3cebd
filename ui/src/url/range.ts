// SPDX-License-Identifier: Apache-2.0
// url/range.ts - moments as they are written: "now", "now-15m", milliseconds since 1970

export interface Range {
  from: string;
  to: string;
}

const units: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };

/** Milliseconds, or NaN for what is no moment. */
export function moment(text: string, now: number): number {
  const relative = /^now(?:-(\d+(?:\.\d+)?)([smhdw]))?$/.exec(text);
  if (relative) return now - (relative[1] ? Number(relative[1]) * units[relative[2]] : 0);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return NaN;
}

/** [from, to) in ms; null for what is none. */
export function resolve(r: Range, now: number): [number, number] | null {
  const from = moment(r.from, now);
  const to = moment(r.to, now);
  return from < to ? [Math.floor(from), Math.ceil(to)] : null;
}

export const presets: [string, string][] = [
  ["now-5m", "5 min"], ["now-15m", "15 min"], ["now-1h", "1 h"], ["now-6h", "6 h"],
  ["now-24h", "24 h"], ["now-7d", "7 d"], ["now-30d", "30 d"],
];

export function isRelative(r: Range): boolean {
  return r.to === "now" && r.from.startsWith("now-");
}
