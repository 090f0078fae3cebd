// SPDX-License-Identifier: Apache-2.0
// flame/build.ts - a tree out of stacks, as the server makes it: siblings heaviest first

import { type Functions, type Tree, makeTexts, place, settle } from "./tree.ts";

export class TreeBuilder {
  private readonly names: string[] = [];
  private readonly files: string[] = [];
  private readonly binaries: string[] = [];
  private readonly lines: number[] = [];
  private readonly func: number[] = [-1];
  private readonly parent: number[] = [-1];
  private readonly self: number[] = [0];
  private readonly children = new Map<number, Map<number, number>>();

  /** The next frame; they are numbered as they come. */
  frame(f: { name: string; file: string; binary: string; line: number }): void {
    this.names.push(f.name);
    this.files.push(f.file);
    this.binaries.push(f.binary);
    this.lines.push(f.line);
  }

  /** frames: from the root on. */
  add(frames: number[], value: number): void {
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
      }
      node = child;
    }
    this.self[node] += value;
  }

  private totals(): Float64Array {
    const total = Float64Array.from(this.self);
    for (let i = total.length - 1; i > 0; i--) total[this.parent[i]] += total[i];
    return total;
  }

  finish(unit: string): Tree {
    const n = this.func.length;
    const weight = this.totals();
    const func = new Int32Array(n);
    const depth = new Uint16Array(n);
    const parent = new Int32Array(n);
    const self = new Float64Array(n);
    const where = new Int32Array(n);
    const todo = [0];
    let maxDepth = 0;
    for (let i = 0; todo.length; i++) {
      const old = todo.pop()!;
      where[old] = i;
      func[i] = this.func[old];
      self[i] = this.self[old];
      parent[i] = old ? where[this.parent[old]] : -1;
      depth[i] = old ? depth[parent[i]] + 1 : 0;
      maxDepth = Math.max(maxDepth, depth[i]);
      const below = [...(this.children.get(old)?.values() ?? [])].sort((a, b) => weight[a] - weight[b] || this.func[b] - this.func[a]);
      for (const child of below) todo.push(child);
    }
    const { total, end } = settle(n, parent, self, new Map());
    const rest = { functions: this.functions(), meta: { unit, total: [total[0]], filtered: [0] }, trimmed: new Map<number, number>() };
    return { n, maxDepth, func, depth, parent, end, self, total, width: total, x: place(n, parent, total), ...rest };
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
