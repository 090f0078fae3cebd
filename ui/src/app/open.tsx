// SPDX-License-Identifier: Apache-2.0
// app/open.tsx - Open file: a profile that somebody has, looked at without sending it anywhere

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Problem, ask } from "../api/client.ts";
import { readAll } from "../base/stream.ts";
import type { SampleType } from "../open/profile.ts";
import { EndedToo, type Unpacked, trees } from "../worker/rpc.ts";
import { Results } from "./results.tsx";
import { go, panelRange, selectorText, state, toast, tree, treeParams } from "./store.ts";

const MAX_BYTES = 1 << 30;

interface Opened {
  file: Unpacked;
  against: Unpacked | null; // B
  types: SampleType[];
  index: number;
}

const opened = signal<Opened | null>(null);

/** gzip by its first two bytes; browsers unpack it, with or without TLS. */
async function unpacked(file: Blob): Promise<Uint8Array> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
  const stream = isGzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  return readAll(stream, (n) => {
    if (n > MAX_BYTES) throw new Error("The file is larger than a page can hold.");
  });
}

/** Nothing was asked for since, and the screen is still this one: each sets `again` to its own. */
const isWanted = (again: () => Promise<void>): boolean => tree.value.again === again;

/** What fails is told where the tree would be, with another try. */
async function orTell(again: () => Promise<void>, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (e) {
    if (e instanceof EndedToo || !isWanted(again)) return; // tree.again asks for it
    tree.value = { loading: false, since: 0, error: new Problem(-1, e instanceof Error ? e.message : String(e)), again };
  }
}

/** What the worker has read of it is shown, unless something else is wanted by then. */
async function take(file: Unpacked, against: Unpacked | null, index: number, again: () => Promise<void>): Promise<void> {
  const { types, index: used, ...kept } = await trees.ask<"open">({ op: "open", file, against, index });
  if (!isWanted(again)) return;
  opened.value = { file, against, types, index: used };
  tree.value = { value: { ...kept, from: 0, to: 0, question: "", origin: kept.id }, loading: false, since: 0, again: () => show(file, against, used) };
}

/** The values at index; -1: the usual ones. */
function show(file: Unpacked, against: Unpacked | null, index: number): Promise<void> {
  const again = () => show(file, against, index);
  tree.value = { ...tree.value, again };
  return orTell(again, () => take(file, against, index, again));
}

/** What the first file is held against: it stays, whatever becomes of the other. */
async function compareWith(read: () => Promise<Unpacked>): Promise<void> {
  const o = opened.value!;
  const again = () => show(o.file, o.against, o.index);
  const before = { ...tree.value, again };
  tree.value = { ...before, loading: true, since: Date.now() };
  go({ zoom: "", selected: "", sandwich: "" }, false);
  try {
    const against = await read();
    if (isWanted(again)) await take(o.file, against, o.index, again);
  } catch (e) {
    if (e instanceof EndedToo || !isWanted(again)) return; // tree.again asks for the first one
    tree.value = before;
    toast(`This cannot be compared: ${(e as Error).message}`);
  }
}

const unpackedFile = async (file: File): Promise<Unpacked> => ({ name: file.name, bytes: await unpacked(file) });

/** What Explore's address asks for, as the server exports it. */
async function ofExplore(): Promise<Unpacked> {
  if (!panelRange.value) throw new Error("the range of Explore's address is none: choose one there.");
  const [from, to] = panelRange.value;
  const params = treeParams(state.value, selectorText.value, from, to).filter(([k]) => k !== "group");
  return { name: "what Explore shows", bytes: await unpacked(await (await ask("export", [...params, ["format", "pprof"]])).blob()) };
}

async function open(file: File): Promise<void> {
  const again = () => open(file);
  tree.value = { loading: true, since: Date.now(), again };
  go({ zoom: "", selected: "", sandwich: "", chips: [], panel: "flame" }, false);
  await orTell(again, async () => {
    const bytes = await unpacked(file);
    if (isWanted(again)) await show({ name: file.name, bytes }, null, -1); // or another one has been opened meanwhile
  });
}

/** B of a comparison: another file, or what Explore shows. */
function Against(props: { of: Opened }) {
  const { file, against, index } = props.of;
  if (against)
    return (
      <span data-testid="open-against">
        as A, <b>{against.name}</b> as B: each frame's share of the whole is compared.{" "}
        <button onClick={() => void show(file, null, index)}>Only the first</button>
      </span>
    );
  return (
    <>
      <label class="pick">
        Compare with a file
        <input type="file" class="unseen" data-testid="compare-file" onChange={(e) => { const f = e.currentTarget.files?.[0]; if (f) void compareWith(() => unpackedFile(f)); }} />
      </label>
      {selectorText.value && <button data-testid="compare-explore" onClick={() => void compareWith(ofExplore)}>Compare with what Explore shows</button>}
    </>
  );
}

export function OpenFile() {
  const [over, setOver] = useState(false);
  const o = opened.value;
  return (
    <>
      <section
        class={`drop${over ? " over" : ""}${o ? "" : " first"}`}
        data-testid="drop"
        onDragOver={(e) => (e.preventDefault(), setOver(true))}
        onDragLeave={() => setOver(false)}
        onDrop={(e) => {
          e.preventDefault();
          setOver(false);
          const file = e.dataTransfer?.files[0];
          if (file) void open(file);
        }}
      >
        {!o && (
          <>
            <svg class="icon" viewBox="0 0 24 24" width="48" height="48" aria-hidden="true"><path d="M12 16V4m-5 5 5-5 5 5M4 15v4a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-4" /></svg>
            <h1>Drop a profile here</h1>
            <p class="muted">pprof, folded stacks, speedscope, what <code>perf script</code> prints, or a flame tree of a server, in gzip or not. It stays in this page: nothing is sent anywhere.</p>
          </>
        )}
        {o && <b>{o.file.name}</b>}
        <label class="pick">
          {o ? "Another file" : "Choose a file"}
          <input type="file" class="unseen" data-testid="open-file" onChange={(e) => e.currentTarget.files?.[0] && void open(e.currentTarget.files[0])} />
        </label>
        {o && o.types.length > 1 && (
          <label>
            Values{" "}
            <select data-testid="open-type" value={String(o.index)} onChange={(e) => void show(o.file, o.against, Number(e.currentTarget.value))}>
              {o.types.map((t, i) => (
                <option key={i} value={String(i)}>
                  {t.type} ({t.unit})
                </option>
              ))}
            </select>
          </label>
        )}
        {o && <Against of={o} />}
      </section>
      <Results />
    </>
  );
}
