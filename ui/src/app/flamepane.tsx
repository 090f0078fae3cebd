// SPDX-License-Identifier: Apache-2.0
// app/flamepane.tsx - the flame graph with what stands around it: where it is, details, what the colours mean

import { useEffect, useMemo, useState } from "preact/hooks";
import { colorFunctions, diffDark, diffLight, diffSteps, fills } from "../flame/color.ts";
import { chainOf, foldChains, plainRows } from "../flame/fold.ts";
import { visible } from "../flame/names.ts";
import { FlamePanel } from "../flame/panel.tsx";
import { follow, pathOf } from "../flame/path.ts";
import { significance } from "../flame/significance.ts";
import { type Tree, nameOf } from "../flame/tree.ts";
import { isDark } from "../theme/theme.ts";
import type { Kept } from "../worker/rpc.ts";
import { Figures, Where, describe, titleOf } from "./figures.tsx";
import * as format from "./format.ts";
import { Menu, type MenuAt } from "./menu.tsx";
import { go, matches, state, toast } from "./store.ts";

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

export function Legend(props: { tree: Tree; coloring: ReturnType<typeof colorFunctions> }) {
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

export function Flame(props: { kept: Kept; seconds: number }) {
  const { kept } = props;
  const t = kept.tree;
  const s = state.value;
  const [menu, setMenu] = useState<MenuAt | null>(null);
  const coloring = useMemo(() => colorFunctions(t, s.color), [t, s.color]);
  const significant = useMemo(() => (s.significant ? (t.significant ?? significance(t)) : null), [t, s.significant]);
  const zoomed = useMemo(() => follow(t, s.zoom), [t, s.zoom]);
  const selected = useMemo(() => (s.selected ? follow(t, s.selected) : { node: -1, whole: true }), [t, s.selected]);
  useEffect(() => {
    if (s.zoom && !zoomed.whole) toast("The zoom's path is not in this answer: the deepest part of it is shown.");
  }, [zoomed]);
  const found = matches.value?.of === kept.id && s.search ? matches.value.found : null;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => (s.folded ? foldChains(t, (head) => open.size > 0 && open.has(pathOf(t, head))) : plainRows(t)), [t, s.folded, open]);
  const zoomTo = (node: number) => go({ zoom: pathOf(t, node) });
  /** Of the menu: what can be done with the chain that a frame is in. */
  const foldOf = (node: number) => {
    const head = s.folded ? chainOf(t, node) : -1;
    if (head < 0) return null;
    const path = pathOf(t, head);
    const next = new Set(open);
    if (!next.delete(path)) next.add(path);
    return { text: open.has(path) ? "Fold its chain" : "Unfold its chain", act: () => setOpen(next) };
  };
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
            onSelect={(n) => go({ selected: pathOf(t, n) }, false)}
            onMenu={(n, x, y) => setMenu({ node: n, x, y })}
          />
          {menu && menu.node < t.n && <Menu tree={t} at={menu} close={() => setMenu(null)} zoomTo={zoomTo} fold={foldOf(menu.node)} />}
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
