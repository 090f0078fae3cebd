// SPDX-License-Identifier: Apache-2.0
// app/system.tsx - what runs, what is lost and why, what is kept: Pipeline, Status

import { useEffect, useState } from "preact/hooks";
import * as api from "../api/client.ts";
import { visible } from "../flame/names.ts";
import { lost } from "./connection.ts";
import * as format from "./format.ts";
import { remedies } from "./losses.ts";
import { Empty, ErrorState, Failed } from "./parts.tsx";
import { state } from "./store.ts";

export interface Instance {
  kind: string;
  plugin: string;
  name: string;
  path: string;
  state: string;
  since: string;
  failures: number;
  sentence: string;
}

interface Queue {
  name: string;
  bytes: number;
  max_bytes: number;
  batches: number;
  in: number;
  out: number;
  lost_batches: number;
  lost_rows: number;
  filtered_profiles: number;
  written_rows?: number;
  retries?: number;
  trouble?: string;
  /** What waits on disk, of a destination that has a spool. */
  spool?: { open: boolean; bytes: number; batches: number; rows: number; oldest_ms: number; set_aside: number; set_aside_bytes: number };
}

const EVERY_MS = 5000;

/** Asks now and every few seconds while somebody looks. */
export function useAnswer<T>(path: string, read: (path: string, params: api.Params, signal?: AbortSignal) => Promise<T> = api.json<T>): { value?: T; error?: api.Problem; again: () => void } {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState<api.Problem>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    let isUnderWay = false;
    const ask = async () => {
      // One that takes longer than that would be overtaken by the next, and shown after it.
      if (document.hidden || isUnderWay) return;
      isUnderWay = true;
      try {
        const v = await read(path, [], controller.signal);
        if (controller.signal.aborted) return;
        setValue(v);
        setError(undefined);
      } catch (e) {
        if (controller.signal.aborted) return;
        setError(e as api.Problem);
        if ((e as api.Problem).status === 0) lost();
      } finally {
        isUnderWay = false;
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), EVERY_MS);
    return () => {
      controller.abort();
      clearInterval(timer);
    };
  }, [path, turn]);
  // What was answered before is better than nothing, while the server is away.
  return { value, error: error?.status === 0 && value !== undefined ? undefined : error, again: () => setTurn(turn + 1) };
}

const marks: Record<string, string> = { ok: "✓", up: "✓", down: "✕", off: "–", dropped: "–", unknown: "…", degraded: "!", failed: "✕", starting: "…", stopped: "–" };

export function StateChip(props: { state: string }) {
  return <span class={`state ${props.state}`}><span aria-hidden="true">{marks[props.state] ?? "?"}</span> {props.state}</span>;
}

