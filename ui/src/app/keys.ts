// SPDX-License-Identifier: Apache-2.0
// app/keys.ts - single keys, inactive where somebody writes, and off when somebody wants them off (WCAG 2.1.4)

import { signal } from "@preact/signals";
import { colorModes } from "../flame/color.ts";
import { choose, keyOf, settings, valueOf } from "../settings/kept.ts";
import { shortcuts } from "../settings/settings.ts";
import { nextTheme } from "../theme/theme.ts";
import { shifted } from "../url/range.ts";
import type { Panel, Screen } from "../url/state.ts";
import { copy } from "./actions.ts";
import { writing } from "./chips.tsx";
import { cancelTree, go, panelRange, range, screen, state, stepBack, tree } from "./store.ts";

export const helpOpen = signal(false);
export const settingsOpen = signal(false);
export const paletteOpen = signal(false);
export const linesOpen = signal(false);

/** Begins a new one. */
export function writeFilter(): void {
  if (screen.value !== "open") writing.value = state.value.chips.length;
}

export function setKeysOff(off: boolean): void {
  choose("single_keys", off ? "off" : "on");
}
export const keysOff = (): boolean => valueOf("single_keys") === "off";

/** Those of the graph, which has the focus for them, and what is no single key. */
const others: [string, string][] = [
  ["arrows", "caller, heaviest callee, siblings"], ["Enter", "zoom to the selected frame"], ["Backspace", "zoom out"], ["Home, 0", "zoom to all"], ["+ -", "closer and further"], ["Shift and arrows", "move what is seen"],
  ["Page up, down", "rows further up and down"], ["Shift", "held: what is told of a frame stays, to be copied from"], ["Shift and a drag", "on the graph: zoom to that part"], ["Shift F10", "what can be done with the frame"], ["Shift and arrows", "on the lines: select a time, which Enter takes"], ["Alt and a drag", "on the lines: compare that time with what is shown"], ["Right click", "on the lines: what is around a moment"],
  ["Ctrl F", "search; twice: the browser's own"], ["Ctrl K", "commands, screens and functions by name"], ["Ctrl Z, Ctrl Y", "a step back, and again"], ["Esc", "close; clear the selection; clear the search; cancel the question"],
];
export const help = (): [string, string][] => [...shortcuts.map((s): [string, string] => [keyOf(s.id), s.text]), ...others];

/** For titles: what a key does besides a click. */
export const keyHint = (id: string): string => (keysOff() ? "" : ` (${keyOf(id)})`);

/** What the graph on the screen can do with its selected frame, by shortcut; it says so itself. */
export const ofFrame: { acts: Record<string, () => void> } = { acts: {} };

const panels: Panel[] = ["flame", "table", "both", "sandwich"];
const places: Record<string, Screen> = { e: "explore", c: "compare", t: "targets", p: "pipeline", s: "status", o: "open" };
let afterGo = 0;

function writes(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement;
  return t.tagName === "INPUT" || t.tagName === "SELECT" || t.tagName === "TEXTAREA" || t.isContentEditable;
}

function escape(): void {
  // The browser closes what lies above the page.
  if (document.querySelector("dialog[open]")) return;
  const menu = document.querySelector<HTMLDetailsElement>("details.dropdown[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary")?.focus();
  } else if (state.value.selected) go({ selected: "" }, false);
  else if (state.value.search) go({ search: "" }, false);
  else if (tree.value.loading) cancelTree();
}

export function onKey(e: KeyboardEvent): void {
  if (e.key === "Escape" && !e.defaultPrevented) return escape();
  if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k") {
    e.preventDefault();
    paletteOpen.value = !document.querySelector("dialog[open]");
    return;
  }
  const search = document.querySelector<HTMLInputElement>("[data-testid=search]");
  // A table's rows are not all in the page: the browser would not find them. Asked twice, it searches.
  if ((e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key === "f" && search && search !== document.activeElement && !document.querySelector("dialog[open]")) {
    e.preventDefault();
    search.select();
    search.focus();
    return;
  }
  if ((e.ctrlKey || e.metaKey) && !writes(e) && (e.key === "z" || e.key === "y")) {
    e.preventDefault();
    if (e.key === "z") stepBack();
    else history.forward();
    return;
  }
  if (e.defaultPrevented || keysOff() || e.ctrlKey || e.metaKey || e.altKey || writes(e)) return;
  if (Date.now() - afterGo < 1000 && places[e.key]) {
    afterGo = 0;
    go({}, true, places[e.key]);
    e.preventDefault();
    return;
  }
  const id = shortcuts.find((s) => settings.value.keys[s.id] === e.key)?.id;
  if (!id || document.querySelector("dialog[open]")) return;
  e.preventDefault();
  act(id);
}

/** The time before or after it, as long as it is. */
const beside = (r: [number, number], by: -1 | 1) => shifted(r, by * (r[1] - r[0]));

function goBeside(by: -1 | 1): void {
  if (range.value) go({ ...beside(range.value, by), sel: null });
}

const windows: Record<string, () => void> = {
  earlier: () => goBeside(-1),
  later: () => goBeside(1),
  compare: () => {
    // What is shown, whose time before does not move on either.
    const r = panelRange.value;
    if (screen.value === "explore" && r) go({ ...beside(r, -1), sel: null, b: { q: state.value.q, from: String(r[0]), to: String(r[1]) }, zoom: "", selected: "" }, true, "compare");
  },
  copy_link: () => void copy(location.href, "the link"),
};

export function act(id: string): void {
  const s = state.value;
  const actions: Record<string, () => void> = {
    search: () => document.querySelector<HTMLInputElement>("[data-testid=search]")?.focus(),
    filter: writeFilter,
    help: () => (helpOpen.value = true),
    settings: () => (settingsOpen.value = true),
    go: () => (afterGo = Date.now()),
    invert: () => go({ inverted: !s.inverted, zoom: "", selected: "" }),
    loops: () => go({ loops: !s.loops, zoom: "", selected: "" }),
    orientation: () => go({ flame: !s.flame }, false),
    colour: () => go({ color: colorModes[(colorModes.indexOf(s.color) + 1) % colorModes.length] }, false),
    theme: nextTheme,
  };
  for (const panel of panels) actions[panel] = () => go({ panel });
  (actions[id] ?? windows[id] ?? ofFrame.acts[id])?.();
}
