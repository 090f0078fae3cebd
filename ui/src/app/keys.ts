// SPDX-License-Identifier: Apache-2.0
// app/keys.ts - single keys, inactive where somebody writes, and off when somebody wants them off (WCAG 2.1.4)

import { signal } from "@preact/signals";
import { colorModes } from "../flame/color.ts";
import { nextTheme } from "../theme/theme.ts";
import type { Panel, Screen } from "../url/state.ts";
import { cancelTree, go, state, tree } from "./store.ts";

export const helpOpen = signal(false);
const OFF = "decima-keys-off";
export const keysOff = signal(localStorage.getItem(OFF) === "1");

export function setKeysOff(off: boolean): void {
  keysOff.value = off;
  if (off) localStorage.setItem(OFF, "1");
  else localStorage.removeItem(OFF);
}

export const help: [string, string][] = [
  ["/", "search"], ["1 2 3 4", "flame graph, table, both, callers and callees"], ["arrows", "caller, heaviest callee, siblings"],
  ["Enter", "zoom to the selected frame"], ["Backspace", "zoom out"], ["Home, 0", "zoom to all"], ["i", "leaves first"], ["o", "root below or above"],
  ["b", "next colouring"], ["t", "next theme"], ["Alt and a drag on the lines", "compare that time with what is shown"], ["Esc", "close; clear the selection; clear the search; cancel the question"],
  ["g e, g c, g t, g p, g s", "Explore, Compare, Targets, Pipeline, Status"], ["?", "this list"],
];

const panels: Panel[] = ["flame", "table", "both", "sandwich"];
const places: Record<string, Screen> = { e: "explore", c: "compare", t: "targets", p: "pipeline", s: "status" };
let afterG = 0;

function writes(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement;
  return t.tagName === "INPUT" || t.tagName === "SELECT" || t.tagName === "TEXTAREA" || t.isContentEditable;
}

function escape(): void {
  if (helpOpen.value) helpOpen.value = false;
  else if (state.value.selected) go({ selected: "" }, false);
  else if (state.value.search) go({ search: "" }, false);
  else if (tree.value.loading) cancelTree();
}

export function onKey(e: KeyboardEvent): void {
  if (e.key === "Escape" && !e.defaultPrevented) return escape();
  if (e.defaultPrevented || keysOff.value || e.ctrlKey || e.metaKey || e.altKey || writes(e)) return;
  if (Date.now() - afterG < 1000 && places[e.key]) {
    afterG = 0;
    go({}, true, places[e.key]);
    e.preventDefault();
    return;
  }
  const s = state.value;
  const actions: Record<string, () => void> = {
    "/": () => document.querySelector<HTMLInputElement>("[data-testid=search]")?.focus(),
    "?": () => (helpOpen.value = !helpOpen.value),
    g: () => (afterG = Date.now()),
    i: () => go({ inverted: !s.inverted, zoom: "", selected: "" }),
    o: () => go({ flame: !s.flame }, false),
    b: () => go({ color: colorModes[(colorModes.indexOf(s.color) + 1) % colorModes.length] }, false),
    t: nextTheme,
  };
  panels.forEach((p, i) => (actions[String(i + 1)] = () => go({ panel: p })));
  const act = actions[e.key];
  if (!act) return;
  e.preventDefault();
  act();
}
