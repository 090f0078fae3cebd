// SPDX-License-Identifier: Apache-2.0
// app/chips.tsx - the filters

import { visible } from "../flame/names.ts";
import type { Chip, ChipKind } from "../url/state.ts";
import { go, state } from "./store.ts";

const chipNames: Record<ChipKind, string> = { SS: "only stacks with", HS: "without stacks with", SFF: "from", HF: "hide" };

export function Chips() {
  const s = state.value;
  const set = (chips: Chip[]) => go({ chips, zoom: "", selected: "" });
  if (!s.chips.length) return null;
  return (
    <div class="chips" data-testid="filters">
      {s.chips.map((c, i) => (
        <span class="chip" key={`${c.kind}${c.text}`} data-testid={`chip-${i}`}>
          {chipNames[c.kind]} <b>{visible(c.text.replace(/^fn:=/, ""))}</b>
          <button aria-label={`Remove the filter ${c.text}`} onClick={() => set(s.chips.filter((_, k) => k !== i))}>
            ×
          </button>
        </span>
      ))}
      {s.chips.length > 1 && (
        <button class="link" onClick={() => set([])}>
          remove all
        </button>
      )}
    </div>
  );
}
