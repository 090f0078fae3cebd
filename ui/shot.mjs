// SPDX-License-Identifier: Apache-2.0
// shot.mjs - a picture of a page of a running daemon, as docs/ has them
//
//	node shot.mjs URL OUT.png [WIDTH HEIGHT [light|dark]]

import { chromium } from "playwright-core";

const [url, out, width = "1280", height = "860", scheme = "light"] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: scheme });
await page.goto(url);
await page.waitForSelector('[data-testid="flame-ready"], .page, [data-testid="table"]', { timeout: 30000 });
await page.waitForTimeout(1200);
await page.screenshot({ path: out });
await browser.close();
