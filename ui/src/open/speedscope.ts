// SPDX-License-Identifier: Apache-2.0
// open/speedscope.ts - speedscope's JSON: https://github.com/jlfwong/speedscope, file-format-spec.ts

import { type Frame, NotAProfile, type Profile } from "./profile.ts";

interface Event {
  type: "O" | "C";
  frame: number;
  at: number;
}
interface Part {
  type: string;
  unit?: string;
  samples?: number[][];
  weights?: number[];
  events?: Event[];
}
interface Document {
  shared?: { frames?: { name?: string; file?: string; line?: number }[] };
  profiles?: Part[];
}

/** Of open and close events: what is open weighs until the next one. */
function fromEvents(events: Event[]): { frames: number[]; values: number[] }[] {
  const stacks: { frames: number[]; values: number[] }[] = [];
  const open: number[] = [];
  let last = events[0]?.at ?? 0;
  for (const e of events) {
    if (e.at > last) stacks.push({ frames: [...open], values: [e.at - last] });
    last = e.at;
    if (e.type === "O") open.push(e.frame);
    else open.pop();
  }
  return stacks;
}

export function readSpeedscope(document: unknown): Profile {
  const d = document as Document;
  const shared = d.shared?.frames;
  if (!Array.isArray(shared) || !Array.isArray(d.profiles) || !d.profiles.length) throw new NotAProfile("This JSON is no speedscope file.");
  const frames: Frame[] = shared.map((f) => ({ name: String(f.name ?? ""), file: String(f.file ?? ""), binary: "", line: Number(f.line) || 0 }));
  const stacks = d.profiles.flatMap((p) =>
    p.type === "evented" ? fromEvents(p.events ?? []) : (p.samples ?? []).map((s, i) => ({ frames: s, values: [Number(p.weights?.[i] ?? 1)] })),
  );
  if (stacks.some((s) => s.frames.some((f) => !(f >= 0 && f < frames.length)))) throw new NotAProfile("A stack names a frame that is not there.");
  const unit = d.profiles[0].unit ?? "none";
  return { types: [{ type: "weight", unit: unit === "none" ? "count" : unit }], usual: 0, frames, stacks };
}
