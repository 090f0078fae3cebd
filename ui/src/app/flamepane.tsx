// SPDX-License-Identifier: Apache-2.0
// app/flamepane.tsx - the flame graph with what stands around it: where it is, details, what the colours mean

import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { type Coloring, changePalettes, colorFrames, diffSteps, fills, filterOfEntry } from "../flame/color.ts";
import { chainOf, foldChains, plainRows } from "../flame/fold.ts";
import { visible } from "../flame/names.ts";
import { FlamePanel } from "../flame/panel.tsx";
import { follow, pathOf } from "../flame/path.ts";
import { significance } from "../flame/significance.ts";
import { Kind, type Tree, nameOf } from "../flame/tree.ts";
import { valueOf } from "../settings/kept.ts";
import { isDark } from "../theme/theme.ts";
import { Figures, Where, describe, titleOf } from "./figures.tsx";
import * as format from "./format.ts";
import { Heaviest } from "./heaviest.tsx";
import type { ChipKind } from "../url/state.ts";
import { addChip, copy, exactly } from "./actions.ts";
import { takesFocus } from "../table/table.tsx";
import { ofFrame } from "./keys.ts";
import { fetchAhead } from "./later.tsx";
import { Menu, type MenuAt, foldedLine } from "./menu.tsx";
import { type Drawn, go, matchPlace, matches, pointed, screen, state, toast, tree } from "./store.ts";

