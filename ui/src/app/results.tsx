// SPDX-License-Identifier: Apache-2.0
// app/results.tsx - a tree: flame graph, table, both, a function's callers and callees

import { Chips } from "./chips.tsx";
import { Flame } from "./flamepane.tsx";
import { NoData } from "./nothing.tsx";
import { Empty, ErrorState, Failed } from "./parts.tsx";
import { Sandwich } from "./sandwich.tsx";
import { type Answer, again, arrangeError, arranging, failed, run, screen, shown, state, tree } from "./store.ts";
import { Summary } from "./summary.tsx";
import { Table } from "./tablepane.tsx";
import { Toolbar } from "./toolbar.tsx";

function Nothing(props: { asked: Answer }) {
  const { tree: t, from, to } = props.asked;
  if ((t.meta.filtered?.[0] ?? 0) !== 0)
    return (
      <Empty title="The filters leave nothing">
        <p>Everything that was found is filtered out.</p>
      </Empty>
    );
  return screen.value === "explore" ? <NoData from={from} to={to} /> : <Empty title="No data in this range"><p>The selectors match nothing that was stored then.</p></Empty>;
}

export function Results(props: { seconds: number }) {
  const asked = tree.value;
  const s = state.value;
  const kept = shown.value;
  if (failed(asked)) return <ErrorState error={asked.error!} retry={run} />;
  if (!asked.value || !kept) return asked.loading ? <div class="stage placeholder" /> : null;
  const nothing = asked.value.tree.n <= 1 && asked.value.tree.total[0] === 0;
  return (
    <section class={asked.loading || asked.error || arranging.value ? "stale" : ""} aria-label="Result">
      <Summary kept={asked.value} drawn={kept} seconds={props.seconds} />
      <Chips />
      {nothing ? (
        <Nothing asked={asked.value} />
      ) : (
        <>
          <Toolbar kept={kept} />
          {arrangeError.value && <Failed what="This order could not be made" why={arrangeError.value} retry={again} />}
          {(s.panel === "flame" || s.panel === "both") && <Flame kept={kept} seconds={props.seconds} />}
          {(s.panel === "table" || s.panel === "both") && <Table kept={kept} />}
          {s.panel === "sandwich" && <Sandwich kept={asked.value} seconds={props.seconds} />}
        </>
      )}
    </section>
  );
}
