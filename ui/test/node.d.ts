// SPDX-License-Identifier: Apache-2.0
// test/node.d.ts - what the tests use of node

declare module "node:test" {
  export function test(name: string, run: () => void | Promise<void>): void;
  export function beforeEach(run: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  type Kind = RegExp | (new (...args: never[]) => Error) | ((e: Error) => boolean);
  interface Assert {
    ok(value: unknown, message?: string): asserts value;
    equal(actual: unknown, expected: unknown, message?: string): void;
    notEqual(actual: unknown, expected: unknown, message?: string): void;
    deepEqual(actual: unknown, expected: unknown, message?: string): void;
    notDeepEqual(actual: unknown, expected: unknown, message?: string): void;
    match(text: string, pattern: RegExp, message?: string): void;
    throws(run: () => unknown, kind?: Kind, message?: string): void;
    rejects(promise: Promise<unknown>, kind?: Kind, message?: string): Promise<void>;
  }
  const assert: Assert;
  export default assert;
}
