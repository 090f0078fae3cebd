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
  return [e.job, e.profile, e.url, e.health, e.error, labelsText(e.labels), ...(e.health === "dropped" ? [labelsText(e.discovered)] : [])].some((t) => t.toLowerCase().includes(word));
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

/** What relabelling made of one label. */
export interface Traced {
  name: string;
  found: string | null; // null: it was not there
  kept: string | null;
  what: "kept" | "changed" | "added" | "left out";
}

/** What changed first; what only the rules may see, which begin with two underscores and are of no profile, last. */
const order: Traced["what"][] = ["added", "changed", "kept", "left out"];

export function traceOf(discovered: Record<string, string>, labels: Record<string, string>): Traced[] {
  const names = [...new Set([...Object.keys(discovered), ...Object.keys(labels)])];
  const all = names.map((name): Traced => {
    const [found, kept] = [discovered[name] ?? null, labels[name] ?? null];
    return { name, found, kept, what: kept === null ? "left out" : found === null ? "added" : found === kept ? "kept" : "changed" };
  });
  return all.sort((a, b) => order.indexOf(a.what) - order.indexOf(b.what) || a.name.localeCompare(b.name));
}

/** Its labels as they were found, and as the profiles have them. */
function Trace(props: { of: Endpoint }) {
  const { discovered, labels, health } = props.of;
  const [open, setOpen] = useState(false);
  return (
    <details class="trace" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary data-testid="trace-open">labels</summary>
      {health === "dropped" && <p class="muted">A rule of relabel_configs leaves it out; this is what the rules saw.</p>}
      <table class="list" data-testid="trace">
        <thead><tr><th>Label</th><th>As it was found</th><th>Of its profiles</th><th>By the rules</th></tr></thead>
        <tbody>
          {open && traceOf(discovered, labels).map((t) => (
            <tr key={t.name} class={t.what === "left out" ? "muted" : ""}>
              <td class="mono">{visible(t.name)}</td>
              <td class="mono wide">{t.found === null ? "\u2013" : visible(t.found)}</td>
              <td class="mono wide">{t.kept === null ? "\u2013" : visible(t.kept)}</td>
              <td>{t.what === "left out" && t.name.startsWith("__") ? "left out, as all that begin with __" : t.what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function Row(props: { of: Endpoint }) {
  const e = props.of;
  const asked = e.last !== null;
  const q = selectorOf(e, (types.value.value ?? []).map((t) => t.type));
  return (
    <tr>
      <td><StateChip state={e.health} /></td>
      <td>{visible(e.job)}</td>
      <td>{visible(e.profile)}</td>
      <td>{asked ? format.time(Date.parse(e.last!), state.value.utc) : "never"}</td>
      <td class="n">{asked ? format.value(e.duration_ns, "nanoseconds") : ""}</td>
      <td class="n">{asked ? format.value(e.bytes, "bytes") : ""}</td>
      <td class="n">{asked ? format.count(e.samples) : ""}</td>
      <td class="wide">{visible(e.url)}{q && <> <button class="link" data-testid="explore-target" onClick={() => go({ q, sel: null, chips: [], zoom: "", selected: "" }, true, "explore")}>explore</button></>}{e.error && <div class="said">{visible(e.error)}</div>}<Trace of={e} /></td>
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
