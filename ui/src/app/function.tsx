// SPDX-License-Identifier: Apache-2.0
// app/function.tsx - one function: its totals over time, of whom it is, who calls it and what it calls

import { useMemo, useRef, useState } from "preact/hooks";
import * as api from "../api/client.ts";
import { Chart } from "../chart/chart.tsx";
import { visible } from "../flame/names.ts";
import { Kind, functionsNamed, nameOf, textAt } from "../flame/tree.ts";
import { readLabel, writeNames } from "../query/selector.ts";
import { exactly, follows } from "./actions.ts";
import { Boundary } from "./boundary.tsx";
import { QueryBar } from "./explore.tsx";
import * as format from "./format.ts";
import { overTime } from "./overtime.ts";
import { Empty, ErrorState, Failed, LoadBar, NoRange } from "./parts.tsx";
import { type Item, Popup } from "./popup.tsx";
import { useQuestion } from "./question.ts";
import { Sandwich } from "./sandwich.tsx";
import { failed, go, isCpu, isRate, panelRange, range, run, selectorText, state, tree, treeParams } from "./store.ts";
import { valueItems } from "./values.ts";

const MOST_VALUES = 15;
const MOST_NODES = 20_000;

/** What of stacks with the function in them is asked for. */
function paramsOf(name: string, from: number, to: number): api.Params {
  return [...treeParams({ ...state.value, group: "function", by: [] }, selectorText.value, from, to), ["only_stacks", exactly(name)]];
}

function OverTime(props: { name: string; range: [number, number] }) {
  const s = state.value;
  const [from, to] = props.range;
  const [turn, setTurn] = useState(0);
  // What is refreshed meanwhile does not end what is being asked: it would never be answered where that takes longer.
  const of = `${props.name} ${selectorText.value} ${s.from} ${s.to} ${JSON.stringify(s.chips)} ${turn}`;
  const asked = useRef({ of: "", range: props.range, isBusy: false });
  if (asked.current.of !== of || (!asked.current.isBusy && String(asked.current.range) !== String(props.range))) asked.current = { of, range: props.range, isBusy: true };
  const mine = asked.current;
  const { value, failed: why } = useQuestion(`${of} ${mine.range}`, (signal) => overTime((a, b) => paramsOf(props.name, a, b), mine.range, signal).finally(() => (mine.isBusy = false)));
  if (why) return <Failed what="It over time cannot be shown" why={why} retry={() => setTurn(turn + 1)} />;
  if (!value) return <div class="chart" />;
  return <Chart answer={value} from={from} to={to} selection={s.sel} utc={s.utc} isRate={isRate.value} isCpu={isCpu.value} testid="function-metrics" onSelect={(sel) => go({ sel })} onCompare={(sel) => go({ sel })} onLabels={() => undefined} />;
}

interface Shares {
  label: string;
  unit: string;
  total: number;
  values: { value: string; weight: number }[];
}

/** Its weight by the values of a label, which lead the stacks. */
async function byLabel(name: string, label: string, [from, to]: [number, number], signal: AbortSignal): Promise<Shares> {
  const t = await api.json<{ unit: string; total: number[]; frames: { name: string[] }; nodes: { frame: number[]; depth: number[]; total: number[] } }>(
    "flame", [...paramsOf(name, from, to), ["group_by", writeNames([label])], ["max_nodes", MOST_NODES]], signal);
  const values = t.nodes.depth.flatMap((depth, i) => (depth === 1 ? [{ value: readLabel(t.frames.name[t.nodes.frame[i]])[1], weight: t.nodes.total[i] }] : []));
  return { label, unit: t.unit, total: t.total[0], values: values.sort((a, b) => b.weight - a.weight) };
}

/** Which label tells most people most, of those that there are. */
const first = ["comm", "service_name", "service.name", "job", "pod"];
async function labelsThere([from, to]: [number, number], signal: AbortSignal): Promise<string[]> {
  const all = (await api.labels(selectorText.value, from, to, signal)).labels.map((l) => l.name);
  return [...first.filter((l) => all.includes(l)), ...all.filter((l) => !first.includes(l))];
}

