// SPDX-License-Identifier: Apache-2.0
// app/settings.tsx - the settings, and their file

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { choose, keep, keyOf, settings, unkept, valueOf } from "../settings/kept.ts";
import { type Choice, MOST_BYTES, type Settings, choices, isUsual, keyFault, read, shortcuts, usual, write } from "../settings/settings.ts";
import { download } from "./actions.ts";
import { go } from "./store.ts";
import { preferred, viewOf } from "./view.ts";

function One(props: { of: Choice }) {
  const { key, title, options } = props.of;
  const set = (value: string) => {
    choose(key, value);
    const view = viewOf(key);
    if (view) go(view, false);
  };
  return (
    <label class="setting">
      <span>{title}</span>
      <select data-testid={`setting-${key}`} value={valueOf(key)} onChange={(e) => set(e.currentTarget.value)}>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

/** A letter for each; one that cannot be is told, and the one before stays. */
function Keys() {
  const [fault, setFault] = useState<[id: string, text: string]>(["", ""]);
  const set = (id: string, key: string) => {
    if (key === "") return;
    const keys = { ...settings.value.keys, [id]: key };
    const wrong = keyFault(keys, id);
    setFault([id, wrong]);
    if (!wrong) keep({ ...settings.value, keys });
  };
  return (
    <details class="shortcuts">
      <summary>Shortcut keys</summary>
      <div class="settings">
        {shortcuts.map((s) => (
          <label class="setting" key={s.id}>
            <span>{s.text}</span>
            <input
              class="key"
              data-testid={`key-${s.id}`}
              value={keyOf(s.id)}
              maxLength={2}
              aria-invalid={fault[0] === s.id && fault[1] !== ""}
              onFocus={(e) => e.currentTarget.select()}
              onInput={(e) => set(s.id, e.currentTarget.value.slice(-1))}
              onBlur={(e) => (e.currentTarget.value = keyOf(s.id))}
            />
          </label>
        ))}
      </div>
      {fault[1] && <p class="problem" role="alert" data-testid="key-fault">{fault[1]}</p>}
    </details>
  );
}

/** What came of the last file. */
type Outcome = { text: string; isFault: boolean } | null;

function Files() {
  const [outcome, setOutcome] = useState<Outcome>(null);
  const input = useRef<HTMLInputElement>(null);
  const take = (next: Settings, text: string) => {
    keep(next);
    go(preferred(), false);
    setOutcome({ text, isFault: false });
  };
  const load = async (file: File) => {
    try {
      // Its size first: what is no settings may be anything.
      take(read(file.size > MOST_BYTES ? " ".repeat(MOST_BYTES + 1) : await file.text()), `These are now the settings of ${file.name}.`);
    } catch (e) {
      setOutcome({ text: `${file.name} was not taken: ${(e as Error).message}.`, isFault: true });
    }
  };
  return (
    <>
      <div class="bar">
        <button data-testid="settings-export" onClick={() => download("decima-settings.json", new Blob([write(settings.value)], { type: "application/json" }))}>Export as a file</button>
        <button data-testid="settings-import-button" onClick={() => input.current?.click()}>Import a file…</button>
        <button data-testid="settings-usual" disabled={isUsual(settings.value)} onClick={() => take(usual, "All settings are the usual ones again.")}>Reset all</button>
        <input
          ref={input}
          class="unseen"
          type="file"
          tabIndex={-1}
          aria-label="A file of settings"
          accept=".json,application/json"
          data-testid="settings-import"
          onChange={(e) => {
            const file = e.currentTarget.files?.[0];
            e.currentTarget.value = "";
            if (file) void load(file);
          }}
        />
      </div>
      <p role="status" class={outcome?.isFault ? "problem" : "muted"} data-testid="settings-outcome">{outcome?.text}</p>
    </>
  );
}

export function SettingsSheet() {
  const grid = useRef<HTMLDivElement>(null);
  // The dialog may have been there before it.
  useLayoutEffect(() => grid.current?.querySelector("select")?.focus(), []);
  return (
    <>
      <p class="about">This browser keeps them, for all of its tabs. An address with anything in it shows what it says, and the usual for the rest: a link looks the same to everybody.</p>
      {unkept.value && <p class="amber" role="alert">They last no longer than this tab: {unkept.value}</p>}
      <div class="settings" ref={grid}>{choices.map((c) => <One key={c.key} of={c} />)}</div>
      <Keys />
      <Files />
    </>
  );
}
