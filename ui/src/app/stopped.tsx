// SPDX-License-Identifier: Apache-2.0
// app/stopped.tsx - of an answer's time: which of the places that it is of had stopped to report before its end

import * as api from "../api/client.ts";
import { keyOf, nameOfSeries } from "../chart/steps.ts";
import { visible } from "../flame/names.ts";
import { writeSelector } from "../query/selector.ts";
import { follows } from "./actions.ts";
import * as format from "./format.ts";
import { useQuestion } from "./question.ts";
import { remembered } from "./remembered.ts";
import { type Silent, silentAt } from "./silence.ts";
import { go, parsed, state, stepFor } from "./store.ts";

/** What tells one target, or one machine, from the others. */
const PLACES = ["node", "job", "instance"];
const MOST = 1000;
const SHOWN = 20;

/** from, to: the answer's time. */
export function StoppedTargets(props: { from: number; to: number }) {
  const { from, to } = props;
  const selector = "selector" in parsed.value ? parsed.value.selector : null;
  // Of what else a selector may be, a program say, silence means nothing.
  const q = selector?.type ? writeSelector({ type: selector.type, matchers: selector.matchers.filter((m) => PLACES.includes(m.name)) }) : "";
  const { value: found, failed } = useQuestion(q && `${q} ${from} ${to}`, async (signal) => {
    const params: api.Params = [["q", q], ["from", api.at(from)], ["to", api.at(to)], ["step", `${stepFor((to - from) / 1000)}s`], ["sum_by", PLACES.join(",")], ["top", MOST]];
    const answer = await remembered<api.SeriesAnswer>("series", params, signal);
    return { all: answer.series.length + (answer.series_left_out ?? 0), stopped: silentAt(answer, from, Math.min(to, Date.now())) };
  });
  if (failed) return <span class="muted" title={failed} data-testid="stopped">what reports is not known</span>;
  if (!found || (found.all < 2 && !found.stopped.length)) return null;
  const { all, stopped } = found;
  if (!stopped.length) return <span data-testid="stopped">{format.count(all)} targets</span>;
  const before = (s: Silent) => go({ from: String(s.last - (to - from)), to: String(s.last), sel: null });
  return (
    <details class="dropdown plain amber" data-testid="stopped">
      <summary>{format.count(stopped.length)} of {format.count(all)} targets stopped</summary>
      <div class="menu below why">
        <p>Nothing came from these until the end of this time:</p>
        <table class="list">
          <thead><tr><th>Target</th><th>The last came</th></tr></thead>
          <tbody>
            {stopped.slice(0, SHOWN).map((s) => (
              <tr key={keyOf(s.of)}>
                <td class="wide mono">{visible(nameOfSeries(s.of))}</td>
                <td><button class="link" onClick={() => before(s)}>{format.time(s.last, state.value.utc)}</button></td>
              </tr>
            ))}
          </tbody>
        </table>
        {stopped.length > SHOWN && <p class="muted">and {format.count(stopped.length - SHOWN)} more</p>}
        <p><a href="targets" onClick={follows("targets")}>See what is collected</a></p>
      </div>
    </details>
  );
}
