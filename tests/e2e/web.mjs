// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web.mjs - the page in a real browser, beside what the API says; run by web.sh
//
//	node web.mjs URL PARTIAL      (playwright-core is found from where UI_MODULES says)
//
// PARTIAL is a server whose profiles of three hours ago cannot be read.
//
// Prints `ok web.NAME` or `not ok web.NAME: why`.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { failures as ownFailures } from "./web-failures.mjs";
import { figures } from "./web-figures.mjs";
import { flame } from "./web-flame.mjs";
import { oneFunction } from "./web-function.mjs";
import { people } from "./web-people.mjs";
import { query } from "./web-query.mjs";
import { settings } from "./web-settings.mjs";
import { system } from "./web-system.mjs";
import { tools } from "./web-tools.mjs";
import { ways } from "./web-ways.mjs";

const require = createRequire(`${process.env.UI_MODULES}/`);
const { chromium } = require("playwright-core");
const [url, partial] = process.argv.slice(2);

const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const page = await context.newPage();
const failures = [];
const foreign = [];
/** What goes wrong in a page counts as a failure, but where a case makes it. */
function watch(p) {
  p.on("pageerror", (e) => failures.push(`exception: ${e.message}`));
  // A question that ends while somebody asks how far it is has no progress any more: 404.
  p.on("console", (m) => m.type() === "error" && !m.location().url.includes("/queries/") && failures.push(`console: ${m.text()} ${m.location().url}`));
  p.on("requestfailed", (r) => !/ERR_ABORTED/.test(r.failure()?.errorText ?? "") && failures.push(`request: ${r.url()}`));
}
watch(page);
context.on("request", (r) => new URL(r.url()).origin !== new URL(url).origin && !r.url().startsWith("blob:") && foreign.push(r.url()));

const $ = (id) => page.locator(`[data-testid="${id}"]`);
const json = async (path) => (await context.request.get(`${url}${path}`)).json();
const at = (ms) => encodeURIComponent(new Date(ms).toISOString());

function assert(truth, why) {
  if (!truth) throw new Error(why);
}

/** What holds by docs/PAGES.md, and the numbers that its cases have there. */
const rows = [...readFileSync(new URL("../../docs/PAGES.md", import.meta.url), "utf8").matchAll(/^\| (\d+) \| (.*) \| (.*) \|$/gm)];
const numbersOf = (name) => rows.filter((r) => r[3].includes(`\`web.${name}\``)).map((r) => r[1]);

async function check(name, act) {
  const numbers = numbersOf(name);
  const of = numbers.length ? `: checks ${numbers.join(", ")}` : "";
  try {
    await act();
    console.log(`ok web.${name}${of}`);
  } catch (e) {
    console.log(`not ok web.${name}${of}: ${String(e.message ?? e).split("\n").slice(0, 3).join(" | ")}`);
  }
}

const cpu = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta";
const ready = () => page.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]') && !document.querySelector(".stale"), null, { timeout: 20000 });
/** Where something stands, once it is there and stays: what is drawn anew has no place for a moment. */
async function boxOf(locator) {
  for (let before = "", end = Date.now() + 10_000; Date.now() < end; await new Promise((r) => setTimeout(r, 50))) {
    const box = await locator.boundingBox();
    const now = JSON.stringify(box);
    if (box && now === before) return box;
    before = now;
  }
  throw new Error("it has no place that it stays at");
}
const open = async (path) => {
  await page.goto(`${url}${path}`);
  await ready();
};

/**
 * The data of this run up to now, so that every answer is the same: all of it is stored once a
 * profile has come that begins later.
 */
const to = Date.now();
const allStored = async () => {
  for (const end = to + 60000; Date.now() < end; await new Promise((r) => setTimeout(r, 200))) {
    const answer = await json("api/v1/types");
    const type = answer.types.find((t) => t.type === cpu);
    if (type?.last_ms > to) return { types: answer, from: type.first_ms };
  }
  throw new Error("no profile came that begins after the start of this script");
};
const { types, from } = await allStored();
const fixed = `from=${from}&to=${to}`;
const q = encodeURIComponent(`${cpu}{comm="worker"}`);
const tree = async (more = "") => json(`api/v1/flame?q=${q}&from=${at(from)}&to=${at(to)}${more}`);