export function Instances(props: { all: Instance[] }) {
  if (!props.all.length) return <Empty title="Nothing is configured here" />;
  return (
    <table class="list">
      <thead><tr><th>State</th><th>Kind</th><th>Name</th><th>Plugin</th><th>Since</th><th>What it says</th></tr></thead>
      <tbody>
        {props.all.map((i) => (
          <tr key={i.kind + i.name}>
            <td><StateChip state={i.state} /></td>
            <td>{i.kind}</td>
            <td>{i.name}</td>
            <td title={i.path}>{i.plugin}</td>
            <td>{format.time(Date.parse(i.since), state.value.utc)}</td>
            <td class="wide">{i.sentence}{i.failures ? ` (failed ${format.count(i.failures)} times)` : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Loss {
  instance: string;
  reason: string;
  n: number;
}

/** The heaviest first; equal ones by name, so that they do not change places. */
function heaviest(all: Loss[]): Loss[] {
  return [...all].sort((a, b) => b.n - a.n || a.instance.localeCompare(b.instance) || a.reason.localeCompare(b.reason));
}

export function Waiting(props: { title: string }) {
  return <section class="page"><h1>{props.title}</h1><p class="about" role="status" data-testid="waiting">Waiting for the server.</p></section>;
}

function Fill(props: { part: number; whole: number }) {
  return (
    <>
      <span class="fill" aria-hidden="true"><span style={{ width: `${props.whole ? Math.min((props.part / props.whole) * 100, 100) : 0}%` }} /></span>
      {format.value(props.part, "bytes")} <span class="muted">of {format.value(props.whole, "bytes")}</span>
    </>
  );
}

function Node(props: { of: Instance; queue?: Queue }) {
  const { of: i, queue: q } = props;
  return (
    <div class={`node ${i.state}`}>
      <div class="line"><b>{i.name}</b><StateChip state={i.state} /></div>
      <p>{i.sentence}{q?.trouble ? ` ${q.trouble}` : ""}</p>
      {q && <p>{format.count(q.written_rows ?? 0)} rows written, {format.value(q.bytes, "bytes")} waiting</p>}
    </div>
  );
}

function Spool({ of: s }: { of: NonNullable<Queue["spool"]> }) {
  if (!s.open) return <span class="amber">its directory cannot be used</span>;
  const aside = s.set_aside ? `, ${format.count(s.set_aside)} set aside` : "";
  if (s.batches === 0) return <>{`nothing${aside}`}</>;
  return <>{`${format.count(s.batches)} batches, ${format.value(s.bytes, "bytes")}, the oldest from ${format.duration((Date.now() - s.oldest_ms) * 1e6)} ago${aside}`}</>;
}

/** Which way profiles go, and where they wait. */
function Flow(props: { instances: Instance[]; queues: Queue[] }) {
  const of = (kinds: string[]) => props.instances.filter((i) => kinds.includes(i.kind));
  const intake = props.queues.find((q) => q.name === "intake");
  const queueOf = (i: Instance) => props.queues.find((q) => q.name === i.name);
  return (
    <ol class="flow" data-testid="flow" aria-label="Which way profiles go">
      <li><h3>Inputs</h3>{of(["input"]).map((i) => <Node key={i.name} of={i} />)}</li>
      <li>
        <h3>Intake</h3>
        {intake && (
          <div class={`node ${intake.lost_rows ? "degraded" : "ok"}`}>
            <div class="line"><b>{format.count(intake.out)} batches</b></div>
            <p>{format.value(intake.bytes, "bytes")} of {format.value(intake.max_bytes, "bytes")} waiting{intake.lost_rows ? `, ${format.count(intake.lost_rows)} rows lost` : ""}</p>
          </div>
        )}
      </li>
      <li><h3>Storage and outputs</h3>{of(["storage", "output"]).map((i) => <Node key={i.kind + i.name} of={i} queue={queueOf(i)} />)}</li>
    </ol>
  );
}

export function Pipeline() {
  const { value, error, again } = useAnswer<{ instances: Instance[]; queues: Queue[]; losses: Loss[] }>("pipeline");
  if (error) return <ErrorState error={error} retry={again} />;
  if (!value) return <Waiting title="Pipeline" />;
  return (
    <section class="page">
      <h1>Pipeline</h1>
      <Flow instances={value.instances} queues={value.queues} />
      <h2>Instances</h2>
      <Instances all={value.instances} />
      <h2>Queues</h2>
      <table class="list">
        <thead><tr><th>Queue</th><th>Filled</th><th class="n">In</th><th class="n">Out</th><th class="n">Rows written</th><th class="n">Rows lost</th><th class="n">Retries</th><th>In its spool</th><th class="rest">Trouble</th></tr></thead>
        <tbody>
          {value.queues.map((q) => (
            <tr key={q.name}>
              <td>{q.name}</td>
              <td><Fill part={q.bytes} whole={q.max_bytes} /></td>
              <td class="n">{format.count(q.in)}</td>
              <td class="n">{format.count(q.out)}</td>
              <td class="n">{q.written_rows === undefined ? "" : format.count(q.written_rows)}</td>
              <td class={q.lost_rows ? "n amber" : "n"}>{format.count(q.lost_rows)}</td>
              <td class="n">{q.retries === undefined ? "" : format.count(q.retries)}</td>
              <td>{q.spool && <Spool of={q.spool} />}</td>
              <td class="wide">{q.trouble}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h2>Losses</h2>
      {value.losses.length === 0 ? <p class="about">Nothing was lost since the start.</p> : (
        <table class="list" data-testid="losses">
          <thead><tr><th>Instance</th><th>Reason</th><th class="n">How many</th><th>What to do</th></tr></thead>
          <tbody>
            {heaviest(value.losses).map((l) => (
              <tr key={`${l.instance} ${l.reason}`}>
                <td>{l.instance}</td>
                <td>{l.reason.replace(/_/g, " ")}</td>
                <td class="n">{format.count(l.n)}</td>
                <td class="wide">{remedies[l.reason] ?? "The sentence of the instance above and the log say more."}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Log />
    </section>
  );
}

interface LogLine {
  time: string;
  level: string;
  area: string;
  message: string;
}

/** The last lines, the newest first. */
function Log() {
  const { value, error, again } = useAnswer<{ lines: LogLine[] }>("log");
  const [isShort, setShort] = useState(false);
  if (error) return <><h2>Log</h2><Failed what="The log's last lines are not known" why={error.message} retry={again} /></>;
  if (!value) return <h2>Log</h2>;
  const wanted = value.lines.filter((l) => !isShort || l.level === "warning" || l.level === "error").reverse();
  return (
    <>
      <h2>Log</h2>
      <p class="about">The last lines, the newest first. <label><input type="checkbox" data-testid="log-short" checked={isShort} onChange={(e) => setShort(e.currentTarget.checked)} /> warnings and errors alone</label></p>
      {wanted.length === 0 ? <p class="about">None.</p> : (
        <div class="log" tabIndex={0} role="region" aria-label="Log">
          <table class="list" data-testid="log">
            <thead><tr><th>Time</th><th>Level</th><th>Of</th><th>What</th></tr></thead>
            <tbody>
              {wanted.map((l, i) => (
                <tr key={`${value.lines.length - i} ${l.time}`}>
                  <td>{format.time(Date.parse(l.time), state.value.utc)}</td>
                  <td class={`state ${levelStates[l.level] ?? ""}`}>{l.level}</td>
                  <td>{visible(l.area)}</td>
                  <td class="wide">{visible(l.message)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
const levelStates: Record<string, string> = { warning: "degraded", error: "failed" };

interface Status {
  version: string;
  started: string;
  node: string;
  data: string;
  config: string;
  storage?: Record<string, number | string>;
  symbols?: Record<string, number | string>;
  queries?: Record<string, number>;
}

/** "learned_bytes": 48284 reads "learned bytes 47.2 KiB". */
function Facts(props: { title: string; of: Record<string, number | string> }) {
  const text = (k: string, v: number | string) => {
    if (typeof v === "string") return v;
    if (k.endsWith("_ms")) return v ? format.time(v, state.value.utc) : "–";
    return k === "bytes" || k.endsWith("_bytes") ? format.value(v, "bytes") : format.count(v);
  };
  const names = (k: string) => k.replace(/_ms$/, "").replace(/_/g, " ");
  return (
    <section class="facts">
      <h2>{props.title}</h2>
      <dl>{Object.entries(props.of).filter(([, v]) => v !== "").map(([k, v]) => <div key={k}><dt>{names(k)}</dt><dd>{text(k, v)}</dd></div>)}</dl>
    </section>
  );
}

/** What the store's numbers mean that ask for something; those that are 0 say nothing. */
const meanings: [string, string][] = [
  ["removals", "removals still have rows on the disk that no answer has."],
  ["set_aside", "damaged files were set aside and are in no other number: `decima store check` tells of them."],
  ["rows_folded", "rows of new series are in {__overflow__=\"true\"}, without their labels: see max_series."],
  ["rows_refused", "rows of new series were refused, for they cannot be added up: see max_series."],
];

function StoreNotes(props: { of: Record<string, number | string> }) {
  const told = meanings.filter(([k]) => Number(props.of[k]) > 0);
  if (!told.length) return null;
  return <ul class="about" data-testid="store-notes">{told.map(([k, text]) => <li key={k}>{format.count(Number(props.of[k]))} {text}</li>)}</ul>;
}

/** What holds, as YAML; what nobody has set stands back. */
function Configuration() {
  const { value, error, again } = useAnswer<string>("config", api.text);
  return (
    <>
      <h2 id="configuration">Configuration</h2>
      <p class="about">What holds now: from the file, the environment and the command line. What is paler is a default; secrets are never shown.</p>
      {error ? <ErrorState error={error} retry={again} /> : (
        <pre class="yaml" data-testid="configuration" aria-labelledby="configuration" tabIndex={0}>
          {value?.trimEnd().split("\n").map((line, i) => <span key={i} class={line.endsWith("  # default") ? "default" : undefined}>{line.replace(/  # default$/, "")}{"\n"}</span>)}
        </pre>
      )}
    </>
  );
}

/** "30 d, at most 20 GiB, of which 12 % are used" */
function keeps(retention_ms: number, max_bytes: number, used: number): string {
  const time = retention_ms ? format.duration(retention_ms * 1e6) : "";
  const room = max_bytes ? `at most ${format.value(max_bytes, "bytes")}, of which ${format.percent(used, max_bytes)} are used` : "";
  return [time, room].filter(Boolean).join(", ") || "everything";
}

export function StatusPage() {
  const { value, error, again } = useAnswer<Status>("status");
  if (error) return <ErrorState error={error} retry={again} />;
  if (!value) return <Waiting title="Status" />;
  const { storage: { retention_ms, max_bytes, ...holds } = {}, symbols, queries, ...own } = value;
  const storage = value.storage && { ...holds, keeps: keeps(Number(retention_ms), Number(max_bytes), Number(holds.disk_bytes || holds.bytes)) };
  return (
    <section class="page">
      <h1>Status</h1>
      {storage && <StoreNotes of={storage} />}
      <div class="columns">
        <Facts title="Decima" of={{ ...own, started: format.time(Date.parse(own.started), state.value.utc) }} />
        {queries && <Facts title="Questions" of={queries} />}
        {storage && <Facts title="Storage" of={storage} />}
        {symbols && <Facts title="Symbols" of={symbols} />}
      </div>
      <Configuration />
    </section>
  );
}
