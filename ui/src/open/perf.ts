// SPDX-License-Identifier: Apache-2.0
// open/perf.ts - what `perf script` prints: a line a sample, and a line for each of its frames, the leaf first
//
// Linux' tools/perf/builtin-script.c prints it, with the fields that it has unless told otherwise: program, thread, CPU, time,
// period, event; address, symbol with its offset, file. As stackcollapse-perf.pl has it, the program is the outermost frame.

import { type Frame, NotAProfile, type Profile, type SampleType } from "./profile.ts";

/** PROGRAM PID[/TID] [CPU] TIME: PERIOD EVENT: and, of a sample without a stack, its frame */
const SAMPLE = /^\s*(\S.*?)\s+(?:-?\d+\/)?-?\d+\s+(?:\[\d+\]\s+)?\d+\.\d+:\s+(?:(\d+)\s+)?([^\s:][^\s]*):(?:\s+(.*))?$/;
const FRAME = /^\s*([0-9a-f]+)\s+(.*)$/;
/** SYMBOL+OFFSET (FILE): symbols may have blanks and brackets, and offsets may not be asked for. */
const WITH_OFFSET = /^(.*)\+0x[0-9a-f]+\s+\((.*)\)$/;
const WITHOUT_OFFSET = /^(.*)\s+\((.*?)\)$/;

/** Of these a period is so much time. */
const CLOCKS = /^(cpu-clock|task-clock)\b/;

export function isPerf(text: string): boolean {
  const first = text.split("\n", 200).find((l) => l.trim() !== "" && !l.startsWith("#"));
  return first !== undefined && SAMPLE.test(first.trimEnd());
}

function frameOf(line: string): Frame | null {
  const m = FRAME.exec(line);
  if (!m) return null;
  const rest = m[2].trimEnd().replace(/ \(deleted\)\)$/, ")");
  const [, name, file] = WITH_OFFSET.exec(rest) ?? WITHOUT_OFFSET.exec(rest) ?? [, rest, ""];
  // Neither is a file: of an inlined call, and of an address that is in none.
  const binary = file === "inlined" || file === "[unknown]" ? "" : file.startsWith("[kernel") ? "[kernel]" : file;
  return { name, file: "", binary, line: 0 };
}

interface Sample {
  event: number;
  period: number;
  frames: number[];
}

class Reader {
  readonly frames: Frame[] = [];
  readonly samples: Sample[] = [];
  readonly events: string[] = [];
  private readonly ids = new Map<string, number>();

  private idOf(f: Frame): number {
    const key = `${f.name}\n${f.binary}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      this.ids.set(key, (id = this.frames.length));
      this.frames.push(f);
    }
    return id;
  }

  /** A sample's own line; false: it is none. Its frames come leaf first, and the program is put behind them by close(). */
  begin(line: string): boolean {
    const m = SAMPLE.exec(line);
    if (!m) return false;
    const [, program, period, name, rest] = m;
    let event = this.events.indexOf(name);
    if (event < 0) event = this.events.push(name) - 1;
    this.samples.push({ event, period: Number(period ?? 1), frames: [] });
    this.program = this.idOf({ name: program, file: "", binary: "", line: 0 });
    const alone = rest ? frameOf(rest) : null;
    if (alone) this.last.frames.push(this.idOf(alone));
    return true;
  }
  private program = -1;
  private get last(): Sample {
    return this.samples[this.samples.length - 1];
  }

  /** A line of the sample that was begun last; false: it is no frame. */
  frame(line: string): boolean {
    const f = frameOf(line);
    if (f) this.last.frames.push(this.idOf(f));
    return f !== null;
  }

  close(): void {
    this.last.frames.push(this.program);
    this.last.frames.reverse();
  }
}

export function readPerf(text: string): Profile {
  const r = new Reader();
  let open = false;
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i].trimEnd();
    if (line === "" || line.startsWith("#")) {
      if (open) r.close();
      open = false;
      continue;
    }
    if (open && /^\s/.test(line) && r.frame(line)) continue;
    if (open) r.close();
    open = r.begin(line);
    if (!open) throw new NotAProfile(`line ${i + 1} is neither a sample nor a frame of one, as perf script prints them with the fields that it has unless told otherwise.`);
  }
  if (open) r.close();
  // Of each event the samples, and what they stand for.
  const types = r.events.flatMap((e): SampleType[] => [{ type: `${e} samples`, unit: "count" }, { type: e, unit: CLOCKS.test(e) ? "nanoseconds" : "count" }]);
  const stacks = r.samples.map((s) => {
    const values = new Array<number>(types.length).fill(0);
    values[2 * s.event] = 1;
    values[2 * s.event + 1] = s.period;
    return { frames: s.frames, values };
  });
  return { types, usual: 1, frames: r.frames, stacks };
}
