// SPDX-License-Identifier: Apache-2.0
// app/values.ts - what can be done with a label's value, wherever it stands

import { visible } from "../flame/names.ts";
import { type Matcher, parseSelector, withMatcher, writeSelector } from "../query/selector.ts";
import { type State, fixedTimes } from "../url/state.ts";
import { copy } from "./actions.ts";
import type { Item } from "./popup.tsx";
import { go, now, screen, state } from "./store.ts";

/** The selector with one matcher more; null: it is none. */
function matching(q: string, matcher: Matcher): string | null {
  const parsed = parseSelector(q);
  return "selector" in parsed ? writeSelector(withMatcher(parsed.selector, matcher)) : null;
}

/** Of a comparison both sides, where B has a selector of its own. */
function narrowed(s: State, matcher: Matcher): Partial<State> | null {
  const q = matching(s.q, matcher);
  const b = s.b.q && screen.value === "compare" ? matching(s.b.q, matcher) : s.b.q;
  return q === null || b === null ? null : { q, b: { ...s.b, q: b }, sel: screen.value === "compare" ? s.sel : null, zoom: "", selected: "" };
}

/** Only what has these values. */
export function narrowTo(labels: Record<string, string>): void {
  let s: State | null = state.value;
  for (const [name, value] of Object.entries(labels)) {
    const only: Partial<State> | null = s && narrowed(s, { name, op: "=", value });
    s = only && { ...s!, ...only };
  }
  if (s) go(s);
}

export function valueItems(name: string, value: string): Item[] {
  const s = state.value;
  const only = narrowed(s, { name, op: "=", value });
  const rest = narrowed(s, { name, op: "!=", value });
  const text = `${visible(name)} ${visible(value) || "(empty)"}`;
  const copyIt: Item = ["Copy the value", () => void copy(value, "the value")];
  if (only === null || rest === null) return [copyIt];
  // Of what was selected, else of the whole range, which goes on being as relative as it is.
  const times = s.sel && screen.value === "explore" ? fixedTimes(s, "explore", now.value) : {};
  const { from, to } = { ...s, ...times };
  return [
    [`Only ${text}`, () => go(only)],
    [`All but ${text}`, () => go(rest)],
    ["Compare it with the rest", () => go({ ...rest, ...times, b: { q: only.q!, from, to } }, true, "compare")],
    copyIt,
  ];
}
