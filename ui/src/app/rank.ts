// SPDX-License-Identifier: Apache-2.0
// app/rank.ts - which of many texts somebody means who has typed some letters of one

/** At least as well as this fits what comes in one piece. */
const WHOLE = 1001;
const FIRST = 10_000;

/** How well letters that are typed fit a text: they come in it in this order. -1: they do not; the larger the better. */
export function fitOf(typed: string, text: string): number {
  const want = typed.toLowerCase().replace(/\s+/g, "");
  const have = text.toLowerCase();
  if (want === "") return 0;
  const whole = have.indexOf(typed.toLowerCase().trim());
  // In one piece, best at the beginning of a word; of two such texts the shorter one.
  if (whole >= 0) return (whole === 0 || /\W|_/.test(have[whole - 1]) ? 3000 : 2000) - Math.min(have.length, 999);
  let at = -1;
  let jumps = 0;
  for (const c of want) {
    const next = have.indexOf(c, at + 1);
    if (next < 0) return -1;
    if (next > at + 1) jumps++;
    at = next;
  }
  return Math.max(1000 - 20 * jumps - Math.min(have.length, 400), 0);
}

/** The best `most` of those that fit, those that fit alike in the order in which they come; `first` before others that fit as well as they. */
export function best<T>(typed: string, all: readonly T[], textOf: (one: T) => string, most: number, first: (one: T) => boolean = () => false): T[] {
  const rank = (one: T) => {
    const fit = fitOf(typed, textOf(one));
    return fit >= WHOLE && first(one) ? fit + FIRST : fit;
  };
  return all
    .map((one, i) => ({ one, i, fit: rank(one) }))
    .filter((r) => r.fit >= 0)
    .sort((a, b) => b.fit - a.fit || a.i - b.i)
    .slice(0, most)
    .map((r) => r.one);
}
