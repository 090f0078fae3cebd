// SPDX-License-Identifier: Apache-2.0
// app/nothing.tsx - why an answer has nothing in it, and where there is something

import * as api from "../api/client.ts";
import { type Matcher, parseSelector, writeMatcher } from "../query/selector.ts";
import { follows } from "./actions.ts";
import { visible } from "../flame/names.ts";
import * as format from "./format.ts";
import { Empty } from "./parts.tsx";
import { useQuestion } from "./question.ts";
import { go, selectorText, state, stepFor, types } from "./store.ts";

/** What was found out about a selector that has nothing in a range. */
interface Found {
  isUnknown?: boolean; // no profile of its type is stored
  nearest?: [from: number, to: number]; // a step of time that has something
  culprit?: { matcher: Matcher; values: string[] }; // which no value that is there fits
}

const MOST_VALUES = 5;

/** As the server's: of the whole value. null: no expression of a browser's. */
function fits(m: Matcher, value: string): boolean | null {
  if (m.op === "=" || m.op === "!=") return (value === m.value) === (m.op === "=");
  try {
    return new RegExp(`^(?:${m.value})$`, "s").test(value) === (m.op === "=~");
  } catch {
    return null;
  }
}

/** The step of time with data that is nearest to [from, to). */
async function nearest(q: string, type: api.TypeInfo, from: number, to: number, signal: AbortSignal): Promise<[number, number] | undefined> {
  const end = type.last_ms + 1000;
  const step = stepFor((end - type.first_ms) / 1000);
  const answer = await api.series([["q", q], ["from", api.at(type.first_ms)], ["to", api.at(end)], ["step", `${step}s`]], signal);
  const away = (t: number) => Math.max(from - t - step * 1000, t - to, 0);
  const times = answer.series.flatMap((s) => s.t_ms).sort((a, b) => away(a) - away(b));
  return times.length ? [times[0], times[0] + step * 1000] : undefined;
}

/** The first matcher that none of its label's values fits. Of one without the label all may be meant: it is passed over. */
async function culprit(matchers: Matcher[], type: api.TypeInfo, signal: AbortSignal): Promise<Found["culprit"]> {
  for (const matcher of matchers) {
    if (fits(matcher, "") !== false) continue;
    const { values } = await api.values(matcher.name, `${type.type}{}`, type.first_ms, type.last_ms + 1000, signal);
    if (values.some((v) => fits(matcher, v.name) !== false)) continue;
    const known = [...values].sort((a, b) => b.series - a.series);
    return { matcher, values: known.slice(0, MOST_VALUES).map((v) => v.name) };
  }
  return undefined;
}

async function findOut(q: string, all: api.TypeInfo[], from: number, to: number, signal: AbortSignal): Promise<Found> {
  const parsed = parseSelector(q);
  const selector = "selector" in parsed ? parsed.selector : { type: "", matchers: [] };
  const type = all.find((t) => t.type === selector.type);
  if (!type) return { isUnknown: true };
  const at = await nearest(q, type, from, to, signal);
  return at ? { nearest: at } : { culprit: await culprit(selector.matchers, type, signal) };
}

/** A range as long as the one that has nothing, with that step of time at the end of it that is nearer. */
function lead([a, b]: [number, number], from: number, to: number): void {
  const length = Math.max(to - from, b - a);
  const range = a < from ? [b - length, b] : [a, a + length];
  go({ from: String(range[0]), to: String(range[1]), sel: null, zoom: "", selected: "" });
}

function Why(props: { found: Found; from: number; to: number }) {
  const { found, from, to } = props;
  if (found.nearest) {
    const [a, b] = found.nearest;
    const away = a < from ? `${format.duration(Math.max(from - b, 0) * 1e6)} before it` : `${format.duration(Math.max(a - to, 0) * 1e6)} after it`;
    return (
      <p>
        The nearest data is {away}, at {format.time(a < from ? b : a, state.value.utc)}:{" "}
        <button class="link" data-testid="go-nearest" onClick={() => lead([a, b], from, to)}>go there</button>
      </p>
    );
  }
  if (found.isUnknown) return <p>No profile of this type is stored.</p>;
  const c = found.culprit;
  if (!c) return <p>Nothing that is stored matches the selector, at any time: its matchers exclude each other, or what matched is gone.</p>;
  return (
    <p>
      No value of <b>{visible(c.matcher.name)}</b> fits <code>{writeMatcher(c.matcher)}</code>.{" "}
      {c.values.length ? <>There are: {c.values.map((v) => visible(v) || "(empty)").join(", ")}</> : <>No profile of this type has that label.</>}
    </p>
  );
}

export function NoData(props: { from: number; to: number }) {
  const { from, to } = props;
  const q = selectorText.value;
  const all = types.value.value;
  const { value: found, failed } = useQuestion(all ? `${q} ${from} ${to}` : "", (signal) => findOut(q, all!, from, to, signal), false);
  return (
    <Empty title="No data in this range">
      {found ? <Why found={found} from={from} to={to} /> : <p>{failed ? `Where there is some could not be found out: ${failed}` : "The selector matches nothing that was stored then."}</p>}
      <p>
        <a href="targets" onClick={follows("targets")}>See what is collected</a>
      </p>
    </Empty>
  );
}
