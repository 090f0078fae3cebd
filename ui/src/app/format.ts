// SPDX-License-Identifier: Apache-2.0
// app/format.ts - numbers as people read them

import { signal } from "@preact/signals";

/** 1,000 or 1,024 of a unit of bytes make the next one: a setting. */
export const bytesStep = signal(1024);

const si = ["", "k", "M", "G", "T", "P", "E"];
const decimal = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Three digits that mean something: 1.23, 12.3, 123. */
export function digits(v: number): string {
  if (v === 0) return "0";
  const a = Math.abs(v);
  const places = a >= 100 ? 0 : a >= 10 ? 1 : a >= 0.995 ? 2 : 3;
  return Number(v.toFixed(places)).toString();
}

function stepped(v: number, base: number, units: string[]): string {
  let i = 0;
  let x = v;
  while (Math.abs(x) >= base * 0.9995 && i < units.length - 1) {
    x /= base;
    i++;
  }
  return `${digits(x)} ${units[i]}`.trim();
}

export function duration(ns: number): string {
  // With the three digits that are shown, so that what is rounded up to the next unit has it.
  const a = Math.abs(Number(ns.toPrecision(3)));
  if (a === 0) return "0 s";
  if (a < 1e3) return `${digits(ns)} ns`;
  if (a < 1e6) return `${digits(ns / 1e3)} \u00b5s`;
  if (a < 1e9) return `${digits(ns / 1e6)} ms`;
  if (a < 120e9) return `${digits(ns / 1e9)} s`;
  if (a < 2 * 3600e9) return `${digits(ns / 60e9)} min`;
  if (a < 48 * 3600e9) return `${digits(ns / 3600e9)} h`;
  return `${digits(ns / 86400e9)} d`;
}

/** A value in its type's unit. */
export function value(v: number, unit: string): string {
  switch (unit) {
    case "nanoseconds":
      return duration(v);
    case "microseconds":
      return duration(v * 1e3);
    case "milliseconds":
      return duration(v * 1e6);
    case "seconds":
      return duration(v * 1e9);
    case "bytes":
      return stepped(v, bytesStep.value, bytesStep.value === 1000 ? decimal : binary);
    default:
      return stepped(v, 1000, si);
  }
}

/** Per second of the time that it was collected in: CPU time reads as cores, other time as time. */
export function rate(v: number, seconds: number, unit: string, isCpu: boolean): string {
  if (!(seconds > 0)) return value(v, unit);
  if (isCpu) {
    const cores = v / 1e9 / seconds;
    return `${digits(cores)} ${Math.abs(cores) === 1 ? "core" : "cores"}`;
  }
  return `${value(v / seconds, unit)}/s`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return "\u2013";
  const p = (part / whole) * 100;
  if (p !== 0 && Math.abs(p) < 0.01) return p > 0 ? "<0.01 %" : ">-0.01 %";
  return `${p.toFixed(Math.abs(p) >= 99.95 ? 0 : Math.abs(p) >= 10 ? 1 : 2)} %`;
}

/** 1,234,567. As toLocaleString("en-US") has it, whose first call takes a browser some 40 ms. */
export function count(n: number): string {
  const [whole, part] = String(Math.abs(Math.round(n * 1000) / 1000)).split(".");
  return `${n < 0 ? "-" : ""}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${part ? `.${part}` : ""}`;
}

const pad = (n: number) => String(n).padStart(2, "0");

/** 2026-11-23 and 14:02:09, in the zone that was chosen. */
export function dayAndClock(ms: number, utc: boolean): { day: string; clock: string } {
  const d = new Date(ms - (utc ? 0 : new Date(ms).getTimezoneOffset() * 60_000));
  return { day: d.toISOString().slice(0, 10), clock: [d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds()].map(pad).join(":") };
}

/** 14:02:09, with the day where it is not today. */
export function time(ms: number, utc: boolean, now = Date.now()): string {
  const { day, clock } = dayAndClock(ms, utc);
  return day === dayAndClock(now, utc).day ? clock : `${day} ${clock}`;
}
