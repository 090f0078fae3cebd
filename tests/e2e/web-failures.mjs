// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-failures.mjs - the part of web.mjs about the page's own work: what is shown while it takes time, and when it fails
//
// What the page asks its worker is held back or refused here, by its name.

/** In the page, before anything of it runs: __worker.held, .refused and .fatal are names of questions. */
function standBetween() {
  const post = Worker.prototype.postMessage;
  const held = new Map();
  window.__worker = {
    held: new Set(),
    refused: new Set(),
    fatal: new Set(),
    letGo(op) {
      this.held.delete(op);
      (held.get(op) ?? []).forEach((send) => send());
      held.delete(op);
    },
  };
  Worker.prototype.postMessage = function (message, ...rest) {
    const op = message?.request?.op;
    if (window.__worker.refused.has(op)) setTimeout(() => this.onmessage({ data: { call: message.call, error: `${op} was refused` } }));
    else if (window.__worker.fatal.has(op)) setTimeout(() => this.onerror?.(new ErrorEvent("error", { message: `no memory for ${op}` })));
    else if (window.__worker.held.has(op)) held.set(op, [...(held.get(op) ?? []), () => post.call(this, message, ...rest)]);
    else post.call(this, message, ...rest);
  };
}

export async function failures(t) {
  const { assert, at, check, context, cpu, fixed, from, json, partial, q, to, url, watch } = t;
  const page = await context.newPage();
  const whole = encodeURIComponent(`${cpu}{}`);
  await page.addInitScript(standBetween);
  const $ = (id) => page.locator(`[data-testid="${id}"]`);
  const worker = (act, op) => page.evaluate(([a, o]) => (a === "letGo" ? window.__worker.letGo(o) : a === "allow" ? (window.__worker.refused.delete(o), window.__worker.fatal.delete(o)) : window.__worker[a].add(o)), [act, op]);
  const settled = () => page.waitForFunction(() => document.querySelector('[data-testid="flame-ready"]') && !document.querySelector(".stale"));
  const open = async (path) => {
    await page.goto(`${url}${path}`);
    await settled();
  };

  /** Runs act while no question of the page gets to the server. */
  const awayDuring = async (act) => {
    await page.route("**/*", (route) => (route.request().resourceType() === "fetch" ? route.abort("connectionrefused") : route.continue()));
    try {
      await act();
    } finally {
      await page.unroute("**/*");
    }
  };

  await check("old_order_stays_until_the_new_one_is_made", async () => {
    await open(`explore?q=${q}&${fixed}`);
    const label = await $("flame").getAttribute("aria-label");
    await worker("held", "arrange");
    for (const [id, act] of [["invert", () => $("invert").click()], ["fg-order", () => $("fg-order").selectOption("name")]]) {
      await act();
      await page.waitForSelector(".stale");
      assert((await $("flame").getAttribute("aria-label")) === label, `${id}: another tree, or none`);
      assert((await $("invert").count()) === 1 && (await $("search").count()) === 1, `${id}: the toolbar has gone`);
    }
    await worker("letGo", "arrange");
    await settled();
    assert((await $("invert").getAttribute("aria-pressed")) === "true", "it is not inverted");
  });
  await check("an_answer_is_dimmed_until_it_is_in_its_order", async () => {
    await open(`explore?q=${q}&${fixed}&inv=1`);
    const label = await $("flame").getAttribute("aria-label");
    await worker("held", "arrange");
    const came = page.waitForResponse((r) => r.url().includes("/flame?"));
    await $("query").fill(`${cpu}{}`);
    await $("query").press("Enter");
    await (await came).finished();
    await page.waitForFunction(() => !document.querySelector('[data-testid="load"].busy'));
    await page.waitForTimeout(300);
    assert((await $("flame").getAttribute("aria-label")) === label && (await page.locator("section.stale[aria-label=Result]").count()) === 1, "the tree of the question before looks as if it were the answer");
    await worker("letGo", "arrange");
    await settled();
    assert((await $("flame").getAttribute("aria-label")) !== label, "it is the tree of the question before");
  });
  await check("what_is_unpacked_is_cancelled_too", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await worker("held", "decode");
    await $("fg-group").selectOption("binary");
    await $("load-stage").getByText("unpacking").waitFor();
    await $("cancel").click();
    await $("old").waitFor();
    await worker("letGo", "decode");
    await page.waitForTimeout(200);
    assert((await $("old").count()) === 1, "it is shown all the same");
  });
  await check("lines_that_fail_leave_the_rest", async () => {
    // A fault of ours: what the server never sends.
    await page.route("**/api/v1/series?*", (route) => route.fulfill({ json: { step_ms: 1000, unit: "count", series: [{ labels: {}, t_ms: null, value: null, duration_ns: null, profiles: null }] } }));
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await $("empty").getByText("This part of the page has failed").waitFor();
    await settled();
    assert((await $("flame").count()) === 1 && (await $("query").count()) === 1, "the rest has gone with it");
    await page.unroute("**/api/v1/series?*");
  });
  await check("answers_that_come_by_themselves_do_not_overtake", async () => {
    const other = await context.newPage();
    await other.addInitScript(() => {
      const real = window.setInterval;
      const acts = [];
      window.__tick = () => acts.forEach((act) => act());
      window.setInterval = (act, ms, ...rest) => (ms === 5000 ? (acts.push(act), 0) : real(act, ms, ...rest));
    });
    const held = [];
    await other.route("**/api/v1/pipeline?*", (route) => held.push(route));
    const until = async (n) => {
      for (let i = 0; i < 50 && held.length < n; i++) await other.waitForTimeout(100);
    };
    await other.goto(`${url}pipeline`);
    await until(1);
    await other.evaluate(() => (window.__tick(), window.__tick()));
    await other.waitForTimeout(300);
    assert(held.length === 1, `${held.length} questions at once`);
    await held[0].continue();
    await other.getByText("Queues").first().waitFor();
    await other.evaluate(() => window.__tick());
    await until(2);
    assert(held.length === 2, "nothing is asked any more");
    await other.close();
  });
  await check("lines_of_both_sides_are_tried_again", async () => {
    await page.route("**/api/v1/series?*", (route) => route.fulfill({ status: 503, json: { detail: "too many questions" } }));
    await page.goto(`${url}compare?q=${q}&from=${from - 7200000}&to=${from - 3600000}`);
    for (const side of ["A", "B"]) await page.getByText(`${side} over time cannot be shown`).waitFor();
    await page.unroute("**/api/v1/series?*");
    await $("failed-retry").first().click();
    for (const side of ["a", "b"]) await $(`cmp-${side}-metrics`).locator("canvas").waitFor();
  });
  await check("an_order_that_fails_is_told", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await worker("refused", "arrange");
    await $("invert").click();
    await $("failed").waitFor();
    assert((await $("failed").innerText()).includes("arrange was refused"), await $("failed").innerText());
    assert((await $("flame").count()) === 1, "the flame graph has gone");
    await worker("allow", "arrange");
    await $("failed-retry").click();
    await settled();
    assert((await $("failed").count()) === 0, "it still says that it failed");
  });
  await check("callers_that_fail_are_told", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await worker("refused", "callers");
    await $("panel-sandwich").click();
    await $("table").locator(".rows .row").first().dblclick();
    await $("failed").waitFor();
    assert((await $("failed").innerText()).includes("callers was refused"), await $("failed").innerText());
    await worker("allow", "callers");
    await $("failed-retry").click();
    await page.waitForSelector('[data-testid="sandwich"] .bun');
  });
  await check("what_an_answer_lacks_is_told", async () => {
    // Another server, and so another browser's memory, and nobody who minds whom it asks.
    const there = await context.browser().newContext();
    const other = await there.newPage();
    watch(other);
    const lacks = async (screen, from, to, side = "") => {
      await other.goto(`${partial}${screen}?q=${encodeURIComponent("some:samples:count:::delta{}")}&from=${from}&to=${to}${side}`);
      await other.waitForSelector('[data-testid="flame-ready"]');
      return other.locator('[data-testid="banner"]');
    };
    try {
      const banner = await lacks("explore", "now-4h", "now");
      assert((await banner.innerText()).trim() === "1 piece of data is missing", await banner.innerText());
      await banner.locator("summary").click();
      const text = await banner.locator("li").innerText();
      assert(/^blocks\/\S+\.blk: it cannot be read \(.*\d\d:\d\d.* – .*\d\d:\d\d.*\)$/.test(text), text);
      // What is there is shown all the same.
      assert((await other.locator('[data-testid="flame"]').getAttribute("aria-label")).includes(" 2 frames"), await other.locator('[data-testid="flame"]').getAttribute("aria-label"));
      // One that lacks nothing says nothing; of a comparison either side may.
      assert((await (await lacks("explore", "now-1h", "now")).count()) === 0, "the last hour has it all");
      await (await lacks("compare", "now-1h", "now", "&b.from=now-4h&b.to=now")).waitFor();
    } finally {
      await there.close();
    }
  });
  await check("addresses_of_anything_leave_a_page", async () => {
    // As ui/test/random.ts has them, so that they are the same in every run.
    let a = 11;
    const random = (below) => {
      a = (a + 0x6d2b79f5) >>> 0;
      let r = Math.imul(a ^ (a >>> 15), a | 1);
      r ^= r + Math.imul(r ^ (r >>> 7), r | 61);
      return Math.floor((((r ^ (r >>> 14)) >>> 0) / 4294967296) * below);
    };
    const known = ["both", "table", "sandwich", "1", "line", "comm", '"a,b",comm', "-1", "9-3", "0-1", "SS:fn:=main", "HF:(", "name", "kind", "label", "-total", "now-2h", "now", "utc", "share", "b"];
    const anything = () => Array.from({ length: random(12) }, () => String.fromCharCode(random(0x250))).join("");
    const keys = ["sel", "v", "sum", "group", "by", "f", "inv", "flame", "ord", "rec", "fold", "nm", "max", "cb", "s", "z", "x", "sw", "sort", "cols", "tz", "b.q", "b.from", "b.to", "sig", "norm", "w", "zz"];
    // What the server refuses is an error of the console's, and of nobody else.
    const other = await context.newPage();
    const thrown = [];
    other.on("pageerror", (e) => thrown.push(e.message));
    for (let i = 0; i < 60; i++) {
      const params = Array.from({ length: 1 + random(6) }, () => [keys[random(keys.length)], random(3) ? known[random(known.length)] : anything()]);
      const address = `${["explore", "compare"][random(2)]}?q=${q}&${fixed}&${new URLSearchParams(params)}`;
      await other.goto(`${url}${address}`);
      await other.waitForFunction(() => document.querySelector('[data-testid="flame-ready"], [data-testid="table"] .row, [data-testid="sandwich"], [data-testid="empty"], [data-testid="error"]'), null, { timeout: 10000 }).catch(() => thrown.push("nothing is shown"));
      if (await other.getByText("This part of the page has failed").count()) thrown.push("a part of the page has failed");
      assert(thrown.length === 0, `${address}: ${thrown[0]}`);
    }
    await other.close();
  });
  await check("a_zoom_that_cannot_be_filled_is_told", async () => {
    const { nodes } = await json(`api/v1/flame?q=${whole}&from=${at(from)}&to=${at(to)}&group_by=comm&max_nodes=60`);
    await open(`explore?q=${whole}&${fixed}&by=comm&max=60&e2e=1`);
    await page.waitForFunction(() => window.__ui?.visible() > 0);
    await page.route("**/api/v1/flame?*under=*", (route) => route.fulfill({ status: 503, json: { detail: "too many questions" } }));
    const lacks = (f) => nodes.trimmed[f.node] / f.total;
    // A click falls on a whole pixel, which must be the frame's.
    const frames = (await page.evaluate(() => window.__ui.frames())).filter((f) => f.node > 0 && f.w >= 4);
    const f = frames.sort((a, b) => lacks(b) - lacks(a))[0];
    assert(lacks(f) > 0.005, "no frame has left out much of what is below it");
    const box = await $("flame").boundingBox();
    await page.mouse.dblclick(box.x + f.x + f.w / 2, box.y + f.y + 10);
    await $("closer-failed").waitFor();
    assert((await $("closer-failed").innerText()).includes("too many questions"), await $("closer-failed").innerText());
    assert((await $("flame").count()) === 1, "the flame graph has gone");
    await page.unroute("**/api/v1/flame?*under=*");
    await $("closer-retry").click();
    await $("closer-failed").waitFor({ state: "detached" });
  });
  await check("a_search_that_fails_is_told", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await worker("refused", "search");
    await $("search").fill("a_$");
    await $("search-retry").waitFor();
    assert((await $("search-count").innerText()).includes("search was refused"), await $("search-count").innerText());
    await worker("allow", "search");
    await $("search-retry").click();
    await $("search-count").getByText("frames").waitFor();
    assert((await $("search-retry").count()) === 0, "it still says that it failed");
  });
  await check("a_worker_that_ends_is_followed_by_another", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await worker("fatal", "arrange");
    await $("invert").click();
    await $("failed").waitFor();
    assert((await $("failed").innerText()).includes("no memory for arrange"), await $("failed").innerText());
    await worker("allow", "arrange");
    await $("failed-retry").click();
    await page.waitForFunction(() => !document.querySelector('[data-testid="failed"]'));
    await settled();
    assert((await $("invert").getAttribute("aria-pressed")) === "true" && (await $("flame").count()) === 1, "it is not inverted");
  });
  const load = async (text) => {
    await page.goto(`${url}open`);
    await $("open-file").setInputFiles({ name: "some.folded", mimeType: "text/plain", buffer: Buffer.from(text) });
  };
  await check("a_file_is_read_again_for_another_worker", async () => {
    await load("main;a 1\nmain;b 2\n");
    await settled();
    await worker("fatal", "arrange");
    await $("invert").click();
    await $("failed").waitFor();
    await worker("allow", "arrange");
    await $("failed-retry").click();
    await page.waitForFunction(() => !document.querySelector('[data-testid="failed"]'));
    await settled();
    assert((await $("invert").getAttribute("aria-pressed")) === "true" && (await $("flame").count()) === 1, "it is not inverted");
  });
  await check("a_file_that_fails_is_tried_again", async () => {
    let asked = 0;
    const count = (r) => (asked += r.url().includes("/flame?"));
    page.on("request", count);
    await page.goto(`${url}open`);
    await worker("refused", "open");
    await $("open-file").setInputFiles({ name: "some.folded", mimeType: "text/plain", buffer: Buffer.from("main;a 1\n") });
    await $("error").getByText("open was refused").waitFor();
    await worker("allow", "open");
    await $("retry").click();
    await settled();
    page.off("request", count);
    assert(asked === 0, "the server was asked for what is in a file");
  });
  await check("a_search_without_end_is_given_up_once", async () => {
    const names = [...Array(30)].map((_, i) => `main;${"aaaaaaaaaaaaaaaa".repeat(2)}${i} 1`).join("\n");
    let started = 0;
    const count = () => started++;
    await load(`${names}\n`);
    await settled();
    await $("search").fill("^(a+)+#$");
    await $("search-count").getByText("takes too long").waitFor();
    await settled();
    assert((await $("flame").count()) === 1, "the flame graph has gone");
    await $("search").fill("main");
    await $("search-count").getByText("frames").waitFor();
    // The answer is read once more by another worker, and not for ever.
    await open(`explore?q=${q}&${fixed}`);
    page.on("worker", count);
    await $("search").fill("^((.+)+)+#$");
    await $("search-count").getByText("takes too long").waitFor();
    await page.waitForTimeout(2500);
    page.off("worker", count);
    assert(started === 1, `${started} workers`);
    assert((await $("search-count").innerText()).includes("takes too long"), await $("search-count").innerText());
    // Who wants it all the same, or wants it of something else, has it searched for.
    for (const want of [() => $("search-retry").click(), async () => (await $("search").fill(""), await $("search").fill("^((.+)+)+#$"))]) {
      const again = page.waitForEvent("worker");
      await want();
      await again;
      await settled();
      await $("search-count").getByText("takes too long").waitFor();
    }
    await $("search").fill("");
  });
  await check("a_search_without_end_of_what_was_asked_before", async () => {
    await open(`explore?q=${q}&${fixed}`);
    const frames = await $("flame").getAttribute("aria-label");
    // Without a type nothing is asked, and what was there stays.
    await $("query").fill('{comm="worker"}');
    await $("query").press("Enter");
    await page.waitForFunction(() => new URL(location.href).searchParams.get("q").startsWith("{"));
    await $("search").fill("^((.+)+)+#$");
    await $("search-count").getByText("takes too long").waitFor();
    await settled();
    assert((await $("error").count()) === 0 && (await $("flame").getAttribute("aria-label")) === frames, "what was there has gone");
    await $("search").fill("main");
    await $("search-count").getByText("frames").waitFor();
    await $("search").fill("");
  });
  await check("what_is_shown_is_kept_whatever_else_is_made", async () => {
    await open(`explore?q=${q}&${fixed}&rec=1`);
    for (const sw of ["alpha", "beta", "gamma_", "main", "alpha", "beta"]) {
      await page.evaluate((f) => {
        const to = new URL(location.href);
        to.searchParams.set("v", "sandwich");
        to.searchParams.set("sw", f);
        history.pushState(null, "", to);
        dispatchEvent(new PopStateEvent("popstate"));
      }, sw);
      await page.waitForFunction((f) => document.querySelector('[data-testid="sandwich"]:not(.stale) .bun b')?.textContent === f, sw);
    }
    await $("panel-table").click();
    await $("table").locator(".rows .row").first().waitFor();
    await $("panel-flame").click();
    await $("invert").click();
    await page.waitForFunction(() => !document.querySelector(".stale"));
    assert((await $("failed").count()) === 0, "it is not there any more");
  });
  await check("a_search_without_end_spoils_no_other_file", async () => {
    await load(`main;${"a".repeat(34)} 1\n`);
    await settled();
    await $("search").fill("^(a+)+#$");
    await $("open-file").setInputFiles({ name: "other.folded", mimeType: "text/plain", buffer: Buffer.from("main;b 2\n") });
    await page.waitForFunction(() => document.querySelector('[data-testid="drop"]').textContent.includes("other.folded"));
    await settled();
    await page.waitForTimeout(1000);
    assert((await $("error").count()) === 0, "the file could not be read");
    assert((await $("flame").count()) === 1, "the flame graph has gone");
    await $("search").fill("");
  });
  await check("a_token_that_is_not_enough_is_no_missing_one", async () => {
    for (const [code, says] of [[401, "A token is needed"], [403, "This token is not enough"]]) {
      await page.route("**/api/v1/status?*", (route) => route.fulfill({ status: code, json: { detail: "no" } }));
      await page.goto(`${url}status`);
      await $("error").getByText(says).waitFor();
      await page.unroute("**/api/v1/status?*");
    }
  });
  await check("a_worker_that_cannot_start_is_told", async () => {
    let there = false;
    await page.route("**/worker-*.js", (route) => (there ? route.continue() : route.fulfill({ status: 404 })));
    await page.goto(`${url}explore?q=${q}&${fixed}`);
    await $("error").getByText("the page's worker has ended").waitFor();
    there = true;
    await $("retry").click();
    await settled();
    await page.unroute("**/worker-*.js");
  });
  await check("a_part_that_cannot_be_fetched_is_told", async () => {
    const fresh = await context.newPage();
    await fresh.route("**/rest-*.js", (route) => route.fulfill({ status: 404 }));
    await fresh.goto(`${url}status`);
    await fresh.locator('[data-testid="failed"]').getByText("This part of the page could not be fetched").waitFor();
    await fresh.unroute("**/rest-*.js");
    await fresh.locator('[data-testid="failed-retry"]').click();
    await fresh.waitForFunction(() => document.querySelector("main").innerText.includes("Storage"));
    await fresh.close();
  });
  await check("labels_that_fail_are_told", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.route("**/api/v1/labels?*", (route) => route.fulfill({ status: 503, json: { detail: "too many questions" } }));
    await $("sum").locator("summary").click();
    await $("sum").getByText("too many questions").waitFor();
    assert(!(await $("sum").innerText()).includes("No labels here"), await $("sum").innerText());
    await page.unroute("**/api/v1/labels?*");
    await $("sum").locator('[data-testid="failed-retry"]').click();
    await $("sum-comm").waitFor();
    assert((await $("failed").count()) === 0, "it still says that it failed");
  });
  await check("offers_that_fail_are_told", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.route("**/api/v1/labels?*", (route) => route.fulfill({ body: "no JSON" }));
    await $("query").fill("");
    await $("query").pressSequentially(`${cpu}{co`);
    await $("query-list-failed").waitFor();
    await page.unroute("**/api/v1/labels?*");
    await $("query").pressSequentially("m");
    await $("query-list").getByText("comm", { exact: true }).waitFor();
    assert((await $("query-list-failed").count()) === 0, "it still says that it failed");
  });
  await check("a_server_that_is_away_is_waited_for", async () => {
    await open(`explore?q=${q}&${fixed}`);
    // It comes behind the rest.
    await $("lost").waitFor();
    const text = await $("quality").innerText();
    await awayDuring(async () => {
      await $("fg-group").selectOption("line");
      await $("connection").waitFor();
      assert((await $("quality").innerText()) === text && (await $("flame").count()) === 1, "what was shown is gone");
      assert((await page.locator("section.stale").count()) > 0, "and does not look old");
      const told = async () => Number(/ (\d+) s/.exec(await $("connection").innerText())?.[1] ?? 0);
      await page.waitForFunction(() => / [34] s/.test(document.querySelector('[data-testid="connection"]').innerText), null, { timeout: 20000 });
      assert((await told()) <= 4, await $("connection").innerText());
    });
    await settled();
    assert((await $("connection").count()) === 0 && (await $("outdated").count()) === 0, "it still says that the server is away");
    assert(new URL(page.url()).searchParams.get("group") === "line", page.url());
  });
  await check("another_version_of_the_page_is_told", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await awayDuring(async () => {
      await $("run").click();
      await $("connection").waitFor();
    });
    await page.route("**/explore", (route) => (route.request().resourceType() === "fetch" ? route.fulfill({ body: '<script src="app-0123456789.js">' }) : route.continue()));
    await $("outdated").waitFor();
    await page.unroute("**/explore");
    const before = page.url();
    await $("outdated").getByText("Reload").click();
    await settled();
    assert((await $("outdated").count()) === 0 && page.url() === before, page.url());
  });
  await check("try_again_asks_again", async () => {
    await open(`explore?q=${q}&${fixed}`);
    await page.route("**/api/v1/flame?*", (route) => route.fulfill({ status: 503, json: { detail: "too many questions" } }));
    await $("fg-group").selectOption("binary");
    await $("error").getByText("too many questions").waitFor();
    await page.unroute("**/api/v1/flame?*");
    await $("retry").click();
    await settled();
    assert((await $("error").count()) === 0, "the error is still there");
  });
  await page.close();
}
