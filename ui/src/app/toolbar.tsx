// SPDX-License-Identifier: Apache-2.0
// app/toolbar.tsx - how the tree is shown, and what is searched for in it

import { colorModes } from "../flame/color.ts";
import { MOST_DETAIL } from "../flame/names.ts";
import { hasTrimmed } from "../flame/tree.ts";
import { type Panel, groups } from "../url/state.ts";
import type { Kept } from "../worker/rpc.ts";
import * as format from "./format.ts";
import { keyHint, ofFrame, writeFilter } from "./keys.ts";
import { LabelsMenu } from "./labels.tsx";
import { go, matchPlace, matches, screen, searchAgain, searchError, searchFailed, state } from "./store.ts";

const panelNames: [Panel, string][] = [["flame", "Flame graph"], ["table", "Table"], ["both", "Both"], ["sandwich", "Callers & callees"]];
export const colorNames: Record<string, string> = { binary: "binary", kind: "kind", file: "source folder", name: "function", label: "label", self: "self weight", none: "one colour" };
const detailNames = ["last part only", "no template arguments", "no arguments", "what fits", "whole"];

/** How much of names is written, by steps. */
function Detail() {
  const s = state.value;
  const step = (by: number) => go({ detail: Math.min(Math.max(s.detail + by, 0), MOST_DETAIL) }, false);
  return (
    <span class="stepper" role="group" aria-label="Detail of names">
      <button data-testid="names-less" aria-label="Shorter names" disabled={s.detail === 0} onClick={() => step(-1)}>−</button>
      <span data-testid="names" aria-live="polite" title={detailNames[s.detail]}>Names</span>
      <button data-testid="names-more" aria-label="Longer names" disabled={s.detail === MOST_DETAIL} onClick={() => step(1)}>+</button>
    </span>
  );
}

/** How frames stand, and what they say: not of tables. */
function FlameControls() {
  const s = state.value;
  return (
    <>
      <label>Order <select data-testid="fg-order" value={s.byName ? "name" : "weight"} onChange={(e) => go({ byName: e.currentTarget.value === "name" }, false)}><option value="weight">weight</option><option value="name">name</option></select></label>
      <button aria-pressed={s.inverted} data-testid="invert" title={`Leaves first${keyHint("invert")}`} onClick={() => go({ inverted: !s.inverted, zoom: "", selected: "" })}>Invert</button>
      <button aria-pressed={s.flame} data-testid="orientation" title={`Root at the bottom${keyHint("orientation")}`} onClick={() => go({ flame: !s.flame }, false)}>{s.flame ? "Flame" : "Icicle"}</button>
      <button aria-pressed={s.loops} data-testid="loops" title={`Recursion folded: no function below itself${keyHint("loops")}`} onClick={() => go({ loops: !s.loops, zoom: "", selected: "" })}>Fold loops</button>
      <button aria-pressed={s.folded} data-testid="fold" title="Chains of three or more frames that are all of each other, as one" onClick={() => go({ folded: !s.folded }, false)}>Fold chains</button>
      <Detail />
    </>
  );
}


export function Toolbar(props: { kept: Kept }) {
  const s = state.value;
  const t = props.kept.tree;
  const found = matches.value?.of === props.kept.id ? matches.value.found : null;
  return (
    <div class="toolbar">
      <div class="tabs" role="tablist" aria-label="How it is shown">
        {panelNames.map(([p, text]) => (
          <button key={p} role="tab" data-testid={`panel-${p}`} aria-selected={s.panel === p} title={`${text}${keyHint(p)}`} onClick={() => go({ panel: p })}>{text}</button>
        ))}
      </div>
      {screen.value !== "open" && <label>Group by <select data-testid="fg-group" value={s.group} onChange={(e) => go({ group: e.currentTarget.value as typeof s.group })}>{groups.map((g) => <option key={g} value={g}>{g}</option>)}</select></label>}
      {screen.value !== "open" && <LabelsMenu title="Labels" testid="fg-labels" help="Labels whose values lead each stack" picked={s.by} onPick={(by) => go({ by, zoom: "", selected: "" })} />}
      {screen.value !== "open" && <button data-testid="filter-add" title={`Only some stacks, or without some frames${keyHint("filter")}`} onClick={writeFilter}>+ Filter</button>}
      {!t.b && <label>Colour <select data-testid="fg-colour" value={s.color} onChange={(e) => go({ color: e.currentTarget.value as typeof s.color }, false)}>{colorModes.map((m) => <option key={m} value={m}>{colorNames[m]}</option>)}</select></label>}
      {(s.panel === "flame" || s.panel === "both") && <FlameControls />}
      <span class="search">
        <input type="search" data-testid="search" aria-label="Search functions by regular expression" placeholder={`Search${keyHint("search")}`} value={s.search} aria-invalid={searchError.value !== ""} onInput={(e) => go({ search: e.currentTarget.value }, false)} />
        <span data-testid="search-count" aria-live="polite" class={searchError.value ? "problem" : "muted"}>
          {searchError.value || (found && s.search ? `${hasTrimmed(t) ? "at least " : ""}${format.percent(found.weight, t.total[0])} in ${format.count(found.nodes)} frames` : "")}
        </span>
        {found && s.search && found.nodes > 0 && (s.panel === "flame" || s.panel === "both") && (
          <span class="tabs">
            <button data-testid="search-previous" aria-label="Match before" title={`Match before${keyHint("previous")}`} onClick={() => ofFrame.acts.previous?.()}>‹</button>
            {matchPlace.value.at > 0 && <span class="muted place" data-testid="search-place">{format.count(matchPlace.value.at)}/{format.count(matchPlace.value.of)}</span>}
            <button data-testid="search-next" aria-label="Next match" title={`Next match${keyHint("next")}`} onClick={() => ofFrame.acts.next?.()}>›</button>
          </span>
        )}
        {searchFailed.value && <button class="link" data-testid="search-retry" onClick={searchAgain}>Try again</button>}
      </span>
    </div>
  );
}
