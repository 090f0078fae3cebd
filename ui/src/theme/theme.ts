// SPDX-License-Identifier: Apache-2.0
// theme/theme.ts - light, dark, or as the system has it; and what the canvas must know of it

import { computed, effect, signal } from "@preact/signals";
import type { Theme } from "../flame/paint.ts";

export type Choice = "system" | "light" | "dark";
const KEY = "decima-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

function stored(): Choice {
  const v = localStorage.getItem(KEY);
  return v === "light" || v === "dark" ? v : "system";
}

export const choice = signal<Choice>(stored());
export const isDark = computed(() => (choice.value === "system" ? systemDark.value : choice.value === "dark"));

const light: Theme = {
  dark: false, muted: "#d8d8d8", unmatched: "#dcdcdc", match: "#c24fd1", text: "#111111", line: "#15181d", hover: "#15181d", panel: "#ffffff", stripes: "rgb(21 24 29 / 45%)",
};
const dark: Theme = {
  dark: true, muted: "#3a414c", unmatched: "#2a3038", match: "#e07ff0", text: "#111111", line: "#ffffff", hover: "#ffffff", panel: "#171b22", stripes: "rgb(231 235 240 / 45%)",
};
export const theme = computed<Theme>(() => (isDark.value ? dark : light));

export function nextTheme(): void {
  const order: Choice[] = ["system", "light", "dark"];
  choice.value = order[(order.indexOf(choice.value) + 1) % 3];
}

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
  if (choice.value === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, choice.value);
});
