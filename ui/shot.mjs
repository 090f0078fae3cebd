// SPDX-License-Identifier: Apache-2.0
// shot.mjs - a picture of a page of a running daemon, as docs/ has them
//
//	node shot.mjs URL OUT.png [WIDTH HEIGHT [light|dark]]      (playwright-core is found here, or from where UI_MODULES says)
//
// Prints how large it is, and how many frames of a flame graph are on it.

import { statSync } from "node:fs";
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.UI_MODULES ? `${process.env.UI_MODULES}/` : import.meta.url)("playwright-core");
const [address, out, width = "1280", height = "800", scheme = "light"] = process.argv.slice(2);
const url = new URL(address);
// The page says then what is drawn: flame/panel.tsx.
url.searchParams.set("e2e", "1");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: scheme });
await page.goto(url.href);
await page.waitForSelector('[data-testid="flame-ready"], .page, [data-testid="table"]', { state: "attached", timeout: 60_000 });
await page.waitForLoadState("networkidle");
// Names that had no time in the first frames of the screen have come when nothing is drawn any more.
await page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 500)));
await page.screenshot({ path: out });
const frames = await page.evaluate(() => window.__ui?.visible() ?? 0);
console.log(`${out}: ${width} x ${height}, ${statSync(out).size} bytes, ${frames} frames`);
await browser.close();