export function Breadcrumbs(props: { tree: Tree; zoom: number; onZoom: (node: number) => void }) {
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

/** What each colour is of: what is pointed at stands out, and what is clicked until it is clicked again. */
export function Legend(props: { tree: Tree; coloring: Coloring; kept: number; onPoint: (entry: number) => void; onKeep: (entry: number) => void }) {
  if (props.tree.b) {
    const steps = changePalettes[valueOf("changes")][isDark.value ? "dark" : "light"];
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
      {props.coloring.legend.slice(0, 12).map((e, i) => (
        <li key={e.text}>
          <button class="plain" data-testid={`fg-legend-${i}`} aria-pressed={props.kept === i || props.kept < 0} title="Point: where it is. Click: it alone, until the next click." onMouseEnter={() => props.onPoint(i)} onMouseLeave={() => props.onPoint(-1)} onClick={() => props.onKeep(props.kept === i ? -1 : i)}>
            <span class="swatch" style={{ background: fills[e.fill] }} /> {visible(e.text)}
          </button>
          {screen.value === "explore" && filterOfEntry(state.value.color, e.text) && (
            <button class="plain hide" data-testid={`fg-legend-${i}-hide`} aria-label={`Leave frames of ${visible(e.text)} out`} title="Leave its frames out: a filter" onClick={() => addChip("HF", filterOfEntry(state.value.color, e.text))}>×</button>
          )}
        </li>
      ))}
      {state.value.color === "label" && !state.value.by.length && <li class="muted">pick under Labels which of them lead the stacks</li>}
      {props.coloring.legend.length > 12 && <li class="muted">and {format.count(props.coloring.legend.length - 12)} more</li>}
    </ul>
  );
}

/** Match `step` further on from a node, around the end; -1: there is none. */
function matchFrom(t: Tree, marked: Uint8Array, node: number, step: number): number {
  for (let k = 1, i = Math.max(node, 0); k <= t.n; k++) {
    i = (i + step + t.n) % t.n;
    if (i > 0 && marked[t.func[i]]) return i;
  }
  return -1;
}

/** Where a node stands among the matches, in the order in which they are gone through. */
function placeOfMatch(t: Tree, marked: Uint8Array | null, node: number): { at: number; of: number } {
  let at = 0;
  let of = 0;
  for (let i = 1; marked && i < t.n; i++) {
    if (!marked[t.func[i]]) continue;
    of++;
    if (i === node) at = of;
  }
  return { at, of };
}

/** By shortcut: what the selected frame, or the zoom's, can be used for. */
function actsOn(t: Tree, node: number, select: (node: number) => void, marked: Uint8Array | null): Record<string, () => void> {
  const find = (step: number) => () => {
    const at = marked ? matchFrom(t, marked, node, step) : -1;
    if (at > 0) select(at);
  };
  const search = { next: find(1), previous: find(-1) };
  if (node <= 0) return search;
  const name = nameOf(t.functions, t.func[node]);
  const acts = {
    ...search,
    callers: () => go({ panel: "sandwich", sandwich: name }),
    copy: () => void copy(name, "the name"),
    copy_stack: () => void copy(foldedLine(t, node), "the stack"),
  };
  // The server filters; it has not seen a file of somebody's, and labels are no functions.
  if (screen.value === "open" || (t.functions.flags[t.func[node]] & 7) === Kind.label) return acts;
  const filter = (kind: ChipKind) => () => addChip(kind, exactly(name));
  return { ...acts, focus: filter("SFF"), hide: filter("HF"), drop: filter("HS") };
}

export function Flame(props: Drawn & { seconds: number }) {
  const t = props.kept.tree;
  const s = state.value;
  // Of one tree: a number means another frame in another one.
  const [menu, setMenu] = useState<(MenuAt & { of: Tree }) | null>(null);
  const coloring = useMemo(() => colorFrames(t, s.color), [t, s.color]);
  const significant = useMemo(() => (s.significant ? (t.significant ?? significance(t)) : null), [t, s.significant]);
  const zoomed = useMemo(() => follow(t, s.zoom), [t, s.zoom]);
  const selected = useMemo(() => (s.selected ? follow(t, s.selected) : { node: -1, whole: true }), [t, s.selected]);
  useEffect(fetchAhead, []);
  useEffect(() => {
    if (s.zoom && !zoomed.whole) toast("The zoom's path is not in this answer: the deepest part of it is shown.");
  }, [s.zoom, zoomed.whole]);
  const found = matches.value?.of === props.upright.id && s.search ? matches.value.found : null;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => (s.folded ? foldChains(t, (head) => open.size > 0 && open.has(pathOf(t, head))) : plainRows(t)), [t, s.folded, open]);
  const zoomTo = (node: number, push = true) => go({ zoom: pathOf(t, node) }, push);
  const of = screen.value === "open" ? String(tree.value.value?.origin) : JSON.stringify([s.q, s.b.q, s.chips, s.group, s.by, s.inverted, s.loops]);
  /** Of the menu: what can be done with the chain that a frame is in. */
  const foldOf = (node: number) => {
    const head = s.folded ? chainOf(t, node) : -1;
    if (head < 0) return null;
    const path = pathOf(t, head);
    const next = new Set(open);
    if (!next.delete(path)) next.add(path);
    return { text: open.has(path) ? "Fold its chain" : "Unfold its chain", act: () => setOpen(next) };
  };
  const [keptEntry, setKeptEntry] = useState(-1);
  const [entry, setEntry] = useState(-1);
  useEffect(() => (setKeptEntry(-1), setEntry(-1)), [coloring]);
  const shownEntry = entry >= 0 ? entry : keptEntry;
  const node = selected.node >= 0 ? selected.node : zoomed.node;
  const select = (n: number) => go({ selected: pathOf(t, n) }, false);
  useEffect(() => void (matchPlace.value = placeOfMatch(t, found ? found.functions : null, selected.node)), [t, found, selected.node]);
  useLayoutEffect(() => {
    ofFrame.acts = actsOn(t, node, select, found ? found.functions : null);
    return () => void (ofFrame.acts = {});
  });
  return (
    <>
      <Breadcrumbs tree={t} zoom={zoomed.node} onZoom={zoomTo} />
      <div class="split">
        <div class="stage">
          <button class="skip" data-testid="to-table" onClick={() => ((takesFocus.value = true), go({ panel: "table" }))}>Skip to the table</button>
          <FlamePanel
            tree={t}
            of={of}
            coloring={coloring}
            marked={found && shownEntry < 0 ? found.functions : null}
            alone={shownEntry >= 0 ? shownEntry : undefined}
            func={pointed.value}
            significant={significant}
            zoom={zoomed.node}
            selected={selected.whole ? selected.node : -1}
            chosen={s.selected}
            flip={s.flame}
            rows={rows}
            detail={s.detail}
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
            onSelect={select}
            onMenu={(n, x, y) => setMenu({ of: t, node: n, x, y })}
          />
          {menu?.of === t && <Menu tree={t} at={menu} close={() => setMenu(null)} zoomTo={zoomTo} fold={foldOf(menu.node)} />}
        </div>
        <aside class="details" aria-label="Details" data-testid="details">
          <h3>{titleOf(t, node)}</h3>
          <Figures tree={t} node={node} zoom={zoomed.node} seconds={props.seconds} />
          <Where tree={t} node={node} />
          {node === 0 && <Heaviest tree={t} of={props.upright.tree} onSelect={select} />}
          {node > 0 && (
            <p class="actions">
              <button onClick={() => zoomTo(node)}>Zoom</button>
              <button onClick={() => go({ panel: "sandwich", sandwich: nameOf(t.functions, t.func[node]) })}>Callers & callees</button>
            </p>
          )}
        </aside>
      </div>
      <Legend tree={t} coloring={coloring} kept={keptEntry} onPoint={setEntry} onKeep={setKeptEntry} />
      <p class="unseen" role="status" data-testid="live">{s.zoom ? `Zoomed to ${titleOf(t, zoomed.node)}` : ""}</p>
    </>
  );
}
