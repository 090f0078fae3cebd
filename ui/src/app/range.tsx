// SPDX-License-Identifier: Apache-2.0
// app/range.tsx - which time is asked for: of those that most people want, or from one moment to another

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { moment, presets, readMoment } from "../url/range.ts";
import { Dialog } from "./dialog.tsx";
import * as format from "./format.ts";
import { now, state } from "./store.ts";

export interface RangeProps {
  from: string;
  to: string;
  onChange: (from: string, to: string) => void;
  testid: string;
}

/** Which picker's range is written by hand. */
const written = signal<RangeProps | null>(null);
const isOpen = {
  get value() {
    return written.value !== null;
  },
  set value(open: boolean) {
    if (!open) written.value = null;
  },
};

export function RangePicker(props: RangeProps) {
  const from = moment(props.from, now.value);
  // The day once, where both are of one.
  const text = (at: string, today: number) => (at === "now" ? at : format.time(moment(at, now.value), state.value.utc, today));
  const known = presets.some(([p]) => p === props.from) && props.to === "now";
  const choose = (select: HTMLSelectElement) => {
    const { value } = select;
    if (value === "written") {
      written.value = props;
      // What is chosen is not yet.
      select.value = known ? props.from : "fixed";
    } else if (value !== "fixed") props.onChange(value, "now");
  };
  return (
    <select aria-label="Time range" data-testid={props.testid} value={known ? props.from : "fixed"} onChange={(e) => choose(e.currentTarget)}>
      {presets.map(([value, name]) => <option key={value} value={value}>Last {name}</option>)}
      {!known && <option value="fixed">{`${text(props.from, now.value)} \u2013 ${text(props.to, from)}`}</option>}
      <option value="written">From … to …</option>
    </select>
  );
}

/** As it is written into a field: relative ones as they are, others by the clock. */
function fieldOf(text: string): string {
  if (text.startsWith("now")) return text;
  const { day, clock } = format.dayAndClock(moment(text, now.value), state.value.utc);
  return `${day} ${clock}`;
}

function Fields(props: RangeProps) {
  const [from, setFrom] = useState(fieldOf(props.from));
  const [to, setTo] = useState(fieldOf(props.to));
  const [fault, setFault] = useState("");
  const { utc } = state.value;
  const take = () => {
    const [a, b] = [readMoment(from, utc), readMoment(to, utc)];
    if (a === null || b === null) return setFault(`${a === null ? "From" : "To"} is no time`);
    if (!(moment(a, Date.now()) < moment(b, Date.now()))) return setFault("The end is not after the beginning");
    isOpen.value = false;
    props.onChange(a, b);
  };
  const field = (name: string, testid: string, value: string, set: (text: string) => void) => (
    <label class="setting">
      <span>{name}</span>
      <input data-testid={testid} value={value} spellcheck={false} autocomplete="off" aria-describedby="range-forms" onInput={(e) => (set(e.currentTarget.value), setFault(""))} />
    </label>
  );
  return (
    <form onSubmit={(e) => (e.preventDefault(), take())}>
      {field("From", "range-from", from, setFrom)}
      {field("To", "range-to", to, setTo)}
      <p class="about" id="range-forms">A day and a time ({utc ? "UTC" : "local time"}): 2026-11-23 14:02, or 14:02:30 of today. Or back from now: now-90m, now-2d, now.</p>
      <p class="problem" role="alert" data-testid="range-fault">{fault}</p>
      <button class="primary" data-testid="range-take">Show this time</button>
    </form>
  );
}

export function RangeDialog() {
  const of = written.value;
  return <Dialog title="From … to …" testid="range-dialog" isOpen={isOpen}>{of && <Fields {...of} />}</Dialog>;
}
