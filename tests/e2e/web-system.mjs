// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-system.mjs - the part of web.mjs about Targets, Pipeline and Status: what is lost, what the store's numbers mean

export async function system(t) {
  const { $, assert, check, context, page, url } = t;
  const answered = async (path, json, act) => {
    const pattern = `**/api/v1/${path}?*`;
    await page.route(pattern, (route) => route.fulfill({ json }));
    try {
      await act();
    } finally {
      await page.unroute(pattern);
    }
  };

  await check("losses_heaviest_first", () => {
    const losses = [["b", "queue_full", 3], ["a", "series_folded", 70], ["a", "not_known", 3]].map(([instance, reason, n]) => ({ instance, reason, n }));
    return answered("pipeline", { instances: [], queues: [], losses }, async () => {
      await page.goto(`${url}pipeline`);
      await $("losses").waitFor();
      const rows = (await $("losses").locator("tbody tr").allInnerTexts()).map((r) => r.split("\t"));
      assert(rows.map((r) => r[1]).join() === "series folded,not known,queue full", JSON.stringify(rows));
      assert(/max_series/.test(rows[0][3]) && /log/.test(rows[1][3]) && /queue/.test(rows[2][3]), JSON.stringify(rows));
    });
  });
  await check("the_logs_last_lines_are_shown", async () => {
    await page.goto(`${url}pipeline`);
    await $("log").locator("tbody tr").first().waitFor();
    const told = (await (await context.request.get(`${url}api/v1/log`)).json()).lines;
    const shown = await $("log").locator("tbody tr").allInnerTexts();
    const [, level, area, message] = shown.at(-1).split("\t");
    assert(told.length > 3 && level === told[0].level && area === told[0].area && message === told[0].message, `${shown.at(-1)}, and not ${JSON.stringify(told[0])}`);
    assert(shown.some((l) => l.includes("is ready at")), shown.join(" | "));
    const lines = ["info", "error", "warning"].map((l, i) => ({ time: `2026-01-02T03:04:0${i}Z`, level: l, area: "a", message: `m${i}\u202e` }));
    await answered("log", { lines }, async () => {
      await page.goto(`${url}pipeline`);
      await $("log").locator("tbody tr").first().waitFor();
      await $("log-short").click();
      const some = await $("log").locator("tbody tr").allInnerTexts();
      assert(some.length === 2 && /warning\ta\tm2\\u202e$/.test(some[0]) && /error\ta\tm1/.test(some[1]), JSON.stringify(some));
    });
  });
  const status = (storage) => ({ version: "1", started: "2026-01-01T00:00:00Z", node: "n", data: "/d", config: "/c", storage });
  await check("store_says_what_numbers_mean", () =>
    answered("status", status({ place: "/d", removals: 2, set_aside: 0, rows_folded: 5, rows_refused: 0 }), async () => {
      await page.goto(`${url}status`);
      await $("store-notes").waitFor();
      const notes = await $("store-notes").locator("li").allInnerTexts();
      assert(notes.length === 2 && /^2 removals/.test(notes[0]) && /^5 rows/.test(notes[1]), notes.join(" | "));
    }));
  await check("store_says_what_it_keeps", async () => {
    const facts = () => page.locator("section.facts", { hasText: "Storage" }).locator("div", { hasText: "keeps" }).locator("dd").innerText();
    await answered("status", status({ place: "/d", bytes: 1, disk_bytes: 256, retention_ms: 86400000 * 2, max_bytes: 1024 }), async () => {
      await page.goto(`${url}status`);
      assert(/^2[.0]* d, at most 1[.0]* KiB, of which 25.0 % are used$/.test(await facts()), await facts());
    });
    await answered("status", status({ place: "/d", bytes: 1, retention_ms: 0, max_bytes: 0 }), async () => {
      await page.goto(`${url}status`);
      assert((await facts()) === "everything", await facts());
    });
    // The defaults of the local store.
    await page.goto(`${url}status`);
    assert(/^15[.0]* d, at most [0-9.]+ [A-Z]i?B, of which <?[0-9.]+ % are used$/.test(await facts()), await facts());
  });
  await check("configuration_is_what_holds", async () => {
    await page.goto(`${url}status`);
    const lines = $("configuration").locator("span");
    await lines.first().waitFor();
    const told = (await (await context.request.get(`${url}api/v1/config`)).text()).trimEnd().split("\n");
    assert((await lines.allTextContents()).join("") === told.map((l) => `${l.replace(/  # default$/, "")}\n`).join(""), await $("configuration").innerText());
    assert((await $("configuration").locator(".default").count()) === told.filter((l) => l.endsWith("  # default")).length, "not just the defaults are pale");
    assert(told.includes("    frequency: 199Hz") && told.includes("    max_depth: 1000  # default"), told.join("\n"));
  });
  await check("endpoints_are_listed", async () => {
    const endpoint = (i, health, more = {}) => ({ input: "pprof_scrape", job: `job${i % 7}`, profile: "memory", url: `http://10.0.0.${i}:6060/debug/pprof/allocs`, health, error: "", discovered: { __address__: `10.0.0.${i}:6060` }, labels: { zone: `z${i}`, job: `job${i % 7}`, instance: `10.0.0.${i}:6060` }, last: "2026-01-02T03:04:05Z", next: null, duration_ns: 5e6, interval_ns: 1e10, timeout_ns: 1e10, bytes: 2048, samples: 10, asked: 3, failed: 0, ...more });
    const endpoints = [...Array(350).keys()].map((i) => endpoint(i, "up"));
    endpoints.push(endpoint(400, "down", { error: "cannot connect" }), endpoint(401, "dropped", { last: null, labels: {} }));
    await answered("targets", { targets: [], endpoints }, async () => {
      await page.goto(`${url}targets`);
      const rows = $("endpoints").locator("> tbody > tr");
      await rows.first().waitFor();
      const first = await rows.first().innerText();
      assert((await rows.count()) === 300 && /down/.test(first) && /cannot connect/.test(first), first);
      const text = await page.locator("main").innerText();
      assert(/1 down, 350 up, 1 dropped/.test(text) && /52 more/.test(text), text.slice(0, 600));
      await page.getByLabel("Endpoints with these words").fill('zone="z17"');
      assert((await rows.count()) === 1 && /10\.0\.0\.17:/.test(await rows.first().innerText()), await rows.allInnerTexts());
      // Nothing of that profile is stored: there is nothing to be explored. Of CPU time there is.
      assert((await $("explore-target").count()) === 0, "memory can be explored");
    });
    // What the rules made of its labels; of what they left out, what they saw, which is found by its words, too.
    const relabelled = endpoint(5, "up", { discovered: { __address__: "10.0.0.5:6060", __meta_pod: "p", zone: "a" }, labels: { zone: "b", pod: "p", env: "x" } });
    await answered("targets", { targets: [], endpoints: [relabelled, endpoint(6, "dropped", { labels: {}, discovered: { __address__: "10.0.0.6:6060", __meta_pod: "unwanted" } })] }, async () => {
      await page.goto(`${url}targets`);
      await $("trace-open").first().click();
      await $("trace").first().locator("tbody tr").first().waitFor();
      const traced = await $("trace").first().locator("tbody tr").allInnerTexts();
      const want = ["env\t–\tx\tadded", "pod\t–\tp\tadded", "zone\ta\tb\tchanged", "__address__\t10.0.0.5:6060\t–\tleft out, as all that begin with __", "__meta_pod\tp\t–\tleft out, as all that begin with __"];
      assert(JSON.stringify(traced) === JSON.stringify(want), JSON.stringify(traced));
      await page.getByLabel("Endpoints with these words").fill("unwanted");
      await page.waitForFunction(() => document.querySelectorAll('[data-testid="trace-open"]').length === 1);
      await $("trace-open").click();
      assert(/relabel_configs/.test(await $("endpoints").innerText()), await $("endpoints").innerText());
    });
    await answered("targets", { targets: [], endpoints: [endpoint(3, "up", { profile: "process_cpu" })] }, async () => {
      await page.goto(`${url}targets`);
      await $("explore-target").click();
      await page.waitForFunction(() => location.pathname.endsWith("/explore"));
      const asked = new URL(page.url()).searchParams.get("q");
      assert(asked === `${t.cpu}{job="job3", instance="10.0.0.3:6060"}`, asked);
    });
  });
  await check("system_pages_wait", async () => {
    for (const [screen, path] of [["targets", "targets"], ["pipeline", "pipeline"], ["status", "status"]]) {
      const pattern = `**/api/v1/${path}?*`;
      let go;
      const held = new Promise((r) => (go = r));
      await page.route(pattern, async (route) => (await held, route.continue()));
      await page.goto(`${url}${screen}`);
      await $("waiting").waitFor();
      go();
      await $("waiting").waitFor({ state: "detached" });
      await page.unroute(pattern);
    }
  });
}
