// SPDX-License-Identifier: Apache-2.0
// app/connection.ts - whether the server is there, and still has this page: who finds that it is not says so, and it is
// looked for until it is back

import { signal } from "@preact/signals";
import { base } from "../api/client.ts";

const WAITS_MS = [1000, 2000, 4000, 8000];
const SELDOM_MS = 60_000;

/** When the server is looked for next, in ms; 0: it is there. */
export const nextTry = signal(0);
/** The server has another version of this page. */
export const outdated = signal(false);

let tries = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let looked = Date.now();
let back: () => void = () => undefined;

/** A question had no answer at all. */
export function lost(): void {
  if (nextTry.value === 0) wait();
}

function wait(): void {
  const ms = WAITS_MS[Math.min(tries++, WAITS_MS.length - 1)];
  nextTry.value = Date.now() + ms;
  clearTimeout(timer);
  timer = setTimeout(() => void look(), ms);
}

/** The page names its script after what is in it. */
async function compare(): Promise<void> {
  looked = Date.now();
  const r = await fetch(`${base}explore`, { cache: "no-cache" });
  if (!r.ok) throw new Error(`status ${r.status}`);
  const script = document.querySelector("script[src]")?.getAttribute("src") ?? "";
  outdated.value = !(await r.text()).includes(script);
}

export async function look(): Promise<void> {
  try {
    await compare();
  } catch {
    wait();
    return;
  }
  clearTimeout(timer);
  tries = 0;
  if (nextTry.value === 0) return;
  nextTry.value = 0;
  back();
}

/** act: what to do when the server is back. */
export function watch(act: () => void): void {
  back = act;
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && nextTry.value === 0 && Date.now() - looked > SELDOM_MS) void look();
  });
}
