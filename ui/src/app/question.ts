// SPDX-License-Identifier: Apache-2.0
// app/question.ts - an answer beside the main one, asked for when what it depends on has changed

import { useEffect, useState } from "preact/hooks";

export interface Answered<T> {
  value: T | null;
  failed: string; // why there is no newer one; "": there is, or it is on its way
}

/**
 * Asks when `key` changes; "": nothing is to be asked, and nothing is known. What was answered before stays until the next is there, so
 * that a refresh moves nothing; or not, where `keeps` is false.
 */
export function useQuestion<T>(key: string, ask: (signal: AbortSignal) => Promise<T>, keeps = true): Answered<T> {
  const [value, setValue] = useState<T | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    setFailed("");
    if (!key || !keeps) setValue(null);
    if (!key) return;
    const controller = new AbortController();
    const { signal } = controller;
    ask(signal).then(
      (v) => !signal.aborted && setValue(v),
      (e: Error) => !signal.aborted && setFailed(e.message),
    );
    return () => controller.abort();
  }, [key]);
  return { value, failed };
}
