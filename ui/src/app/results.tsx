// SPDX-License-Identifier: Apache-2.0
// app/results.tsx - a tree: flame graph, table, both, a function's callers and callees

import { Chips } from "./chips.tsx";
import { Flame } from "./flamepane.tsx";
import { Later } from "./later.tsx";
import { Empty, ErrorState, Failed } from "./parts.tsx";
import { type Answer, again, arrangeError, arranging, failed, isOld, run, screen, shown, state, tree } from "./store.ts";
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
  return screen.value === "explore" ? <Later of="NoData" from={from} to={to} /> : <Empty title="No data in this range"><p>The selectors match nothing that was stored then.</p></Empty>;
}

export function Results() {
  const asked = tree.value;
  const s = state.value;
  const drawn = shown.value;
  if (failed(asked)) return <ErrorState error={asked.error!} retry={run} />;
  if (!asked.value || !drawn) return asked.loading ? <div class="stage placeholder" /> : null;
  const { from, to, tree: t } = asked.value;
  const nothing = t.n <= 1 && t.total[0] === 0;
  // A comparison has two lengths of time, a file says none.
  const seconds = screen.value === "explore" ? (to - from) / 1000 : 0;
  return (
    <section class={asked.loading || asked.error || arranging.value || isOld.value ? "stale" : ""} aria-label="Result">
      {isOld.value && !asked.loading && !asked.error && (
        <p class="amber" role="status" data-testid="old">This is the answer to the question before. Another one has been asked since, and was cancelled. <button class="link" data-testid="old-retry" onClick={again}>Ask it</button></p>
      )}
      <Summary kept={asked.value} drawn={drawn} seconds={seconds} />
      <Chips />
      {nothing ? (
        <Nothing asked={asked.value} />
      ) : (
        <>
          <Toolbar kept={drawn.upright} />
          {arrangeError.value && <Failed what="This order could not be made" why={arrangeError.value} retry={again} />}
          {(s.panel === "flame" || s.panel === "both") && <Flame {...drawn} seconds={seconds} />}
          {(s.panel === "table" || s.panel === "both") && <Table kept={drawn.upright} />}
          {s.panel === "sandwich" && <Later of="Sandwich" kept={asked.value} seconds={seconds} />}
        </>
      )}
    </section>
  );
}
