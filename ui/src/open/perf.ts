// SPDX-License-Identifier: Apache-2.0
// open/perf.ts - what `perf script` prints: a line a sample, and a line for each of its frames, the leaf first
//
// Linux' tools/perf/builtin-script.c prints it, with the fields that it has unless told otherwise: program, thread, CPU, time,
// period, event; address, symbol with its offset, file. As stackcollapse-perf.pl has it, the program is the outermost frame.

import { type Frame, NotAProfile, type Profile, type SampleType } from "./profile.ts";

// A file may come from anybody: no expression takes longer than a line is long, so that a run of blanks is looked at from its
// first one alone, and what ends an expression fits anything.

/** PROGRAM PID[/TID] [CPU] TIME: PERIOD EVENT: and, of a sample without a stack, its frame */
const SAMPLE = /^\s*(\S[^]*?)(?<=\S)\s+(?:-?\d+\/)?-?\d+\s+(?:\[\d+\]\s+)?\d+\.\d+:\s+(?:(\d+)\s+)?([^\s:][^\s]*):(?:\s+([^]*))?$/;
const FRAME = /^\s*([0-9a-f]+)\s+([^]*)$/;
/** SYMBOL+OFFSET (FILE): symbols may have blanks and brackets, and offsets may not be asked for. */
const WITH_OFFSET = /^([^]*)\+0x[0-9a-f]+\s+\(([^]*)\)$/;
const WITHOUT_OFFSET = /^([^]*)\s\(([^]*?)\)$/;

const LONGEST_LINE = 65_536;
const MOST_EVENTS = 1000;
const MOST_VALUES = 2 ** 26; // of all samples, each of which has two for each event

/** Of these a period is so much time. */
const CLOCKS = /^(cpu-clock|task-clock)\b/;

export function isPerf(text: string): boolean {
  for (const line of linesOf(text)) if (!isNote(line)) return line.length <= LONGEST_LINE && SAMPLE.test(line);
  return false;
}

/** With no blanks at their ends. */
function* linesOf(text: string): Generator<string> {
  for (let at = 0, end = 0; end >= 0 && at < text.length; at = end + 1) {
    end = text.indexOf("\n", at);
    yield text.slice(at, end < 0 ? text.length : end).trimEnd();
  }
}

/** Of such there are thousands with --header. */
const isNote = (line: string): boolean => line === "" || line.startsWith("#");

function frameOf(line: string): Frame | null {
  const m = FRAME.exec(line);
  if (!m) return null;
  const rest = m[2].trimEnd().replace(/ \(deleted\)\)$/, ")");
  const [, name, file] = (rest.endsWith(")") && (WITH_OFFSET.exec(rest) ?? WITHOUT_OFFSET.exec(rest))) || [, rest, ""];
  // Neither is a file: of an inlined call, and of an address that is in none.
  const binary = file === "inlined" || file === "[unknown]" ? "" : file.startsWith("[kernel") ? "[kernel]" : file;
  return { name: name.trimEnd(), file: "", binary, line: 0 };
}

interface Sample {
  event: number;
  period: number;
  frames: number[];
}

class Reader {
  readonly frames: Frame[] = [];
  readonly samples: Sample[] = [];
  readonly events = new Map<string, number>();
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
    this.close();
    const [, program, period, name, rest] = m;
    const event = this.events.get(name) ?? this.events.size;
    this.events.set(name, event);
    this.samples.push({ event, period: Number(period ?? 1), frames: [] });
    this.program = this.idOf({ name: program, file: "", binary: "", line: 0 });
    const alone = rest ? frameOf(rest) : null;
    if (alone) this.last.frames.push(this.idOf(alone));
    if (this.events.size > MOST_EVENTS || 2 * this.events.size * this.samples.length > MOST_VALUES)
      throw new NotAProfile(`its ${this.samples.length} first samples of ${this.events.size} events are more than a page can hold: print fewer events, or less time`);
    return true;
  }
  private program = -1; // of the sample that frames are of; -1: of none
  private get last(): Sample {
    return this.samples[this.samples.length - 1];
  }

  /** A line of the sample that was begun last; false: it is no frame. */
  frame(line: string): boolean {
    const f = this.program < 0 ? null : frameOf(line);
    if (f) this.last.frames.push(this.idOf(f));
    return f !== null;
  }

  close(): void {
    if (this.program < 0) return;
    this.last.frames.push(this.program);
    this.last.frames.reverse();
    this.program = -1;
  }
}

export function readPerf(text: string): Profile {
  const r = new Reader();
  let n = 0;
  for (const line of linesOf(text)) {
    n++;
    if (isNote(line)) {
      r.close();
      continue;
    }
    if (line.length > LONGEST_LINE) throw new NotAProfile(`line ${n} is longer than any that perf script prints.`);
    // What is a sample is no frame, though its program may be called as an address, and stand behind blanks: cc1, dd.
    if (!r.begin(line) && !(/^\s/.test(line) && r.frame(line))) throw new NotAProfile(`line ${n} is neither a sample nor a frame of one, as perf script prints them with the fields that it has unless told otherwise.`);
  }
  r.close();
  // Of each event the samples, and what they stand for.
  const types = [...r.events.keys()].flatMap((e): SampleType[] => [{ type: `${e} samples`, unit: "count" }, { type: e, unit: CLOCKS.test(e) ? "nanoseconds" : "count" }]);
  const stacks = r.samples.map((s) => {
    const values = new Array<number>(types.length).fill(0);
    values[2 * s.event] = 1;
    values[2 * s.event + 1] = s.period;
    return { frames: s.frames, values };
  });
  return { types, usual: 1, frames: r.frames, stacks };
}
