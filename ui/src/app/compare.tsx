// SPDX-License-Identifier: Apache-2.0
// app/compare.tsx - Compare: two selections side by side, A is what B is held against

import { QueryEditor } from "../query/editor.tsx";
import { faultTold } from "../query/selector.ts";
import { shifted } from "../url/range.ts";
import { sideB } from "../url/state.ts";
import { Boundary } from "./boundary.tsx";
import { TypeSelect } from "./explore.tsx";
import { RangePicker } from "./range.tsx";
import * as format from "./format.ts";
import { type Norm, type Width, norms, widths } from "../flame/compared.ts";
import type { SeriesAnswer } from "../api/client.ts";
import { Chart } from "../chart/chart.tsx";
import { Failed, LoadBar, NoRange } from "./parts.tsx";
import { Results } from "./results.tsx";
import { type Asked, around, failed, go, isCpu, isRate, range, rangeB, run, runAnew, selectorText, series, seriesB, shown, state, tree, types } from "./store.ts";

/** What the server found fit for the type has a name, too. */
const ownNames: Record<string, string> = { rate: "rates over time", mean: "means over time", total: "totals" };
const normNames = (by: string | undefined): Record<Norm, string> => ({ "": ownNames[by ?? "rate"] ?? "rates over time", share: "shares of each side", total: "totals as they are" });
const widthNames: Record<Width, string> = { "": "the larger side", a: "A", b: "B" };

function Side(props: { name: string; q: string; from: string; to: string; testid: string; onChange: (q: string, from: string, to: string) => void }) {
  const [from, to] = range.value ?? [0, 0];
  return (
    <div class="bar" data-testid={props.testid}>
      <b class="side">{props.name}</b>
      <TypeSelect value={props.q} onChange={(q) => props.onChange(q, props.from, props.to)} />
      <QueryEditor text={props.q} types={types.value.value ?? []} from={from} to={to} label={`Selector of ${props.name}`} told={faultTold(tree.value.error?.message ?? "", props.q, props.name)} testid={`${props.testid}-query`} onRun={(q) => q !== props.q && props.onChange(q, props.from, props.to)} />
      <RangePicker from={props.from} to={props.to} testid={`${props.testid}-range`} onChange={(f, t) => props.onChange(props.q, f, t)} />
    </div>
  );
}

/** What A or B is of, over both of their times; a drag selects another time. */
function Over(props: { name: string; testid: string; asked: Asked<SeriesAnswer>; selection: [number, number] | null; onSelect: (from: string, to: string) => void }) {
  const { asked } = props;
  const all = around.value;
  if (failed(asked)) return <Failed what={`${props.name} over time cannot be shown`} why={asked.error!.message} retry={run} />;
  if (!asked.value || !all) return <div class="overtime" />;
  const select = (r: [number, number] | null) => r && props.onSelect(String(r[0]), String(r[1]));
  return (
    <div class={asked.loading ? "overtime stale" : "overtime"} role="group" aria-label={`${props.name} over time`}>
      <b class="side">{props.name}</b>
      <Chart answer={asked.value} from={all[0]} to={all[1]} selection={props.selection} utc={state.value.utc} isRate={isRate.value} isCpu={isCpu.value} height={108} testid={props.testid} onSelect={select} onCompare={select} onLabels={() => undefined} />
    </div>
  );
}

/** How the two were made comparable, in words. */
function How() {
  const t = (shown.value?.kept ?? tree.value.value)?.tree;
  const compare = t?.meta.compare;
  if (!t?.b || !compare) return null;
  const empty = [t.total[0] === 0 && "A", t.b.total[0] === 0 && "B"].filter(Boolean).join(" and ");
  const words: Record<string, string> = {
    rate: "Values are compared per second of each side's time",
    mean: "Values are means over each side's time",
    total: "Values are compared as they are",
    share: "Each side's shares of its whole are compared",
  };
  const [a, b] = compare.sides;
  const samples = (n: number | null) => (n === null ? "an unknown number of samples" : `${format.count(n)} samples`);
  return (
    <p class="about" data-testid="cmp-how">
      {words[compare.by]}: A {format.duration(a.seconds * 1e9)} with {samples(a.samples)}, B {format.duration(b.seconds * 1e9)} with {samples(b.samples)}.
      {empty && <b class="amber" data-testid="cmp-empty"> {empty} {empty.length > 1 ? "have" : "has"} no data in that time: choose another above.</b>}
      {compare.untested ? ` Nothing is tested: ${compare.untested}.` : ""}
    </p>
  );
}

export function Compare() {
  const s = state.value;
  const b = sideB(s);
  const beforeB = (step: (length: number) => number) => {
    const r = rangeB.value;
    if (r) go({ ...shifted(r, -step(r[1] - r[0])), b });
  };
  const swap = () => go({ q: b.q, from: b.from, to: b.to, b: { q: s.q, from: s.from, to: s.to } });
  return (
    <>
      <section class="querybar" aria-label="What is compared">
        <Side name="A" testid="cmp-a" q={s.q} from={s.from} to={s.to} onChange={(q, from, to) => go({ q, from, to })} />
        <Side name="B" testid="cmp-b" q={b.q} from={b.from} to={b.to} onChange={(q, from, to) => go({ b: { q, from, to } })} />
        <div class="bar">
          <button data-testid="cmp-swap" onClick={swap}>Swap A and B</button>
          <button data-testid="cmp-before" onClick={() => beforeB((length) => length)}>A: the time before B</button>
          <button data-testid="cmp-day" title="The same hours of the day before" onClick={() => beforeB(() => 86_400_000)}>A: a day before B</button>
          <label>Compare <select data-testid="cmp-norm" value={s.norm} onChange={(e) => go({ norm: e.currentTarget.value as Norm }, false)}>{norms.map((n) => <option key={n} value={n}>{normNames(tree.value.value?.tree.meta.compare?.by)[n]}</option>)}</select></label>
          <label>Width <select data-testid="cmp-width" value={s.wide} onChange={(e) => go({ wide: e.currentTarget.value as Width }, false)}>{widths.map((w) => <option key={w} value={w}>{widthNames[w]}</option>)}</select></label>
          <label title="What may be chance has no colour"><input type="checkbox" data-testid="cmp-significant" checked={s.significant} onChange={(e) => go({ significant: e.currentTarget.checked }, false)} /> only more than chance</label>
          <button class="primary" onClick={runAnew}>Run</button>
        </div>
        {selectorText.value && <How />}
      </section>
      {!around.value && <NoRange />}
      {selectorText.value && around.value && (
        <section class="pair" aria-label="Over time">
          <Over name="A" testid="cmp-a-metrics" asked={series.value} selection={range.value} onSelect={(from, to) => go({ from, to })} />
          <Over name="B" testid="cmp-b-metrics" asked={seriesB.value} selection={rangeB.value} onSelect={(from, to) => go({ b: { ...b, from, to } })} />
        </section>
      )}
      {around.value && <LoadBar asked={tree.value} />}
      {around.value && <Boundary><Results /></Boundary>}
    </>
  );
}
