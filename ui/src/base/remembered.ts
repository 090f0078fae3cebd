// SPDX-License-Identifier: Apache-2.0
// base/remembered.ts - values by text, those that were used last, as many and as large as may be

export class Remembered<T> {
  private all = new Map<string, { value: T; bytes: number }>();
  private bytes = 0;
  private readonly most: number;
  private readonly mostBytes: number;

  /** At most so many answers, and so many bytes of them. */
  constructor(most: number, mostBytes: number) {
    this.most = most;
    this.mostBytes = mostBytes;
  }

  get(question: string): T | undefined {
    const found = this.all.get(question);
    if (!found) return undefined;
    // The one that is used last goes last.
    this.all.delete(question);
    this.all.set(question, found);
    return found.value;
  }

  keep(question: string, value: T, bytes: number): void {
    this.forget(question);
    if (bytes > this.mostBytes) return;
    this.all.set(question, { value, bytes });
    this.bytes += bytes;
    while (this.all.size > this.most || this.bytes > this.mostBytes) this.forget(this.all.keys().next().value!);
  }

  clear(): void {
    this.all.clear();
    this.bytes = 0;
  }

  forget(question: string): void {
    this.bytes -= this.all.get(question)?.bytes ?? 0;
    this.all.delete(question);
  }
}
