// SPDX-License-Identifier: Apache-2.0
// settings/kept.ts - the settings that hold, kept by the browser for all of its tabs

import { computed, effect, signal } from "@preact/signals";
import { bytesStep } from "../app/format.ts";
import { type Settings, isUsual, read, usual, write } from "./settings.ts";

const PLACE = "decima-settings";

/** Why they last no longer than this tab; "": they do. */
export const unkept = signal("");

function stored(): Settings {
  try {
    const text = localStorage.getItem(PLACE);
    return text === null ? usual : read(text);
  } catch {
    // Not ours, of another version, or closed to us: as if nobody had set anything.
    return usual;
  }
}

export const settings = signal<Settings>(stored());

export function keep(s: Settings): void {
  settings.value = s;
  try {
    if (isUsual(s)) localStorage.removeItem(PLACE);
    else localStorage.setItem(PLACE, write(s));
    unkept.value = "";
  } catch (e) {
    unkept.value = (e as Error).message;
  }
}

/** Another tab has changed them. */
window.addEventListener("storage", (e: StorageEvent) => {
  if (e.key === PLACE || e.key === null) settings.value = stored();
});

export function choose(key: string, value: string): void {
  keep({ ...settings.value, values: { ...settings.value.values, [key]: value } });
}

export const valueOf = (key: string): string => settings.value.values[key];
export const keyOf = (id: string): string => settings.value.keys[id];

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
/** Asked when something is about to move. */
export const isStill = (): boolean => valueOf("motion") === "none" || reduced.matches;
export const rowHeight = computed(() => Number(valueOf("rows")));
/** In pixels; those that rows have room for are small, usual or large as they are. */
export const letterSize = computed(() => (valueOf("letters") === "rows" ? (rowHeight.value < 20 ? 11 : rowHeight.value > 20 ? 14 : 12) : Number(valueOf("letters"))));
effect(() => {
  bytesStep.value = Number(valueOf("bytes"));
});
