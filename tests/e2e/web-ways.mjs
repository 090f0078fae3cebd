// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-ways.mjs - the part of web.mjs about ways: into a tree and back, from A to B, and links to others

import { readFile } from "node:fs/promises";

/** A chain of twelve frames, each with a smaller sibling. */
function stairs() {
  const way = Array.from({ length: 12 }, (_, i) => `step_${i}`);
  return `${way.map((_, i) => `${[...way.slice(0, i), "aside"].join(";")} ${i + 1}`).join("\n")}\n${way.join(";")} 300\n`;
}

export async function ways(t) {
  const { assert, check, context, cpu, fixed, q, url } = t;
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
  await check("compare_has_both_over_time", async () => {
    const [from, to] = ["from", "to"].map((k) => Number(new URLSearchParams(fixed).get(k)));
    const mid = Math.round((from + to) / 2);
    await page.goto(`${url}compare?q=${q}&from=${from}&to=${mid}&b.q=${q}&b.from=${mid}&b.to=${to}`);
    await settled();
    for (const [side, keys] of [["a", ["from", "to"]], ["b", ["b.from", "b.to"]]]) {
      const lines = $(`cmp-${side}-metrics`);
      await lines.locator("canvas").waitFor();
      const before = keys.map((k) => Number(new URL(page.url()).searchParams.get(k)));
      const box = await lines.locator(".u-over").boundingBox();
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
  });
  await page.close();
}
