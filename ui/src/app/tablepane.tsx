// SPDX-License-Identifier: Apache-2.0
// app/tablepane.tsx - the functions of all, or of what is zoomed to

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Totals } from "../flame/functions.ts";
import { follow } from "../flame/path.ts";
import { nameOf } from "../flame/tree.ts";
import { FunctionTable } from "../table/table.tsx";
import { EndedToo, type Kept, trees } from "../worker/rpc.ts";
import { titleOf } from "./figures.tsx";
import { Failed } from "./parts.tsx";
import { again, go, matches, pointed, state } from "./store.ts";

export function Table(props: { kept: Kept }) {
  const s = state.value;
  const t = props.kept.tree;
  const [whole, setWhole] = useState(true);
  const zoom = useMemo(() => follow(t, s.zoom).node, [t, s.zoom]);
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
  const found = matches.value?.of === props.kept.id && s.search ? matches.value.found : null;
  const [chosen, setChosen] = useState(-1);
  useEffect(() => () => void (pointed.value = -1), [added]);
  if (failed) return <Failed what="The functions could not be added up" why={failed} retry={again} />;
  // Columns are of the functions of the tree that they were added up of.
  if (!added) return <div class="hint">Adding up the functions…</div>;
  return (
    <div class="tablepane">
      {zoom > 0 && (
        <label class="hint"><input type="checkbox" checked={!whole} onChange={(e) => setWhole(!e.currentTarget.checked)} /> only below {titleOf(t, zoom)}</label>
      )}
      <FunctionTable
        tree={added.of.tree}
        totals={added.totals}
        marked={found && added.of === props.kept ? found.functions : null}
        sort={s.sort}
        selected={chosen}
        onSort={(sort) => go({ sort }, false)}
        onSelect={setChosen}
        onPoint={(f) => (pointed.value = f)}
        onOpen={(f) => go({ panel: "sandwich", sandwich: nameOf(added.of.tree.functions, f) })}
      />
    </div>
  );
}
