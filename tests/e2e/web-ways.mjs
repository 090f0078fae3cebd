// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-ways.mjs - the part of web.mjs about ways: into a tree and back, from A to B, and links to others

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
