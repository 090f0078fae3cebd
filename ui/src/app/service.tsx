// SPDX-License-Identifier: Apache-2.0
// app/service.tsx - of all that there is, one service: where nothing has been narrowed yet

import { computed } from "@preact/signals";
import { useState } from "preact/hooks";
import * as api from "../api/client.ts";
import { visible } from "../flame/names.ts";
import * as format from "./format.ts";
import { Failed } from "./parts.tsx";
import { useQuestion } from "./question.ts";
import { parsed, range, selectorText } from "./store.ts";
import { narrowTo } from "./values.ts";

/** The selector is of a type, and of all that has it. */
export const isWhole = computed(() => "selector" in parsed.value && parsed.value.selector.type !== "" && !parsed.value.selector.matchers.length);

/** What people call a service: the first of these labels that there is. */
const labels = ["service_name", "service.name", "job", "comm"];
const MOST = 50;

interface Services {
  label: string;
  values: api.Named[];
}

async function servicesOf(q: string, [from, to]: [number, number], signal: AbortSignal): Promise<Services> {
  const there = (await api.labels(q, from, to, signal)).labels.map((l) => l.name);
  const label = labels.find((l) => there.includes(l));
  if (!label) return { label: "", values: [] };
  const { values } = await api.values(label, q, from, to, signal);
  return { label, values: [...values].sort((a, b) => b.series - a.series || a.name.localeCompare(b.name)) };
}

export function ServiceMenu() {
  const [isOpen, setOpen] = useState(false);
  const [turn, setTurn] = useState(0);
  const time = range.value;
  const { value: found, failed } = useQuestion(isOpen && time ? `${selectorText.value} ${time} ${turn}` : "", (signal) => servicesOf(selectorText.value, time!, signal));
  return (
    <details class="dropdown plain" data-testid="service" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Choose a service</summary>
      <div class="menu below left">
        {found?.values.slice(0, MOST).map((v) => (
          <button key={v.name} data-testid={`service-${v.name}`} onClick={() => narrowTo({ [found.label]: v.name })}>
            {visible(v.name) || "(empty)"} <span class="muted">{format.count(v.series)} series</span>
          </button>
        ))}
        {found && found.values.length > MOST && <span class="hint">and {format.count(found.values.length - MOST)} more: write {found.label} in the selector</span>}
        {found?.values.length === 0 && <span class="hint">No label here says of which service a profile is</span>}
        {failed && <Failed what="The services are not known" why={failed} retry={() => setTurn(turn + 1)} />}
      </div>
    </details>
  );
}
