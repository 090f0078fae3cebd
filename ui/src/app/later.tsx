// SPDX-License-Identifier: Apache-2.0
// app/later.tsx - a part of the page that is fetched when somebody wants it, so that the first screen is there sooner

import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { look } from "./connection.ts";
import { Failed } from "./parts.tsx";

type Rest = typeof import("./rest.tsx");
type PropsOf<K extends keyof Rest> = Rest[K] extends (props: infer P) => preact.VNode | null ? P : object;

const rest = signal<Rest | null>(null);
const fault = signal("");

/** Throws where it cannot be had: a server with another version has other files, which is told. */
export async function theRest(): Promise<Rest> {
  try {
    return (rest.value = await import("./rest.tsx"));
  } catch (e) {
    void look();
    throw e;
  }
}

/** When the browser has nothing to do, so that it is there by the time that somebody wants it; whoever does is told why it is not. */
export function fetchAhead(): void {
  const ask = () => void (rest.value ?? theRest().catch(() => {}));
  if ("requestIdleCallback" in window) requestIdleCallback(ask);
  else setTimeout(ask, 1000);
}

async function load(): Promise<void> {
  fault.value = "";
  await theRest().catch((e: Error) => (fault.value = e.message));
}

export function Later<K extends keyof Rest>(props: { of: K } & PropsOf<K>) {
  useEffect(() => void (rest.value ?? load()), []);
  if (fault.value) return <Failed what="This part of the page could not be fetched" why={fault.value} retry={() => void load()} />;
  const Part = rest.value?.[props.of] as FunctionComponent<typeof props> | undefined;
  return Part ? <Part {...props} /> : null;
}
