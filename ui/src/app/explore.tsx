// SPDX-License-Identifier: Apache-2.0
// app/explore.tsx - Explore: a selector, its totals over time, and where the weight is

import { useEffect, useState } from "preact/hooks";
import type { TypeInfo } from "../api/client.ts";
import { Chart } from "../chart/chart.tsx";
import { QueryEditor } from "../query/editor.tsx";
import { faultTold } from "../query/selector.ts";
import { follows } from "./actions.ts";
import { Boundary } from "./boundary.tsx";
import { Empty, ErrorState, LoadBar, NoRange } from "./parts.tsx";
import { Happened, compareSides, useHappenings } from "./happened.tsx";
import { linesOpen } from "./keys.ts";
import { LabelsMenu } from "./labels.tsx";
import { type Item, Popup } from "./popup.tsx";
import { RangePicker } from "./range.tsx";
import { Results } from "./results.tsx";
import { valueItems } from "./values.ts";
import { ServiceMenu, isWhole } from "./service.tsx";
import * as format from "./format.ts";
import { failed, go, isCpu, isRate, loadTypes, range, refreshEvery, run, runAnew, screen, series, state, tree, types } from "./store.ts";

function typeOf(q: string): string {
  return q.slice(0, q.includes("{") ? q.indexOf("{") : undefined).trim();
}

/** "process_cpu:cpu:nanoseconds:..." as people call it. */
export function typeLabel(type: string): string {
  const [name, sample, unit] = type.split(":");
  return sample === name || !sample ? name : `${name} \u00b7 ${sample}${unit && unit !== "count" && unit !== "nanoseconds" && unit !== "bytes" ? ` (${unit})` : ""}`;
}

/** Those of one name stand together, in the server's order. */
function groupsOf(all: TypeInfo[]): [name: string, types: TypeInfo[]][] {
  const of = new Map<string, TypeInfo[]>();
  for (const t of all) {
    const name = t.type.slice(0, t.type.indexOf(":"));
    of.set(name, [...(of.get(name) ?? []), t]);
  }
  return [...of];
}

export function TypeSelect(props: { value: string; onChange: (q: string) => void }) {
  const all = types.value.value ?? [];
  const type = typeOf(props.value);
  const rest = props.value.includes("{") ? props.value.slice(props.value.indexOf("{")) : "{}";
  return (
    <select aria-label="Profile type" data-testid="type-select" value={type} onChange={(e) => props.onChange(`${e.currentTarget.value}${rest}`)}>
      {!all.some((t) => t.type === type) && <option value={type}>{type ? typeLabel(type) : "Profile type"}</option>}
      {groupsOf(all).map(([name, those]) => <optgroup key={name} label={name}>{those.map((t) => <option key={t.type} value={t.type} title={`${t.type}: ${t.description}`}>{typeLabel(t.type)}</option>)}</optgroup>)}
    </select>
  );
}

export function QueryBar() {
  const s = state.value;
  const [isWrong, setWrong] = useState(false);
  const [from, to] = range.value ?? [0, 0];
  const type = types.value.value?.find((t) => t.type === typeOf(s.q));
  return (
    <section class="querybar" aria-label="Query">
      <div class="bar">
        <TypeSelect value={s.q} onChange={(q) => go({ q, sel: null, zoom: "", selected: "" })} />
        <QueryEditor text={s.q} types={types.value.value ?? []} from={from} to={to} label="Selector" told={faultTold(tree.value.error?.message ?? "", s.q)} onFault={setWrong} onRun={(q) => q !== s.q && go({ q, sel: null })} />
        {screen.value === "explore" && <LabelsMenu title="Lines by" testid="sum" help="A line for each of these labels' values" picked={s.sum} onPick={(sum) => go({ sum })} />}
        <RangePicker from={s.from} to={s.to} testid="range" onChange={(f, t) => go({ from: f, to: t, sel: null })} />
        <select aria-label="Refresh" data-testid="refresh" value={String(refreshEvery.value)} onChange={(e) => (refreshEvery.value = Number(e.currentTarget.value))}>
          <option value="0">No refresh</option>
          <option value="10">Every 10 s</option>
          <option value="60">Every 60 s</option>
        </select>
        <button class="primary" data-testid="run" disabled={isWrong} onClick={runAnew}>
          Run
        </button>
      </div>
      <div class="under">
        {type && <p class="about" data-testid="type-description">{type.description}</p>}
        {isWhole.value && <ServiceMenu />}
      </div>
    </section>
  );
}

