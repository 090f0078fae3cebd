// SPDX-License-Identifier: Apache-2.0
// app/open.tsx - Open file: a profile that somebody has, looked at without sending it anywhere

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Problem } from "../api/client.ts";
import type { SampleType } from "../open/profile.ts";
import { EndedToo, trees } from "../worker/rpc.ts";
import { Results } from "./results.tsx";
import { go, tree } from "./store.ts";

const MAX_BYTES = 1 << 30;

interface Opened {
  name: string;
  bytes: Uint8Array;
  types: SampleType[];
  index: number;
}

const opened = signal<Opened | null>(null);

/** gzip by its first two bytes; browsers unpack it, with or without TLS. */
async function unpacked(file: Blob): Promise<Uint8Array> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isGzip = head[0] === 0x1f && head[1] === 0x8b;
  const stream = isGzip ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length > MAX_BYTES) throw new Error("The file is larger than a page can hold.");
  return bytes;
}

/** What fails is told where the tree would be, with another try. */
async function orTell(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (e) {
    if (e instanceof EndedToo) return; // tree.again asks for it
    tree.value = { loading: false, since: 0, error: new Problem(-1, e instanceof Error ? e.message : String(e)), again: () => orTell(act) };
  }
}

/** The values at index; -1: the usual ones. */
function show(name: string, bytes: Uint8Array, index: number): Promise<void> {
  tree.value = { ...tree.value, again: () => show(name, bytes, index) };
  return orTell(async () => {
    const { types, index: used, ...kept } = await trees.ask<"open">({ op: "open", bytes, name, index });
    opened.value = { name, bytes, types, index: used };
    tree.value = { value: { ...kept, from: 0, to: 0, origin: kept.id }, loading: false, since: 0, again: () => show(name, bytes, used) };
  });
}

async function open(file: File): Promise<void> {
  const again = () => open(file);
  tree.value = { loading: true, since: Date.now(), again };
  go({ zoom: "", selected: "", sandwich: "", chips: [], panel: "flame" }, false);
  await orTell(async () => {
    const bytes = await unpacked(file);
    if (tree.value.again === again) await show(file.name, bytes, -1); // or another one has been opened meanwhile
  });
}

export function OpenFile() {
  const [over, setOver] = useState(false);
  const o = opened.value;
  return (
    <>
      <section
        class={over ? "drop over" : "drop"}
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
        <label>
          {o ? `${o.name}. Another file: ` : "Drop a profile here, or choose one: pprof, folded stacks or speedscope, in gzip or not. It stays in this page. "}
          <input type="file" data-testid="open-file" onChange={(e) => e.currentTarget.files?.[0] && void open(e.currentTarget.files[0])} />
        </label>
        {o && o.types.length > 1 && (
          <label>
            Values{" "}
            <select data-testid="open-type" value={String(o.index)} onChange={(e) => void show(o.name, o.bytes, Number(e.currentTarget.value))}>
              {o.types.map((t, i) => (
                <option key={i} value={String(i)}>
                  {t.type} ({t.unit})
                </option>
              ))}
            </select>
          </label>
        )}
      </section>
      <Results seconds={0} />
    </>
  );
}
