// SPDX-License-Identifier: Apache-2.0
// app/results.tsx - a tree: flame graph, table, both, a function's callers and callees

import { Chips } from "./chips.tsx";
import { Flame } from "./flamepane.tsx";
import { Empty, ErrorState, Failed } from "./parts.tsx";
import { Sandwich } from "./sandwich.tsx";
import { arrangeError, arranging, askArranged, run, shown, state, tree } from "./store.ts";
import { Summary } from "./summary.tsx";
import { Table } from "./tablepane.tsx";
import { Toolbar } from "./toolbar.tsx";

export function Results(props: { seconds: number }) {
  const asked = tree.value;
  const s = state.value;
  const kept = shown.value;
  if (asked.error) return <ErrorState error={asked.error} retry={run} />;
  if (!asked.value || !kept) return asked.loading ? <div class="stage placeholder" /> : null;
  const t = kept.tree;
  const nothing = asked.value.tree.n <= 1 && asked.value.tree.total[0] === 0;
  return (
    <section class={asked.loading || arranging.value ? "stale" : ""} aria-label="Result">
      <Summary kept={asked.value} seconds={props.seconds} />
      <Chips />
      {nothing ? (
        <Empty title={(t.meta.filtered?.[0] ?? 0) !== 0 ? "The filters leave nothing" : "No data in this range"}>
          <p>{(t.meta.filtered?.[0] ?? 0) !== 0 ? "Everything that was found is filtered out." : "The selector matches nothing that was stored then. Another range or fewer matchers may."}</p>
        </Empty>
      ) : (
        <>
          <Toolbar kept={kept} />
          {arrangeError.value && <Failed what="This order could not be made" why={arrangeError.value} retry={() => void askArranged()} />}
          {(s.panel === "flame" || s.panel === "both") && <Flame kept={kept} seconds={props.seconds} />}
          {(s.panel === "table" || s.panel === "both") && <Table kept={kept} />}
          {s.panel === "sandwich" && <Sandwich kept={asked.value} seconds={props.seconds} />}
        </>
      )}
    </section>
  );
}