await check("first_visit", async () => {
  await page.goto(url);
  await ready();
  assert((await $("query").inputValue()).startsWith(cpu), "the CPU's type is not chosen");
  assert(await $("metrics").locator("canvas").count(), "no graph");
});
await check("types", async () => {
  const shown = await $("type-select").locator("option").evaluateAll((o) => o.map((x) => x.value));
  assert(JSON.stringify(shown) === JSON.stringify(types.types.map((t) => t.type)), `shown: ${shown}`);
});
/** The first figure is so much time, in three digits of some unit. */
const isShown = async (ns) => {
  const text = await $("quality").innerText();
  const [, n, unit] = /^([\d.]+) (ns|µs|ms|s|min|h)\b/.exec(text) ?? [];
  const shown = n * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 }[unit];
  assert(Math.abs(shown - ns) <= ns * 0.006, `${text.slice(0, 40)}: want ${ns} ns`);
};
await check("figures_are_the_servers", async () => {
  await open(`explore?q=${q}&${fixed}`);
  const t = await tree();
  await isShown(t.total[0]);
});
await check("root_to_leaf", async () => {
  const t = await tree();
  const names = t.frames.name;
  const want = t.nodes.frame.map((f) => (f < 0 ? "all" : names[f]));
  await $("flame").focus();
  for (let i = 1; i < Math.min(want.length, 6) && t.nodes.depth[i] === i; i++) {
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, want[i], { timeout: 3000 });
  }
});
await check("zoom_and_back", async () => {
  await open(`explore?q=${q}&${fixed}`);
  const box = await $("flame").boundingBox();
  await page.mouse.dblclick(box.x + 30, box.y + 50);
  await page.waitForFunction(() => location.search.includes("z="));
  await page.waitForSelector('[data-testid="crumbs"]');
  const zoomed = page.url();
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes("z="));
  await page.goForward();
  await page.waitForFunction((u) => location.href === u, zoomed);
  await page.keyboard.press("Escape");
  await $("flame").focus();
  await page.keyboard.press("Home");
  await page.waitForFunction(() => !location.search.includes("z="));
});
await check("hover", async () => {
  const box = await $("flame").boundingBox();
  await page.mouse.move(box.x + 20, box.y + 30);
  const text = await $("tooltip").innerText();
  assert(/Total/.test(text) && /Self/.test(text), text);
  await page.mouse.move(box.x + 20, box.y - 30);
});
await check("search_matches_the_oracle", async () => {
  const t = await tree();
  const names = t.frames.name;
  const expression = /a_$/i;
  let weight = 0;
  for (let i = 1, free = 0; i < t.nodes.frame.length; i++) {
    if (i < free || !expression.test(names[t.nodes.frame[i]])) continue;
    weight += t.nodes.total[i];
    free = i + 1;
    while (free < t.nodes.frame.length && t.nodes.depth[free] > t.nodes.depth[i]) free++;
  }
  const share = (weight / t.total[0]) * 100;
  await $("search").fill("a_$");
  const want = `${share.toFixed(share >= 99.95 ? 0 : share >= 10 ? 1 : 2)} %`;
  await page.waitForFunction((w) => document.querySelector('[data-testid="search-count"]').textContent.startsWith(w), want, { timeout: 4000 }).catch(async () => {
    throw new Error(`${await $("search-count").innerText()}, not ${want}`);
  });
});
await check("search_that_is_none", async () => {
  await $("search").fill("(");
  await page.waitForFunction(() => document.querySelector('[data-testid="search"]').getAttribute("aria-invalid") === "true");
  await $("search").fill("");
});
// Another is typed while it is still worked on, or has been given up: that one has its answer, in either case.
for (const ms of [100, 1000])
  await check(`search_that_never_ends_${ms}`, async () => {
    await $("search").fill("^((.+)+)+#$");
    await page.waitForTimeout(ms);
    await $("search").fill("beta");
    await page.waitForFunction(() => /frames/.test(document.querySelector('[data-testid="search-count"]').textContent), null, { timeout: 15000 });
    await $("search").fill("");
  });
