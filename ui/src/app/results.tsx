// SPDX-License-Identifier: Apache-2.0
// app/results.tsx - a tree: flame graph, table, both, a function's callers and callees

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colorFunctions, colorModes, diffDark, diffLight, diffSteps, fills } from "../flame/color.ts";
import { functionTotals } from "../flame/functions.ts";
import { visible } from "../flame/names.ts";
import { FlamePanel } from "../flame/panel.tsx";
import { follow, pathOf } from "../flame/path.ts";
import { type Tree, kindNames, nameOf, textAt } from "../flame/tree.ts";
import { sorted } from "../table/columns.ts";
import { csvOf } from "../table/csv.ts";
import { FunctionTable } from "../table/table.tsx";
import { isDark } from "../theme/theme.ts";
import type { Chip, ChipKind, Panel } from "../url/state.ts";
import { type Kept, trees } from "../worker/rpc.ts";
import * as api from "../api/client.ts";
import * as format from "./format.ts";
import { Empty, ErrorState } from "./parts.tsx";
import { go, matches, panelRange, run, screen, searchError, selectorText, shown, state, toast, tree, treeParams } from "./store.ts";

const panelNames: [Panel, string][] = [["flame", "Flame graph"], ["table", "Table"], ["both", "Both"], ["sandwich", "Callers & callees"]];
const groupNames: [string, string][] = [["function", "function"], ["line", "line"], ["binary", "binary"], ["address", "address"]];
const colorNames: Record<string, string> = { binary: "binary", kind: "kind", file: "source folder", name: "function", none: "one colour" };
const chipNames: Record<ChipKind, string> = { SS: "only stacks with", HS: "without stacks with", SFF: "from", HF: "hide" };

/** A filter that matches the whole name. */
function exactly(name: string): string {
  return `fn:=${name}`;
}

function functionNamed(t: Tree, name: string): number {
  for (let f = 0; f < t.functions.n; f++) if (nameOf(t.functions, f) === name) return f;
  return -1;
}

/* ---- what a node is ---- */

