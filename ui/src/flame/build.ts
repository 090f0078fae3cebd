// SPDX-License-Identifier: Apache-2.0
// flame/build.ts - a tree out of stacks, as the server makes it: siblings heaviest first; of one side, or of two

import { type Comparison, type Functions, type Tree, diffWidths, makeTexts, place, settle } from "./tree.ts";

export class TreeBuilder {
  private readonly names: string[] = [];
  private readonly files: string[] = [];
  private readonly binaries: string[] = [];
  private readonly lines: number[] = [];
  private readonly func: number[] = [-1];
  private readonly parent: number[] = [-1];
  private readonly self: number[] = [0];
  private readonly selfB: number[] = [0];
  private readonly children = new Map<number, Map<number, number>>();

  /** The next frame; they are numbered as they come. */
  frame(f: { name: string; file: string; binary: string; line: number }): void {
    this.names.push(f.name);
    this.files.push(f.file);
    this.binaries.push(f.binary);
    this.lines.push(f.line);
  }

  /** frames: from the root on. */
  add(frames: number[], value: number, valueB = 0): void {
    let node = 0;
    for (const f of frames) {
      let below = this.children.get(node);
      if (!below) this.children.set(node, (below = new Map()));
      let child = below.get(f);
      if (child === undefined) {
        below.set(f, (child = this.func.length));
        this.func.push(f);
        this.parent.push(node);
        this.self.push(0);
        this.selfB.push(0);
      }
      node = child;
    }
    this.self[node] += value;
    this.selfB[node] += valueB;
  }

  private totals(own: number[]): Float64Array {
    const total = Float64Array.from(own);
    for (let i = total.length - 1; i > 0; i--) total[this.parent[i]] += total[i];
    return total;
  }

  /** Of two sides, B is drawn as large as A: what changed is each node's share. */
  finish(unit: string, isDiff = false): Tree {
    const n = this.func.length;
    const a = this.totals(this.self);
    const b = this.totals(this.selfB);
    const factor = isDiff && b[0] ? a[0] / b[0] || 1 : 1;
    const weight = isDiff ? a.map((v, i) => Math.max(Math.abs(v), Math.abs(b[i] * factor))) : a;
    const func = new Int32Array(n);
    const depth = new Uint16Array(n);
    const parent = new Int32Array(n);
    const self = new Float64Array(n);
    const selfB = new Float64Array(n);
    const where = new Int32Array(n);
    const todo = [0];
    let maxDepth = 0;
    for (let i = 0; todo.length; i++) {
      const old = todo.pop()!;
      where[old] = i;
      func[i] = this.func[old];
      self[i] = this.self[old];
      selfB[i] = this.selfB[old];
      parent[i] = old ? where[this.parent[old]] : -1;
      depth[i] = old ? depth[parent[i]] + 1 : 0;
      maxDepth = Math.max(maxDepth, depth[i]);
      const below = [...(this.children.get(old)?.values() ?? [])].sort((a, b) => weight[a] - weight[b] || this.func[b] - this.func[a]);
      for (const child of below) todo.push(child);
    }
    const { total, end } = settle(n, parent, self, new Map());
    const meta = { unit, total: [total[0]], filtered: [0] };
    const common = { n, maxDepth, func, depth, parent, end, self, total, functions: this.functions(), trimmed: new Map<number, number>() };
    if (!isDiff) return { ...common, meta, width: total, x: place(n, parent, total) };
    const sideB = settle(n, parent, selfB, new Map());
    const width = diffWidths(parent, total, sideB.total, factor);
    const compare: Comparison = { by: "share", level: 0, untested: "files do not say how many samples they have", sides: [{ seconds: 0, samples: null }, { seconds: 0, samples: null }] };
    return { ...common, meta: { ...meta, total: [total[0], sideB.total[0]], filtered: [0, 0], compare }, width, x: place(n, parent, width), b: { self: selfB, total: sideB.total, trimmed: new Map(), factor } };
  }

  private functions(): Functions {
    const n = this.names.length;
    const table = (texts: string[]) => {
      const distinct = [...new Set(["", ...texts])];
      const ids = new Map(distinct.map((t, i) => [t, i]));
      return { texts: makeTexts(distinct), of: Uint32Array.from(texts, (t) => ids.get(t)!) };
    };
    const files = table(this.files);
    const binaries = table(this.binaries);
    const nothing = makeTexts([""]);
    return {
      n, names: makeTexts(this.names), files: files.texts, file: files.of, binaries: binaries.texts, binary: binaries.of,
      buildIds: nothing, buildId: new Uint32Array(n), reasons: nothing, reason: new Uint32Array(n),
      line: Float64Array.from(this.lines), address: new BigUint64Array(n), flags: new Uint32Array(n),
    };
  }
}
