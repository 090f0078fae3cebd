// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-figures.mjs - the part of web.mjs about what is drawn: the numbers beside it, the same picture again, no needless question

import { readFile } from "node:fs/promises";

/** "1.23 s" and the like in ns. */
function nanoseconds(text) {
  const [, n, unit] = /([\d.]+) (ns|µs|ms|s|min|h|d)\b/.exec(text);
  return Number(n) * { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, d: 86400e9 }[unit];
}

export async function figures(t) {
  const { $, assert, at, check, cpu, fixed, from, json, open, page, q, to, tree, url } = t;
  const frames = () => page.evaluate(() => window.__ui.frames());
  const settled = () => page.waitForFunction(() => !document.querySelector(".stale") && window.__ui?.visible() > 0);
  const show = async (path) => {
    await open(`${path}&e2e=1`);
    await settled();
  };
  /** The questions that are asked while act goes on, and a little longer. */
  const asked = async (act) => {
    const all = [];
    const note = (r) => r.url().includes("/api/v1/") && all.push(r.url());
    page.on("request", note);
    await act();
    await page.waitForTimeout(300);
    page.off("request", note);
    return all;
  };

  await check("tooltip_is_the_servers", async () => {
    await show(`explore?q=${q}&${fixed}`);
    const { nodes } = await tree();
    const box = await $("flame").boundingBox();
    const all = (await frames()).filter((f) => f.node > 0 && f.w >= 8).slice(0, 12);
    assert(all.length > 3, `${all.length} frames`);
    for (const f of all) {
      await page.mouse.move(box.x + f.x + f.w / 2, box.y + f.y + 10);
      await page.waitForFunction((n) => document.querySelector('[data-testid="tooltip"] b')?.textContent.includes(n), f.name.slice(0, 20));
      const text = await $("tooltip").innerText();
      for (const [row, of] of [["Total", nodes.total], ["Self", nodes.self]]) {
        const shown = new RegExp(`${row}\\s+(\\S+ \\S+)`).exec(text)[1];
        const want = of[f.node];
        assert(Math.abs((shown.startsWith("0") ? 0 : nanoseconds(shown)) - want) <= want * 0.006, `${f.name}: ${row} ${shown}, and not ${want}`);
      }
    }
    await page.mouse.move(box.x + 20, box.y - 30);
  });
  await check("children_are_no_wider_than_their_caller", async () => {
    await show(`explore?q=${encodeURIComponent(`${cpu}{}`)}&${fixed}`);
    const { nodes } = await json(`api/v1/flame?q=${encodeURIComponent(`${cpu}{}`)}&from=${at(from)}&to=${at(to)}`);
    const last = []; // node of each depth, as preorder goes on
    const parent = nodes.depth.map((d, i) => ((last[d] = i), d ? last[d - 1] : -1));
    const drawn = (await frames()).filter((f) => f.node >= 0);
    let n = 0;
    for (const f of drawn) {
      const below = drawn.filter((c) => c.node > 0 && parent[c.node] === f.node);
      n += below.length;
      assert(below.every((c) => c.depth === f.depth + 1 && c.x >= f.x - 0.01 && c.x + c.w <= f.x + f.w + 0.01), `${f.name}: what it calls is elsewhere`);
      assert(below.reduce((a, c) => a + c.w, 0) <= f.w + 0.01 * (below.length + 1), `${f.name} is ${f.w} wide, and has more below it`);
    }
    assert(n > 20, `${n} children`);
  });
  await check("reload_draws_the_same", async () => {
    for (const more of ["", "&inv=1", "&s=a_"]) {
      await show(`explore?q=${q}&${fixed}${more}`);
      await page.waitForTimeout(200);
      const before = await $("flame").screenshot();
      await page.reload();
      await settled();
      await page.waitForTimeout(200);
      assert(before.equals(await $("flame").screenshot()), `${more || "the whole"}: another picture`);
    }
  });
  await check("a_zoom_and_a_frame_are_drawn_where_they_were", async () => {
    const panel = () => page.evaluate(() => window.__ui.panel());
    const view = () => page.evaluate(() => window.__ui.view());
    const still = () => page.waitForTimeout(500);
    const again = async () => {
      await still();
      const [before, top] = [await $("flame").screenshot(), (await view()).top];
      await page.reload();
      await settled();
      await still();
      assert((await view()).top === top, `row ${top} was the first one, and then ${(await view()).top}`);
      assert(before.equals(await $("flame").screenshot()), "another picture");
    };
    // Of a graph with room for a few rows; a key of the address that the page does not know stays.
    await page.addInitScript(() => {
      if (!location.search.includes("low=1")) return;
      const low = new CSSStyleSheet();
      low.replaceSync(".flame { height: 120px !important; min-height: 0 !important; flex: none !important; }");
      document.adoptedStyleSheets = [low];
    });
    await show(`explore?q=${q}&${fixed}&low=1`);
    const { height, row } = await panel();
    const { nodes } = await tree();
    const deep = Math.max(...nodes.depth);
    assert(height / row < deep, `${deep} rows have room in ${height} px`);
    // Zoomed by the mouse, further down than the middle.
    const box = await $("flame").boundingBox();
    const seen = (await frames()).filter((f) => f.node > 0 && f.w > 20 && f.depth > height / row / 2 && f.y + row <= height).sort((a, b) => b.depth - a.depth);
    await page.mouse.dblclick(box.x + seen[0].x + seen[0].w / 2, box.y + seen[0].y + row / 2);
    await page.waitForFunction(() => location.search.includes("z="));
    await page.mouse.move(5, 5);
    await again();
    // A frame below all that is in sight, by keys.
    await show(`explore?q=${q}&${fixed}&low=1`);
    await $("flame").focus();
    for (let i = 0; i < deep; i++) await page.keyboard.press("ArrowDown");
    await still();
    const name = await $("details").locator("h3").innerText();
    const link = page.url();
    await show("explore?");
    await page.goto(link);
    await settled();
    await still();
    const there = (await frames()).find((f) => f.name === name && f.y >= 0 && f.y + row <= height);
    assert(there && (await $("details").locator("h3").innerText()) === name, `${name} is not in sight`);
  });
  await check("inverted_counts_what_was_counted_before", async () => {
    const counted = async (more) => {
      await show(`explore?q=${q}&${fixed}&s=gamma&cb=self${more}`);
      await $("search-count").getByText("frames").waitFor();
      const heaviest = await $("heaviest").innerText();
      const legend = await $("legend").innerText();
      const share = (await $("search-count").innerText()).split(" in ")[0];
      await $("export").locator("summary").click();
      const [file] = await Promise.all([page.waitForEvent("download"), $("export").getByText("CSV of the table").click()]);
      const csv = await readFile(await file.path(), "utf8");
      await $("search").fill("");
      await $("panel-table").click();
      await $("table").locator(".rows .row").first().waitFor();
      const rows = await $("table").locator(".rows .row").allInnerTexts();
      return { heaviest, legend, share, csv, rows: rows.join("\n") };
    };
    const [upright, inverted] = [await counted(""), await counted("&inv=1")];
    for (const what of Object.keys(upright)) assert(upright[what] === inverted[what], `${what}: ${upright[what]}; inverted ${inverted[what]}`);
    // Beside what the server says, cell by cell.
    const { rows } = await json(`api/v1/functions?q=${q}&from=${at(from)}&to=${at(to)}`);
    const lines = inverted.csv.trim().split("\r\n");
    const plain = (r) => `${r.self[0]},${r.total[0]},${r.name},${r.file},${r.binary}`;
    const want = rows.filter((r) => !/[",]/.test(r.name)).map(plain);
    assert(lines.length === rows.length + 1 && lines[0] === "self,total,function,file,binary", `${lines.length} lines, ${rows.length} functions: ${lines[0]}`);
    for (const line of want) assert(lines.includes(line), `not in the file: ${line}`);
    await show(`explore?q=${q}&${fixed}&inv=1`);
    await $("heaviest").locator("button").first().click();
    await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, rows[0].name);
    const self = async () => nanoseconds(/Self\s+(\S+ \S+)/.exec(await $("details").innerText())[1]);
    assert(Math.abs((await self()) - rows[0].self[0]) <= rows[0].self[0] * 0.006, `${await self()}, and not ${rows[0].self[0]}`);
  });
  await check("what_is_there_is_not_asked_for", async () => {
    await show(`explore?q=${q}&${fixed}`);
    const all = await asked(async () => {
      await $("flame").focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => location.search.includes("z="));
      await $("search").fill("a_");
      await $("search-count").getByText("frames").waitFor();
      await $("invert").click();
      await settled();
      await $("panel-sandwich").click();
      await $("table").locator(".rows .row").first().dblclick();
      await page.waitForSelector('[data-testid="sandwich"] .bun');
    });
    assert(all.length === 0, all.join(" "));
  });
  await check("back_asks_nobody", async () => {
    const { nodes } = await tree();
    const total = () => $("quality").locator("b").first().innerText();
    await show(`explore?q=${q}&${fixed}`);
    const before = await total();
    await $("query").fill(`${cpu}{comm="nameless"}`);
    await $("query").press("Enter");
    await page.waitForFunction((text) => document.querySelector('[data-testid="quality"] b')?.textContent !== text && !document.querySelector(".stale"), before);
    const after = await total();
    await page.waitForTimeout(300);
    const all = await asked(async () => {
      await page.goBack();
      await page.waitForFunction((text) => document.querySelector('[data-testid="quality"] b')?.textContent === text && !document.querySelector(".stale"), before);
      await page.goForward();
      await page.waitForFunction((text) => document.querySelector('[data-testid="quality"] b')?.textContent === text && !document.querySelector(".stale"), after);
    });
    assert(all.length === 0 && nodes.total[0] > 0, all.join(" "));
    // Who wants it anew gets it anew.
    const anew = await asked(async () => {
      await $("run").click();
      await page.waitForTimeout(500);
      await settled();
    });
    assert(anew.some((u) => u.includes("/flame?")) && anew.some((u) => u.includes("/series?")), anew.join(" "));
  });
  await check("back_to_a_relative_range_is_back_to_its_moment", async () => {
    await show(`explore?q=${q}&from=now-1h`);
    const before = page.url();
    await page.waitForTimeout(300);
    const all = await asked(async () => {
      await $("range").selectOption("now-6h");
      await page.waitForFunction(() => location.search.includes("now-6h"));
      await settled();
    });
    assert(all.some((u) => u.includes("/flame?")), "the longer range was not asked for");
    const none = await asked(async () => {
      await page.goBack();
      await page.waitForFunction((u) => location.href === u, before);
      await settled();
      await page.goForward();
      await page.waitForFunction(() => location.search.includes("now-6h"));
      await settled();
    });
    assert(none.length === 0, none.join(" "));
    // Loaded anew it is of now.
    const anew = await asked(async () => {
      await page.reload();
      await settled();
    });
    const end = (all) => Date.parse(new URL(all.find((u) => u.includes("/flame?"))).searchParams.get("to"));
    assert(end(anew) > end(all), `${new Date(end(anew)).toISOString()}: no later than before`);
  });
  await check("new_and_gone_have_words", async () => {
    const other = encodeURIComponent(`${cpu}{comm="nameless"}`);
    for (const [a, b, word] of [[q, other, "gone in B"], [other, q, "new in B"]]) {
      await show(`compare?q=${a}&${fixed}&b.q=${b}&b.from=${from}&b.to=${to}`);
      const f = (await frames()).find((x) => /^(alpha|beta|gamma)/.test(x.name ?? ""));
      assert(f, `${word}: nothing of the program with names: ${(await frames()).map((x) => x.name)}`);
      const box = await $("flame").boundingBox();
      await page.mouse.click(box.x + f.x + f.w / 2, box.y + f.y + 10);
      await $("details").locator("tr", { hasText: "Change" }).getByText(word).waitFor();
      await page.mouse.click(box.x + f.x + f.w / 2, box.y + f.y + 10, { button: "right" });
      await $("menu").getByText("Why is it hatched?").click();
      await $("toast").getByText(word.slice(0, 4)).last().waitFor();
    }
  });
  await check("only_more_than_chance_is_coloured", async () => {
    const middle = Math.round((from + to) / 2);
    const whole = encodeURIComponent(`${cpu}{}`);
    await show(`compare?q=${whole}&from=${from}&to=${middle}&b.q=${whole}&b.from=${middle}&b.to=${to}&sig=0`);
    const diff = await json(`api/v1/diff?a_q=${whole}&b_q=${whole}&a_from=${at(from)}&a_to=${at(middle)}&b_from=${at(middle)}&b_to=${at(to)}`);
    const fills = async () => new Map((await frames()).filter((f) => f.node > 0).map((f) => [f.node, f.fill]));
    const all = await fills();
    await $("cmp-significant").check();
    await page.waitForFunction(() => !location.search.includes("sig="));
    await page.waitForTimeout(300);
    const now = await fills();
    const chance = [...now.keys()].filter((i) => !diff.nodes.significant[i]);
    const more = [...now.keys()].filter((i) => diff.nodes.significant[i]);
    assert(chance.length > 0 && more.length > 0, `${chance.length} by chance, ${more.length} not`);
    assert(new Set(chance.map((i) => now.get(i))).size === 1, "what is chance has several colours");
    assert(more.every((i) => now.get(i) === all.get(i)), "what is more than chance has lost its colour");
    assert(chance.some((i) => now.get(i) !== all.get(i)), "nothing has lost its colour");
  });
}
