// SPDX-License-Identifier: Apache-2.0
// app/share.tsx - what leaves the page: files and links

import * as api from "../api/client.ts";
import { functionTotals } from "../flame/functions.ts";
import { sorted } from "../table/columns.ts";
import { csvOf } from "../table/csv.ts";
import type { Kept } from "../worker/rpc.ts";
import { copy, download } from "./actions.ts";
import { panelRange, selectorText, state, toast, treeParams } from "./store.ts";

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

export function ExportMenu(props: { tree: Kept }) {
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

export function ShareMenu() {
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