function ByLabel(props: { name: string; range: [number, number] }) {
  const [from, to] = props.range;
  const [picked, setPicked] = useState("");
  const [menu, setMenu] = useState<{ items: Item[]; label: string; x: number; y: number } | null>(null);
  const [turn, setTurn] = useState(0);
  const of = `${selectorText.value} ${from} ${to} ${turn}`;
  const { value: labels, failed: noLabels } = useQuestion(of, (signal) => labelsThere(props.range, signal));
  const label = labels?.includes(picked) ? picked : (labels?.[0] ?? "");
  const { value: shares, failed: why } = useQuestion(label && `${props.name} ${label} ${of} ${JSON.stringify(state.value.chips)}`, (signal) => byLabel(props.name, label, props.range, signal));
  if (noLabels || why) return <Failed what="Of whom it is cannot be shown" why={noLabels || why} retry={() => setTurn(turn + 1)} />;
  if (!labels) return null;
  return (
    <div class="bylabel" data-testid="function-labels">
      <label>
        By label{" "}
        <select data-testid="function-label" value={label} onChange={(e) => setPicked(e.currentTarget.value)}>
          {labels.map((l) => <option key={l} value={l}>{visible(l)}</option>)}
        </select>
      </label>
      {shares && (
        <ol>
          {shares.values.slice(0, MOST_VALUES).map(({ value, weight }) => (
            <li key={value}>
              <button
                class="plain"
                title="What can be done with this value"
                onClick={(e) => {
                  const place = e.currentTarget.closest(".bylabel")!.getBoundingClientRect();
                  const own = e.currentTarget.getBoundingClientRect();
                  setMenu({ items: valueItems(shares.label, value), label: `What to do with ${visible(value)}`, x: own.left - place.left, y: own.bottom - place.top });
                }}
              >
                {visible(value) || "(empty)"}
              </button>
              <span class="weight" aria-hidden="true"><span style={{ width: `${shares.total ? (weight / shares.total) * 100 : 0}%` }} /></span>
              <span class="n">{format.percent(weight, shares.total)}</span>
              <span class="n muted">{format.value(weight, shares.unit)}</span>
            </li>
          ))}
          {shares.values.length > MOST_VALUES && <li class="muted">and {format.count(shares.values.length - MOST_VALUES)} more</li>}
        </ol>
      )}
      {menu && <Popup {...menu} close={() => setMenu(null)} />}
    </div>
  );
}

/** Where its code is, and ways to it in Explore. */
function Head(props: { name: string }) {
  const t = tree.value.value?.tree;
  // Stacks are chosen by name: of all that are called so, whatever binary they are of.
  const named = useMemo(() => (t ? functionsNamed(t.functions, props.name) : []), [t, props.name]);
  const f = named[0] ?? -1;
  const fns = t?.functions;
  const file = fns && f >= 0 ? textAt(fns.files, fns.file[f]) : "";
  const binary = fns && f >= 0 ? textAt(fns.binaries, fns.binary[f]) : "";
  const expression = `^${props.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  return (
    <>
      <h1 class="mono" data-testid="function-name">{visible(props.name)}</h1>
      <p class="about">{[file && `${visible(file)}${fns!.line[f] ? `:${fns!.line[f]}` : ""}`, visible(binary)].filter(Boolean).join(" · ")}</p>
      {named.length > 1 && <p class="about" data-testid="function-alike">{named.length} functions have this name: what is here is of all of them.</p>}
      <p class="actions">
        <button data-testid="function-flame" onClick={() => go({ panel: "flame", search: expression }, true, "explore")}>Find it in the flame graph</button>
        <button onClick={() => go({ panel: "flame", chips: [...state.value.chips, { kind: "SS", text: exactly(props.name) }], zoom: "", selected: "" }, true, "explore")}>Only stacks with it</button>
      </p>
    </>
  );
}

/** Of the answer, those with the most weight of their own: where nobody said which function. */
function Nameless() {
  const t = tree.value.value?.tree;
  const names = useMemo(() => {
    if (!t?.weights) return [];
    const ids = Array.from(t.weights, (_, f) => f).filter((f) => (t.functions.flags[f] & 7) !== Kind.label);
    return [...new Set(ids.sort((a, b) => t.weights![b] - t.weights![a]).slice(0, MOST_VALUES).map((f) => nameOf(t.functions, f)))];
  }, [t]);
  return (
    <Empty title="Which function?">
      <p>The address names none. These have the most weight of their own; all are in Explore.</p>
      <ul class="plainlist">{names.map((n) => <li key={n}><button class="link" onClick={() => go({ sandwich: n })}>{visible(n)}</button></li>)}</ul>
      <p><a href="explore" onClick={follows("explore")}>See all of them in Explore</a></p>
    </Empty>
  );
}

export function FunctionPage() {
  const name = state.value.sandwich;
  const asked = tree.value;
  const time = panelRange.value;
  if (!range.value || !time) return <><QueryBar /><NoRange /></>;
  return (
    <>
      <QueryBar />
      {name === "" ? <Nameless /> : (
        <section aria-label="The function" data-testid="function">
          <Head name={name} />
          {selectorText.value && (
            <div class="pair">
              <Boundary><OverTime name={name} range={range.value} /></Boundary>
              <Boundary><ByLabel name={name} range={time} /></Boundary>
            </div>
          )}
        </section>
      )}
      <LoadBar asked={asked} />
      {failed(asked) && <ErrorState error={asked.error!} retry={run} />}
      {name !== "" && !failed(asked) && asked.value && (
        <section aria-label="Callers and callees" class={asked.loading ? "stale" : ""}>
          <Boundary><Sandwich kept={asked.value} seconds={(asked.value.to - asked.value.from) / 1000} /></Boundary>
        </section>
      )}
    </>
  );
}
