// SPDX-License-Identifier: Apache-2.0
// app/actions.ts - what more than one part of the page does: copy, save, filter

import type { ChipKind, Screen } from "../url/state.ts";
import { go, state, toast } from "./store.ts";

/** A filter that matches the whole name. */
export function exactly(name: string): string {
  return `fn:=${name}`;
}

/** Of a link to a screen: a plain click stays in this page; what is for another tab or window is the browser's. */
export function follows(where: Screen): (e: MouseEvent) => void {
  return (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go({}, true, where);
  };
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard on plain http: the old way.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) return toast(`This browser does not let ${what} be copied`);
  }
  toast(`Copied ${what}`);
}

export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function addChip(kind: ChipKind, text: string): void {
  const chips = state.value.chips;
  if (chips.some((c) => c.kind === kind && c.text === text)) return;
  go({ chips: [...chips, { kind, text }], zoom: "", selected: "" });
}
