// SPDX-License-Identifier: Apache-2.0
// app/share.tsx - what leaves the page: files and links

import * as api from "../api/client.ts";
import { colorFrames } from "../flame/color.ts";
import { plainRows } from "../flame/fold.ts";
import { exactTotals } from "../flame/exact.ts";
import { functionTotals } from "../flame/functions.ts";
import type { Look } from "../flame/look.ts";
import { follow } from "../flame/path.ts";
import { significance } from "../flame/significance.ts";
import { valueOf } from "../settings/kept.ts";
import { theme } from "../theme/theme.ts";
import { sorted } from "../table/columns.ts";
import { csvOf } from "../table/csv.ts";
import { fixedTimes } from "../url/state.ts";
import { copy, download } from "./actions.ts";
import { exactQuestion, exactRows } from "./exact.ts";
import { describe } from "./figures.tsx";
import { theRest } from "./later.tsx";
import { type Drawn, addressOf, matches, now, panelRange, screen, selectorText, state, toast, treeParams } from "./store.ts";

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

export function ExportMenu(props: Drawn) {
  /** What the table of all has. */
  const csv = async () => {
    const { tree } = props.upright;
    const added = functionTotals(tree);
    const asked = exactQuestion(tree);
    const exact = asked ? await exactRows(asked).catch(() => toast("The server did not say what the functions weigh that are not all here: they have at least this much")) : null;
    const totals = exact ? exactTotals(tree, added, exact).totals : added;
    const rows = sorted(tree, totals, state.value.sort, null);
    download("functions.csv", new Blob([csvOf(tree, totals, rows)], { type: "text/csv" }));
  };
  /** As it is coloured and zoomed on the screen. */
  const svg = async () => {
    const t = props.kept.tree;
    const s = state.value;
    const found = matches.value?.of === props.upright.id && s.search ? matches.value.found.functions : null;
    const zoom = follow(t, s.zoom).node;
    const look: Look = {
      theme: theme.value, coloring: colorFrames(t, s.color), changes: valueOf("changes"), marked: found, selected: -1, zoom,
      names: new Map(), significant: s.significant ? significance(t) : null, rows: plainRows(t), detail: s.detail,
    };
    const rest = await theRest().catch(() => toast("What draws pictures could not be fetched"));
    if (!rest) return;
    try {
      download("flame.svg", new Blob([rest.svgOf(t, zoom, look, s.flame, (n) => describe(t, n))], { type: "image/svg+xml" }));
    } catch (e) {
      toast(`This has no room in a picture: ${(e as Error).message}`);
    }
  };
  return (
    <details class="dropdown" data-testid="export">
      <summary>Export</summary>
      <div class="menu below">
        {screen.value === "explore" && exportKinds.map(([kind, text, name]) => (
          <button key={kind} onClick={() => void exportAs(kind, name)}>
            {text}
          </button>
        ))}
        <button onClick={() => void svg()}>SVG of the graph</button>
        <button onClick={() => void csv()}>CSV of the table</button>
      </div>
    </details>
  );
}

export function ShareMenu() {
  const fixed = () => new URL(addressOf({ ...state.value, ...fixedTimes(state.value, screen.value, now.value) }), location.href).href;
  return (
    <details class="dropdown" data-testid="share">
      <summary>Share</summary>
      <div class="menu below">
        <button data-testid="share-relative" onClick={() => void copy(location.href, "the link as it is")}>Copy link as shown</button>
        <button data-testid="share-fixed" onClick={() => void copy(fixed(), "the link with fixed times")}>Copy link with fixed times</button>
      </div>
    </details>
  );
}