await check("inverted_roots_are_the_self_times", async () => {
  await open(`explore?q=${q}&${fixed}&inv=1`);
  const top = (await json(`api/v1/functions?q=${q}&from=${at(from)}&to=${at(to)}`)).rows[0];
  await $("flame").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, top.name, { timeout: 4000 });
});
await check("table_is_the_servers", async () => {
  await open(`explore?q=${q}&${fixed}`);
  await $("panel-table").click();
  const rows = (await json(`api/v1/functions?q=${q}&from=${at(from)}&to=${at(to)}`)).rows;
  await page.waitForSelector('[data-testid="table"] .rows .row');
  const shown = await $("table").locator(".rows .row .name .over").allInnerTexts();
  // Functions of two files may have one name. Which of two equal ones comes first is nobody's business.
  const left = new Map();
  for (const r of rows) left.set(r.name, [...(left.get(r.name) ?? []), r.self[0]]);
  const values = shown.map((n) => left.get(n)?.shift());
  assert(values.every((v, i) => v !== undefined && (i === 0 || v <= values[i - 1])), `${shown} have ${values}`);
  assert(values[0] === rows[0].self[0], shown.join(" "));
  assert((await $("table").locator(".rows .row").count()) <= 120, "more than 120 rows are elements");
});
await check("sort", async () => {
  await $("sort-name").click();
  const shown = await $("table").locator(".rows .row .name .over").allInnerTexts();
  assert(JSON.stringify(shown) === JSON.stringify([...shown].sort((a, b) => a.localeCompare(b))), shown.join(" "));
  assert((await $("sort-name").locator("..").getAttribute("aria-sort")) === "ascending", "aria-sort");
});
await check("sandwich_totals", async () => {
  await open(`explore?q=${q}&${fixed}`);
  await page.goto(`${url}explore?q=${q}&${fixed}&v=sandwich&sw=beta`);
  await page.waitForSelector('[data-testid="sandwich"] .bun');
  const row = (await json(`api/v1/functions?q=${q}&from=${at(from)}&to=${at(to)}`)).rows.find((r) => r.name === "beta");
  const t = await tree();
  const share = (row.total[0] / t.total[0]) * 100;
  const text = await page.locator(".bun").innerText();
  assert(text.includes(share >= 99.95 ? "100 %" : share.toFixed(1)), `${text}: ${share}`);
});
await check("filters_are_the_servers", async () => {
  for (const [chip, param] of [["SS", "only_stacks"], ["HS", "hide_stacks"], ["SFF", "focus"], ["HF", "hide"]]) {
    await page.goto(`${url}explore?q=${q}&${fixed}&f=${encodeURIComponent(`${chip}:fn:=gamma_`)}`);
    const want = await tree(`&${param}=${encodeURIComponent("fn:=gamma_")}`);
    if (want.total[0] === 0) {
      await $("empty").getByText("The filters leave nothing").waitFor();
      continue;
    }
    await ready();
    await isShown(want.total[0]);
    const label = await $("flame").getAttribute("aria-label");
    assert(label.includes(` ${want.nodes.frame.length - 1} frames`), `${chip}: ${label}, and not ${want.nodes.frame.length - 1}`);
    const text = await $("quality").innerText();
    assert(text.includes("filtered out") === (want.filtered[0] !== 0), `${chip}: ${text}`);
  }
});
await check("values_of_a_label_that_no_path_can_hold", async () => {
  for (const label of [".", "..", "a/b"]) {
    const answer = page.waitForResponse((r) => r.url().includes("/api/v1/values?") && new URL(r.url()).searchParams.get("label") === label);
    await $("query").fill("");
    await $("query").pressSequentially(`${cpu}{"${label}"="`);
    const note = (await answer).headers()["decima-note"] ?? "";
    assert(note.includes(`"${label}"`), `${label}: ${(await answer).url()}: ${note}`);
  }
  await page.keyboard.press("Escape");
});
await check("wrong_selector_has_a_place", async () => {
  await open(`explore?q=${q}&${fixed}`);
  await $("query").fill(`${cpu}{comm=1}`);
  const text = await $("query-error").innerText();
  assert(text.includes(`column ${cpu.length + 7}`), text);
  await page.waitForSelector('[data-testid="run"]:disabled');
  await $("query").fill(`${cpu}{}`);
  await page.waitForSelector('[data-testid="run"]:enabled');
  await page.keyboard.press("Escape");
});
await check("completion", async () => {
  let go_on;
  const held = new Promise((done) => (go_on = done));
  await page.route("**/api/v1/labels?*", (route) => held.then(() => route.continue()));
  const offers = () => $("query-list").locator("li span:first-child").allInnerTexts();
  await $("query").fill("");
  await $("query").pressSequentially(cpu.slice(0, 5));
  await $("query-list").getByText(cpu, { exact: true }).waitFor();
  assert(/[1-9]\d* profiles/.test(await $("query-list").innerText()), `a type without its count: ${await $("query-list").innerText()}`);
  await $("query").pressSequentially(`${cpu.slice(5)}{com`);
  // Types are not offered where a label stands, however long its names take.
  await page.waitForTimeout(300);
  assert((await offers()).length === 0, (await offers()).join(" "));
  go_on();
  await $("query-list").getByText("comm", { exact: true }).waitFor();
  await page.unroute("**/api/v1/labels?*");
  const chosen = async () => (await $("query-list").locator("li.at span:first-child").allInnerTexts())[0];
  while ((await chosen()) !== "comm") await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  assert((await chosen()) === "comm", `ArrowUp leads to ${await chosen()}`);
  await page.keyboard.press("Tab");
  assert((await $("query").inputValue()).includes('{comm="'), await $("query").inputValue());
});
await check("address_is_the_state", async () => {
  await open(`explore?q=${q}&${fixed}&cb=kind&flame=1&group=line&later=1`);
  assert((await $("fg-group").inputValue()) === "line", "group");
  await $("fg-colour").selectOption("file");
  assert(page.url().includes("cb=file") && page.url().includes("later=1"), page.url());
});
await check("wrong_address_is_told", async () => {
  await page.goto(`${url}explore?q=${q}&${fixed}&v=nothing&inv=7`);
  await ready();
  assert((await $("toast").innerText()).includes("v, inv"), "no word about it");
});
await check("a_slash_behind_a_page_leads_to_it", async () => {
  for (const below of ["", "x/y/"]) {
    await open(`${below}explore/?q=${q}&${fixed}`);
    assert(page.url() === `${url}${below}explore?q=${q}&${fixed}`, page.url());
  }
});
await check("export", async () => {
  await open(`explore?q=${q}&${fixed}`);
  await $("export").locator("summary").click();
  const [file] = await Promise.all([page.waitForEvent("download"), $("export").getByText("folded stacks").click()]);
  const text = await (await import("node:fs/promises")).readFile(await file.path(), "utf8");
  const sum = text.trim().split("\n").reduce((n, line) => n + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  assert(sum === (await tree()).total[0], `${sum}`);
});
await check("open_file", async () => {
  const pprof = Buffer.from(await (await context.request.get(`${url}api/v1/export?q=${q}&from=${at(from)}&to=${at(to)}&format=pprof`)).body());
  await page.goto(`${url}open`);
  await $("open-file").setInputFiles({ name: "a.pb.gz", mimeType: "application/octet-stream", buffer: pprof });
  await ready();
  const t = await tree();
  await isShown(t.total[0]);
  await $("flame").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, t.frames.name[t.nodes.frame[1]], { timeout: 3000 });
  // What the server sends for a page, and what perf script prints.
  const sent = Buffer.from(await (await context.request.get(`${url}api/v1/flame?q=${q}&from=${at(from)}&to=${at(to)}&format=flametree`)).body());
  await $("open-file").setInputFiles({ name: "a.flametree", mimeType: "application/octet-stream", buffer: sent });
  await page.locator(".drop b", { hasText: "a.flametree" }).waitFor();
  await isShown(t.total[0]);
  const perf = "prog 1 2.5: 7000000 cpu-clock: \n\t 1f f+0x1 (/bin/prog)\n\n";
  await $("open-file").setInputFiles({ name: "perf.txt", mimeType: "text/plain", buffer: Buffer.from(perf) });
  await page.locator(".drop b", { hasText: "perf.txt" }).waitFor();
  await isShown(7e6);
  assert(!(await $("quality").innerText()).includes("average"), `of no time there is no average: ${await $("quality").innerText()}`);
  await $("open-file").setInputFiles({ name: "b.txt", mimeType: "text/plain", buffer: Buffer.from("no profile\n") });
  await page.waitForSelector('[data-testid="error"]');
});
await check("keys", async () => {
  await open(`explore?q=${q}&${fixed}`);
  await page.locator("h3").first().click();
  await page.keyboard.press("2");
  await page.waitForSelector('[data-testid="table"]');
  await page.keyboard.press("/");
  assert(await $("search").evaluate((e) => e === document.activeElement), "/ does not go to the search");
  await page.keyboard.type("2g");
  assert((await $("search").inputValue()) === "2g", "keys act where somebody writes");
  await $("search").fill("");
  await page.locator("h2, .summary").first().click();
  await page.keyboard.press("?");
  await page.waitForSelector('[data-testid="help"][open]');
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  // Where the focus was before is where it is again.
  await page.waitForFunction(() => document.activeElement === document.body || document.activeElement?.closest("main, header"));
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.waitForFunction(() => location.pathname.endsWith("/pipeline"));
});
await check("theme", async () => {
  await open(`explore?q=${q}&${fixed}`);
  const before = await page.evaluate(() => document.documentElement.dataset.theme);
  await $("theme").click();
  if ((await page.evaluate(() => document.documentElement.dataset.theme)) === before) await $("theme").click();
  const after = await page.evaluate(() => document.documentElement.dataset.theme);
  assert(before !== after, "nothing changed");
  await page.reload();
  await ready();
  assert((await page.evaluate(() => document.documentElement.dataset.theme)) === after, "forgotten");
});
await check("screen_reader_tree", async () => {
  await $("flame").focus();
  await page.keyboard.press("ArrowDown");
  const id = await $("flame").getAttribute("aria-activedescendant");
  const item = page.locator(`#${id}`);
  assert((await item.getAttribute("role")) === "treeitem" && (await item.getAttribute("aria-level")) === "2", "not the first child");
  assert(/percent|%/.test(await item.innerText()), await item.innerText());
  const roots = (await tree()).nodes.depth.filter((d) => d === 1).length;
  assert((await item.getAttribute("aria-posinset")) === "1" && (await item.getAttribute("aria-setsize")) === String(roots), `${await item.evaluate((e) => e.outerHTML)}, of ${roots}`);
});
await check("controls_have_names", async () => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, select, input, a[href]")]
      .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label") || e.title))
      .map((e) => e.outerHTML.slice(0, 80)),
  );
  assert(nameless.length === 0, nameless.join(" "));
});
await check("same_is_neutral", async () => {
  await page.goto(`${url}compare?q=${q}&${fixed}&b.q=${q}&b.from=${from}&b.to=${to}&e2e=1&sig=0`);
  await ready();
  await page.waitForFunction(() => window.__ui?.visible() > 0);
  // The middle of the nine steps (ui/src/flame/color.ts), though chance is coloured too.
  const fills = await page.evaluate(() => [...new Set(window.__ui.frames().filter((f) => f.node >= 0).map((f) => f.fill))]);
  assert(fills.length === 1 && fills[0] === 32 + 4, `fills ${fills}, and not the one of no change`);
  await page.waitForSelector('[data-testid="cmp-how"]');
  await $("flame").focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => /Change\s*0 %/.test(document.querySelector('[data-testid="details"]').innerText), null, { timeout: 4000 });
});
for (const [screen, want] of [["targets", "ebpf"], ["pipeline", "Queues"], ["status", "Storage"]])
  await check(screen, async () => {
    await $(`nav-${screen}`).click();
    await page.waitForFunction((w) => document.querySelector("main").innerText.includes(w), want, { timeout: 5000 });
  });
