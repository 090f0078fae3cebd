// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-query.mjs - the part of web.mjs about what is asked: lines over time, values of labels, questions that end early

export async function query(t) {
  const { $, assert, check, context, cpu, fixed, from, open, page, q, ready, to, url } = t;
  const whole = encodeURIComponent(`${cpu}{}`);
  const param = (name) => new URL(page.url()).searchParams.get(name);
  const lines = () => $("series-legend").locator("button");

  await check("lines_by_label", async () => {
    await open(`explore?q=${whole}&${fixed}`);
    await $("sum").locator("summary").click();
    await $("sum-comm").click();
    await page.waitForFunction(() => document.querySelectorAll('[data-testid="series-legend"] button').length > 1, null, { timeout: 5000 });
    assert(param("sum") === "comm", page.url());
    await page.keyboard.press("Escape");
    await $("sum").locator("summary").click();
  });
  await check("legend_hides_and_shows_alone", async () => {
    const pressed = async () => lines().evaluateAll((all) => all.map((b) => b.getAttribute("aria-pressed")).join(" "));
    const n = await lines().count();
    await $("legend-0").click();
    assert((await pressed()) === ["false", ...Array(n - 1).fill("true")].join(" "), await pressed());
    await $("legend-0").click();
    await $("legend-1").dblclick();
    assert((await pressed()) === Array.from({ length: n }, (_, i) => String(i === 1)).join(" "), await pressed());
    await $("legend-1").dblclick();
    assert(!(await pressed()).includes("false"), await pressed());
  });
  await check("lines_are_put_in_order", async () => {
    const series = [["b", [9, 1]], ["a10", [5, 2]], ["a9", [1, 3]]].map(([pod, value]) => ({ labels: { pod }, t_ms: [from, from + 10000], value, duration_ns: [1, 1], profiles: [1, 1] }));
    await page.route("**/api/v1/series?*", (route) => route.fulfill({ json: { step_ms: 10000, unit: "nanoseconds", series } }));
    await open(`explore?q=${whole}&${fixed}&sum=pod`);
    for (const [order, want] of [["weight", "b a10 a9"], ["name", "a9 a10 b"], ["last", "a9 a10 b"]]) {
      await $("lines-order").selectOption(order);
      const got = (await lines().allInnerTexts()).map((s) => s.trim().slice("pod=".length)).join(" ");
      assert(got === want, `${order}: ${got}`);
    }
    // A line keeps its colour and its number wherever it stands.
    await $("legend-0").click();
    assert((await $("legend-0").innerText()).trim() === "pod=b" && (await $("legend-0").getAttribute("aria-pressed")) === "false", await $("legend-0").innerText());
    await page.unroute("**/api/v1/series?*");
    await open(`explore?q=${whole}&${fixed}&sum=comm`);
    await lines().first().waitFor();
  });
  await check("a_value_is_left_out", async () => {
    const name = (await $("legend-0").innerText()).trim();
    const value = name.slice("comm=".length);
    await $("legend-0").click({ button: "right" });
    await $("menu").getByText(`All but comm ${value}`).click();
    await page.waitForFunction(() => /!=/.test(new URL(location.href).searchParams.get("q")));
    assert(param("q") === `${cpu}{comm!="${value}"}`, param("q"));
    await ready();
    assert(!(await lines().allInnerTexts()).map((s) => s.trim()).includes(name), "its line is there");
  });
  await check("a_value_against_the_rest", async () => {
    await open(`explore?q=${whole}&${fixed}&by=comm`);
    const box = await $("flame").boundingBox();
    await page.mouse.click(box.x + 20, box.y + 30, { button: "right" });
    await $("menu").getByText("Compare it with the rest").click();
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    assert(/comm!="/.test(param("q")) && /comm="/.test(param("b.q")), page.url());
  });
  await check("the_servers_heaviest_lines_are_the_heaviest", async () => {
    const { at, json } = t;
    const ask = (more) => json(`api/v1/series?q=${whole}&from=${at(from)}&to=${at(to)}&step=10s&sum_by=comm${more}`);
    const weigh = (s) => s.value.reduce((a, b) => a + b, 0);
    const all = (await ask("")).series;
    const sorted = all.map((s, i) => ({ s, i })).sort((a, b) => weigh(b.s) - weigh(a.s) || a.i - b.i).map((r) => r.s);
    for (const top of [1, 2, all.length, all.length + 5]) {
      const answer = await ask(`&top=${top}`);
      assert(JSON.stringify(answer.series) === JSON.stringify(sorted.slice(0, top)), `top ${top}: others than the heaviest`);
      assert((answer.series_left_out ?? 0) === Math.max(all.length - top, 0), `top ${top} of ${all.length}: ${answer.series_left_out} left out`);
    }
    const text = await (await context.request.get(`${url}api/v1/series?q=${whole}&from=${at(from)}&to=${at(to)}&step=10s&sum_by=comm&top=1&format=text`)).text();
    assert(text.includes(`${all.length - 1} lighter series are left out`), text);
  });
  await check("top_25_of_500_lines", async () => {
    // As the server sends them: only those, and how many more there are.
    const many = { series_left_out: 475, step_ms: 10000, unit: "nanoseconds", series: Array.from({ length: 25 }, (_, i) => 499 - i).map((i) => ({ labels: { pod: `p${i}` }, t_ms: [from, from + 10000], value: [i, i], duration_ns: [1, 1], profiles: [1, 1] })) };
    await page.route("**/api/v1/series?*", (route) => route.fulfill({ json: many }));
    await open(`explore?q=${whole}&${fixed}&sum=pod`);
    await page.waitForSelector('[data-testid="legend-more"]');
    const text = await $("legend-more").innerText();
    assert(text === "top 25 of 500" && (await lines().count()) === 25, `${text}; ${await lines().count()} lines`);
    assert((await $("legend-0").innerText()).trim() === "pod=p499", "the heaviest is not first");
    await page.unroute("**/api/v1/series?*");
  });
  await check("a_drag_selects", async () => {
    await open(`explore?q=${whole}&${fixed}`);
    const over = await page.locator(".u-over").boundingBox();
    const drag = async (a, b) => {
      await page.mouse.move(over.x + over.width * a, over.y + 40);
      await page.mouse.down();
      await page.mouse.move(over.x + over.width * b, over.y + 40, { steps: 4 });
      await page.mouse.up();
    };
    const asked = page.waitForRequest((r) => r.url().includes("/flame?"));
    await drag(0.25, 0.75);
    await page.waitForFunction(() => location.search.includes("sel="));
    const [a, b] = param("sel").split("-").map(Number);
    const close = (ms, share) => Math.abs(ms - (from + (to - from) * share)) < (to - from) * 0.02;
    assert(close(a, 0.25) && close(b, 0.75), `${a} - ${b} of ${from} - ${to}`);
    const sent = new URL((await asked).url()).searchParams;
    assert(Date.parse(sent.get("from")) === a && Date.parse(sent.get("to")) === b, (await asked).url());
    await ready();
    await page.keyboard.down("Alt");
    await drag(0.8, 0.95);
    await page.keyboard.up("Alt");
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    assert(Number(param("from")) === a && close(Number(param("b.from")), 0.8) && close(Number(param("b.to")), 0.95), page.url());
  });
  await check("nearest_data_is_offered", async () => {
    const hour = 3600_000;
    await page.goto(`${url}explore?q=${whole}&from=${from - 3 * hour}&to=${from - 2 * hour}`);
    await $("go-nearest").waitFor();
    const text = await $("empty").innerText();
    assert(/ after it, at /.test(text), text);
    await $("go-nearest").click();
    await $("quality").waitFor();
    await ready();
    assert(Number(param("from")) > from - 2 * hour && Number(param("to")) - Number(param("from")) === hour, page.url());
  });
  await check("the_matcher_that_leaves_nothing_is_named", async () => {
    await page.goto(`${url}explore?q=${encodeURIComponent(`${cpu}{service_name=~".+", comm="nobody is called so"}`)}&${fixed}`);
    await $("empty").getByText('comm="nobody is called so"').waitFor();
    const text = await $("empty").innerText();
    assert(/No value of comm fits/.test(text) && /There are: \S/.test(text), text);
  });
  await check("escape_ends_the_question", async () => {
    await open(`explore?q=${q}&${fixed}`);
    // It comes behind the rest.
    await $("lost").waitFor();
    const shown = await $("quality").innerText();
    await page.route("**/api/v1/flame?*", (route) => setTimeout(() => route.continue().catch(() => undefined), 4000));
    const sent = page.waitForRequest((r) => r.url().includes("/flame?"));
    await $("fg-group").selectOption("binary");
    const id = (await sent).headers()["x-query-id"];
    // Its first words: in the middle there may be a menu, which opens.
    await page.locator(".summary b").first().click();
    const ended = page.waitForRequest((r) => r.method() === "DELETE", { timeout: 3000 });
    await page.keyboard.press("Escape");
    assert((await ended).url().includes(id), "another question is ended");
    await page.waitForFunction(() => !document.querySelector(".stale"), null, { timeout: 3000 });
    assert((await $("quality").innerText()) === shown && !(await $("error").count()), `what was shown is gone: ${JSON.stringify([shown, await $("quality").innerText(), await $("error").count()])}`);
    await page.unroute("**/api/v1/flame?*");
  });
  await check("the_last_of_two_questions_is_shown", async () => {
    await open(`explore?q=${q}&${fixed}`);
    let n = 0;
    await page.route("**/api/v1/flame?*", (route) => setTimeout(() => route.continue().catch(() => undefined), n++ === 0 ? 1500 : 0));
    await $("fg-group").selectOption("binary");
    await $("fg-group").selectOption("line");
    await page.waitForTimeout(2000);
    await ready();
    await page.unroute("**/api/v1/flame?*");
    const sent = new URL(await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.name.includes("/flame?")).at(-1).name));
    assert(sent.searchParams.get("group") === "line" && n === 2, `${n}: ${sent}`);
    const want = await (await context.request.get(sent.href.replace("format=flametree", "format=json"))).json();
    const label = await $("flame").getAttribute("aria-label");
    assert(label.includes(` ${want.nodes.frame.length - 1} frames`), `${label}: ${want.nodes.frame.length - 1}`);
  });
}
