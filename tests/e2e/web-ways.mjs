// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-ways.mjs - the part of web.mjs about ways: into a tree and back, from A to B, and links to others

import { readFile } from "node:fs/promises";

/** A chain of twelve frames, each with a smaller sibling. */
function stairs() {
  const way = Array.from({ length: 12 }, (_, i) => `step_${i}`);
  return `${way.map((_, i) => `${[...way.slice(0, i), "aside"].join(";")} ${i + 1}`).join("\n")}\n${way.join(";")} 300\n`;
}

export async function ways(t) {
  const { assert, boxOf, check, context, cpu, fixed, q, url } = t;
  const page = await context.newPage();
  // As on plain http, where browsers have none.
  await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  const $ = (id) => page.locator(`[data-testid="${id}"]`);
  const settled = () => page.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]') && !document.querySelector(".stale"));
  const zoomedTo = (name) => page.waitForFunction((n) => document.querySelector('[data-testid="flame-ready"]')?.textContent === n, name);

  await check("ten_zooms_and_back", async () => {
    await page.goto(`${url}open`);
    await $("open-file").setInputFiles({ name: "stairs.folded", mimeType: "text/plain", buffer: Buffer.from(stairs()) });
    await settled();
    await $("flame").focus();
    for (let i = 0; i < 10; i++) {
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await zoomedTo(`step_${i}`);
    }
    for (let i = 8; i >= 0; i--) {
      await page.goBack();
      await zoomedTo(`step_${i}`);
    }
    for (let i = 1; i < 10; i++) {
      await page.goForward();
      await zoomedTo(`step_${i}`);
    }
    await $("flame").focus();
    await page.keyboard.press("Backspace");
    await zoomedTo("step_8");
    await $("crumbs").getByText("step_3", { exact: true }).click();
    await zoomedTo("step_3");
  });
  await check("a_click_outside_of_the_zoom_leads_back", async () => {
    await page.goto(`${url}open?e2e=1`);
    await $("open-file").setInputFiles({ name: "stairs.folded", mimeType: "text/plain", buffer: Buffer.from(stairs()) });
    await settled();
    await $("flame").focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await zoomedTo("step_4");
    const fills = () => page.evaluate(() => Object.fromEntries(window.__ui.frames().filter((f) => /^step_[0-5]$/.test(f.name)).map((f) => [f.name, f.fill])));
    await page.waitForFunction(() => window.__ui.frames().find((f) => f.name === "step_4")?.w > 500);
    const faded = await fills();
    assert(new Set(["step_0", "step_1", "step_2", "step_3"].map((n) => faded[n])).size === 1 && faded.step_4 === faded.step_5 && faded.step_3 !== faded.step_4, JSON.stringify(faded));
    const box = await $("flame").boundingBox();
    const at = await page.evaluate(() => window.__ui.frames().find((f) => f.name === "step_1").y);
    await page.mouse.click(box.x + 30, box.y + at + 8);
    await zoomedTo("step_1");
    // What is within the zoom is selected, and nothing else.
    const within = await page.evaluate(() => window.__ui.frames().find((f) => f.name === "step_3").y);
    await page.mouse.click(box.x + 30, box.y + within + 8);
    await $("details").getByText("step_3", { exact: true }).waitFor();
    await zoomedTo("step_1");
  });
  await check("swap_turns_every_sign", async () => {
    const whole = encodeURIComponent(`${cpu}{}`);
    const [from, to] = ["from", "to"].map((k) => new URLSearchParams(fixed).get(k));
    await page.goto(`${url}compare?q=${q}&${fixed}&b.q=${whole}&b.from=${from}&b.to=${to}`);
    await settled();
    const totals = async () => /^(\S+ \S+)[^]*→\s*(\S+ \S+) in B/.exec(await $("quality").innerText())?.slice(1);
    const [a, b] = await totals();
    assert(/±/.test(await $("diff-legend").innerText()) && /\d+ %/.test(await $("diff-legend").innerText()), await $("diff-legend").innerText());
    const change = async () => {
      const row = $("details").locator("tr", { hasText: "Change" });
      return row.innerText();
    };
    const before = await change();
    await $("cmp-swap").click();
    await page.waitForFunction((s) => document.querySelector('[data-testid="quality"]').innerText.startsWith(s), b);
    await settled();
    const turned = await totals();
    assert(turned[0] === b && turned[1] === a, `${a}, ${b}: ${turned}`);
    assert(/▲/.test(before) && /▼/.test(await change()), `${before}; ${await change()}`);
  });
  await check("a_side_without_data_is_told", async () => {
    const [from, to] = ["from", "to"].map((k) => Number(new URLSearchParams(fixed).get(k)));
    await page.goto(`${url}compare?q=${q}&from=${from - 7200_000}&to=${from - 3600_000}&b.from=${from}&b.to=${to}`);
    await settled();
    await $("cmp-empty").getByText("A has no data in that time").waitFor();
    const shares = await $("heaviest").locator(".share").allInnerTexts();
    assert(shares.length > 0 && shares.every((s) => parseFloat(s.replace("<", "")) <= 100), shares.join(" "));
    await $("cmp-before").click();
    await page.waitForFunction((f) => !location.search.includes(`from=${f}`), from - 7200_000);
  });
  await check("compare_has_both_over_time", async () => {
    const [from, to] = ["from", "to"].map((k) => Number(new URLSearchParams(fixed).get(k)));
    const mid = Math.round((from + to) / 2);
    await page.goto(`${url}compare?q=${q}&from=${from}&to=${mid}&b.q=${q}&b.from=${mid}&b.to=${to}`);
    await settled();
    for (const [side, keys] of [["a", ["from", "to"]], ["b", ["b.from", "b.to"]]]) {
      await settled();
      const lines = $(`cmp-${side}-metrics`);
      await lines.locator("canvas").waitFor();
      const before = keys.map((k) => Number(new URL(page.url()).searchParams.get(k)));
      const box = await boxOf(lines.locator(".u-over"));
      await page.mouse.move(box.x + box.width * 0.3, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.7, box.y + 20, { steps: 5 });
      await page.mouse.up();
      await page.waitForFunction(([k, v]) => Number(new URL(location.href).searchParams.get(k)) !== v, [keys[0], before[0]]);
      const after = keys.map((k) => Number(new URL(page.url()).searchParams.get(k)));
      // 30 to 70 % of both ranges with a quarter on either side (less where there is no time yet).
      assert(after[0] > from - (to - from) / 2 && after[1] > after[0] && after[1] - after[0] > 0.4 * (to - from), `${side}: ${after}, of ${from} to ${to}`);
    }
    await settled();
    assert(/per second/.test(await $("cmp-how").innerText()), await $("cmp-how").innerText());
  });
  await check("what_happened_is_marked", async () => {
    const [from, to] = ["from", "to"].map((k) => Number(new URLSearchParams(fixed).get(k)));
    const at = Math.round(from + (to - from) * 0.4);
    const happens = (what) => fetch(`${url}api/v1/ingest?name=event&time=${at / 1000}&${what}`, { method: "POST", body: "event 1\n" });
    for (const what of ["label=event=deploy&label=text=1.4.2", "label=event=deploy&label=service_name=other"]) {
      const answer = await happens(what);
      assert(answer.ok, `${answer.status}: ${await answer.text()}`);
    }
    await page.goto(`${url}explore?q=${encodeURIComponent(`${cpu}{service_name="mine"}`)}&${fixed}`);
    await $("markers").locator("summary").click();
    const rows = await $("markers").locator("tr").allInnerTexts();
    assert(rows.filter((r) => r.includes("deploy")).length === 1 && rows.some((r) => r.includes("deploy \u00b7 1.4.2")), rows.join(" | "));
    // A line of its own from the top to the bottom, where nothing else is drawn.
    const inked = await $("metrics").locator("canvas").evaluate((c, share) => {
      const over = c.parentElement.querySelector(".u-over");
      const ratio = c.width / c.clientWidth;
      const x = Math.round((over.offsetLeft + over.clientWidth * share) * ratio);
      const pixels = c.getContext("2d").getImageData(x - 2, over.offsetTop * ratio, 5, over.clientHeight * ratio).data;
      let n = 0;
      for (let i = 3; i < pixels.length; i += 4) n += pixels[i] > 128;
      return n / (pixels.length / 4 / 5);
    }, (at - from) / (to - from));
    assert(inked > 0.3, `${inked} of a line`);
    await $("markers").locator("tr", { hasText: "1.4.2" }).getByText("before and after").click();
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    const asked = new URL(page.url()).searchParams;
    assert(Number(asked.get("to")) === at && Number(asked.get("b.from")) === at, page.url());
  });
  await check("a_reload_of_the_server_is_seen_by_a_refresh", async () => {
    let reloaded;
    await page.route("**/api/v1/status?*", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), reloaded } });
    });
    await page.goto(`${url}explore?q=${q}&from=now-6h&to=now`);
    await settled();
    await $("markers").waitFor();
    assert(!(await $("markers").locator("tr").allInnerTexts()).join().includes("reload"), "it says so before");
    reloaded = new Date(Date.now() - 60000).toISOString();
    // Another range is another question, whose answer is as the server is then.
    await $("range").selectOption("now-24h");
    await page.waitForFunction(() => document.querySelector('[data-testid="markers"]')?.textContent.includes("reload"));
    await page.unroute("**/api/v1/status?*");
  });
  await check("a_screen_is_as_it_was_left", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await settled();
    const shown = await $("flame").getAttribute("aria-label");
    await $("nav-status").click();
    await page.getByText("Storage", { exact: true }).first().waitFor();
    await $("nav-explore").click();
    await settled();
    assert((await $("flame").getAttribute("aria-label")) === shown && (await $("metrics").locator("canvas").count()) === 1, "something is missing");
  });
  await check("two_files_are_compared", async () => {
    await page.goto(`${url}open`);
    const choose = (id, name, text) => $(id).setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    await choose("open-file", "a.folded", "main;x 6\nmain;y 4\n");
    await settled();
    await choose("compare-file", "b.folded", "main;x 20\nmain;y 70\nnew_one 10\n");
    await $("open-against").waitFor();
    await settled();
    const text = await $("open-against").innerText();
    assert(text.includes("b.folded"), text);
    await $("panel-table").click();
    const lines = $("table").locator(".rows .row");
    await lines.filter({ hasText: "new_one" }).waitFor();
    const rows = await lines.allInnerTexts();
    const row = (name) => rows.find((r) => r.includes(name));
    assert(row("new_one").includes("0.00 %") && row("new_one").includes("10.0 %"), row("new_one"));
    assert(/\by$/m.test(rows.join("\n")) && rows.some((r) => r.includes("40.0 %") && r.includes("70.0 %")), rows.join(" | "));
    await page.getByText("Only the first").click();
    await $("compare-file").waitFor();
    // What cannot be read is told, and the first one stays.
    await choose("compare-file", "c.txt", "no profile\n");
    await $("toast").getByText("This cannot be compared").waitFor();
    await $("table").getByText("x", { exact: true }).waitFor();
    assert(!(await $("table").getByText("new_one").count()) && !(await $("error").count()), "the first one is gone");
  });
  await check("a_file_against_what_explore_shows", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await settled();
    const [own] = await Promise.all([page.waitForEvent("download"), $("export").locator("summary").click().then(() => $("export").getByText("pprof").click())]);
    const whole = await $("quality").locator("b").first().innerText();
    await $("nav-open").click();
    await $("open-file").setInputFiles(await own.path());
    await $("compare-explore").click();
    await $("open-against").waitFor();
    await settled();
    const text = await $("quality").innerText();
    assert(text.split(whole).length === 3, `${text}: not ${whole} on both sides`);
    assert(/Change\s*0 %/.test(await $("details").innerText()), await $("details").innerText());
  });
  await check("a_late_answer_is_for_nobody", async () => {
    const choose = (name, text) => $("open-file").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
    /** Asks for what Explore shows; the answer comes when `meanwhile` is done. */
    const held = async (meanwhile, answer) => {
      let release;
      const wait = new Promise((resolve) => (release = resolve));
      await page.route("**/api/v1/export*", async (route) => (await wait, answer(route)));
      const asked = page.waitForRequest("**/api/v1/export*");
      const came = page.waitForResponse("**/api/v1/export*");
      await $("compare-explore").click();
      await asked;
      await meanwhile();
      release();
      await (await came).finished();
      await page.waitForTimeout(500);
      await page.unroute("**/api/v1/export*");
    };
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await settled();
    const explored = await $("flame").getAttribute("aria-label");
    const [own] = await Promise.all([page.waitForEvent("download"), $("export").locator("summary").click().then(() => $("export").getByText("pprof").click())]);
    await $("nav-open").click();
    await $("open-file").setInputFiles(await own.path());
    await settled();
    const other = () => choose("other.folded", "others_main 3\n").then(() => page.getByText("other.folded").first().waitFor());
    await held(other, (route) => route.continue());
    assert(!(await $("open-against").count()) && (await page.getByText("other.folded").count()), "another file became a comparison of the first one");
    for (const answer of [(route) => route.continue(), (route) => route.fulfill({ status: 500, body: "no" })]) {
      await held(() => $("nav-explore").click().then(settled), answer);
      const now = await $("flame").getAttribute("aria-label");
      const told = (await $("toast").allInnerTexts()).join("");
      assert(now === explored && !told, `Explore shows ${now}, and tells: ${told}`);
      await $("nav-open").click();
      await choose("a.folded", "main;x 6\n");
      await settled();
    }
  });
  await check("a_file_stays_whatever_explore_still_waits_for", async () => {
    for (const leave of [() => $("nav-open").click(), () => page.goBack()]) {
      await page.goto(`${url}open`);
      await $("open-file").waitFor();
      await $("nav-explore").click();
      await settled();
      const ended = page.waitForRequest((r) => r.method() === "DELETE");
      let release;
      const wait = new Promise((resolve) => (release = resolve));
      await page.route("**/api/v1/flame?*", async (route) => (await wait, route.continue().catch(() => undefined)));
      const asked = page.waitForRequest("**/api/v1/flame?*");
      // No step of the history: Back leaves Explore.
      await $("run").click();
      await asked;
      await leave();
      await $("open-file").setInputFiles({ name: "own.folded", mimeType: "text/plain", buffer: Buffer.from("main;own_x 6\n") });
      await settled();
      const shown = await $("flame").getAttribute("aria-label");
      release();
      await ended;
      await page.waitForTimeout(500);
      await page.unroute("**/api/v1/flame?*");
      const now = await $("flame").getAttribute("aria-label");
      assert(now === shown && !(await $("old").count()) && !(await $("error").count()), `${shown}, and then ${now}`);
      assert(await page.getByText("own.folded").count(), "the file is gone");
    }
  });
  await check("a_picture_that_scales", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}&cb=name`);
    await settled();
    const frames = Number(/([\d,]+) frames/.exec(await $("flame").getAttribute("aria-label"))[1].replace(/,/g, ""));
    await $("export").locator("summary").click();
    const [file] = await Promise.all([page.waitForEvent("download"), $("export").getByText("SVG of the graph").click()]);
    const text = await readFile(await file.path(), "utf8");
    const drawn = (text.match(/<title>/g) ?? []).length;
    assert(drawn > 2 && drawn <= frames + 1 && text.includes(">all, 100 % of total"), `${drawn} of ${frames} frames: ${text.slice(0, 300)}`);
    // A browser takes it for what it is.
    const size = await page.evaluate((svg) => new Promise((done) => {
      const image = new Image();
      image.onload = () => done([image.naturalWidth, image.naturalHeight]);
      image.onerror = () => done([0, 0]);
      image.src = `data:image/svg+xml;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(svg)))}`;
    }), text);
    assert(size[0] === 1600 && size[1] > 18, `${size}`);
  });
  await check("without_a_canvas_the_table_is_there", async () => {
    const other = await context.newPage();
    await other.addInitScript(() => (HTMLCanvasElement.prototype.getContext = () => null));
    await other.goto(`${url}explore?q=${q}&${fixed}`);
    await other.locator('[data-testid="blocked"]').waitFor();
    await other.locator('[data-testid="panel-table"]').click();
    await other.locator('[data-testid="table"] .rows .row').first().waitFor();
    await other.close();
  });
  await check("a_filter_is_undone_and_done_again", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await settled();
    const frames = () => $("flame").getAttribute("aria-label");
    const whole = await frames();
    await $("flame").focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ContextMenu");
    await $("menu").getByText("Leave its frames out").click();
    await $("chip-0").waitFor();
    await page.waitForFunction((w) => document.querySelector('[data-testid="flame"]')?.getAttribute("aria-label") !== w, whole);
    await settled();
    const less = await frames();
    await page.goBack();
    await $("chip-0").waitFor({ state: "detached" });
    await page.waitForFunction((w) => document.querySelector('[data-testid="flame"]')?.getAttribute("aria-label") === w, whole);
    await page.goForward();
    await $("chip-0").waitFor();
    await page.waitForFunction((w) => document.querySelector('[data-testid="flame"]')?.getAttribute("aria-label") === w, less);
  });
  /** A page whose clock is the test's: what would be called each ten seconds is called when it is told. */
  const refreshing = async () => {
    const other = await context.newPage();
    t.watch(other);
    await other.addInitScript(() => {
      const real = window.setInterval;
      window.setInterval = (act, ms, ...rest) => (ms === 10000 ? ((window.__tick = act), 0) : real(act, ms, ...rest));
    });
    return other;
  };
  await check("a_refresh_waits_for_the_lines_of_b", async () => {
    const other = await refreshing();
    const own = (id) => other.locator(`[data-testid="${id}"]`);
    const whole = encodeURIComponent(`${cpu}{}`);
    let release;
    const wait = new Promise((resolve) => (release = resolve));
    await other.goto(`${url}explore?q=${q}&from=now-6h&to=now&b.q=${whole}&b.from=now-5h&b.to=now`);
    await own("refresh").selectOption("10");
    await other.route((u) => u.pathname.endsWith("/series") && u.searchParams.get("q") === `${cpu}{}`, async (route) => (await wait, route.continue().catch(() => undefined)));
    await own("nav-compare").click();
    await own("cmp-a-metrics").locator("canvas").waitFor();
    await other.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]') && !document.querySelector("section.stale"));
    let asked = 0;
    other.on("request", (r) => (asked += /\/(series|diff)\?/.test(r.url())));
    await other.evaluate(() => window.__tick());
    await other.waitForTimeout(300);
    assert(asked === 0, "a refresh ended the question of B's lines");
    release();
    await own("cmp-b-metrics").locator("canvas").waitFor();
    await other.evaluate(() => window.__tick());
    await other.waitForTimeout(300);
    assert(asked === 3, `${asked} questions once nothing is under way`);
    await other.close();
  });
  await check("a_refresh_moves_nothing", async () => {
    const other = await refreshing();
    const own = (id) => other.locator(`[data-testid="${id}"]`);
    const calm = () => other.waitForFunction(() => window.__ui?.visible() > 0 && !document.querySelector(".stale"));
    await other.goto(`${url}explore?q=${q}&from=now-6h&to=now&e2e=1`);
    await calm();
    await own("refresh").selectOption("10");
    const flames = [];
    other.on("request", (r) => r.url().includes("/flame?") && flames.push(r.url()));
    const tick = async (many = 1) => {
      const before = flames.length;
      await other.waitForTimeout(5);
      const came = other.waitForResponse((r) => r.url().includes("/flame?"));
      await other.evaluate((n) => [...Array(n)].forEach(() => window.__tick()), many);
      await (await came).finished();
      await other.waitForTimeout(200);
      await calm();
      assert(flames.length === before + 1, `${flames.length - before} questions for ${many}`);
    };
    const view = () => other.evaluate(() => window.__ui.view());
    const box = await own("flame").boundingBox();
    // Closer, and further down.
    await other.mouse.move(box.x + box.width * 0.4, box.y + 30);
    await other.keyboard.down("Control");
    await other.mouse.wheel(0, -300);
    await other.keyboard.up("Control");
    await other.evaluate(() => (document.querySelector('[data-testid="flame"]').style.height = "80px"));
    await other.waitForFunction(() => window.__ui.panel().height === 80);
    await other.mouse.wheel(0, 40);
    await other.waitForTimeout(200);
    const seen = await view();
    assert(seen.x0 > 0 && seen.top > 0, `the view was not moved: ${JSON.stringify(seen)}`);
    const steps = await other.evaluate(() => history.length);
    await tick();
    const now = await view();
    assert(Math.abs(now.x0 - seen.x0) < 1 && Math.abs(now.x1 - seen.x1) < 1 && now.top === seen.top, `${JSON.stringify(seen)}, and then ${JSON.stringify(now)}`);
    // One that was zoomed to is all of the view again; what is selected, out of sight, stays there.
    await own("flame").focus();
    await other.keyboard.press("ArrowDown");
    await other.waitForTimeout(300);
    await other.mouse.wheel(0, 60);
    await other.waitForTimeout(200);
    const scrolled = await view();
    await tick();
    assert((await view()).top === scrolled.top && (await other.evaluate(() => history.length)) === steps, "what is selected comes into sight, or makes a step");
    // What a menu and a tooltip are of may be another frame.
    await other.mouse.click(box.x + box.width * 0.4, box.y + 30, { button: "right" });
    await own("menu").waitFor();
    await tick();
    assert((await own("menu").count()) === 0, "the menu of another answer is there");
    // Where nobody looks, or an answer is under way, nothing is asked.
    await other.route("**/api/v1/flame?*", (route) => setTimeout(() => route.continue().catch(() => undefined), 500));
    await tick(3);
    await other.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
    const before = flames.length;
    await other.evaluate(() => window.__tick());
    await other.waitForTimeout(100);
    assert(flames.length === before && (await other.locator(".stale").count()) === 0, "a page that nobody looks at asks");
    await other.close();
  });
  await check("enter_opens_a_row_that_is_there", async () => {
    await page.goto(`${url}open`);
    await $("open-file").setInputFiles({ name: "a.folded", mimeType: "text/plain", buffer: Buffer.from(`${[..."abcdefgh"].map((n) => `main;fn_${n} 1`).join("\n")}\n`) });
    await settled();
    await $("panel-table").click();
    await $("table").locator(".rows").focus();
    await page.keyboard.press("End");
    await $("search").fill("fn_b");
    await page.waitForFunction(() => document.querySelectorAll('[data-testid="table"] .rows .row').length === 1);
    await $("table").locator(".rows").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.search.includes("sw="));
    assert(new URL(page.url()).searchParams.get("sw") === "fn_b", page.url().slice(0, 300));
  });
  await check("a_row_stays_selected", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}&v=table&sort=name`);
    const rows = $("table").locator(".rows .row");
    const name = "beta";
    await rows.filter({ has: page.getByText(name, { exact: true }) }).click();
    // In another answer functions have other numbers.
    await $("query").fill(`${cpu}{}`);
    const more = page.waitForResponse((r) => r.url().includes("/flame?"));
    await $("query").press("Enter");
    await (await more).finished();
    await page.waitForFunction(() => !document.querySelector(".stale"));
    await $("search").fill(`^${name}$`);
    await $("search-count").getByText("frames").waitFor();
    const selected = await $("table").locator(".rows .row.selected").allInnerTexts();
    assert(selected.length === 1 && /\bbeta\b[^]*\bworker\b/.test(selected[0]), `${name} of worker was selected, now ${selected}`);
    // It is where the keys begin.
    await $("table").locator(".rows").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((n) => new URL(location.href).searchParams.get("sw") === n, name);
  });
  await check("links_are_for_other_tabs_too", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await settled();
    const opened = context.waitForEvent("page", { timeout: 5000 });
    await $("nav-status").click({ modifiers: ["Control"] });
    const other = await opened;
    await other.waitForURL("**/status?*");
    await other.close();
    assert(new URL(page.url()).pathname.endsWith("/explore"), page.url());
  });
  await check("a_zoom_that_has_gone_is_told_once", async () => {
    await page.goto(`${url}explore?q=${q}&${fixed}&z=zzzz`);
    await settled();
    await $("toast").getByText("deepest part").waitFor();
    const again = page.waitForResponse((r) => r.url().includes("/flame?"));
    await $("run").click();
    await (await again).finished();
    await settled();
    await page.waitForTimeout(300);
    assert((await $("toast").getByText("deepest part").count()) <= 1, "it is told by each answer");
  });
  await check("what_cannot_be_seen_is_shown_everywhere", async () => {
    const name = "co\u202em\u0007";
    const shown = "co\\u202em\\u0007";
    await page.route("**/api/v1/labels?*", (route) => route.fulfill({ json: { labels: [{ name, series: 1 }] } }));
    await page.goto(`${url}explore?q=${q}&${fixed}&f=${encodeURIComponent(`HF:fn:=${name}`)}`);
    await settled();
    assert((await $("filters").locator("[aria-label]").evaluateAll((all) => all.map((e) => e.getAttribute("aria-label")))).some((text) => text.includes(shown)), "a filter's button");
    await $("query").fill("");
    await $("query").pressSequentially(`${cpu}{co`);
    await $("query-list").getByText(shown, { exact: true }).waitFor();
    await page.unroute("**/api/v1/labels?*");
    const endpoint = { input: "i", job: name, profile: name, url: name, health: "down", error: name, labels: { a: name }, discovered: {}, last: null, next: null, duration_ns: 0, interval_ns: 0, timeout_ns: 0, bytes: 0, samples: 0, asked: 1, failed: 1 };
    await page.route("**/api/v1/targets?*", (route) => route.fulfill({ json: { targets: [], endpoints: [endpoint] } }));
    await page.goto(`${url}targets`);
    await $("endpoints").getByText(shown).first().waitFor();
    await $("trace-open").click();
    await $("trace").getByText(shown).first().waitFor();
    const row = $("endpoints").locator("> tbody > tr");
    assert(!/[\u202e\u0007]/.test(await row.textContent()), await row.textContent());
    await page.unroute("**/api/v1/targets?*");
  });
  await check("twice_the_time_by_rates", async () => {
    // One program that does the same all the time: a part of its time, and twice as much of it, compared by rates.
    const { series } = await t.json(`api/v1/series?q=${q}&from=${t.at(t.from)}&to=${t.at(t.to)}&step=1s`);
    const busy = series.flatMap((line) => line.t_ms.filter((_, i) => line.value[i] > 0)).sort((a, b) => a - b);
    const half = Math.floor((busy.at(-1) - busy[0]) / 2);
    assert(half >= 2000, `it was not busy for long enough: ${busy}`);
    const [begin, middle, end] = [busy[0], busy[0] + half, busy[0] + 2 * half];
    const answer = await t.json(`api/v1/diff?a_q=${q}&b_q=${q}&a_from=${t.at(begin)}&a_to=${t.at(middle)}&b_from=${t.at(begin)}&b_to=${t.at(end)}`);
    const [a, b] = answer.compare.sides;
    const change = answer.total[1] / b.seconds / (answer.total[0] / a.seconds) - 1;
    assert(answer.compare.by === "rate" && Math.abs(b.seconds - 2 * a.seconds) < 0.01, JSON.stringify(answer.compare));
    await page.goto(`${url}compare?q=${q}&from=${begin}&to=${middle}&b.q=${q}&b.from=${begin}&b.to=${end}`);
    await settled();
    assert(/per second/.test(await $("cmp-how").innerText()), await $("cmp-how").innerText());
    const text = await $("details").locator("tr", { hasText: "Change" }).innerText();
    const shown = (Number(/([\d.]+) %/.exec(text)[1]) / 100) * (text.includes("▼") ? -1 : 1);
    assert(Math.abs(shown - change) < 0.006, `${text}: ${change}`);
  });
  await check("links_are_copied_without_a_clipboard", async () => {
    await page.goto(`${url}explore?q=${q}&from=now-1h&to=now`);
    await settled();
    const pasted = async (id) => {
      await $("share").locator("summary").click();
      await $(id).click();
      await $("share").locator("summary").click();
      await $("search").fill("");
      await $("search").focus();
      await page.keyboard.press("Control+V");
      return new URL(await $("search").inputValue()).searchParams;
    };
    const relative = await pasted("share-relative");
    assert(relative.get("from") === "now-1h", relative.toString());
    const link = await pasted("share-fixed");
    assert(/^\d{13}$/.test(link.get("from")) && link.get("to") - link.get("from") === 3600_000, link.toString());
    // Of a comparison both sides; what was selected in Explore is not asked for there.
    await page.goto(`${url}compare?q=${q}&from=now-1h&to=now&sel=1000-2000&b.q=${q}&b.from=now-2h&b.to=now-1h`);
    await settled();
    const both = await pasted("share-fixed");
    const times = ["b.from", "b.to", "from", "to"].map((k) => both.get(k));
    assert(times.every((ms) => /^\d{13}$/.test(ms)) && times[1] === times[2] && times[1] - times[0] === 3600_000 && times[3] - times[2] === 3600_000, both.toString());
  });
  await page.close();
}
