// SPDX-License-Identifier: Apache-2.0
// app/sandwich.tsx - one function between those that call it and those that it calls

import { useEffect, useMemo, useState } from "preact/hooks";
import { type Coloring, colorFrames } from "../flame/color.ts";
import { visible } from "../flame/names.ts";
import { FlamePanel } from "../flame/panel.tsx";
import { type Tree, functionsNamed, nameOf } from "../flame/tree.ts";
import { EndedToo, type Kept, trees } from "../worker/rpc.ts";
import { Figures, describe, titleOf } from "./figures.tsx";
import * as format from "./format.ts";
import { Menu, type MenuAt } from "./menu.tsx";
import { Failed } from "./parts.tsx";
import { again, go, state } from "./store.ts";
import { Table } from "./tablepane.tsx";

/** Callers above, or callees below: a frame is selected and its menu opened as in the whole, and to zoom is to put it in the middle. */
function Side(props: { kept: Kept; of: string; coloring: Coloring; flip: boolean; label: string; seconds: number }) {
  const t = props.kept.tree;
  // Of one tree: a number means another frame in another one.
  const [chosen, setChosen] = useState({ of: t, node: -1 });
  const [menu, setMenu] = useState<(MenuAt & { of: Tree }) | null>(null);
  const selected = chosen.of === t ? chosen.node : -1;
  return (
    <div class="stage">
      <FlamePanel
        tree={t}
        of={props.of}
        coloring={props.coloring}
        marked={null}
        significant={null}
        zoom={0}
        recenters
        selected={selected}
        chosen={String(selected)}
        flip={props.flip}
        height="max(260px, calc(50vh - 240px))"
        label={`${props.label}. Arrow keys move, Enter puts a function in the middle.`}
        describe={(n) => describe(t, n)}
        tooltip={(n) => (
          <>
            <b>{titleOf(t, n)}</b>
            <Figures tree={t} node={n} zoom={0} seconds={props.seconds} />
          </>
        )}
        onZoom={(n) => t.func[n] >= 0 && go({ sandwich: nameOf(t.functions, t.func[n]) })}
        onSelect={(node) => setChosen({ of: t, node })}
        onMenu={(node, x, y) => setMenu({ of: t, node, x, y })}
      />
      {menu?.of === t && <Menu tree={t} at={menu} close={() => setMenu(null)} fold={null} />}
    </div>
  );
}

export function Sandwich(props: { kept: Kept; seconds: number }) {
  const s = state.value;
  const t = props.kept.tree;
  const [sides, setSides] = useState<{ of: string; up: Kept; down: Kept } | null>(null);
  const [failed, setFailed] = useState("");
  // All that are called so: that is what stacks are filtered by, and what the server's callers and callees are of.
  const funcs = useMemo(() => functionsNamed(t.functions, s.sandwich), [t, s.sandwich]);
  // Of the whole, whose functions the sides share: so each has the colour that it has there.
  // Both sides have the functions of the whole, and not its nodes.
  const coloring = useMemo(() => colorFrames(t, s.color === "label" ? "binary" : s.color), [t, s.color]);
  useEffect(() => {
    let gone = false;
    const of = s.sandwich;
    setFailed("");
    if (funcs.length)
      void Promise.all([trees.ask<"callers">({ op: "callers", tree: props.kept.id, funcs }), trees.ask<"callees">({ op: "callees", tree: props.kept.id, funcs })]).then(
        ([up, down]) => !gone && setSides({ of, up, down }),
        (e: Error) => !gone && !(e instanceof EndedToo) && setFailed(e.message),
      );
    return () => void (gone = true);
  }, [props.kept.id, funcs]);
  if (!funcs.length)
    return (
      <div>
        <p class="hint">{s.sandwich ? `${visible(s.sandwich)} is not in this answer.` : "Choose a function: double-click it, or press Enter on its row."}</p>
        <Table kept={props.kept} />
      </div>
    );
  if (failed) return <Failed what="Callers and callees could not be put together" why={failed} retry={again} />;
  if (!sides) return <div class="hint">Putting callers and callees together…</div>;
  const side = (kept: Kept, flip: boolean, label: string) => <Side kept={kept} of={sides.of} coloring={coloring} flip={flip} label={label} seconds={props.seconds} />;
  // The last one stays, dimmed, until the next is there.
  return (
    <div data-testid="sandwich" class={sides.of === s.sandwich ? "" : "stale"}>
      <h3 class="hint">Who calls it</h3>
      {side(sides.up, true, "Callers")}
      <p class="bun"><b>{visible(sides.of)}</b> {format.value(sides.down.tree.total[0], t.meta.unit ?? "")} · {format.percent(sides.down.tree.total[0], t.total[0])} of all shown{funcs.length > 1 && ` · ${funcs.length} functions have this name`}</p>
      {side(sides.down, false, "Callees")}
      <h3 class="hint">What it calls</h3>
    </div>
  );
}
