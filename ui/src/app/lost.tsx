// SPDX-License-Identifier: Apache-2.0
// app/lost.tsx - how many samples of an answer's time were lost before anybody could store them: the sampler counts them

import * as api from "../api/client.ts";
import { visible } from "../flame/names.ts";
import { type Matcher, writeSelector } from "../query/selector.ts";
import * as format from "./format.ts";
import { useQuestion } from "./question.ts";
import { remembered } from "./remembered.ts";
import { parsed, types } from "./store.ts";

const QUALITY = "decima_quality:samples:count:::delta";
const LOST = "lost: ";
/** Of a loss nobody knows whose sample it was, but on which machine. */
const PLACES = ["node", "instance"];
const MUCH = 0.05;

interface Loss {
  reason: string;
  n: number;
}

/** What to ask for the machines that a selector is of. */
export function lossSelector(matchers: Matcher[]): string {
  return writeSelector({ type: QUALITY, matchers: matchers.filter((m) => PLACES.includes(m.name)) });
}

export function lossesOf(rows: { name: string; self: number[] }[]): Loss[] {
  return rows.filter((r) => r.name.startsWith(LOST)).map((r) => ({ reason: r.name.slice(LOST.length), n: r.self[0] })).sort((a, b) => b.n - a.n);
}

/** samples: how many the answer has; from, to: its time. */
export function Lost(props: { samples: number; from: number; to: number }) {
  const { from, to } = props;
  const isKnown = (types.value.value ?? []).some((t) => t.type === QUALITY);
  const q = isKnown && "selector" in parsed.value ? lossSelector(parsed.value.selector.matchers) : "";
  const { value: losses, failed } = useQuestion(q && `${q} ${from} ${to}`, async (signal) => {
    const params: api.Params = [["q", q], ["from", api.at(from)], ["to", api.at(to)]];
    return lossesOf((await remembered<{ rows: { name: string; self: number[] }[] }>("functions", params, signal)).rows);
  });
  if (failed) return <span class="muted" title={failed} data-testid="lost">losses not known</span>;
  if (!losses) return null;
  const n = losses.reduce((sum, l) => sum + l.n, 0);
  if (n === 0) return <span data-testid="lost">none lost</span>;
  return (
    <details class={`dropdown plain${n > MUCH * (props.samples + n) ? " amber" : ""}`} data-testid="lost">
      <summary>{format.count(n)} lost</summary>
      <div class="menu below why">
        <p>Samples of these machines that nobody could store, whatever they were of:</p>
        <table class="list">
          <thead><tr><th class="n">Samples</th><th>Why</th></tr></thead>
          <tbody>{losses.map((l) => <tr key={l.reason}><td class="n">{format.count(l.n)}</td><td class="wide">{visible(l.reason)}</td></tr>)}</tbody>
        </table>
      </div>
    </details>
  );
}