/** What was selected, or all, against this. */
function compareWith(range: [number, number]): void {
  const s = state.value;
  const a = s.sel ? { from: String(s.sel[0]), to: String(s.sel[1]), sel: null } : {};
  go({ ...a, b: { q: s.q, from: String(range[0]), to: String(range[1]) }, zoom: "", selected: "" }, true, "compare");
}

/** A little of the time around a moment. */
function momentItems(at: number): Item[] {
  const around = (ms: number): [number, number] => [Math.max(at - ms, 0), Math.max(at - ms, 0) + 2 * ms];
  return ([["30 s", 30_000], ["5 min", 300_000]] as const).flatMap(([text, ms]): Item[] => [
    [`Show ${text} before and after ${format.time(at, state.value.utc)}`, () => go({ from: String(around(ms)[0]), to: String(around(ms)[1]), sel: null })],
    [`Compare ${text} before it with ${text} after it`, () => compareSides({ before: [around(ms)[0], at], after: [at, around(ms)[1]] })],
  ]);
}

function Metrics() {
  const s = state.value;
  const [menu, setMenu] = useState<{ items: Item[]; label: string; x: number; y: number } | null>(null);
  const asked = series.value;
  const happened = useHappenings();
  const [from, to] = range.value ?? [0, 1];
  if (failed(asked)) return <ErrorState error={asked.error!} retry={run} />;
  if (!asked.value) return <section aria-label="Over time"><div class="chart" /></section>;
  return (
    <section aria-label="Over time" class={asked.loading || asked.error ? "stale metrics" : "metrics"}>
      <Chart answer={asked.value} from={from} to={to} selection={s.sel} utc={s.utc} isRate={isRate.value} isCpu={isCpu.value} marks={happened.all} onSelect={(sel) => go({ sel })} onCompare={compareWith} onLabels={(labels, x, y) => setMenu({ items: Object.entries(labels).flatMap(([k, v]) => valueItems(k, v)), label: "What to do with this line", x, y })} onAll={() => (linesOpen.value = true)} onMoment={(at, x, y) => setMenu({ items: momentItems(at), label: `What to do with ${format.time(at, s.utc)}`, x, y })} />
      <Happened {...happened} />
      {menu && <Popup {...menu} close={() => setMenu(null)} />}
      {s.sel && (
        <p class="about">
          Selected {format.time(s.sel[0], s.utc)} – {format.time(s.sel[1], s.utc)}{" "}
          <button class="link" data-testid="unselect" onClick={() => go({ sel: null })}>
            show all
          </button>
        </p>
      )}
    </section>
  );
}

function Welcome() {
  return (
    <Empty title="Nothing is stored yet">
      <p>The first profiles come a second or two after an input starts. The page looks again by itself.</p>
      <p>
        <a href="pipeline" onClick={follows("pipeline")}>
          See what runs, and what is in its way
        </a>
      </p>
    </Empty>
  );
}

export function Explore() {
  const [tick, setTick] = useState(0);
  const empty = types.value.value?.length === 0;
  useEffect(() => {
    if (!empty) return;
    const timer = setTimeout(() => {
      setTick(tick + 1);
      void loadTypes();
    }, 2000);
    return () => clearTimeout(timer);
  }, [empty, tick]);
  if (failed(types.value)) return <ErrorState error={types.value.error!} retry={() => void loadTypes()} />;
  if (empty) return <Welcome />;
  return (
    <>
      <QueryBar />
      {range.value ? (
        <>
          <Boundary><Metrics /></Boundary>
          <LoadBar asked={tree.value} />
          <Boundary><Results /></Boundary>
        </>
      ) : (
        <NoRange />
      )}
    </>
  );
}
