// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-tools.mjs - the part of web.mjs about what makes work short: commands by name, filters that are written, times by
// hand, what stands out where somebody points, recursion, and two sides held against each other in another way


/** A stack that comes back to where it was: each line folded as ui/src/flame/recursion.ts has it. */
const looped = "main;f;g;f;g;h 6\nmain;f;g 4\nmain;i;i;i 3\n";

export async function tools(t) {
  const { $, assert, at, boxOf, check, cpu, fixed, from, json, open, page, q, ready, to, url } = t;
  const whole = encodeURIComponent(`${cpu}{}`);
  const param = (name) => new URL(page.url()).searchParams.get(name);
  const has = (name, value) => page.waitForFunction(([n, v]) => new URL(location.href).searchParams.get(n) === v, [name, value], { timeout: 5000 });
  const text = (id) => $(id).innerText();
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };

  await check("a_command_by_its_name", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.locator(".summary b").first().click();
    await press("Control+k");
    await $("palette-text").waitFor();
    await page.keyboard.type("group by line");
    await page.waitForFunction(() => document.querySelector('[data-testid="palette-list"] .at')?.textContent.startsWith("Group by line"));
    await press("Enter");
    await has("group", "line");
    await ready();
    await press("Control+k");
    await page.keyboard.type("nothing is called so");
    await $("palette").getByText("Nothing is called so.").waitFor();
    await press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert(param("group") === "line", "Escape did something else, too");
  });
  await check("a_function_by_its_name", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await $("palette-open").click();
    await page.keyboard.type("beta");
    await page.waitForFunction(() => /beta/.test(document.querySelector('[data-testid="palette-list"] .at')?.textContent));
    await press("ArrowDown", "ArrowUp", "Enter");
    await has("sw", "beta");
    await page.waitForSelector('[data-testid="sandwich"] .bun');
  });
  await check("a_filter_is_written_and_changed", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.locator(".summary b").first().click();
    await press("F");
    await $("chip-text").fill("(");
    await press("Enter");
    assert((await text("chip-fault")) !== "" && param("f") === null, `what is no expression is taken: ${page.url()}`);
    await $("chip-kind").selectOption("HF");
    await $("chip-how").selectOption("=");
    await $("chip-text").fill("beta");
    await press("Enter");
    await has("f", "HF:fn:=beta");
    await ready();
    assert(/hide\s+beta/.test(await text("chip-0")), await text("chip-0"));
    await $("chip-0-edit").click();
    assert((await $("chip-kind").inputValue()) === "HF" && (await $("chip-text").inputValue()) === "beta", "it does not begin with what it was");
    await $("chip-kind").selectOption("SS");
    await $("chip-field").selectOption("bin");
    await $("chip-how").selectOption("~");
    await $("chip-text").fill("^work.r$");
    await $("chip-take").click();
    await has("f", "SS:bin:~^work.r$");
    await ready();
    const want = await json(`api/v1/flame?q=${q}&from=${at(from)}&to=${at(to)}&only_stacks=${encodeURIComponent("bin:~^work.r$")}`);
    assert((await $("flame").getAttribute("aria-label")).includes(` ${want.nodes.frame.length - 1} frames`), "not what the server says");
    await $("chip-0-edit").click();
    await press("Escape");
    await page.waitForFunction(() => !document.querySelector('[data-testid="chip-editor"]'));
    assert(param("f") === "SS:bin:~^work.r$", "Escape changed it");
  });
  await check("a_time_is_written", async () => {
    await open(`explore?q=${q}&${fixed}&tz=utc`);
    await $("range").selectOption("written");
    await $("range-from").fill("2026-02-30 10:00");
    await $("range-take").click();
    assert((await text("range-fault")) === "From is no time", await text("range-fault"));
    await $("range-from").fill("2026-03-02 10:00");
    await $("range-to").fill("2026-03-02 09:00");
    await $("range-take").click();
    assert((await text("range-fault")) === "The end is not after the beginning", await text("range-fault"));
    await $("range-to").fill("2026-03-02 10:30:15");
    await press("Enter");
    await has("from", String(Date.UTC(2026, 2, 2, 10)));
    assert(param("to") === String(Date.UTC(2026, 2, 2, 10, 30, 15)), page.url());
    assert(/2026-03-02 10:00:00 – 10:30:15/.test(await $("range").locator("option:checked").innerText()), await $("range").locator("option:checked").innerText());
    await $("range").selectOption("written");
    assert((await $("range-from").inputValue()) === "2026-03-02 10:00:00", await $("range-from").inputValue());
    await $("range-from").fill("now-2h");
    await $("range-to").fill("now");
    await press("Enter");
    await has("from", "now-2h");
  });
  await check("the_lines_say_what_they_are_at_the_cursor", async () => {
    await open(`explore?q=${whole}&${fixed}`);
    const over = await boxOf(page.locator(".u-over"));
    const answer = await json(`api/v1/series?q=${whole}&from=${at(from)}&to=${at(to)}&step=10s`);
    const [one] = answer.series;
    const i = one.t_ms.findLastIndex((ms) => ms >= from && ms <= to);
    await page.mouse.move(over.x + over.width * Math.min((one.t_ms[i] - from) / (to - from) + 0.001, 0.99), over.y + 30);
    await $("metrics-cursor").waitFor();
    const said = await text("metrics-cursor");
    const cores = one.value[i] / 1e10;
    assert(said.includes(`${Number(cores.toFixed(cores >= 0.995 ? 2 : 3))} core`), `${said}: ${cores}`);
    // The nearest step is selected by a click alone.
    await page.mouse.down();
    await page.mouse.up();
    await has("sel", `${one.t_ms[i]}-${one.t_ms[i] + answer.step_ms}`);
    await page.mouse.move(5, 5);
    await page.waitForFunction(() => !document.querySelector('[data-testid="metrics-cursor"]'));
  });
  await check("what_is_pointed_at_stands_out", async () => {
    await open(`explore?q=${whole}&${fixed}&e2e=1`);
    const greys = () => page.evaluate(() => window.__ui.frames().filter((f) => f.node > 0 && f.fill === 62).length);
    const frames = await page.evaluate(() => window.__ui.frames().filter((f) => f.node > 0).length);
    assert((await greys()) === 0, "some are grey already");
    await $("fg-legend-0").hover();
    await page.waitForFunction(() => window.__ui.frames().some((f) => f.fill === 62));
    assert((await greys()) < frames, "all are grey");
    await page.mouse.move(5, 5);
    await page.waitForFunction(() => !window.__ui.frames().some((f) => f.fill === 62));
    await $("fg-legend-0").click();
    await page.mouse.move(5, 5);
    await page.waitForTimeout(200);
    assert((await greys()) > 0 && (await $("fg-legend-1").getAttribute("aria-pressed")) === "false", "a click does not keep it");
    await $("fg-legend-0").click();
    await page.mouse.move(5, 5);
    await page.waitForFunction(() => !window.__ui.frames().some((f) => f.fill === 62));
    // A function's frames are on the overlay.
    const drawn = () => page.evaluate(() => {
      const c = document.querySelector('[data-testid="flame-overlay"]');
      return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v !== 0);
    });
    await $("heaviest").locator("button").first().hover();
    await page.waitForTimeout(200);
    assert(await drawn(), "nothing is pointed out");
    await page.mouse.move(5, 5);
    await page.waitForTimeout(200);
    assert(!(await drawn()), "it is still pointed out");
    const [first] = (await json(`api/v1/functions?q=${whole}&from=${at(from)}&to=${at(to)}&sort=self`)).rows;
    const button = $("heaviest").locator("button").first();
    const name = await button.getAttribute("title");
    assert(name === first.name, `${name}, and not ${first.name}`);
    await button.click();
    await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, name, { timeout: 4000 });
  });
  await check("columns_are_chosen_and_rows_copied", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}&v=table`);
    await $("columns").waitFor();
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (s) => void (window.__copied = s) }, configurable: true }));
    const answer = await json(`api/v1/functions?q=${q}&from=${at(from)}&to=${at(to)}&sort=self`);
    const { period } = await json(`api/v1/flame?q=${q}&from=${at(from)}&to=${at(to)}`);
    await $("columns").locator("summary").click();
    await $("column-samples").check();
    await $("column-file").check();
    await has("cols", "samples,file");
    const row = $("table").locator(".rows .row").first();
    await page.waitForFunction(() => document.querySelector('[data-testid="table"] .rows .row .file'));
    const samples = Math.round(answer.rows[0].self[0] / period).toLocaleString("en-US");
    assert((await row.innerText()).split("\n").includes(samples), `${await row.innerText()}: not ${samples}`);
    assert((await text("samples")).startsWith(`${Math.round(answer.total[0] / period).toLocaleString("en-US")} samples at 199`), await text("samples"));
    await $("sort-samples").click();
    await has("sort", "-samples");
    await $("table-copy").click();
    await page.waitForFunction(() => window.__copied);
    const lines = (await page.evaluate(() => window.__copied)).trim().split("\n");
    assert(lines.length === answer.rows.length + 1 && lines[0] === "Self\tTotal\tSamples\tFunction\tFile\tBinary", `${lines.length} of ${answer.rows.length + 1}: ${lines[0]}`);
    assert(lines[1].startsWith(`${answer.rows[0].self[0]}\t`), lines[1]);
    await $("columns").locator("summary").click();
    await row.click();
    await press("Control+c");
    await page.waitForFunction(() => window.__copied.trim().split("\n").length === 2);
  });
  await check("callers_and_callees_are_walked_by_keys", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}&v=sandwich&sw=beta`);
    await page.waitForSelector('[data-testid="sandwich"] .bun');
    const sides = page.locator('[data-testid="sandwich"] [data-testid="flame"]');
    const ids = await page.locator('[data-testid="sandwich"] [role=treeitem]').evaluateAll((all) => all.map((e) => e.id));
    assert(ids.length > 2 && new Set(ids).size === ids.length, `ids: ${ids}`);
    const rows = (await json(`api/v1/callers?q=${q}&from=${at(from)}&to=${at(to)}&function=beta`)).frames.name;
    for (const [i, inward] of [[0, "ArrowUp"], [1, "ArrowDown"]]) {
      const side = sides.nth(i);
      await side.focus();
      await press(inward);
      await page.waitForFunction((k) => document.querySelectorAll('[data-testid="sandwich"] [data-testid="flame"]')[k].querySelector('[aria-selected="true"]')?.getAttribute("aria-level") === "2", i);
      const item = page.locator(`[id="${await side.getAttribute("aria-activedescendant")}"]`);
      assert((await item.getAttribute("aria-selected")) === "true", "what is active is not what is selected");
      const name = (await item.innerText()).split(",")[0];
      assert(i === 1 || rows.includes(name), `${name} does not call it: ${rows}`);
      await press("Shift+F10");
      await $("menu").getByText("Copy its name").waitFor();
      assert((await $("menu").getByText("Zoom to it").count()) === 0, "it can be zoomed to");
      await press("Escape");
      await side.focus();
      await press("Enter");
      await has("sw", name);
      await page.goBack();
      await has("sw", "beta");
      await page.waitForFunction(() => document.querySelector(".bun b")?.textContent === "beta" && !document.querySelector(".stale"));
    }
  });
  await check("a_link_to_a_frame_selects_it", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (s) => void (window.__copied = s) }, configurable: true }));
    await $("flame").focus();
    await press("ArrowDown", "ArrowDown");
    const name = await $("details").locator("h3").innerText();
    await press("Shift+F10");
    await $("menu").getByText("Copy a link to it").click();
    await page.waitForFunction(() => window.__copied);
    await page.goto(await page.evaluate(() => window.__copied));
    await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, name, { timeout: 10000 });
  });
  await check("what_was_lost_is_said", async () => {
    const lost = async (rows, more = "") => {
      await page.route("**/api/v1/functions?*decima_quality*", (route) => route.fulfill({ json: { rows } }));
      await open(`explore?q=${q}&${fixed}${more}`);
      await $("lost").waitFor();
      const said = await text("lost");
      await page.unroute("**/api/v1/functions?*decima_quality*");
      return said;
    };
    const cut = { name: "truncated: no frame pointer", self: [7000] };
    assert((await lost([cut])) === "none lost", "what is cut short is lost");
    assert((await lost([cut, { name: "lost: ring full", self: [1200] }, { name: "lost: no room", self: [34] }])) === "1,234 lost", await text("lost"));
    await $("lost").locator("summary").click();
    assert(/1,200\s+ring full[^]*34\s+no room/.test(await text("lost")), await text("lost"));
    // In earnest, beside what the server says.
    await open(`explore?q=${q}&${fixed}`);
    await $("lost").waitFor();
    const { rows } = await json(`api/v1/functions?q=${encodeURIComponent("decima_quality:samples:count:::delta{}")}&from=${at(from)}&to=${at(to)}`);
    const n = rows.filter((r) => r.name.startsWith("lost: ")).reduce((sum, r) => sum + r.self[0], 0);
    assert((await text("lost")).startsWith(n ? n.toLocaleString("en-US") : "none"), `${await text("lost")}: ${n}`);
  });
  await check("who_has_stopped_is_said", async () => {
    const step_ms = (to - from) / 100;
    const line = (instance, until) => {
      const t_ms = Array.from({ length: Math.floor((until - from) / step_ms) }, (_, i) => from + i * step_ms);
      return { labels: { node: "n", job: "j", instance }, t_ms, value: t_ms.map(() => 1), duration_ns: t_ms.map(() => 1), profiles: t_ms.map(() => 1) };
    };
    const series = [line("a:1", to), line("b:1", from + (to - from) / 2), line("c:1", to)];
    await page.route("**/api/v1/series?*sum_by=node*", (route) => route.fulfill({ json: { step_ms, unit: "nanoseconds", series } }));
    await open(`explore?q=${q}&${fixed}`);
    await $("stopped").getByText("1 of 3 targets stopped").click();
    const rows = await $("stopped").locator("tbody tr").allInnerTexts();
    assert(rows.length === 1 && rows[0].includes("instance=b:1"), rows.join(" | "));
    await $("stopped").locator("tbody button").click();
    await page.waitForFunction((until) => Number(new URL(location.href).searchParams.get("to")) <= until, from + (to - from) / 2);
    await page.unroute("**/api/v1/series?*sum_by=node*");
  });
  await check("ctrl_f_searches", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.locator(".summary b").first().click();
    await press("Control+f");
    assert(await $("search").evaluate((e) => e === document.activeElement), "it does not go to the search");
  });
  await check("recursion_folds", async () => {
    await page.goto(`${url}open?e2e=1`);
    await $("open-file").setInputFiles({ name: "looped.folded", mimeType: "text/plain", buffer: Buffer.from(looped) });
    await ready();
    const names = () => page.evaluate(() => window.__ui.frames().filter((f) => f.node > 0).map((f) => `${f.depth} ${f.name} ${f.total}`).sort().join(", "));
    await page.waitForFunction(() => window.__ui?.nodes() === 10);
    await page.locator(".summary b").first().click();
    await press("r");
    await page.waitForFunction(() => window.__ui.nodes() === 6);
    assert((await names()) === "1 main 13, 2 f 10, 2 i 3, 3 g 10, 4 h 6", await names());
    assert((await $("loops").getAttribute("aria-pressed")) === "true" && param("rec") === "1", page.url());
    await $("loops").click();
    await page.waitForFunction(() => window.__ui.nodes() === 10);
  });
  await check("what_is_told_stays_while_shift_is_held", async () => {
    await open(`explore?q=${q}&${fixed}&e2e=1`);
    const box = await $("flame").boundingBox();
    await page.mouse.move(box.x + 30, box.y + 30);
    await $("tooltip").waitFor();
    const said = await text("tooltip");
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + 60, box.y + 70, { steps: 4 });
    assert((await text("tooltip")) === said, "it follows the mouse");
    await page.keyboard.up("Shift");
    await page.waitForFunction(() => !document.querySelector('[data-testid="tooltip"]'));
    const before = await page.evaluate(() => window.__ui.view());
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + box.width * 0.25, box.y + 70);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 75, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.waitForFunction((w) => Math.abs(window.__ui.view().x1 - window.__ui.view().x0 - w / 4) < w / 50, before.x1 - before.x0, { timeout: 4000 });
  });
  await check("two_sides_are_held_together_as_it_is_chosen", async () => {
    const mid = Math.round((from + to) / 2);
    await page.goto(`${url}compare?q=${whole}&from=${from}&to=${mid}&b.q=${whole}&b.from=${mid - Math.round((to - from) / 4)}&b.to=${to}&sig=0&e2e=1`);
    await ready();
    const change = () => $("details").locator("tr", { hasText: "Change" }).innerText();
    const totals = (await json(`api/v1/diff?a_q=${whole}&b_q=${whole}&a_from=${at(from)}&a_to=${at(mid)}&b_from=${at(mid - Math.round((to - from) / 4))}&b_to=${at(to)}`)).total;
    await $("cmp-norm").selectOption("share");
    await page.waitForFunction(() => /Change\s*(?:none|0 %)/.test(document.querySelector('[data-testid="details"]').innerText));
    assert(/shares/.test(await text("cmp-how")) && param("norm") === "share", await text("cmp-how"));
    await $("cmp-norm").selectOption("total");
    const percent = (totals[1] / totals[0] - 1) * 100;
    await page.waitForFunction(() => /as they are/.test(document.querySelector('[data-testid="cmp-how"]').innerText));
    await ready();
    const shown = Number(/-?[\d.]+(?= %)/.exec(await change())?.[0]);
    assert(Math.abs(shown - percent) <= Math.abs(percent) / 50 + 0.01, `${await change()}, and not ${percent}`);
    await $("cmp-width").selectOption("a");
    await has("w", "a");
    await page.waitForFunction((w) => Math.abs(window.__ui.view().x1 - w) < 1, totals[0]);
    await $("cmp-width").selectOption("b");
    await page.waitForFunction((w) => Math.abs(window.__ui.view().x1 - w) < 1, totals[1]);
    assert(/Samples\s+[\d,]+\s+and [\d,]+ in B/.test(await text("details")) && /95 %: \S+ to \S+/.test(await text("details")), await text("details"));
  });
  await check("an_error_can_be_handed_on", async () => {
    // Of its own: what fails in the other ones is a fault.
    const other = await t.context.newPage();
    await other.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (s) => void (window.__copied = s) } }));
    await other.route("**/api/v1/flame?*", (route) => route.fulfill({ status: 504, contentType: "application/problem+json", body: JSON.stringify({ detail: "60 s were not enough" }) }));
    await other.goto(`${url}explore?q=${q}&${fixed}`);
    await other.getByTestId("diagnostics").click();
    const shown = await other.getByTestId("error").innerText();
    assert(/This takes too long/.test(shown) && /60 s were not enough/.test(shown) && /shorter range/.test(shown), shown);
    await other.waitForFunction(() => window.__copied);
    const said = JSON.parse(await other.evaluate(() => window.__copied));
    assert(said.status === 504 && said.question.startsWith("api/v1/flame?") && said.question_id && shown.includes(said.question_id), JSON.stringify(said));
    await other.unroute("**/api/v1/flame?*");
    await other.getByTestId("retry").click();
    await other.getByTestId("flame-ready").waitFor({ state: "attached" });
    await other.close();
  });
  await check("what_takes_long_says_how_far_it_is", async () => {
    await open(`explore?q=${q}&${fixed}`);
    let done = 0;
    await page.route("**/api/v1/flame?*", (route) => setTimeout(() => route.continue().catch(() => undefined), 6000));
    await page.route("**/api/v1/queries/*", (route) => (route.request().method() === "GET" ? route.fulfill({ json: { done: (done = Math.min(done + 25, 100)), total: 100, cancelled: false } }) : route.continue()));
    await $("fg-group").selectOption("binary");
    const stage = (re) => page.waitForFunction((s) => new RegExp(s).test(document.querySelector('[data-testid="load-stage"]')?.textContent), re, { timeout: 8000 });
    await stage("^waiting for the server");
    await stage("^reading \\d+ of 100, about .* left");
    await stage("^all is read: putting it together");
    await $("cancel").click();
    await $("old").waitFor();
    await page.unroute("**/api/v1/flame?*");
    await page.unroute("**/api/v1/queries/*");
  });
}
