// SPDX-License-Identifier: Apache-2.0
// base/stream.ts - all bytes of a stream in one piece, told as they come

/** came: how many there are by now; it may throw, which ends the stream. */
export async function readAll(stream: ReadableStream<Uint8Array>, came: (n: number) => void): Promise<Uint8Array> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let n = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      parts.push(next.value);
      came((n += next.value.length));
    }
  } catch (e) {
    // It may have failed itself.
    await reader.cancel().catch(() => undefined);
    throw e;
  }
  const all = new Uint8Array(n);
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return all;
}
