// SPDX-License-Identifier: Apache-2.0
// url/range.ts - moments as they are written: "now", "now-15m", milliseconds since 1970

export interface Range {
  from: string;
  to: string;
}

const units: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };

/** Milliseconds, or NaN for what is no moment: of those before 1970 nobody asks, and far before it a browser has no days. */
export function moment(text: string, now: number): number {
  const relative = /^now(?:-(\d+(?:\.\d+)?)([smhdw]))?$/.exec(text);
  if (relative) {
    const ms = now - (relative[1] ? Number(relative[1]) * units[relative[2]] : 0);
    return ms >= 0 ? ms : NaN;
  }
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return NaN;
}

/** [from, to) in ms; null for what is none. */
export function resolve(r: Range, now: number): [number, number] | null {
  const from = moment(r.from, now);
  const to = moment(r.to, now);
  return from < to ? [Math.floor(from), Math.ceil(to)] : null;
}

/** As long, `by` ms later; no earlier than there are times. */
export function shifted([from, to]: [number, number], by: number): Range {
  const step = Math.max(by, -from);
  return { from: String(from + step), to: String(to + step) };
}

export const presets: [string, string][] = [
  ["now-5m", "5 min"], ["now-15m", "15 min"], ["now-1h", "1 h"], ["now-6h", "6 h"],
  ["now-24h", "24 h"], ["now-7d", "7 d"], ["now-30d", "30 d"],
];

export function isRelative(r: Range): boolean {
  return r.to === "now" && r.from.startsWith("now-");
}

/** A moment as somebody writes it, as addresses have it: relative ones, or a day and a time in the zone; null: it is none. */
export function readMoment(text: string, utc: boolean, today = new Date()): string | null {
  const t = text.trim();
  if (/^\d{6,}$/.test(t) || t.startsWith("now")) return Number.isNaN(moment(t, today.getTime())) ? null : t;
  const m = /^(?:(\d{4})-(\d\d)-(\d\d))?(?:[ T]*(\d?\d):(\d\d)(?::(\d\d))?)?$/.exec(t);
  if (!m || t === "") return null;
  const own = utc ? [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()] : [today.getFullYear(), today.getMonth(), today.getDate()];
  const [year, month, day] = m[1] ? [Number(m[1]), Number(m[2]) - 1, Number(m[3])] : own;
  const clock = [m[4] ?? 0, m[5] ?? 0, m[6] ?? 0].map(Number) as [number, number, number];
  const ms = utc ? Date.UTC(year, month, day, ...clock) : new Date(year, month, day, ...clock).getTime();
  // The 31st of a month that has none would be another day.
  const back = new Date(ms);
  const isSame = (utc ? back.getUTCDate() : back.getDate()) === day && (utc ? back.getUTCMonth() : back.getMonth()) === month && clock[0] < 24 && clock[1] < 60 && clock[2] < 60;
  return isSame && ms >= 0 ? String(ms) : null;
}
