// SPDX-License-Identifier: Apache-2.0
// app/remembered.ts - answers by question, those that were used last: so that Back asks nobody
//
// A question has its times in it, so what came in since is another question; and one that was seen is shown as it was.

import * as api from "../api/client.ts";
import { Remembered } from "../base/remembered.ts";

const small = new Remembered<unknown>(64, 32e6);

/** api.json() of a question with fixed times, or, where it has none, as it is answered at `moment`; whoever gets the answer leaves it as it is. */
export async function remembered<T>(path: string, params: api.Params, signal?: AbortSignal, moment = 0): Promise<T> {
  const question = `${path}?${api.query(params)} ${moment}`;
  const known = small.get(question);
  if (known !== undefined) return known as T;
  const text = await api.text(path, params, signal);
  const value = JSON.parse(text) as T;
  small.keep(question, value, text.length);
  return value;
}

/** Trees as they were sent. */
export const sentTrees = new Remembered<Uint8Array>(8, 200e6);

export function forgetAnswers(): void {
  small.clear();
  sentTrees.clear();
}
