// SPDX-License-Identifier: Apache-2.0
// test.mjs - runs test/*.test.ts under node's own runner, in one bundle each
//
//	node test.mjs

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "decima-ui-test-"));
const tests = readdirSync(join(here, "test")).filter((f) => f.endsWith(".test.ts"));
buildSync({ entryPoints: tests.map((t) => join(here, "test", t)), bundle: true, platform: "node", format: "esm", define: { WORKER: JSON.stringify("worker.js") }, outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const files = tests.map((t) => join(out, t.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...files], { stdio: "inherit" });
rmSync(out, { recursive: true, force: true });
process.exit(status ?? 1);
