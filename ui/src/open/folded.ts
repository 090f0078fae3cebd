// SPDX-License-Identifier: Apache-2.0
// open/folded.ts - "root;..;leaf VALUE", a line a stack

import { type Frame, NotAProfile, type Profile } from "./profile.ts";

export function readFolded(text: string): Profile {
  const ids = new Map<string, number>();
  const frames: Frame[] = [];
  const stacks: Profile["stacks"] = [];
  text.split("\n").forEach((line, i) => {
    const l = line.trimEnd();
    if (l === "" || l.startsWith("# ")) return;
    const blank = l.lastIndexOf(" ");
    const value = Number(l.slice(blank + 1));
    if (blank < 0 || !Number.isFinite(value)) throw new NotAProfile(`line ${i + 1} ends in no number: this is no folded stack`);
    const stack = l.slice(0, blank).split(";").map((name) => {
      let id = ids.get(name);
      if (id === undefined) {
        ids.set(name, (id = frames.length));
        frames.push({ name, file: "", binary: "", line: 0 });
      }
      return id;
    });
    stacks.push({ frames: stack, values: [value] });
  });
  return { types: [{ type: "samples", unit: "count" }], usual: 0, frames, stacks };
}
