// SPDX-License-Identifier: Apache-2.0
// app/targets.tsx - Targets: the inputs, and each address that they collect from: how it went, when it is next

import { visible } from "../flame/names.ts";
import { useState } from "preact/hooks";
import { writeName, writeSelector } from "../query/selector.ts";
import * as format from "./format.ts";
import { ErrorState } from "./parts.tsx";
import { go, state, types } from "./store.ts";
import { Instances, StateChip, useAnswer, Waiting, type Instance } from "./system.tsx";

interface Endpoint {
  input: string;
  job: string;
  profile: string;
  url: string;
  health: string;
  error: string;
  discovered: Record<string, string>;
  labels: Record<string, string>;
  last: string | null;
  duration_ns: number;
  bytes: number;
  samples: number;
}

/** More rows than anybody reads; the words above them narrow it. */
const ROWS_MAX = 300;

/** What needs somebody first, then by job and address. */
const weights: Record<string, number> = { down: 0, unknown: 1, up: 2, off: 3, dropped: 4 };

function worstFirst(all: Endpoint[]): Endpoint[] {
  return [...all].sort((a, b) => (weights[a.health] ?? 1) - (weights[b.health] ?? 1) || a.job.localeCompare(b.job) || a.url.localeCompare(b.url));
}

function labelsText(of: Record<string, string>): string {
  return Object.entries(of).map(([k, v]) => `${writeName(k)}="${v}"`).join(" ");
}

function has(e: Endpoint, word: string): boolean {
  return [e.job, e.profile, e.url, e.health, e.error, labelsText(e.labels)].some((t) => t.toLowerCase().includes(word));
}

function counts(all: Endpoint[]): string {
  const of = new Map<string, number>();
  for (const e of all) of.set(e.health, (of.get(e.health) ?? 0) + 1);
  return Object.keys(weights).filter((h) => of.has(h)).map((h) => `${format.count(of.get(h)!)} ${h}`).join(", ");
}

/** What came from it, as Explore asks for it: of a type that its profile has; "": none is stored. */
export function selectorOf(e: { profile: string; labels: Record<string, string> }, stored: string[]): string {
  const type = stored.find((t) => t.startsWith(`${e.profile}:cpu:`)) ?? stored.find((t) => t.startsWith(`${e.profile}:`));
  // These two tell one target from all others.
  const matchers = ["job", "instance"].filter((k) => e.labels[k]).map((name) => ({ name, op: "=" as const, value: e.labels[name] }));
  return type && matchers.length ? writeSelector({ type, matchers }) : "";
}

function Row(props: { of: Endpoint }) {
  const e = props.of;
  const asked = e.last !== null;
  const q = selectorOf(e, (types.value.value ?? []).map((t) => t.type));
  return (
    <tr title={visible(labelsText(e.health === "dropped" ? e.discovered : e.labels))}>
      <td><StateChip state={e.health} /></td>
      <td>{visible(e.job)}</td>
      <td>{visible(e.profile)}</td>
      <td>{asked ? format.time(Date.parse(e.last!), state.value.utc) : "never"}</td>
      <td class="n">{asked ? format.value(e.duration_ns, "nanoseconds") : ""}</td>
      <td class="n">{asked ? format.value(e.bytes, "bytes") : ""}</td>
      <td class="n">{asked ? format.count(e.samples) : ""}</td>
      <td class="wide">{visible(e.url)}{q && <> <button class="link" data-testid="explore-target" onClick={() => go({ q, sel: null, chips: [], zoom: "", selected: "" }, true, "explore")}>explore</button></>}{e.error && <div class="said">{visible(e.error)}</div>}</td>
    </tr>
  );
}

function Endpoints(props: { all: Endpoint[] }) {
  const [word, setWord] = useState("");
  const found = worstFirst(props.all.filter((e) => has(e, word.toLowerCase())));
  return (
    <>
      <h2>Endpoints</h2>
      <p class="about">{counts(props.all)}. Dropped ones were found, and relabelling left them out; what a target does not have is off.</p>
      <p><input class="words" type="search" aria-label="Endpoints with these words" placeholder="Job, address, label, state" value={word} onInput={(e) => setWord(e.currentTarget.value)} /></p>
      <table class="list" data-testid="endpoints">
        <thead><tr><th>State</th><th>Job</th><th>Profile</th><th>Last</th><th class="n">Took</th><th class="n">Size</th><th class="n">Samples</th><th>Where, and what it said</th></tr></thead>
        <tbody>{found.slice(0, ROWS_MAX).map((e) => <Row key={JSON.stringify([e.input, e.job, e.profile, e.url, e.labels])} of={e} />)}</tbody>
      </table>
      {found.length > ROWS_MAX && <p class="about">{format.count(found.length - ROWS_MAX)} more; narrow them above.</p>}
      {found.length === 0 && <p class="about">None has these words.</p>}
    </>
  );
}

export function Targets() {
  const { value, error, again } = useAnswer<{ targets: Instance[]; endpoints: Endpoint[] }>("targets");
  if (error) return <ErrorState error={error} retry={again} />;
  if (!value) return <Waiting title="Targets" />;
  return (
    <section class="page">
      <h1>Targets</h1>
      <p class="about">Where profiles come from.</p>
      <Instances all={value.targets} />
      {value.endpoints.length > 0 && <Endpoints all={value.endpoints} />}
    </section>
  );
}
