// SPDX-License-Identifier: Apache-2.0
// app/chips.tsx - the filters: each can be changed where it stands, and one can be written

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visible } from "../flame/names.ts";
import { type Chip, type ChipKind, type FilterField, chipText, fields, readChipText } from "../url/state.ts";
import { go, state } from "./store.ts";

const chipNames: Record<ChipKind, string> = { SS: "only stacks with", HS: "without stacks with", SFF: "from", HF: "hide" };
const fieldNames: Record<FilterField, string> = { fn: "function", bin: "binary", file: "file", line: "line", addr: "address", kind: "kind" };

/** The number of the chip that is written; as many as there are: a new one; -1: none. */
export const writing = signal(-1);

function set(chips: Chip[]): void {
  writing.value = -1;
  go({ chips, zoom: "", selected: "" });
}

/** The server refuses what is no expression; it is told here already. */
function faultOf(isExpression: boolean, text: string): string {
  if (text === "") return "A filter needs a text";
  if (!isExpression) return "";
  try {
    return (new RegExp(text), "");
  } catch (e) {
    return (e as Error).message.replace(/^Invalid regular expression: /, "");
  }
}

function ChipEditor(props: { chip: Chip; onTake: (chip: Chip) => void }) {
  const was = readChipText(props.chip.text);
  const [kind, setKind] = useState(props.chip.kind);
  const [field, setField] = useState(was.field);
  const [exact, setExact] = useState(was.exact);
  const [text, setText] = useState(was.text);
  const [fault, setFault] = useState("");
  const input = useRef<HTMLInputElement>(null);
  // Before it is seen: a key that is pressed then is meant for it.
  useLayoutEffect(() => (input.current?.focus(), input.current?.select()), []);
  const take = () => {
    const wrong = faultOf(!exact, text);
    setFault(wrong);
    if (!wrong) props.onTake({ kind, text: chipText({ field, exact, text }) });
  };
  const cancel = (e: KeyboardEvent) => {
    if (e.key !== "Escape") return;
    e.preventDefault();
    writing.value = -1;
  };
  return (
    <form class="chip writing" data-testid="chip-editor" onSubmit={(e) => (e.preventDefault(), take())} onKeyDown={cancel}>
      <select aria-label="What the filter does" data-testid="chip-kind" value={kind} onChange={(e) => setKind(e.currentTarget.value as ChipKind)}>
        {(Object.keys(chipNames) as ChipKind[]).map((k) => <option key={k} value={k}>{chipNames[k]}</option>)}
      </select>
      <select aria-label="Of which" data-testid="chip-field" value={field} onChange={(e) => setField(e.currentTarget.value as FilterField)}>
        {fields.map((f) => <option key={f} value={f}>{fieldNames[f]}</option>)}
      </select>
      <select aria-label="How it is compared" data-testid="chip-how" value={exact ? "=" : "~"} onChange={(e) => setExact(e.currentTarget.value === "=")}>
        <option value="=">is</option>
        <option value="~">matches</option>
      </select>
      <input ref={input} data-testid="chip-text" aria-label="Text" aria-invalid={fault !== ""} spellcheck={false} autocomplete="off" value={text} onInput={(e) => (setText(e.currentTarget.value), setFault(""))} />
      <button class="primary" data-testid="chip-take">Filter</button>
      <button type="button" aria-label="Leave it as it was" title="Leave it as it was (Esc)" onClick={() => (writing.value = -1)}>×</button>
      {fault && <span class="problem" role="alert" data-testid="chip-fault">{fault}</span>}
    </form>
  );
}

export function Chips() {
  const { chips } = state.value;
  const at = writing.value;
  if (!chips.length && at < 0) return null;
  const replaced = (i: number, chip: Chip) => set([...chips.slice(0, i), chip, ...chips.slice(i + 1)]);
  return (
    <div class="chips" data-testid="filters">
      {chips.map((c, i) => i === at ? <ChipEditor key={`${i} is written`} chip={c} onTake={(chip) => replaced(i, chip)} /> : (
        <span class="chip" key={`${c.kind}${c.text}`} data-testid={`chip-${i}`}>
          <button data-testid={`chip-${i}-edit`} title="Change this filter" onClick={() => (writing.value = i)}>{chipNames[c.kind]} <b>{visible(c.text.replace(/^fn:=/, ""))}</b></button>
          <button aria-label={`Remove the filter ${visible(c.text)}`} onClick={() => set(chips.filter((_, k) => k !== i))}>×</button>
        </span>
      ))}
      {at >= chips.length && <ChipEditor chip={{ kind: "SS", text: "" }} onTake={(chip) => set([...chips, chip])} />}
      {chips.length > 1 && <button class="link" onClick={() => set([])}>remove all</button>}
    </div>
  );
}
