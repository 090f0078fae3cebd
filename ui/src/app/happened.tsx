// SPDX-License-Identifier: Apache-2.0
// app/happened.tsx - below the lines: what happened in that time, and what it changed

import * as api from "../api/client.ts";
import type { Matcher } from "../query/selector.ts";
import { visible } from "../flame/names.ts";
import * as format from "./format.ts";
import { EVENT_TYPE, type Happening, OF, around, concerns, textOf } from "./events.ts";
import { useQuestion } from "./question.ts";
import { remembered } from "./remembered.ts";
import { go, parsed, range, state, types } from "./store.ts";

const MOST = 200;

async function sent(matchers: Matcher[], from: number, to: number, signal: AbortSignal): Promise<Happening[]> {
  const params: api.Params = [["q", `${EVENT_TYPE}{}`], ["from", api.at(from)], ["to", api.at(to)], ["step", "0"], ["sum_by", ["event", "text", ...OF].join(",")], ["top", MOST]];
  const { series } = await remembered<api.SeriesAnswer>("series", params, signal);
  return series.filter((s) => concerns(s.labels, matchers)).flatMap((s) => s.t_ms.map((at) => ({ at, text: textOf(s.labels) })));
}

/** Until a moment: a range that ends later may have another start in it. */
async function servers(to: number, signal: AbortSignal): Promise<Happening[]> {
  const { version, started, reloaded } = await remembered<{ version: string; started: string; reloaded?: string }>("status", [], signal, to);
  return [
    { at: Date.parse(started), text: `start · decima ${version} · this server` },
    ...(reloaded ? [{ at: Date.parse(reloaded), text: "reload · configuration · this server" }] : []),
  ];
}

/** The earliest first. isKnown: somebody has ever sent one. */
export async function happenings(matchers: Matcher[], from: number, to: number, isKnown: boolean, signal: AbortSignal): Promise<Happening[]> {
  const all = await Promise.all([isKnown ? sent(matchers, from, to, signal) : [], servers(to, signal)]);
  return all.flat().filter((h) => h.at >= from && h.at < to).sort((a, b) => a.at - b.at);
}

const none: Happening[] = [];

/** Of the range; [] until they are known. */
export function useHappenings(): { all: Happening[]; failed: string } {
  const isKnown = (types.value.value ?? []).some((t) => t.type === EVENT_TYPE);
  const matchers = "selector" in parsed.value ? parsed.value.selector.matchers : [];
  const [from, to] = range.value ?? [0, 0];
  const { value, failed } = useQuestion(JSON.stringify([matchers, from, to, isKnown]), (signal) => happenings(matchers, from, to, isKnown, signal));
  // The same one each time: the lines are drawn anew for another.
  return { all: value ?? none, failed };
}

/** A: the time before a moment, B: the one after it. */
export function compareSides({ before, after }: ReturnType<typeof around>): void {
  go({ from: String(before[0]), to: String(before[1]), sel: null, b: { q: state.value.q, from: String(after[0]), to: String(after[1]) }, zoom: "", selected: "" }, true, "compare");
}

export function Happened(props: { all: Happening[]; failed: string }) {
  const { all, failed } = props;
  if (failed) return <p class="muted" title={failed} data-testid="markers">what happened meanwhile is not known</p>;
  if (!all.length) return null;
  return (
    <details class="dropdown plain happened" data-testid="markers">
      <summary>{all.length === 1 ? "1 event" : `${format.count(all.length)} events`}</summary>
      <div class="menu below left why">
        <table class="list">
          <tbody>
            {all.map((h) => (
              <tr key={`${h.at} ${h.text}`}>
                <td>{format.time(h.at, state.value.utc)}</td>
                <td class="wide">{visible(h.text)}</td>
                <td><button class="link" onClick={() => compareSides(around(h.at, ...range.value!))}>before and after</button></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
