// SPDX-License-Identifier: Apache-2.0
// api/client.ts - questions to the server: /api/v1 below wherever this page is
//
// A question has an id by which it can be looked at and cancelled, ends with its AbortSignal, and fails with the server's own
// sentence. Where a token is needed it is kept for the tab's life.

import { readAll } from "../base/stream.ts";

export class Problem extends Error {
  readonly status: number;
  readonly question: string; // its address without the server's; "": nothing was asked
  readonly id: string; // by which the server knows it
  constructor(status: number, detail: string, question = "", id = "") {
    super(detail);
    this.status = status;
    this.question = question;
    this.id = id;
  }
}

/** Pages are one level below the server's own place: the same folder. */
export const base = new URL(".", document.baseURI).pathname;

const TOKEN = "decima-token";

export function setToken(token: string): void {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
}

/** A moment in ms as the server reads it. */
export function at(ms: number): string {
  return new Date(ms).toISOString();
}

export type Params = [string, string | number | undefined][];

export function query(params: Params): string {
  const q = new URLSearchParams();
  for (const [k, v] of params) if (v !== undefined && v !== "") q.append(k, String(v));
  return q.toString();
}

async function problemOf(r: Response, question: string, id: string): Promise<Problem> {
  const text = await r.text().catch(() => "");
  try {
    const detail = (JSON.parse(text) as { detail?: unknown }).detail;
    if (typeof detail === "string") return new Problem(r.status, detail, question, id);
  } catch {
    // Not one of ours: a proxy's.
  }
  return new Problem(r.status, `The server answered with status ${r.status}.`, question, id);
}

export async function ask(path: string, params: Params, options: { signal?: AbortSignal; id?: string; method?: string } = {}): Promise<Response> {
  const headers: Record<string, string> = {};
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (options.id) headers["X-Query-Id"] = options.id;
  const question = `api/v1/${path}?${query(params)}`;
  const id = options.id ?? "";
  let r: Response;
  try {
    r = await fetch(`${base}${question}`, { headers, signal: options.signal, method: options.method ?? "GET" });
  } catch (e) {
    if (options.signal?.aborted) throw e;
    throw new Problem(0, "The server cannot be reached.", question, id);
  }
  if (!r.ok) throw await problemOf(r, question, id);
  return r;
}

export async function json<T>(path: string, params: Params, signal?: AbortSignal): Promise<T> {
  return (await (await ask(path, params, { signal })).json()) as T;
}

export async function text(path: string, params: Params, signal?: AbortSignal): Promise<string> {
  return (await ask(path, params, { signal })).text();
}

/** The answer's bytes, told as they come. */
export async function bytes(
  path: string,
  params: Params,
  options: { signal?: AbortSignal; id?: string; came?: (n: number) => void },
): Promise<Uint8Array> {
  const r = await ask(path, params, options);
  return readAll(r.body!, (n) => options.came?.(n));
}

export interface TypeInfo {
  type: string;
  unit: string;
  temporality: string;
  description: string;
  profiles: number;
  first_ms: number;
  last_ms: number;
}

export interface Series {
  labels: Record<string, string>;
  t_ms: number[];
  value: number[];
  duration_ns: number[];
  profiles: number[];
}

export interface SeriesAnswer {
  step_ms: number;
  unit: string;
  series: Series[];
  series_left_out?: number; // lighter ones
}

export interface Named {
  name: string;
  series: number;
}

export const types = (signal?: AbortSignal) => json<{ types: TypeInfo[]; truncated: boolean }>("types", [], signal);
export const labels = (match: string, from: number, to: number, signal?: AbortSignal) =>
  json<{ labels: Named[] }>("labels", [["match", match], ["from", at(from)], ["to", at(to)]], signal);
export const values = (label: string, match: string, from: number, to: number, signal?: AbortSignal, prefix = "") =>
  json<{ values: Named[]; truncated: boolean }>("values", [["label", label], ["match", match], ["from", at(from)], ["to", at(to)], ["prefix", prefix || undefined]], signal);
export const series = (params: Params, signal?: AbortSignal) => json<SeriesAnswer>("series", params, signal);

let lastId = 0;
export function newId(): string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return `ui-${random[0].toString(36)}${random[1].toString(36)}-${++lastId}`;
}

export interface Progress {
  done: number;
  total: number;
}

export const progressOf = (id: string) => json<Progress>(`queries/${id}`, []);
export const cancel = (id: string) => ask(`queries/${id}`, [], { method: "DELETE" }).catch(() => undefined);
