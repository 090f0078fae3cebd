// SPDX-License-Identifier: Apache-2.0
// app/values.ts - what can be done with a label's value, wherever it stands

import { visible } from "../flame/names.ts";
import { type Matcher, withMatcher, writeSelector } from "../query/selector.ts";
import { copy } from "./actions.ts";
import type { Item } from "./popup.tsx";
import { go, parsed, state } from "./store.ts";

function matching(name: string, op: Matcher["op"], value: string): string | null {
  return "selector" in parsed.value ? writeSelector(withMatcher(parsed.value.selector, { name, op, value })) : null;
}

export function valueItems(name: string, value: string): Item[] {
  const s = state.value;
  const only = matching(name, "=", value);
  const rest = matching(name, "!=", value);
  const text = visible(value) || "(empty)";
  const copyIt: Item = ["Copy the value", () => void copy(value, "the value")];
  if (only === null || rest === null) return [copyIt];
  const anew = { sel: null, zoom: "", selected: "" };
  return [
    [`Only ${name} ${text}`, () => go({ q: only, ...anew })],
    [`All but ${name} ${text}`, () => go({ q: rest, ...anew })],
    ["Compare it with the rest", () => go({ q: rest, b: { q: only, from: s.from, to: s.to }, ...anew }, true, "compare")],
    copyIt,
  ];
}

/** "name=value" of a frame that stands for one. */
export function labelOf(frame: string): [string, string] {
  const equals = frame.indexOf("=");
  return [frame.slice(0, equals), frame.slice(equals + 1)];
}
