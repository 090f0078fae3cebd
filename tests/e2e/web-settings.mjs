// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-settings.mjs - the part of web.mjs about settings: kept, exported, imported, and reached by keys

import { readFile } from "node:fs/promises";

export async function settings(t) {
  const { assert, check, context, fixed, q, url, watch } = t;
  const page = await context.newPage();
  watch(page);
  const $ = (id) => page.locator(`[data-testid="${id}"]`);
  const settled = () => page.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]') && !document.querySelector(".stale") && window.__ui?.visible() > 0);
  const show = async (more = "") => {
    await page.goto(`${url}explore?q=${q}&${fixed}&e2e=1${more}`);
    await settled();
  };
  const close = () => $("settings").getByText("Close", { exact: true }).click();
  const set = async (values) => {
    await $("settings-open").click();
    for (const [key, value] of Object.entries(values)) await $(`setting-${key}`).selectOption(value);
    await close();
  };
  const importFile = async (text, name = "some.json") => {
    await $("settings-import").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
    await page.waitForFunction((n) => document.querySelector('[data-testid="settings-outcome"]')?.textContent.includes(n), name);
    return $("settings-outcome").innerText();
  };
  const exported = async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), $("settings-export").click()]);
    assert(file.suggestedFilename() === "decima-settings.json", file.suggestedFilename());
    return readFile(await file.path(), "utf8");
  };
  const looks = () =>
    page.evaluate(() => ({
      theme: document.documentElement.dataset.theme,
      row: window.__ui.panel().row,
      letters: window.__ui.panel().letters,
      colour: document.querySelector('[data-testid="fg-colour"]').value,
      zone: document.querySelector('[data-testid="zone"]').textContent,
    }));
  const isLike = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const wanted = { theme: "dark", rows: "26", letters: "11", colour: "kind", zone: "utc" };
  const want = { theme: "dark", row: 26, letters: 11, colour: "kind", zone: "UTC" };

  await check("settings_act_and_survive_a_reload", async () => {
    await show();
    const before = await looks();
    assert(before.row === 20 && before.letters === 12 && before.colour === "binary", JSON.stringify(before));
    await set(wanted);
    await page.waitForFunction(() => window.__ui.panel().row === 26);
    assert(isLike(await looks(), want), JSON.stringify(await looks()));
    await page.reload();
    await settled();
    assert(isLike(await looks(), want), `after a reload: ${JSON.stringify(await looks())}`);
    // A link says what it shows, whoever opens it; where it says nothing at all, the settings do.
    await show();
    assert((await looks()).colour === "binary" && (await looks()).theme === "dark", JSON.stringify(await looks()));
    await page.goto(url);
    await page.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]'));
    const address = new URL(page.url()).searchParams;
    assert(address.get("cb") === "kind" && address.get("tz") === "utc" && (await $("fg-colour").inputValue()) === "kind", page.url());
  });
  await check("settings_reach_other_tabs", async () => {
    await show();
    const other = await context.newPage();
    await other.goto(`${url}status`);
    await other.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await set({ theme: "light" });
    await other.waitForFunction(() => document.documentElement.dataset.theme === "light");
    await other.close();
    await set({ theme: "dark" });
  });
  let file = "";
  await check("settings_go_out_and_come_in", async () => {
    await show();
    await $("settings-open").click();
    file = await exported();
    for (const [key, value] of Object.entries(wanted)) assert(JSON.parse(file)[key] === value, `${key}: ${file}`);
    await $("settings-usual").click();
    assert(await $("settings-usual").isDisabled(), "as usual is not as usual");
    assert((await page.evaluate(() => localStorage.length)) === 0, "what is usual is kept");
    assert((await looks()).row === 20 && (await looks()).colour === "binary", JSON.stringify(await looks()));
    const told = await importFile(file);
    assert(told === "These are now the settings of some.json.", told);
    assert(isLike(await looks(), want), JSON.stringify(await looks()));
    assert((await exported()) === file, "what comes in goes out as something else");
    await page.reload();
    await settled();
    assert(isLike(await looks(), want), `after a reload: ${JSON.stringify(await looks())}`);
  });
  await check("settings_that_are_wrong_are_told", async () => {
    await $("settings-open").click();
    const good = JSON.parse(file);
    const faults = [
      ["{", "it is not JSON"], ["[]", "it is no object of JSON"], [JSON.stringify({ theme: "dark" }), "what is undefined"],
      [JSON.stringify({ ...good, theme: "light", rows: "17" }), 'rows is "17": it must be "16", "20" or "26"'],
      [JSON.stringify({ ...good, theme: "light", colour: "<img src=x>" }), 'colour is "<img src=x>"'],
      [JSON.stringify({ ...good, theme: "light", keys: { ...good.keys, invert: "o" } }), 'keys.invert and keys.orientation are both "o"'],
      ["x".repeat(70000), "larger than 64 KiB"],
    ];
    for (const [i, [text, sentence]] of faults.entries()) {
      const told = await importFile(text, `wrong-${i}.json`);
      assert(told.startsWith(`wrong-${i}.json was not taken: `) && told.includes(sentence), `${told}: want ${sentence}`);
      assert(isLike(await looks(), want), `taken in part: ${JSON.stringify(await looks())}`);
    }
    assert((await exported()) === file, "a wrong file has changed something");
    await close();
  });
  await check("settings_by_keys", async () => {
    await show();
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press(",");
    await page.waitForSelector('[data-testid="settings"][open]');
    const reach = async (id) => {
      for (let i = 0; i < 60 && !(await page.evaluate((x) => document.activeElement?.dataset.testid === x, id)); i++) await page.keyboard.press("Tab");
      assert(await page.evaluate((x) => document.activeElement?.dataset.testid === x, id), `Tab does not come to ${id}`);
    };
    await reach("setting-rows");
    await page.keyboard.press("ArrowUp");
    await page.waitForFunction(() => window.__ui.panel().row === 20);
    await reach("settings-export");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
    assert(await saved.path(), "nothing was saved");
    // Single keys belong to the page below, which waits.
    await reach("setting-theme");
    const inside = await page.evaluate(() => document.activeElement.closest("dialog") !== null);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert(inside, "the focus leaves the dialog");
    await $("settings-open").focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "settings-open");
  });
  await check("keys_can_be_others", async () => {
    await $("settings-open").click();
    await $("settings").getByText("Shortcut keys").click();
    await $("key-invert").fill("o");
    assert((await $("key-fault").innerText()) === 'keys.invert and keys.orientation are both "o"', await $("key-fault").innerText());
    await $("key-invert").fill("u");
    await $("key-fault").waitFor({ state: "detached" });
    await close();
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("i");
    await page.waitForTimeout(200);
    assert(!page.url().includes("inv="), "the usual key still acts");
    await page.keyboard.press("u");
    await page.waitForFunction(() => location.search.includes("inv=1"));
    assert((await $("invert").getAttribute("title")).includes("(u)"), await $("invert").getAttribute("title"));
    await $("settings-open").click();
    await $("settings-usual").click();
    await close();
  });
  await check("keys_of_the_selected_frame", async () => {
    await show();
    await $("flame").focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    const name = await $("details").locator("h3").innerText();
    const url0 = page.url();
    for (const [key, kind] of [["x", "HF"], ["d", "HS"], ["f", "SFF"]]) {
      await page.goto(url0);
      await settled();
      await page.keyboard.press(key);
      await page.waitForFunction(() => location.search.includes("f="));
      assert(new URL(page.url()).searchParams.get("f") === `${kind}:fn:=${name}`, `${key}: ${page.url()}`);
      await page.keyboard.press("Control+z");
      await page.waitForFunction(() => !location.search.includes("&f="));
      await page.keyboard.press("Control+y");
      await page.waitForFunction(() => location.search.includes("&f="));
    }
    await page.goto(url0);
    await settled();
    // What this page has not done it does not undo: somebody would be led away from it.
    await page.keyboard.press("Control+z");
    await page.waitForTimeout(300);
    assert(page.url() === url0, page.url());
    await page.keyboard.press("s");
    await page.waitForSelector('[data-testid="sandwich"] .bun');
    assert((await page.locator(".bun b").innerText()) === name, await page.locator(".bun b").innerText());
  });
  await check("matches_one_after_the_other", async () => {
    await page.goto(`${url}open?e2e=1`);
    await $("open-file").setInputFiles({ name: "a.folded", mimeType: "text/plain", buffer: Buffer.from("main;one;x_hit 500000\nmain;two;y 400000\nmain;two;z_hit 3\n") });
    await settled();
    await $("search").fill("_hit$");
    await $("search-next").waitFor();
    const at = (n) => page.waitForFunction((w) => document.querySelector('[data-testid="details"] h3')?.textContent === w, n, { timeout: 3000 });
    await page.evaluate(() => document.activeElement?.blur());
    assert((await $("search-place").count()) === 0, "a match is counted before one is gone to");
    await page.keyboard.press("n");
    await at("x_hit");
    assert((await $("search-place").innerText()) === "1/2", await $("search-place").innerText());
    await page.keyboard.press("n");
    await at("z_hit");
    assert((await $("search-place").innerText()) === "2/2", await $("search-place").innerText());
    // It is narrower than a pixel: the view goes closer.
    await page.waitForFunction(() => window.__ui.frames().some((f) => f.name === "z_hit" && f.w >= 0.5));
    await $("search-next").click();
    await at("x_hit");
    await page.keyboard.press("N");
    await at("z_hit");
    await $("search-previous").click();
    await at("x_hit");
  });
  await check("keys_of_times", async () => {
    await show();
    const range = () => ["from", "to"].map((k) => Number(new URL(page.url()).searchParams.get(k)));
    const [from, to] = range();
    const length = to - from;
    await page.keyboard.press("[");
    await page.waitForFunction((f) => Number(new URL(location.href).searchParams.get("to")) === f, from);
    assert(range()[0] === from - length, `${range()}: want ${from - length}`);
    await page.keyboard.press("]");
    await page.waitForFunction((f) => Number(new URL(location.href).searchParams.get("from")) === f, from);
    await page.keyboard.press("=");
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    const b = ["b.from", "b.to"].map((k) => Number(new URL(page.url()).searchParams.get(k)));
    assert(range()[1] === from && b[0] === from && b[1] === to, page.url());
  });
  await check("a_time_is_selected_by_keys", async () => {
    await show();
    const [from, to] = ["from", "to"].map((k) => Number(new URL(page.url()).searchParams.get(k)));
    await $("metrics").focus();
    const stride = (to - from) / 100;
    for (let i = 0; i < 20; i++) await page.keyboard.press("ArrowRight");
    for (let i = 0; i < 30; i++) await page.keyboard.press("Shift+ArrowRight");
    assert(/\d\d:\d\d:\d\d to .*\d\d:\d\d:\d\d/.test(await $("marked").textContent()), await $("marked").textContent());
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.search.includes("sel="));
    const [a, b] = new URL(page.url()).searchParams.get("sel").split("-").map(Number);
    assert(Math.abs(a - from - 20 * stride) < 3 && Math.abs(b - from - 50 * stride) < 3, `${a - from} and ${b - from} of ${to - from}`);
    await page.keyboard.press("Shift+ArrowLeft");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector('[data-testid="marked"]').textContent === "");
    assert(page.url().includes(`sel=${a}-${b}`), "Escape takes what was selected before");
  });
  await check("keys_of_the_view", async () => {
    await show();
    await $("flame").focus();
    const view = () => page.evaluate(() => window.__ui.view());
    const all = await view();
    const still = (what, want) =>
      page.waitForFunction(
        ([what, want]) => {
          const v = window.__ui.view();
          const near = (a, b) => Math.abs(a - b) < 1e-6 * want.all;
          return near(v.x1 - v.x0, want.span) && (what === "right" ? v.x0 > want.x0 + 0.1 * want.span : near(v.x0, want.x0));
        },
        [what, want],
        { timeout: 3000 },
      );
    const span = all.x1 - all.x0;
    await page.keyboard.press("+");
    await still("", { all: span, span: span / 2, x0: all.x0 + span / 4 });
    await page.keyboard.press("Shift+ArrowRight");
    await still("right", { all: span, span: span / 2, x0: all.x0 + span / 4 });
    await page.waitForTimeout(250);
    await page.keyboard.press("-");
    await still("", { all: span, span, x0: all.x0 });
  });
  await check("settings_without_a_place_to_keep_them", async () => {
    const closed = await context.browser().newContext({ viewport: { width: 1280, height: 900 } });
    const other = await closed.newPage();
    await other.addInitScript(() => Object.defineProperty(window, "localStorage", { get: () => { throw new DOMException("storage is closed", "SecurityError"); } }));
    await other.goto(`${url}status`);
    await other.locator('[data-testid="settings-open"]').click();
    await other.locator('[data-testid="setting-theme"]').selectOption("dark");
    await other.getByText("They last no longer than this tab: storage is closed").waitFor();
    assert((await other.evaluate(() => document.documentElement.dataset.theme)) === "dark", "it does not act");
    await closed.close();
  });
  await page.close();
}
