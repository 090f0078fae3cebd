// SPDX-License-Identifier: Apache-2.0
// query/editor.tsx - the selector as text, with what may come next below it

import { count } from "../app/format.ts";
import { visible } from "../flame/names.ts";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import * as api from "../api/client.ts";
import { type Fault, type Place, meaning, parseSelector, placeAt, quote, writeName } from "./selector.ts";

export interface EditorProps {
  text: string;
  types: api.TypeInfo[];
  from: number;
  to: number;
  onRun: (text: string) => void;
  onFault?: (isWrong: boolean) => void; // of what is typed
  told?: Fault | null; // what the server says of `text`
  label: string;
  testid?: string;
}

interface Offer {
  text: string;
  note: string;
}

/** What may stand at a place of the text: taken anywhere else it would be put where it does not belong. */
interface Offers {
  place: Place;
  list: Offer[];
  failed: string; // why there are none
}

const MOST = 50;
const IDLE_MS = 400;

const nothing: Offers = { place: { what: "nothing" }, list: [], failed: "" };

/** Offers for the one are good for the other, once more has been typed. */
const isSame = (a: Place, b: Place) =>
  a.what !== "nothing" && b.what === a.what && a.from === b.from && (a.what !== "value" || b.what !== "value" || a.label === b.label);

async function offersFor(place: Place, props: EditorProps, text: string): Promise<Offer[]> {
  const typed = place.what === "nothing" ? "" : "quoted" in place && place.quoted ? meaning(place.text, text[place.from - 1]) : place.text;
  const begins = (s: string) => s.toLowerCase().includes(typed.toLowerCase());
  const type = text.slice(0, Math.max(text.indexOf("{"), 0)).trim();
  const match = props.types.some((t) => t.type === type) ? `${type}{}` : "";
  switch (place.what) {
    case "type":
      return props.types.filter((t) => begins(t.type)).map((t) => ({ text: t.type, note: `${count(t.profiles)} profiles` }));
    case "label": {
      const { labels } = await api.labels(match, props.from, props.to);
      return labels.filter((l) => begins(l.name)).map((l) => ({ text: l.name, note: `${l.series} series` }));
    }
    case "operator":
      return ["=", "!=", "=~", "!~"].filter((o) => o.startsWith(place.text)).map((o) => ({ text: o, note: "" }));
    case "value": {
      const of = (prefix: string) => api.values(place.label, match, props.from, props.to, undefined, prefix);
      let { values, truncated } = await of("");
      // There are more than a list has: at least those that begin with what is typed.
      if (truncated && typed) values = [...(await of(typed)).values, ...values.filter((v) => !v.name.startsWith(typed))];
      return values.filter((v) => begins(v.name)).map((v) => ({ text: v.name, note: `${v.series} series` }));
    }
    default:
      return [];
  }
}

export function QueryEditor(props: EditorProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(props.text);
  const [{ place: offered, list: offers, failed }, setOffers] = useState(nothing);
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const asked = useRef(0);
  const list = useId();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  useEffect(() => setText(props.text), [props.text]);

  const parsed = parseSelector(text);
  const own = "fault" in parsed ? parsed.fault : null;
  const fault = own ?? (text === props.text ? (props.told ?? null) : null);

  const isWrong = fault !== null && text !== "";
  // What the server could not take may be asked once more.
  useEffect(() => props.onFault?.(isWrong && own !== null), [isWrong, own !== null]);

  const complete = (value: string, caret: number) => {
    const mine = ++asked.current;
    const place = placeAt(value, caret);
    if (!isSame(offered, place)) setOffers(nothing);
    const show = (found: Offer[], why: string) => {
      if (mine !== asked.current) return;
      setOffers({ place, list: found.slice(0, MOST), failed: why });
      setAt(-1);
      setOpen(true);
    };
    offersFor(place, props, value).then((found) => show(found, ""), (e: Error) => show([], e.message));
  };

  const run = (value: string) => {
    clearTimeout(timer.current);
    if ("selector" in parseSelector(value)) props.onRun(value);
  };
  const later = (value: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => run(value), IDLE_MS);
  };

  const take = (offer: Offer) => {
    const place = placeAt(text, input.current!.selectionStart ?? text.length);
    if (place.what === "nothing" || !isSame(offered, place)) return;
    let insert = offer.text;
    let from = place.from;
    let rest = text.slice(from + place.text.length);
    if ("quoted" in place && place.quoted) {
      from--; // with its quotes, for a name may need none, and another mark others' escapes
      if (rest.startsWith(text[from])) rest = rest.slice(1);
    }
    if (place.what === "type") {
      insert += rest.startsWith("{") ? "" : "{";
      if (!rest) rest = "}";
    } else if (place.what === "label") insert = `${writeName(offer.text)}="`;
    else if (place.what === "operator") insert += '"';
    else insert = quote(offer.text);
    const value = text.slice(0, from) + insert + rest;
    setText(value);
    const caret = from + insert.length;
    requestAnimationFrame(() => {
      input.current?.focus();
      input.current?.setSelectionRange(caret, caret);
      if (place.what !== "value") complete(value, caret);
      else setOpen(false);
    });
    later(value);
  };

  const onKey = (e: KeyboardEvent) => {
    const shown = open && offers.length > 0;
    if (shown && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      setAt(e.key === "ArrowDown" ? (at + 1) % offers.length : (Math.max(at, 0) || offers.length) - 1);
    } else if (shown && e.key === "Tab" && !e.shiftKey) {
      take(offers[Math.max(at, 0)]);
    } else if (e.key === "Enter") {
      if (shown && at >= 0) take(offers[at]);
      else {
        setOpen(false);
        run(text);
      }
    } else if (e.key === "Escape" && open) {
      setOpen(false);
      e.stopPropagation();
    } else return;
    e.preventDefault();
  };

  return (
    <div class="editor">
      <input
        ref={input}
        data-testid={props.testid ?? "query"}
        aria-label={props.label}
        role="combobox"
        aria-expanded={open && offers.length > 0}
        aria-autocomplete="list"
        aria-controls={list}
        aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
        aria-invalid={isWrong}
        spellcheck={false}
        autocomplete="off"
        value={text}
        placeholder={'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{comm="..."}'}
        onInput={(e) => {
          const value = e.currentTarget.value;
          setText(value);
          complete(value, e.currentTarget.selectionStart ?? value.length);
          later(value);
        }}
        onFocus={() => offers.length === 0 && text === "" && complete(text, 0)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={onKey}
      />
      {fault && isWrong && (
        <p class="fault" data-testid="query-error" role="alert">
          <span aria-hidden="true" class="under">{"\u00a0".repeat(Math.min(fault.at, 200))}^</span>
          <span>column {fault.at + 1}: {fault.text}</span>
        </p>
      )}
      {open && failed && <p class="offers" role="status" data-testid="query-list-failed">What may come here is not known: {failed}</p>}
      {open && offers.length > 0 && (
        <ul id={list} class="offers" role="listbox" data-testid="query-list">
          {offers.map((o, i) => (
            <li id={`${list}-${i}`} key={o.text} role="option" aria-selected={i === at} class={i === at ? "at" : ""} onMouseDown={(e) => (e.preventDefault(), take(o))}>
              <span>{visible(o.text) || "(empty)"}</span>
              <span class="muted">{o.note}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
