// SPDX-License-Identifier: Apache-2.0
// theme/theme.ts - light, dark, or as the system has it; and what the canvas must know of it

import { computed, effect, signal } from "@preact/signals";
import type { Theme } from "../flame/look.ts";
import { choose, valueOf } from "../settings/kept.ts";

const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));

export const isDark = computed(() => (valueOf("theme") === "system" ? systemDark.value : valueOf("theme") === "dark"));

const light: Theme = {
  dark: false, muted: "#d8d8d8", unmatched: "#dcdcdc", match: "#c24fd1", line: "#15181d", hover: "#15181d", panel: "#ffffff", stripes: "rgb(21 24 29 / 45%)", veil: "rgb(21 24 29 / 18%)",
};
const dark: Theme = {
  dark: true, muted: "#3a414c", unmatched: "#2a3038", match: "#e07ff0", line: "#ffffff", hover: "#ffffff", panel: "#171b22", stripes: "rgb(231 235 240 / 45%)", veil: "rgb(15 18 23 / 30%)",
};
export const theme = computed<Theme>(() => (isDark.value ? dark : light));

const order = ["system", "light", "dark"];

export function nextTheme(): void {
  choose("theme", order[(order.indexOf(valueOf("theme")) + 1) % order.length]);
}

effect(() => {
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
});
