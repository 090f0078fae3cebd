// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-query.mjs - the part of web.mjs about what is asked: lines over time, values of labels, questions that end early

/** A pprof of one sample of main, whose label has this name: as https://github.com/google/pprof's profile.proto has it. */
function labelledPprof(name, value) {
  const field = (n, ...bytes) => [(n << 3) | 2, bytes.length, ...bytes];
  const text = (s) => field(6, ...Buffer.from(s));
  const number = (n, v) => [n << 3, v];
  const texts = ["", "samples", "count", "main", name, value].flatMap(text);
  const sample = [...number(1, 1), ...number(2, 7), ...field(3, ...number(1, 4), ...number(2, 5))];
  return Buffer.from([...field(1, ...number(1, 1), ...number(2, 2)), ...field(2, ...sample), ...field(4, ...number(1, 1), ...field(4, ...number(1, 1))), ...field(5, ...number(1, 1), ...number(2, 3)), ...texts]);
}

export async function query(t) {
  const { $, assert, boxOf, check, context, cpu, fixed, from, json, open, page, q, ready, to, url } = t;
  const whole = encodeURIComponent(`${cpu}{}`);
  const param = (name) => new URL(page.url()).searchParams.get(name);
  const lines = () => $("series-legend").locator("button[aria-pressed]");

  await check("lines_by_label", async () => {
    await open(`explore?q=${whole}&${fixed}`);
    await $("sum").locator("summary").click();
    await $("sum-comm").click();
    await page.waitForFunction(() => document.querySelectorAll('[data-testid="series-legend"] button').length > 1, null, { timeout: 5000 });
    assert(param("sum") === "comm", page.url());
    await page.keyboard.press("Escape");
    assert(!(await $("sum").evaluate((e) => e.open)) && (await $("sum").locator("summary").evaluate((e) => e === document.activeElement)), "Escape does not close the menu, and go back to where it opened");
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
  await check("rare_profiles_are_seen_at_their_rates", async () => {
    const begin = Math.ceil(from / 60000) * 60000 - 3600000;
    const times = Array.from({ length: 30 }, (_, i) => begin + i * 120000);
    const line = (pod, seconds) => ({ labels: { pod }, t_ms: times, value: times.map(() => seconds * 1e9), duration_ns: times.map(() => seconds * 1e9), profiles: times.map(() => 1) });
    const inked = () => $("metrics").locator("canvas").evaluate((c) => {
      const over = c.parentElement.querySelector(".u-over");
      const ratio = c.width / c.clientWidth;
      const pixels = c.getContext("2d").getImageData(over.offsetLeft * ratio, over.offsetTop * ratio, over.clientWidth * ratio, over.clientHeight * ratio).data;
      // The lines' own colours are the only ones that are no grey.
      const columns = new Set();
      for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 128 && Math.abs(pixels[i] - pixels[i + 2]) > 40) columns.add((i / 4) % Math.round(over.clientWidth * ratio));
      return columns.size / (over.clientWidth * ratio);
    });
    // Of 120 s each: a line. Of 10 s each 120 s: a point for each.
    for (const [seconds, least, most] of [[120, 0.9, 1], [10, 0.05, 0.5]]) {
      await page.route("**/api/v1/series?*", (route) => route.fulfill({ json: { step_ms: 10000, unit: "nanoseconds", series: [line("a", seconds), line("b", seconds)] } }));
      await open(`explore?q=${whole}&from=${begin}&to=${begin + 3600000}&sum=pod`);
      await page.waitForTimeout(200);
      const share = await inked();
      assert(share >= least && share <= most, `of ${seconds} s: ${share} of the width is drawn`);
      const average = await $("series-legend").locator(".figure").first().innerText();
      assert(average === (seconds === 120 ? "1 core" : "0.083 cores"), `of ${seconds} s: on average ${average}`);
      const over = await boxOf(page.locator(".u-over"));
      await page.mouse.move(over.x + over.width / 2, over.y + 30);
      await $("metrics-cursor").waitFor();
      assert((await $("series-legend").locator(".figure").first().innerText()) === "1 core", `of ${seconds} s: ${await $("series-legend").innerText()}`);
      await page.mouse.move(5, 5);
      await page.unroute("**/api/v1/series?*");
    }
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
  await check("what_was_selected_is_what_is_compared", async () => {
    const [a, b] = [from + 1000, to - 1000];
    await open(`explore?q=${whole}&${fixed}&by=comm&sel=${a}-${b}`);
    await page.locator(".summary b").first().click();
    await page.keyboard.press("=");
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    assert(["b.from", "b.to", "from", "to", "sel"].map(param).join() === [a, b, a - (b - a), a, ""].join(), page.url());
    await open(`explore?q=${whole}&${fixed}&by=comm&sel=${a}-${b}`);
    const box = await $("flame").boundingBox();
    await page.mouse.click(box.x + 20, box.y + 30, { button: "right" });
    await $("menu").getByText("Compare it with the rest").click();
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    assert(["b.from", "b.to", "from", "to", "sel"].map(param).join() === [a, b, a, b, ""].join(), page.url());
  });
  await check("of_a_comparison_both_sides_are_narrowed", async () => {
    for (const own of [`${cpu}{service_name=~".*"}`, ""]) {
      await page.goto(`${url}compare?q=${whole}&${fixed}&by=comm${own && `&b.q=${encodeURIComponent(own)}`}`);
      await ready();
      const box = await $("flame").boundingBox();
      await page.mouse.click(box.x + 20, box.y + 30, { button: "right" });
      await $("menu").getByText("All but comm").click();
      await page.waitForFunction(() => /comm!=/.test(new URL(location.href).searchParams.get("q")));
      assert(own ? /comm!=/.test(param("b.q")) && /service_name/.test(param("b.q")) : param("b.q") === null, page.url());
      await page.waitForTimeout(300);
    }
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
    assert(/^top 25 of 500\b/.test(text) && (await lines().count()) === 25, `${text}; ${await lines().count()} lines`);
    assert((await $("legend-0").innerText()).trim() === "pod=p499", "the heaviest is not first");
    await page.unroute("**/api/v1/series?*");
  });
  await check("all_lines_are_a_table", async () => {
    const line = (i) => ({ labels: { pod: `p${i}`, zone: i % 2 ? "a" : "b" }, t_ms: [from, from + 10000], value: [i, i], duration_ns: [1, 1], profiles: [1, 1] });
    await page.route("**/api/v1/series?*", (route) => {
      const top = Number(new URL(route.request().url()).searchParams.get("top"));
      const series = Array.from({ length: Math.min(top, 400) }, (_, i) => line(499 - i));
      return route.fulfill({ json: { series_left_out: 500 - series.length, step_ms: 10000, unit: "nanoseconds", series } });
    });
    await open(`explore?q=${whole}&${fixed}&sum=pod,zone`);
    await $("lines-all").click();
    const rows = $("lines-table").locator("tbody tr");
    await rows.first().waitFor();
    const dialog = await $("all-lines").innerText();
    assert((await rows.count()) === 300 && /100 more/.test(dialog) && /100 lighter/.test(dialog), `${await rows.count()}: ${dialog.slice(0, 200)}`);
    await page.getByLabel("Lines with these letters").fill("p123");
    assert((await rows.count()) === 1 && /^pod=p123 zone=a/.test(await rows.first().innerText()), await rows.allInnerTexts());
    await rows.first().getByText("only this").click();
    await page.unroute("**/api/v1/series?*");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    assert(param("q") === `${cpu}{pod="p123", zone="a"}`, param("q"));
  });
  await check("a_drag_selects", async () => {
    await open(`explore?q=${whole}&${fixed}`);
    const over = await boxOf(page.locator(".u-over"));
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
  await check("what_the_server_says_of_a_selector_stands_at_it", async () => {
    const wrong = `${cpu}{comm=~"("}`;
    // Nobody watches it: what the server refuses is an error of this page.
    const other = await context.newPage();
    const faults = (side) => other.locator(`${side} [data-testid="query-error"]`);
    await other.goto(`${url}explore?q=${encodeURIComponent(wrong)}&${fixed}`);
    await faults("").getByText(`column ${wrong.indexOf('"') + 1}: regular expression`).waitFor();
    await other.goto(`${url}compare?q=${whole}&${fixed}&b.q=${encodeURIComponent(wrong)}`);
    await faults('[data-testid="cmp-b"]').getByText("regular expression").waitFor();
    assert((await faults('[data-testid="cmp-a"]').count()) === 0, "A is not wrong");
    await other.close();
  });
  await check("a_moment_has_a_menu", async () => {
    await open(`explore?q=${whole}&${fixed}`);
    const over = await boxOf(page.locator(".u-over"));
    const choose = async (text) => {
      await page.mouse.click(over.x + over.width / 2, over.y + 30, { button: "right" });
      await $("menu").getByText(text).first().click();
    };
    const middle = (from + to) / 2;
    const isNear = (ms) => Math.abs(ms - middle) < (to - from) * 0.01;
    await choose(/^Compare 5 min before it/);
    await page.waitForFunction(() => location.pathname.endsWith("/compare"));
    const [a, b, c, d] = ["from", "to", "b.from", "b.to"].map((k) => Number(param(k)));
    assert(b === c && isNear(b) && b - a === 300_000 && d - c === 300_000, page.url());
    await page.goBack();
    await ready();
    await choose(/^Show 5 min before and after/);
    await page.waitForFunction((f) => !location.search.includes(f), fixed);
    assert(isNear((Number(param("from")) + Number(param("to"))) / 2) && param("to") - param("from") === 600_000, page.url());
  });
  await check("a_time_without_length_is_told", async () => {
    for (const where of [`explore?q=${whole}&from=${to}&to=${from}`, `explore?q=${whole}&from=${to}&to=${to}&sel=1000-2000`, `compare?q=${whole}&${fixed}&b.from=now&b.to=now-1h`]) {
      await page.goto(`${url}${where}`);
      await $("empty").getByText("Its end is not after its beginning").waitFor();
      assert((await $("quality").count()) === 0, "there is an answer");
    }
    await page.goto(`${url}explore?q=${whole}&from=${to}&to=${from}`);
    await $("sum").locator("summary").click();
    await $("sum").getByText("the time has no length").waitFor();
    await $("range").selectOption("now-1h");
    await ready();
    await page.goto(`${url}explore?q=${whole}&from=now-9999999999d&to=now`);
    await ready();
    assert((await $("toast").innerText()).includes("from"), "no word about it");
  });
  await check("labels_of_any_name", async () => {
    const names = ["service.name", "a b", "größe", "k8s/pod", 'say "x\\', "it's `t`", "\u202eback"];
    const type = "names:samples:count:::delta";
    const labels = [...names.map((n) => `${n}=v ${n}`), "of=names"].map((l) => `&label=${encodeURIComponent(l)}`).join("");
    const sent = await fetch(`${url}api/v1/ingest?name=names&time=${from / 1000 + 5}${labels}`, { method: "POST", body: "main;named 7\n" });
    assert(sent.ok, `${sent.status}: ${await sent.text()}`);
    const times = `from=${from - 60000}&to=${to + 60000}`;
    // As docs/SCRAPING.md writes it.
    await open(`explore?q=${encodeURIComponent(`${type}{"service.name"="v service.name"}`)}&${times}`);
    assert(!(await $("query-error").count()), await $("query").inputValue());
    for (const name of names) {
      await page.goto(`${url}explore?q=${encodeURIComponent(`${type}{of="names"}`)}&${times}&sum=of`);
      await ready();
      await $("query").fill(`${type}{}`);
      await $("query").press("End");
      await $("query").press("ArrowLeft");
      // What is typed is looked for anywhere in a name.
      await $("query").pressSequentially(name.slice(0, 3) === "\u202eba" ? "bac" : /^[^"'`= ]*/.exec(name)[0]);
      const shown = name.replace("\u202e", "\\u202e");
      await $("query-list").getByText(shown, { exact: true }).click();
      await $("query-list").getByText(`v ${shown}`, { exact: true }).click();
      const text = await $("query").inputValue();
      assert(!(await $("query-error").count()), `${text}: ${await $("query-error").allInnerTexts()}`);
      await page.waitForFunction((t) => new URL(location.href).searchParams.get("q") === t, text);
      await ready();
      assert(/[1-9]\d* frames/.test(await $("flame").getAttribute("aria-label")) && !(await $("error").count()) && !(await $("empty").count()), `${text} finds nothing`);
    }
    // What cannot be seen is shown as what it is, in a menu, too.
    await $("sum").locator("summary").click();
    await $("sum").getByText("\\u202eback", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
  });
  await check("labels_of_any_name_lead_and_sum", async () => {
    const name = 'a=b,"c';
    const sent = await fetch(`${url}api/v1/ingest?name=odd&time=${from / 1000 + 5}&label=of=odd`, { method: "POST", body: labelledPprof(name, "x=1,2") });
    assert(sent.ok, `${sent.status}: ${await sent.text()}`);
    const type = (await json("api/v1/types")).types.find((one) => one.type.startsWith("odd:")).type;
    await open(`explore?q=${encodeURIComponent(`${type}{}`)}&from=${from - 60000}&to=${to + 60000}`);
    for (const [menu, key] of [["sum", "sum"], ["fg-labels", "by"]]) {
      await $(menu).locator("summary").click();
      await $(menu).getByText("of", { exact: true }).click();
      await $(menu).getByText(name, { exact: true }).click();
      await page.waitForFunction(([k, v]) => new URL(location.href).searchParams.get(k) === v, [key, 'of,"a=b,\\"c"']);
      await page.keyboard.press("Escape");
    }
    // The address says the same to who opens it.
    await page.reload();
    await ready();
    const line = await $("legend-0").innerText().catch(async () => await $("metrics").innerText());
    assert(line.trim() === 'of=odd "a=b,\\"c"="x=1,2"', line);
    await $("flame").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, '"a=b,\\"c"=x=1,2', { timeout: 4000 });
    await page.keyboard.press("Shift+F10");
    await $("menu").getByText(`Only ${name} x=1,2`, { exact: true }).click();
    await page.waitForFunction((v) => new URL(location.href).searchParams.get("q") === v, `${type}{"a=b,\\"c"="x=1,2"}`);
    await ready();
    assert(!(await $("error").count()) && !(await $("empty").count()), "it finds nothing");
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
    // What was shown is of the question before, and says so.
    await $("old").waitFor();
    assert(/^This is the answer to the question before\. Another one has been asked since/.test(await $("old").innerText()), await $("old").innerText());
    assert((await page.locator("section.stale").count()) === 1, "it looks as if it were the answer");
    assert((await $("quality").innerText()) === shown && !(await $("error").count()), `what was shown is gone: ${JSON.stringify([shown, await $("quality").innerText(), await $("error").count()])}`);
    await page.unroute("**/api/v1/flame?*");
    await $("old-retry").click();
    await ready();
    assert(!(await $("old").count()) && (await $("flame").count()) === 1, "it is not asked for again");
  });
  await check("an_answer_has_its_own_times", async () => {
    await open(`explore?q=${q}&${fixed}&tz=utc`);
    await $("lost").waitFor();
    const shown = await $("quality").innerText();
    assert(/core/.test(shown) && / – /.test(shown), shown);
    await page.route("**/api/v1/flame?*", (route) => setTimeout(() => route.continue().catch(() => undefined), 4000));
    await $("range").selectOption("now-24h");
    await page.waitForSelector("section.stale");
    assert((await $("quality").innerText()) === shown, `${shown}, and while another time is asked for ${await $("quality").innerText()}`);
    await page.locator(".summary b").first().click();
    await page.keyboard.press("Escape");
    await $("old").waitFor();
    assert((await $("quality").innerText()) === shown, `${shown}, and cancelled ${await $("quality").innerText()}`);
    await page.goBack();
    await ready();
    assert(!(await $("old").count()) && (await $("quality").innerText()) === shown, "what is asked for again is still old");
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
