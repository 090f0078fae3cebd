// SPDX-License-Identifier: Apache-2.0
// app/labels.tsx - some of the labels that there are: those that lead stacks, those that make lines

import { useState } from "preact/hooks";
import * as api from "../api/client.ts";
import { visible } from "../flame/names.ts";
import { writeName } from "../query/selector.ts";
import { Failed } from "./parts.tsx";
import { range, selectorText } from "./store.ts";

export interface LabelsProps {
  title: string;
  picked: string[];
  onPick: (names: string[]) => void;
  help: string;
  testid: string;
}

/** In the order in which they were picked. */
export function LabelsMenu(props: LabelsProps) {
  const { picked } = props;
  const [names, setNames] = useState<string[]>([]);
  const [failed, setFailed] = useState("");
  const load = async () => {
    if (!range.value) return setFailed("the time has no length");
    const [from, to] = range.value;
    setFailed("");
    try {
      setNames((await api.labels(selectorText.value, from, to)).labels.map((l) => l.name));
    } catch (e) {
      setFailed((e as Error).message);
    }
  };
  const toggle = (name: string) => props.onPick(picked.includes(name) ? picked.filter((n) => n !== name) : [...picked, name]);
  const all = [...new Set([...picked, ...names])];
  return (
    <details class="dropdown" data-testid={props.testid} onToggle={(e) => e.currentTarget.open && void load()}>
      <summary title={props.help}>{picked.length ? `${props.title}: ${picked.map(writeName).join(", ")}` : props.title}</summary>
      <div class="menu below left">
        {all.map((name) => (
          <label key={name}>
            <input type="checkbox" data-testid={`${props.testid}-${name}`} checked={picked.includes(name)} onChange={() => toggle(name)} /> {visible(name)}
          </label>
        ))}
        {failed && <Failed what="The labels are not known" why={failed} retry={() => void load()} />}
        {all.length === 0 && !failed && <span class="hint">No labels here</span>}
      </div>
    </details>
  );
}
