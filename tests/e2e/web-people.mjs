// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-people.mjs - the part of web.mjs about what people set: colours, motion, single keys, large text

export async function people(t) {
  const { assert, check, context, fixed, from, q, to, url, watch } = t;
  const page = await context.newPage();
  watch(page);
  const $ = (id) => page.locator(`[data-testid="${id}"]`);
  const settled = () => page.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]') && !document.querySelector(".stale") && window.__ui?.visible() > 0);
  const show = async (screen = "explore") => {
    await page.goto(`${url}${screen}?q=${q}&${fixed}&e2e=1`);
    await settled();
  };
  /** How many views there are on the way to a frame that is a fifth of the graph. */
  const views = async () => {
    await page.goto(`${url}open?e2e=1`);
    await $("open-file").setInputFiles({ name: "a.folded", mimeType: "text/plain", buffer: Buffer.from("a;b;c;d;e 2\na;b;c 3\nf 5\n") });
    await settled();
    await $("flame").focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowDown");
    await page.evaluate(() => {
      const seen = (window.__views = new Set());
      const real = window.requestAnimationFrame;
      const look = () => seen.add(JSON.stringify(window.__ui.view()));
      look();
      window.requestAnimationFrame = (f) => real((now) => (f(now), look()));
    });
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.search.includes("z="));
    await page.waitForTimeout(600);
    return page.evaluate(() => window.__views.size);
  };

  /** A screen with what it is about. */
  const showAll = async (p, screen) => {
    await p.goto(`${url}${screen}?q=${q}&${fixed}&b.q=${q}&b.from=${from}&b.to=${to}&sw=${screen === "function" ? "beta" : ""}`);
    const there = { explore: "flame-ready", compare: "cmp-how", function: "sandwich", open: "open-file" }[screen];
    if (there) await p.waitForSelector(`[data-testid="${there}"]`, { state: "attached" });
    else await p.waitForFunction((w) => document.querySelector("main")?.innerText.includes(w), { targets: "ebpf", pipeline: "Queues", status: "Storage" }[screen]);
  };
  const screens = ["explore", "compare", "function", "targets", "pipeline", "status", "open"];
  /** No control of these screens is cut off, and none is wider than its window. */
  const isWhole = async (width, height, of) => {
    const large = await context.browser().newContext({ viewport: { width, height }, deviceScaleFactor: 2 });
    const other = await large.newPage();
    for (const screen of of) {
      await showAll(other, screen);
      const { n, faults } = await other.evaluate(() => {
        const out = [];
        let n = 0;
        const root = document.documentElement;
        if (root.scrollWidth > innerWidth) out.push(`the page is ${root.scrollWidth} wide`);
        const scrolls = (e) => e && e !== root && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
        for (const e of document.querySelectorAll("button, select, input, a[href], summary")) {
          const r = e.getBoundingClientRect();
          // One that comes into sight with the focus.
          if (!r.width || r.right < 0 || e.closest("details:not([open]) > :not(summary), dialog:not([open])") || e.classList.contains("unseen")) continue;
          n++;
          const name = e.dataset.testid || e.textContent.slice(0, 30);
          if ((r.left < -1 || r.right > innerWidth + 1) && !scrolls(e.parentElement)) out.push(`${name} is at ${r.left} to ${r.right}`);
          if (e.tagName === "BUTTON" && e.scrollWidth > e.clientWidth + 2 && !scrolls(e)) out.push(`${name} is cut: ${e.clientWidth} of ${e.scrollWidth}`);
        }
        return { n, faults: out };
      });
      assert(n > 5 && faults.length === 0, `${width} wide, ${screen}, ${n} controls: ${faults.slice(0, 3).join("; ")}`);
    }
    await large.close();
  };

  await check("no_motion_where_none_is_wanted", async () => {
    await page.emulateMedia({ reducedMotion: "no-preference" });
    // It lasts for 150 ms, in which a busy machine may draw nothing.
    let moving = 0;
    for (let i = 0; i < 5 && moving <= 2; i++) moving = await views();
    await page.emulateMedia({ reducedMotion: "reduce" });
    const still = await views();
    // What was there, and what is there then.
    assert(moving > 2 && still <= 2, `${moving} views on the way, and ${still} without motion`);
    const slow = await page.evaluate(() => {
      const e = document.body.appendChild(document.createElement("div"));
      e.className = "stale";
      const { transitionDuration, animationName } = getComputedStyle(e);
      e.remove();
      return `${transitionDuration} ${animationName}`;
    });
    assert(slow === "0s none", slow);
  });
  await check("focus_is_seen_in_forced_colours", async () => {
    await page.emulateMedia({ forcedColors: "active" });
    await show();
    await page.locator("a, button").first().focus();
    const bare = new Set();
    let n = 0;
    for (; n < 60; n++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const e = document.activeElement;
        if (!e || e === document.body) return null;
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(e);
        // Shadows are not drawn with forced colours.
        return { seen: outlineStyle !== "none" && parseFloat(outlineWidth) >= 1, what: e.outerHTML.slice(0, 80), boxShadow };
      });
      if (!at) break;
      if (!at.seen) bare.add(at.what);
    }
    await page.emulateMedia({ forcedColors: "none" });
    assert(n > 20 && bare.size === 0, `${n} stops; without an outline: ${[...bare].slice(0, 3).join(" ")}`);
  });
  await check("single_keys_can_be_off", async () => {
    await show();
    const set = async (off) => {
      await page.evaluate(() => document.activeElement?.blur());
      if (off) await page.keyboard.press("?");
      else await $("help-open").click();
      await $("help").getByLabel("no single keys").setChecked(off);
      await $("help").getByText("Close", { exact: true }).click();
      await page.evaluate(() => document.activeElement?.blur());
    };
    await set(true);
    for (const again of [false, true]) {
      for (const key of ["2", "i", "?", "g", "p"]) await page.keyboard.press(key);
      await page.waitForTimeout(200);
      assert((await $("flame").count()) === 1 && !page.url().includes("inv=") && !page.url().includes("pipeline"), `${again ? "after a reload, " : ""}a key acts: ${page.url()}`);
      assert(!(await page.locator("dialog[open]").count()), "the list of keys opens");
      if (!again) {
        await page.reload();
        await settled();
      }
    }
    // Those of the graph itself, which has the focus for them, stay.
    await $("flame").focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector('[data-testid="details"] h3');
    await set(false);
    await page.keyboard.press("2");
    await page.waitForSelector('[data-testid="table"]');
  });
  await check("controls_are_large_enough", async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    for (const screen of screens) {
      await showAll(page, screen);
      const { n, small } = await page.evaluate(() => {
        // A box is as large as the label around it, which may be clicked, too.
        const boxes = [...document.querySelectorAll("button, select, input, a[href], summary")].filter((e) => e.checkVisibility()).map((e) => [e, (e.type === "checkbox" ? e.closest("label") : e).getBoundingClientRect()]);
        const seen = boxes.filter(([e, r]) => r.width > 1 && r.right > 0 && !e.classList.contains("unseen"));
        return { n: seen.length, small: seen.filter(([, r]) => r.width < 24 || r.height < 24).map(([e, r]) => `${e.dataset.testid ?? e.textContent.slice(0, 20)} ${r.width} x ${r.height}`) };
      });
      assert(n > 5 && small.length === 0, `${screen}, ${n} controls: ${small.slice(0, 4).join("; ")}`);
    }
  });
  await check("nothing_is_cut_off_at_200_percent", async () => {
    // 1280 x 900 at twice the size; and at four times it what is no graph.
    for (const [width, height, of] of [[640, 450, screens], [320, 225, ["targets", "pipeline", "status", "open"]]]) await isWhole(width, height, of);
  });
  await check("a_menu_is_whole_in_sight", async () => {
    await show();
    await page.setViewportSize({ width: 1280, height: 640 });
    await settled();
    const box = await $("flame").boundingBox();
    await page.mouse.move(box.x + 60, box.y + 50);
    await $("tooltip").waitFor();
    await page.mouse.click(box.x + 60, box.y + 110, { button: "right" });
    const menu = await $("menu").boundingBox();
    assert(menu.y >= 0 && menu.y + menu.height <= 640, `from ${menu.y} to ${menu.y + menu.height} of 640`);
    assert((await $("tooltip").count()) === 0, "what is told of a frame lies over its menu");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1280, height: 900 });
  });
  await check("all_of_it_by_keys", async () => {
    await show();
    const hasFocus = (id) => page.evaluate((x) => document.activeElement?.closest(`[data-testid="${x}"]`) !== null, id);
    const reach = async (id) => {
      for (let i = 0; i < 80 && !(await hasFocus(id)); i++) await page.keyboard.press("Tab");
      assert(await hasFocus(id), `Tab does not come to ${id}`);
    };
    await page.evaluate(() => document.activeElement?.blur());
    await reach("flame");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
    const name = await $("details").locator("h3").innerText();
    await page.keyboard.press("Enter");
    await page.waitForFunction((n) => document.querySelector('[data-testid="live"]')?.textContent === `Zoomed to ${n}`, name);
    await page.keyboard.press("/");
    await page.keyboard.type("a_$");
    await $("search-count").getByText("frames").waitFor();
    assert((await $("search-count").getAttribute("aria-live")) === "polite", "nobody is told what was found");
    await reach("flame");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ContextMenu");
    await $("menu").waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await $("menu").waitFor({ state: "detached" });
    await page.waitForSelector('[data-testid="sandwich"] .bun');
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("1");
    await settled();
    await reach("export");
    await page.keyboard.press("Enter");
    const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Tab").then(() => page.keyboard.press("Enter"))]);
    assert(await file.path(), "nothing was saved");
  });
  await check("a_table_is_ahead_of_the_graph", async () => {
    await show();
    await page.evaluate(() => document.activeElement?.blur());
    const at = () => page.evaluate(() => document.activeElement?.dataset.testid ?? "");
    for (let i = 0; i < 80 && (await at()) !== "to-table"; i++) await page.keyboard.press("Tab");
    const box = await $("to-table").boundingBox();
    assert((await at()) === "to-table" && box.x >= 0 && box.width > 24, `${await at()}: ${JSON.stringify(box)}`);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.classList.contains("rows"));
    await page.keyboard.press("ArrowDown");
    await $("table").locator(".row.selected").waitFor();
  });
  await check("text_stands_out_from_its_ground", async () => {
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const screen of screens) {
        await showAll(page, screen);
        const { n, faults } = await page.evaluate(() => {
          // WCAG 2.2, relative luminance and contrast ratio.
          const parse = (c) => {
            const g = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
            g.fillStyle = c;
            g.fillRect(0, 0, 1, 1);
            return [...g.getImageData(0, 0, 1, 1).data];
          };
          const light = (c) => c.slice(0, 3).map((v) => ((v /= 255), v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((n, v, i) => n + v * [0.2126, 0.7152, 0.0722][i], 0);
          const ground = (e) => {
            for (; e; e = e.parentElement) {
              const c = parse(getComputedStyle(e).backgroundColor);
              if (c[3] === 255) return c;
            }
            return [255, 255, 255, 255];
          };
          const seen = new Set();
          let n = 0;
          for (const e of document.querySelectorAll("body *")) {
            const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
            const style = getComputedStyle(e);
            if (!own || !e.checkVisibility({ checkOpacity: true }) || e.closest(":disabled, .unseen, canvas, .uplot")) continue;
            n++;
            const [a, b] = [light(parse(style.color)), light(ground(e))].sort((x, y) => y - x);
            const ratio = (a + 0.05) / (b + 0.05);
            const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
            if (ratio < (large ? 3 : 4.5)) seen.add(`${e.className || e.tagName} "${e.textContent.trim().slice(0, 20)}" has ${ratio.toFixed(2)}`);
          }
          if (document.querySelector('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])')) seen.add("a positive tabindex");
          return { n, faults: [...seen] };
        });
        assert(n > 10 && faults.length === 0, `${scheme}, ${screen}, ${n} texts: ${faults.slice(0, 4).join("; ")}`);
      }
    }
  });
  await check("hostile_names_are_text", async () => {
    const names = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "a\u001bb\u202ec", `long ${"x".repeat(1 << 20)}`, "javascript:alert(1)"];
    let dialogs = 0;
    const seen = (d) => (dialogs++, d.dismiss());
    page.on("dialog", seen);
    await page.goto(`${url}open?e2e=1`);
    const before = await page.evaluate(() => document.querySelectorAll("img, script, iframe").length);
    const text = Buffer.concat([Buffer.from(names.map((n) => `main;${n.replace(/;/g, ":")} 10`).join("\n")), Buffer.from("\nmain;"), Buffer.from([0xff, 0xfe, 0x80]), Buffer.from(" 10\n")]);
    await $("open-file").setInputFiles({ name: "<b>a</b>.folded", mimeType: "text/plain", buffer: text });
    await settled();
    await $("flame").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const told = [];
    for (let i = 0; i < 6; i++) {
      told.push(await $("details").locator("h3").innerText());
      await page.keyboard.press("ArrowRight");
    }
    await $("panel-table").click();
    await $("table").locator(".rows .row").first().waitFor();
    const after = await page.evaluate(() => document.querySelectorAll("img, script, iframe").length);
    page.off("dialog", seen);
    assert(dialogs === 0 && after === before, `${dialogs} dialogs, ${after - before} elements made of names`);
    assert(told.some((n) => n.includes("<img src=x")) && told.some((n) => n.includes("a\\u001bb\\u202ec")), told.map((n) => n.slice(0, 40)).join(" | "));
  });
  await page.close();
}