function Figures(props: { tree: Tree; node: number; zoom: number; seconds: number }) {
  const { tree: t, node } = props;
  const unit = t.meta.unit ?? "";
  const parent = t.parent[node];
  const all = (t.meta.total?.[0] ?? t.total[0]) + (t.meta.filtered?.[0] ?? 0);
  return (
    <table class="figures">
      <tbody>
        <tr>
          <th>Total</th>
          <td>{format.value(t.total[node], unit)}</td>
          <td>{format.percent(t.total[node], t.total[0])} of all shown</td>
        </tr>
        {t.b && (
          <tr>
            <th>Total B</th>
            <td>{format.value(t.b.total[node], unit)}</td>
            <td>{format.percent(t.b.total[node], t.b.total[0])}</td>
          </tr>
        )}
        <tr>
          <th>Self</th>
          <td>{format.value(t.self[node], unit)}</td>
          <td>{format.percent(t.self[node], t.total[0])}</td>
        </tr>
        {t.b && (
          <tr>
            <th>Change</th>
            <td>{changeOf(t, node)}</td>
            <td>{t.b.factor === 1 ? "" : "per second"}</td>
          </tr>
        )}
        {unit === "nanoseconds" && props.seconds > 0 && (
          <tr>
            <th>On average</th>
            <td>{format.rate(t.total[node], props.seconds, unit)}</td>
            <td />
          </tr>
        )}
        {parent > 0 && (
          <tr>
            <th>Of its caller</th>
            <td />
            <td>{format.percent(t.total[node], t.total[parent])}</td>
          </tr>
        )}
        {props.zoom > 0 && (
          <tr>
            <th>Of the zoom</th>
            <td />
            <td>{format.percent(t.total[node], t.total[props.zoom])}</td>
          </tr>
        )}
        {all !== t.total[0] && (
          <tr>
            <th>Of everything</th>
            <td />
            <td>{format.percent(t.total[node], all)}, with what is filtered out</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

function Where(props: { tree: Tree; node: number }) {
  const { tree: t, node } = props;
  const f = t.func[node];
  if (f < 0) return null;
  const fns = t.functions;
  const file = visible(textAt(fns.files, fns.file[f]));
  const binary = visible(textAt(fns.binaries, fns.binary[f]));
  const buildId = textAt(fns.buildIds, fns.buildId[f]);
  const reason = textAt(fns.reasons, fns.reason[f]);
  return (
    <dl class="where">
      {file && (<><dt>File</dt><dd>{file}{fns.line[f] ? `:${fns.line[f]}` : ""}</dd></>)}
      {binary && (<><dt>Binary</dt><dd>{binary}</dd></>)}
      {buildId && (<><dt>Build id</dt><dd class="mono">{buildId}</dd></>)}
      <dt>Kind</dt>
      <dd>{kindNames[fns.flags[f] & 7]}{fns.flags[f] & 8 ? ", seen inlined only" : ""}</dd>
      {reason && (<><dt>No name because</dt><dd>{reason}</dd></>)}
    </dl>
  );
}

function changeOf(t: Tree, node: number): string {
  const a = t.total[node];
  const b = t.b!.total[node] * t.b!.factor;
  if (a === 0) return b === 0 ? "none" : "new in B";
  if (b === 0) return "gone in B";
  const change = ((b - a) / Math.abs(a)) * 100;
  return `${change > 0 ? "▲ +" : change < 0 ? "▼ " : ""}${format.digits(change)} %`;
}

function titleOf(t: Tree, node: number): string {
  return t.func[node] < 0 ? "all" : visible(nameOf(t.functions, t.func[node]));
}

function describe(t: Tree, node: number): string {
  const unit = t.meta.unit ?? "";
  return `${titleOf(t, node)}, ${format.percent(t.total[node], t.total[0])} of total, ${format.value(t.total[node], unit)}, self ${format.percent(t.self[node], t.total[0])}`;
}

/* ---- what can be done with it ---- */

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard on plain http: the old way.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(`Copied ${what}`);
}

function addChip(kind: ChipKind, text: string): void {
  const chips = state.value.chips;
  if (chips.some((c) => c.kind === kind && c.text === text)) return;
  go({ chips: [...chips, { kind, text }], zoom: "", selected: "" });
}

interface MenuAt {
  node: number;
  x: number;
  y: number;
}

function Menu(props: { tree: Tree; at: MenuAt; close: () => void; zoomTo: (node: number) => void }) {
  const { tree: t, at, close } = props;
  const list = useRef<HTMLDivElement>(null);
  const name = t.func[at.node] < 0 ? "" : nameOf(t.functions, t.func[at.node]);
  const binary = t.func[at.node] < 0 ? "" : textAt(t.functions.binaries, t.functions.binary[t.func[at.node]]);
  useEffect(() => {
    list.current?.querySelector("button")?.focus();
    const away = (e: MouseEvent) => !list.current?.contains(e.target as Node) && close();
    addEventListener("mousedown", away);
    return () => removeEventListener("mousedown", away);
  }, []);
  const stack: string[] = [];
  for (let i = at.node; i > 0; i = t.parent[i]) stack.unshift(nameOf(t.functions, t.func[i]).replace(/;/g, ":"));
  const filters: [string, () => void][] = [
    ["Only stacks with it", () => addChip("SS", exactly(name))],
    ["Stacks without it", () => addChip("HS", exactly(name))],
    ["Begin stacks at it", () => addChip("SFF", exactly(name))],
    ["Leave its frames out", () => addChip("HF", exactly(name))],
    ["Leave its binary's frames out", () => addChip("HF", `bin:=${binary}`)],
  ];
  const items: [string, () => void][] = [
    ["Zoom to it", () => props.zoomTo(at.node)],
    ["Callers and callees", () => go({ panel: "sandwich", sandwich: name })],
    // The server filters; it has not seen a file of somebody's.
    ...(screen.value === "open" ? [] : filters),
    ["Find it in the table", () => go({ panel: "table", search: name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") })],
    ["Copy its name", () => void copy(name, "the name")],
    ["Copy the folded stack", () => void copy(`${stack.join(";")} ${t.total[at.node]}`, "the stack")],
  ];
  const step = (e: KeyboardEvent) => {
    const buttons = [...list.current!.querySelectorAll("button")];
    const i = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (e.key === "Escape") close();
    else if (e.key === "ArrowDown") buttons[(i + 1) % buttons.length].focus();
    else if (e.key === "ArrowUp") buttons[(i + buttons.length - 1) % buttons.length].focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="menu" role="menu" ref={list} data-testid="menu" style={{ left: `${at.x}px`, top: `${at.y}px` }} onKeyDown={step} aria-label={`What to do with ${visible(name)}`}>
      {items.filter(([text]) => name || text === "Zoom to it").map(([text, act]) => (
        <button key={text} role="menuitem" onClick={() => (close(), act())}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** By a question of ours, so that the token goes with it. */
async function exportAs(kind: string, name: string): Promise<void> {
  const [from, to] = panelRange.value!;
  const params = treeParams(state.value, selectorText.value, from, to).filter(([k]) => k !== "group");
  try {
    download(name, await (await api.ask("export", [...params, ["format", kind]])).blob());
  } catch (e) {
    toast((e as Error).message);
  }
}

const exportKinds: [string, string, string][] = [
  ["pprof", "pprof", "profile.pb.gz"], ["folded", "folded stacks", "profile.folded"],
  ["speedscope", "speedscope", "profile.speedscope.json"], ["html", "HTML page", "profile.html"],
];

function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function ExportMenu(props: { tree: Kept }) {
  const csv = () => {
    const totals = functionTotals(props.tree.tree);
    const rows = sorted(props.tree.tree, totals, state.value.sort, null);
    download("functions.csv", new Blob([csvOf(props.tree.tree, totals, rows)], { type: "text/csv" }));
  };
  return (
    <details class="dropdown" data-testid="export">
      <summary>Export</summary>
      <div class="menu below">
        {exportKinds.map(([kind, text, name]) => (
          <button key={kind} onClick={() => void exportAs(kind, name)}>
            {text}
          </button>
        ))}
        <button onClick={csv}>CSV of the table</button>
      </div>
    </details>
  );
}

function ShareMenu() {
  const link = (fixed: boolean) => {
    const url = new URL(location.href);
    const r = panelRange.value;
    if (fixed && r) {
      url.searchParams.set("from", String(r[0]));
      url.searchParams.set("to", String(r[1]));
      url.searchParams.delete("sel");
    }
    return url.href;
  };
  return (
    <details class="dropdown" data-testid="share">
      <summary>Share</summary>
      <div class="menu below">
        <button data-testid="share-relative" onClick={() => void copy(link(false), "the link as it is")}>Copy link as shown</button>
        <button data-testid="share-fixed" onClick={() => void copy(link(true), "the link with fixed times")}>Copy link with fixed times</button>
      </div>
    </details>
  );
}

/* ---- the bar above ---- */

function Chips() {
  const s = state.value;
  const set = (chips: Chip[]) => go({ chips, zoom: "", selected: "" });
  if (!s.chips.length) return null;
  return (
    <div class="chips" data-testid="filters">
      {s.chips.map((c, i) => (
        <span class="chip" key={`${c.kind}${c.text}`} data-testid={`chip-${i}`}>
          {chipNames[c.kind]} <b>{visible(c.text.replace(/^fn:=/, ""))}</b>
          <button aria-label={`Remove the filter ${c.text}`} onClick={() => set(s.chips.filter((_, k) => k !== i))}>
            ×
          </button>
        </span>
      ))}
      {s.chips.length > 1 && (
        <button class="link" onClick={() => set([])}>
          remove all
        </button>
      )}
    </div>
  );
}

function Summary(props: { kept: Kept; seconds: number }) {
  const t = props.kept.tree;
  const unit = t.meta.unit ?? "";
  const r = panelRange.value;
  const notes = noteWeights(t);
  const leftOut = t.meta.left_out ?? [];
  return (
    <div class="summary" data-testid="quality">
      <b>{format.value(t.total[0], unit)}</b>
      {t.b && <span>→ <b>{format.value(t.b.total[0], unit)}</b> in B</span>}
      {unit === "nanoseconds" && !t.b && <span>{format.rate(t.total[0], props.seconds, unit)} on average</span>}
      {r && screen.value !== "open" && <span>{format.time(r[0], state.value.utc)} – {format.time(r[1], state.value.utc)}</span>}
      <span class={share(notes.unnamed, t.total[0]) > 0.05 ? "amber" : ""}>{format.percent(t.total[0] - notes.unnamed, t.total[0])} named</span>
      <span class={share(notes.truncated, t.total[0]) > 0.05 ? "amber" : ""}>{format.percent(notes.truncated, t.total[0])} truncated</span>
      {(t.meta.filtered?.[0] ?? 0) !== 0 && <span>{format.value(t.meta.filtered![0], unit)} filtered out</span>}
      {(t.meta.trimmed_nodes ?? 0) > 0 && <span class="amber">{format.count(t.meta.trimmed_nodes!)} small frames not loaded</span>}
      {leftOut.length > 0 && (
        <details class="amber" data-testid="banner">
          <summary>{leftOut.length + (t.meta.left_out_more ?? 0)} pieces of data are missing</summary>
          <ul>{leftOut.map((g) => <li key={g.what}>{g.what}: {g.why} ({format.time(g.from_ms, state.value.utc)} – {format.time(g.to_ms, state.value.utc)})</li>)}</ul>
        </details>
      )}
      <span class="right">
        {screen.value !== "open" && <ShareMenu />}
        {screen.value === "explore" && <ExportMenu tree={props.kept} />}
      </span>
    </div>
  );
}

const share = (part: number, whole: number) => (whole ? part / whole : 0);

/** Self weight in frames without a name, and weight below marks that stacks were cut. */
function noteWeights(t: Tree): { unnamed: number; truncated: number } {
  let unnamed = 0;
  let truncated = 0;
  const cut = new Uint8Array(t.functions.n);
  for (let f = 0; f < cut.length; f++) cut[f] = (t.functions.flags[f] & 7) === 4 && nameOf(t.functions, f).startsWith("[truncated") ? 1 : 0;
  for (let i = 1; i < t.n; i++) {
    if (t.functions.flags[t.func[i]] & 16) unnamed += t.self[i];
    if (cut[t.func[i]] && t.depth[i] === 1) truncated += t.total[i];
  }
  return { unnamed, truncated };
}

function Breadcrumbs(props: { tree: Tree; zoom: number; onZoom: (node: number) => void }) {
  const { tree: t } = props;
  const way: number[] = [];
  for (let i = props.zoom; i >= 0; i = t.parent[i]) way.unshift(i);
  if (way.length < 2) return null;
  const shownWay = way.length > 8 ? [way[0], -1, ...way.slice(-6)] : way;
  return (
    <nav class="crumbs" aria-label="Zoomed to" data-testid="crumbs">
      {shownWay.map((n, i) =>
        n < 0 ? <span key="gap">…</span> : (
          <span key={n}>
            {i > 0 && " › "}
            <button class="link" aria-current={n === props.zoom ? "location" : undefined} onClick={() => props.onZoom(n)}>{titleOf(t, n).slice(0, 60)}</button>
          </span>
        ))}
    </nav>
  );
}

function Toolbar(props: { kept: Kept }) {
  const s = state.value;
  const t = props.kept.tree;
  const found = matches.value?.of === props.kept.id ? matches.value.found : null;
  return (
    <div class="toolbar">
      <div class="tabs" role="tablist" aria-label="How it is shown">
        {panelNames.map(([p, text], i) => (
          <button key={p} role="tab" data-testid={`panel-${p}`} aria-selected={s.panel === p} title={`${text} (${i + 1})`} onClick={() => go({ panel: p })}>{text}</button>
        ))}
      </div>
      {screen.value !== "open" && <label>Group by <select data-testid="fg-group" value={s.group} onChange={(e) => go({ group: e.currentTarget.value as typeof s.group })}>{groupNames.map(([g, text]) => <option key={g} value={g}>{text}</option>)}</select></label>}
      {!t.b && <label>Colour <select data-testid="fg-colour" value={s.color} onChange={(e) => go({ color: e.currentTarget.value as typeof s.color }, false)}>{colorModes.map((m) => <option key={m} value={m}>{colorNames[m]}</option>)}</select></label>}
      <button aria-pressed={s.inverted} data-testid="invert" title="Leaves first (i)" onClick={() => go({ inverted: !s.inverted, zoom: "", selected: "" })}>Invert</button>
      <button aria-pressed={s.flame} data-testid="orientation" title="Root at the bottom (o)" onClick={() => go({ flame: !s.flame }, false)}>{s.flame ? "Flame" : "Icicle"}</button>
      <span class="search">
        <input type="search" data-testid="search" aria-label="Search functions by regular expression" placeholder="Search  /" value={s.search} aria-invalid={searchError.value !== ""} onInput={(e) => go({ search: e.currentTarget.value }, false)} />
        <span data-testid="search-count" aria-live="polite" class={searchError.value ? "problem" : "muted"}>
          {searchError.value || (found && s.search ? `${format.percent(found.weight, t.total[0])} in ${format.count(found.nodes)} frames` : "")}
        </span>
      </span>
    </div>
  );
}

function Legend(props: { tree: Tree; coloring: ReturnType<typeof colorFunctions> }) {
  if (props.tree.b) {
    const steps = isDark.value ? diffDark : diffLight;
    return (
      <p class="legendline" data-testid="diff-legend">
        less in B <span class="steps">{steps.map((c) => <i key={c} style={{ background: c }} />)}</span> more in B
        <span class="muted"> steps at ±{diffSteps.map((x) => `${x * 100} %`).join(", ")}; grey: no change, or no more than chance</span>
      </p>
    );
  }
  if (state.value.color === "none" || state.value.color === "name") return null;
  return (
    <ul class="legend" data-testid="legend">
      {props.coloring.legend.slice(0, 12).map((e) => (
        <li key={e.text}><span class="swatch" style={{ background: fills[e.fill] }} /> {visible(e.text)}</li>
      ))}
      {props.coloring.legend.length > 12 && <li class="muted">and {format.count(props.coloring.legend.length - 12)} more</li>}
    </ul>
  );
}

/* ---- the panels ---- */

/** Of a diff: which nodes changed more than chance explains; null where nothing is tested. */
function significance(t: Tree): Uint8Array | null {
  const compare = t.meta.compare;
  const n1 = compare?.sides[0].samples;
  const n2 = compare?.sides[1].samples;
  if (!t.b || !compare || compare.untested || !n1 || !n2) return null;
  const { level } = compare;
  const out = new Uint8Array(t.n);
  const a = (t.meta.total?.[0] ?? t.total[0]) + (t.meta.filtered?.[0] ?? 0);
  const b = (t.meta.total?.[1] ?? t.b.total[0]) + (t.meta.filtered?.[1] ?? 0);
  for (let i = 1; i < t.n; i++) {
    const p1 = a ? t.total[i] / a : 0;
    const p2 = b ? t.b.total[i] / b : 0;
    const p = (p1 * n1 + p2 * n2) / (n1 + n2);
    const z = p > 0 && p < 1 ? (p2 - p1) / Math.sqrt(p * (1 - p) * (1 / n1 + 1 / n2)) : 0;
    out[i] = Math.abs(z) >= level && Math.min(n1, n2) * Math.min(p, 1 - p) >= 5 ? 1 : 0;
  }
  return out;
}

function Flame(props: { kept: Kept; seconds: number }) {
  const { kept } = props;
  const t = kept.tree;
  const s = state.value;
  const [menu, setMenu] = useState<MenuAt | null>(null);
  const coloring = useMemo(() => colorFunctions(t, s.color), [t, s.color]);
  const significant = useMemo(() => (s.significant ? significance(t) : null), [t, s.significant]);
  const zoomed = useMemo(() => follow(t, s.zoom), [t, s.zoom]);
  const selected = useMemo(() => (s.selected ? follow(t, s.selected) : { node: -1, whole: true }), [t, s.selected]);
  useEffect(() => {
    if (s.zoom && !zoomed.whole) toast("The zoom's path is not in this answer: the deepest part of it is shown.");
  }, [zoomed]);
  const found = matches.value?.of === kept.id && s.search ? matches.value.found : null;
  const zoomTo = (node: number) => go({ zoom: pathOf(t, node) });
  const node = selected.node >= 0 ? selected.node : zoomed.node;
  return (
    <>
      <Breadcrumbs tree={t} zoom={zoomed.node} onZoom={zoomTo} />
      <div class="split">
        <div class="stage">
          <FlamePanel
            tree={t}
            coloring={coloring}
            marked={found ? found.functions : null}
            significant={significant}
            zoom={zoomed.node}
            selected={selected.whole ? selected.node : -1}
            flip={s.flame}
            label={`Flame graph, ${format.count(t.n - 1)} frames. Arrow keys move, Enter zooms, Backspace zooms out.`}
            describe={(n) => describe(t, n)}
            tooltip={(n) => (
              <>
                <b>{titleOf(t, n)}</b>
                <Figures tree={t} node={n} zoom={zoomed.node} seconds={props.seconds} />
                <Where tree={t} node={n} />
              </>
            )}
            onZoom={zoomTo}
            onSelect={(n) => go({ selected: pathOf(t, n) }, false)}
            onMenu={(n, x, y) => setMenu({ node: n, x, y })}
          />
          {menu && menu.node < t.n && <Menu tree={t} at={menu} close={() => setMenu(null)} zoomTo={zoomTo} />}
        </div>
        <aside class="details" aria-label="Details" data-testid="details">
          <h3>{titleOf(t, node)}</h3>
          <Figures tree={t} node={node} zoom={zoomed.node} seconds={props.seconds} />
          <Where tree={t} node={node} />
          {node > 0 && (
            <p class="actions">
              <button onClick={() => zoomTo(node)}>Zoom</button>
              <button onClick={() => go({ panel: "sandwich", sandwich: nameOf(t.functions, t.func[node]) })}>Callers & callees</button>
            </p>
          )}
        </aside>
      </div>
      <Legend tree={t} coloring={coloring} />
      <p class="unseen" role="status" data-testid="live">{s.zoom ? `Zoomed to ${titleOf(t, zoomed.node)}` : ""}</p>
    </>
  );
}

function Table(props: { kept: Kept }) {
  const s = state.value;
  const t = props.kept.tree;
  const [whole, setWhole] = useState(true);
  const zoom = useMemo(() => follow(t, s.zoom).node, [t, s.zoom]);
  const totals = useMemo(() => functionTotals(t, whole ? 0 : zoom), [t, zoom, whole]);
  const found = matches.value?.of === props.kept.id && s.search ? matches.value.found : null;
  const [chosen, setChosen] = useState(-1);
  return (
    <div class="tablepane">
      {zoom > 0 && (
        <label class="hint"><input type="checkbox" checked={!whole} onChange={(e) => setWhole(!e.currentTarget.checked)} /> only below {titleOf(t, zoom)}</label>
      )}
      <FunctionTable
        tree={t}
        totals={totals}
        marked={found ? found.functions : null}
        sort={s.sort}
        selected={chosen}
        onSort={(sort) => go({ sort }, false)}
        onSelect={setChosen}
        onOpen={(f) => go({ panel: "sandwich", sandwich: nameOf(t.functions, f) })}
      />
    </div>
  );
}

function Sandwich(props: { kept: Kept; seconds: number }) {
  const s = state.value;
  const t = props.kept.tree;
  const [sides, setSides] = useState<{ up: Kept; down: Kept } | null>(null);
  const func = useMemo(() => functionNamed(t, s.sandwich), [t, s.sandwich]);
  useEffect(() => {
    let gone = false;
    setSides(null);
    if (func >= 0)
      void Promise.all([trees.ask<"callers">({ op: "callers", tree: props.kept.id, func }), trees.ask<"callees">({ op: "callees", tree: props.kept.id, func })]).then(
        ([up, down]) => !gone && setSides({ up, down }),
        () => undefined,
      );
    return () => void (gone = true);
  }, [props.kept.id, func]);
  if (func < 0)
    return (
      <div>
        <p class="hint">{s.sandwich ? `${visible(s.sandwich)} is not in this answer.` : "Choose a function: double-click it, or press Enter on its row."}</p>
        <Table kept={props.kept} />
      </div>
    );
  if (!sides) return <div class="hint">Putting callers and callees together…</div>;
  const side = (kept: Kept, flip: boolean, text: string) => (
    <FlamePanel
      tree={kept.tree}
      coloring={colorFunctions(kept.tree, s.color)}
      marked={null}
      significant={null}
      zoom={0}
      selected={-1}
      flip={flip}
      height={260}
      label={text}
      describe={(n) => describe(kept.tree, n)}
      tooltip={(n) => (
        <>
          <b>{titleOf(kept.tree, n)}</b>
          <Figures tree={kept.tree} node={n} zoom={0} seconds={props.seconds} />
        </>
      )}
      onZoom={(n) => kept.tree.func[n] >= 0 && go({ sandwich: nameOf(kept.tree.functions, kept.tree.func[n]) })}
      onSelect={() => undefined}
      onMenu={() => undefined}
    />
  );
  return (
    <div data-testid="sandwich">
      <h3 class="hint">Who calls it</h3>
      {side(sides.up, true, "Callers")}
      <p class="bun"><b>{visible(s.sandwich)}</b> {format.value(sides.down.tree.total[0], t.meta.unit ?? "")} · {format.percent(sides.down.tree.total[0], t.total[0])} of all shown</p>
      {side(sides.down, false, "Callees")}
      <h3 class="hint">What it calls</h3>
    </div>
  );
}

export function Results(props: { seconds: number }) {
  const asked = tree.value;
  const s = state.value;
  const kept = shown.value;
  if (asked.error) return <ErrorState error={asked.error} retry={run} />;
  if (!asked.value || !kept) return asked.loading || asked.value ? <div class="stage placeholder" /> : null;
  const t = kept.tree;
  const nothing = asked.value.tree.n <= 1 && asked.value.tree.total[0] === 0;
  return (
    <section class={asked.loading ? "stale" : ""} aria-label="Result">
      <Summary kept={asked.value} seconds={props.seconds} />
      <Chips />
      {nothing ? (
        <Empty title={(t.meta.filtered?.[0] ?? 0) !== 0 ? "The filters leave nothing" : "No data in this range"}>
          <p>{(t.meta.filtered?.[0] ?? 0) !== 0 ? "Everything that was found is filtered out." : "The selector matches nothing that was stored then. Another range or fewer matchers may."}</p>
        </Empty>
      ) : (
        <>
          <Toolbar kept={kept} />
          {(s.panel === "flame" || s.panel === "both") && <Flame kept={kept} seconds={props.seconds} />}
          {(s.panel === "table" || s.panel === "both") && <Table kept={kept} />}
          {s.panel === "sandwich" && <Sandwich kept={asked.value} seconds={props.seconds} />}
        </>
      )}
    </section>
  );
}