const shared = { $, assert, at, boxOf, check, context, cpu, fixed, from, json, open, page, partial, q, ready, to, tree, url, watch };
await flame(shared);
await figures(shared);
await query(shared);
await system(shared);
await ownFailures(shared);
await ways(shared);
await people(shared);
await settings(shared);
await tools(shared);
await oneFunction(shared);
await check("idle_asks_nothing", async () => {
  await open(`explore?q=${q}&${fixed}`);
  // What it fetches ahead comes when the machine has time for it.
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((r) => /\/rest-/.test(r.name)));
  await page.waitForTimeout(500);
  const asked = [];
  const count = (r) => asked.push(r.url());
  page.on("request", count);
  await page.evaluate(() => {
    window.__frames = 0;
    const real = window.requestAnimationFrame;
    window.requestAnimationFrame = (f) => (window.__frames++, real(f));
  });
  await page.waitForTimeout(2000);
  page.off("request", count);
  assert(asked.length === 0 && (await page.evaluate(() => window.__frames)) === 0, `${asked.join(" ")}: ${asked.length} requests, ${await page.evaluate(() => window.__frames)} frames`);
});
await check("nothing_failed", async () => assert(failures.length === 0, failures.slice(0, 3).join("; ")));
await check("nothing_foreign", async () => assert(foreign.length === 0, foreign.join(" ")));
for (const [, n, what, why] of rows) if (why.startsWith("none: ")) console.log(`skip web.check_${n}: ${what}: ${why.slice(6)}`);
await browser.close();
