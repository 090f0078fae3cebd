// SPDX-License-Identifier: Apache-2.0
// app/tablepane.tsx - the functions of all, or of what is zoomed to

import { useMemo, useState } from "preact/hooks";
import { functionTotals } from "../flame/functions.ts";
import { follow } from "../flame/path.ts";
import { nameOf } from "../flame/tree.ts";
import { FunctionTable } from "../table/table.tsx";
import type { Kept } from "../worker/rpc.ts";
import { titleOf } from "./figures.tsx";
import { go, matches, state } from "./store.ts";

export function Table(props: { kept: Kept }) {
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
