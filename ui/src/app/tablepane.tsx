// SPDX-License-Identifier: Apache-2.0
// app/tablepane.tsx - the functions of all, or of what is zoomed to

import { useEffect, useMemo, useState } from "preact/hooks";
import { exactTotals } from "../flame/exact.ts";
import type { Totals } from "../flame/functions.ts";
import { follow } from "../flame/path.ts";
import { type Tree, hasTrimmed, nameOf, sameFunction } from "../flame/tree.ts";
import { type Extra, extraColumns, extraNames, extrasOf, sorted } from "../table/columns.ts";
import { tsvOf } from "../table/csv.ts";
import { FunctionTable } from "../table/table.tsx";
import { EndedToo, type Kept, trees } from "../worker/rpc.ts";
import { copy } from "./actions.ts";
import { exactQuestion, exactRows } from "./exact.ts";
import { titleOf } from "./figures.tsx";
import * as format from "./format.ts";
import { Failed } from "./parts.tsx";
import { useQuestion } from "./question.ts";
import { again, go, matches, pointed, state } from "./store.ts";

/** Those that are not always there. */
function Columns(props: { tree: Tree }) {
  const { columns } = state.value;
  const toggle = (c: Extra) => go({ columns: columns.includes(c) ? columns.filter((k) => k !== c) : extraColumns.filter((k) => k === c || columns.includes(k)) }, false);
  return (
    <details class="dropdown" data-testid="columns">
      <summary>Columns</summary>
      <div class="menu below">
        {extrasOf(props.tree).map((c) => (
          <label key={c}><input type="checkbox" data-testid={`column-${c}`} checked={columns.includes(c)} onChange={() => toggle(c)} /> {extraNames[c]}</label>
        ))}
      </div>
    </details>
  );
}

export function Table(props: { kept: Kept }) {
  const s = state.value;
  const t = props.kept.tree;
  const [whole, setWhole] = useState(true);
  // Leaves first a zoom is no place of this tree.
  const zoom = useMemo(() => (s.inverted ? 0 : follow(t, s.zoom).node), [t, s.zoom, s.inverted]);
  const from = whole ? 0 : zoom;
  const [added, setAdded] = useState<{ of: Kept; totals: Totals } | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let gone = false;
    setFailed("");
    void trees.ask<"functions">({ op: "functions", tree: props.kept.id, from }).then(
      (totals) => !gone && setAdded({ of: props.kept, totals }),
      (e: Error) => !gone && !(e instanceof EndedToo) && setFailed(e.message),
    );
    return () => void (gone = true);
  }, [props.kept, from]);
  // What is not there of all is known to the server, of each function; below a zoom, and with loops folded, to nobody.
  const asked = from === 0 ? exactQuestion(t) : "";
  const { value: rows } = useQuestion(asked, (signal) => exactRows(asked, signal), false);
  const exact = useMemo(() => (rows && added ? exactTotals(added.of.tree, added.totals, rows) : null), [rows, added]);
  const found = matches.value?.of === props.kept.id && s.search ? matches.value.found : null;
  const [chosen, setChosen] = useState<{ of: Tree; func: number } | null>(null);
  const own = added?.of.tree;
  const selected = useMemo(() => (!chosen || !own ? -1 : chosen.of === own ? chosen.func : sameFunction(chosen.of.functions, chosen.func, own.functions)), [chosen, own]);
  useEffect(() => () => void (pointed.value = -1), [added]);
  if (failed) return <Failed what="The functions could not be added up" why={failed} retry={again} />;
  // Columns are of the functions of the tree that they were added up of.
  if (!added) return <div class="hint">Adding up the functions…</div>;
  const totals = exact?.totals ?? added.totals;
  const marked = found && added.of === props.kept ? found.functions : null;
  const copyRows = (rows: ArrayLike<number>) => void copy(tsvOf(added.of.tree, totals, rows, s.columns), rows.length === 1 ? "the row" : `${format.count(rows.length)} rows`);
  return (
    <div class="tablepane">
      <div class="tablebar">
        {zoom > 0 && (
          <label class="hint"><input type="checkbox" checked={!whole} onChange={(e) => setWhole(!e.currentTarget.checked)} /> only below {titleOf(t, zoom)}</label>
        )}
        {hasTrimmed(added.of.tree) && !exact && <span class="amber" data-testid="table-trimmed">without what is in the small frames that are not loaded: at least this much</span>}
        {exact && exact.missing > 0 && <span class="amber" data-testid="table-missing">{format.count(exact.missing)} functions more, with {format.percent(exact.missingSelf, t.total[0])} of all, are in small frames that are not loaded</span>}
        <Columns tree={added.of.tree} />
        <button data-testid="table-copy" title="All rows as text, with tabs between columns" onClick={() => copyRows(sorted(added.of.tree, totals, s.sort, marked))}>Copy</button>
      </div>
      <FunctionTable
        tree={added.of.tree}
        totals={totals}
        marked={marked}
        extra={s.columns}
        onCopy={copyRows}
        sort={s.sort}
        selected={selected}
        onSort={(sort) => go({ sort }, false)}
        onSelect={(func) => setChosen({ of: added.of.tree, func })}
        onPoint={(f) => (pointed.value = f)}
        onOpen={(f) => go({ panel: "sandwich", sandwich: nameOf(added.of.tree.functions, f) })}
      />
    </div>
  );
}
