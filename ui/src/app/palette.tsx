// SPDX-License-Identifier: Apache-2.0
// app/palette.tsx - all that can be done and gone to, found by some letters of its name

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { colorModes } from "../flame/color.ts";
import { visible } from "../flame/names.ts";
import { nameOf, weightsOf } from "../flame/tree.ts";
import { keyOf, settings } from "../settings/kept.ts";
import { shortcuts } from "../settings/settings.ts";
import { presets } from "../url/range.ts";
import { type Screen, groups } from "../url/state.ts";
import { Dialog } from "./dialog.tsx";
import { typeLabel } from "./explore.tsx";
import * as format from "./format.ts";
import { act, paletteOpen } from "./keys.ts";
import { best } from "./rank.ts";
import { go, screen, state, tree, types } from "./store.ts";
import { colorNames } from "./toolbar.tsx";

interface Command {
  text: string;
  note: string; // its key, or of what kind it is
  run: () => void;
}

const MOST = 40;
const MOST_FUNCTIONS = 2000;
const screenNames: Partial<Record<Screen, string>> = { explore: "Explore", compare: "Compare", targets: "Targets", pipeline: "Pipeline", status: "Status", open: "Open file" };

function commands(): Command[] {
  const s = state.value;
  const asks = screen.value === "explore" || screen.value === "compare" || screen.value === "function";
  const { q } = s;
  const rest = q.includes("{") ? q.slice(q.indexOf("{")) : "{}";
  return [
    ...(Object.keys(screenNames) as Screen[]).map((name) => ({ text: `Go to ${screenNames[name]!}`, note: "screen", run: () => go({}, true, name) })),
    ...shortcuts.filter((k) => k.id !== "go").map((k) => ({ text: k.text[0].toUpperCase() + k.text.slice(1), note: keyOf(k.id), run: () => act(k.id) })),
    ...(asks ? presets.map(([from, text]) => ({ text: `Last ${text}`, note: "time", run: () => go({ from, to: "now", sel: null }) })) : []),
    ...(asks ? groups.map((group) => ({ text: `Group by ${group}`, note: "graph", run: () => go({ group }) })) : []),
    ...colorModes.map((color) => ({ text: `Colour by ${colorNames[color]}`, note: "graph", run: () => go({ color }, false) })),
    ...(types.value.value ?? []).map((t) => ({ text: `Show ${typeLabel(t.type)}`, note: "profile type", run: () => go({ q: `${t.type}${rest}`, sel: null, zoom: "", selected: "" }, true, asks ? screen.value : "explore") })),
  ];
}

/** Of the tree that is there: those with the most weight of their own. */
function functionsOf(): Command[] {
  const t = tree.value.value?.tree;
  if (!t) return [];
  const weights = t.weights ?? weightsOf(t);
  const ids = Array.from(weights, (_, f) => f).sort((a, b) => weights[b] - weights[a]).slice(0, MOST_FUNCTIONS);
  // Functions of several files may have one name, which is what is gone to.
  const own = new Map<string, number>();
  for (const f of ids) {
    const name = nameOf(t.functions, f);
    own.set(name, (own.get(name) ?? 0) + weights[f]);
  }
  return [...own].map(([name, weight]) => ({ text: visible(name), note: `${format.percent(weight, t.total[0])} self`, run: () => go(screen.value === "function" ? { sandwich: name } : { panel: "sandwich", sandwich: name }) }));
}

function Palette() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const all = useMemo(() => [commands(), functionsOf()] as const, [state.value, tree.value.value, settings.value]);
  const found = useMemo(() => {
    const does = new Set(all[0]);
    return best(typed, typed.trim() ? [...all[0], ...all[1]] : all[0], (c) => c.text, MOST, (c) => does.has(c));
  }, [typed, all]);
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => list.current?.querySelector(".at")?.scrollIntoView({ block: "nearest" }), [at, found]);
  const run = (c: Command | undefined) => {
    if (!c) return;
    paletteOpen.value = false;
    // Behind the dialog: what it does may go where the focus goes back to, or open another one.
    setTimeout(c.run);
  };
  const onKey = (e: KeyboardEvent) => {
    const n = found.length;
    if (e.key === "ArrowDown") setAt(n ? (at + 1) % n : 0);
    else if (e.key === "ArrowUp") setAt(n ? (at + n - 1) % n : 0);
    else if (e.key === "Enter") run(found[at]);
    else return;
    e.preventDefault();
  };
  return (
    <div class="palette">
      <input ref={input} role="combobox" data-testid="palette-text" aria-label="A command, a screen or a function" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found.length ? `command-${at}` : undefined} placeholder="A command, a screen, a function…" spellcheck={false} autocomplete="off" value={typed} onInput={(e) => (setTyped(e.currentTarget.value), setAt(0))} onKeyDown={onKey} />
      <ul id="palette-list" ref={list} role="listbox" aria-label="What fits" data-testid="palette-list">
        {found.map((c, i) => (
          <li id={`command-${i}`} key={`${i}${c.text}`} role="option" aria-selected={i === at} class={i === at ? "at" : ""} onMouseMove={() => i !== at && setAt(i)} onClick={() => run(c)}>
            <span>{c.text}</span> <span class="muted">{c.note}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="hint" role="status">Nothing is called so.</p>}
    </div>
  );
}

export function PaletteDialog() {
  return <Dialog title="Commands" testid="palette" isOpen={paletteOpen}><Palette /></Dialog>;
}
