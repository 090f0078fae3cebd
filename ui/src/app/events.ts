// SPDX-License-Identifier: Apache-2.0
// app/events.ts - what happened meanwhile: what somebody sent as an event, and the server's own start and reload
//
// An event is a profile of the type `event`, as docs/RECEIVING.md says: stored, kept and removed as any other.

import type { Matcher } from "../query/selector.ts";

export interface Happening {
  at: number; // ms
  text: string;
}

export const EVENT_TYPE = "event:samples:count:::delta";
/** What an event may be of, beside what it says. */
export const OF = ["service_name", "version", "job", "instance", "node"];

/** Not of something else than the selector is of; what an event does not say it may be. */
export function concerns(labels: Record<string, string>, matchers: Matcher[]): boolean {
  return matchers.every((m) => {
    const value = labels[m.name];
    if (!value || (m.op !== "=" && m.op !== "!=")) return true;
    return (value === m.value) === (m.op === "=");
  });
}

export function textOf(labels: Record<string, string>): string {
  const of = OF.filter((k) => labels[k]).map((k) => labels[k]);
  return [labels.event || "event", labels.text, ...of].filter(Boolean).join(" · ");
}

/** The time before and the time after it, as long as each other: as much of the range as there is on both sides, a quarter of an hour at most. */
export function around(at: number, from: number, to: number): { before: [number, number]; after: [number, number] } {
  const length = Math.max(Math.min(at - from, to - at, 15 * 60_000), 60_000);
  return { before: [at - length, at], after: [at, at + length] };
}
