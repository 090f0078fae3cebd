// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-function.mjs - the part of web.mjs about the page of one function

export async function oneFunction(t) {
  const { $, assert, at, check, cpu, fixed, from, json, open, page, q, to, tree, url } = t;
  const name = "beta";
  const only = `&only_stacks=${encodeURIComponent(`fn:=${name}`)}`;

  await check("a_function_over_time_and_by_label", async () => {
    await open(`explore?q=${q}&${fixed}`);
    // From its frame's menu, by keys.
    await page.goto(`${url}explore?q=${q}&${fixed}&s=${name}`);
    await t.ready();
    await page.waitForFunction(() => /frames/.test(document.querySelector('[data-testid="search-count"]').textContent));
    await page.locator(".summary b").first().click();
    await page.keyboard.press("n");
    await page.waitForFunction((n) => document.querySelector('[data-testid="details"] h3')?.textContent === n, name, { timeout: 4000 });
    await $("flame").focus();
    await page.keyboard.press("Shift+F10");
    await $("menu").getByText("Over time, and by label").click();
    await page.waitForFunction((n) => location.pathname.endsWith("/function") && new URL(location.href).searchParams.get("sw") === n, name);
    assert((await $("function-name").innerText()) === name && (await page.title()).startsWith(name), await page.title());
    await page.waitForSelector('[data-testid="function-metrics"] canvas');
    await page.waitForSelector('[data-testid="sandwich"] .bun');
    // Each label has what the server says of it.
    await $("function-label").selectOption("comm");
    const want = (await tree(only)).total[0];
    await page.waitForFunction(() => document.querySelector('[data-testid="function-labels"] ol li button')?.textContent.trim() === "worker");
    const row = await $("function-labels").locator("li").first().innerText();
    assert(want > 0 && /100 %/.test(row), row);
  });
  await check("an_address_of_no_page_is_told", async () => {
    await page.goto(`${url}explorer?q=${q}&${fixed}`);
    await $("empty").getByText("There is no such page").waitFor();
    assert((await $("empty").innerText()).includes("explorer") && (await page.title()).startsWith("No such page"), await $("empty").innerText());
    await $("empty").getByText("Explore", { exact: true }).click();
    await t.ready();
    assert(new URL(page.url()).pathname.endsWith("/explore") && page.url().includes("q="), page.url());
  });
  await check("a_service_is_chosen_of_all", async () => {
    await open(`explore?q=${encodeURIComponent(`${cpu}{}`)}&${fixed}`);
    await $("service").locator("summary").click();
    const label = (await json(`api/v1/labels?match=${encodeURIComponent(`${cpu}{}`)}&from=${at(from)}&to=${at(to)}`)).labels.map((l) => l.name).includes("service_name") ? "service_name" : "comm";
    const { values } = await json(`api/v1/values?label=${label}&match=${encodeURIComponent(`${cpu}{}`)}&from=${at(from)}&to=${at(to)}`);
    const most = [...values].sort((a, b) => b.series - a.series || a.name.localeCompare(b.name))[0];
    await $(`service-${most.name}`).waitFor();
    assert((await $("service").locator("button").first().getAttribute("data-testid")) === `service-${most.name}`, "not the one with the most series first");
    await $(`service-${most.name}`).click();
    await page.waitForFunction((q) => new URL(location.href).searchParams.get("q") === q, `${cpu}{${label}="${most.name}"}`);
    assert((await $("service").count()) === 0, "it is offered where it has been chosen");
  });
  await check("a_legends_entry_is_left_out", async () => {
    await open(`explore?q=${q}&${fixed}`);
    const names = $("legend").locator("[aria-pressed]");
    const n = await names.count();
    const first = (await names.first().innerText()).trim();
    const want = await tree(`&hide=${encodeURIComponent(`bin:~(^|/)${first.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)}`);
    await $("fg-legend-0-hide").click();
    await page.waitForFunction(() => new URL(location.href).searchParams.has("f"));
    await t.ready();
    assert((await $("flame").getAttribute("aria-label")).includes(` ${want.nodes.frame.length - 1} frames`), `not what the server has without ${first}`);
    assert((await names.count()) === n - 1 && !(await names.allInnerTexts()).some((x) => x.trim() === first), `${first} is still there`);
    await $("fg-colour").selectOption("kind");
    const kinds = await names.allInnerTexts();
    await $("fg-legend-0-hide").click();
    await page.waitForFunction((k) => new URL(location.href).searchParams.get("f").endsWith(`HF:kind:=${k}`), kinds[0].trim());
  });
  await check("a_functions_line_is_the_servers", async () => {
    // As often as it is asked for a step, it is told what the server has of that time: together all of it.
    const asked = [];
    const on = (r) => r.url().includes("/api/v1/functions?") && r.url().includes("only_stacks") && asked.push(r.url());
    page.on("request", on);
    await page.goto(`${url}function?q=${q}&${fixed}&sw=${name}`);
    await page.waitForSelector('[data-testid="function-metrics"] canvas');
    page.off("request", on);
    assert(asked.length > 0 && asked.length <= 31, `${asked.length} questions`);
    let sum = 0;
    for (const u of asked) sum += (await (await t.context.request.get(u)).json()).total[0];
    assert(sum === (await tree(only)).total[0], `${sum} of ${(await tree(only)).total[0]}`);
    // A minute later than everything there is nothing, which is no error.
    await page.goto(`${url}function?q=${encodeURIComponent(`${cpu}{comm="nobody"}`)}&from=${from}&to=${to}&sw=${name}`);
    await page.getByText("is not in this answer").waitFor();
  });
  await check("what_reads_files_comes_with_the_first_one", async () => {
    let n = 0;
    const fails = (route) => (n++, route.fulfill({ status: 500, body: "" }));
    await page.route("**/files-*.js", fails);
    await page.goto(`${url}open`);
    await $("drop").waitFor();
    assert(n === 0, "it is fetched before there is a file");
    await $("open-file").setInputFiles({ name: "a.folded", mimeType: "text/plain", buffer: Buffer.from("main;f 7\n") });
    await page.waitForSelector('[data-testid="error"]');
    await page.unroute("**/files-*.js", fails);
    await $("retry").click();
    await t.ready();
    assert(n === 1 && (await $("quality").innerText()).startsWith("7"), `${n}, ${await $("quality").innerText()}`);
  });
  await check("a_function_that_nobody_named_is_chosen", async () => {
    await page.goto(`${url}function?q=${q}&${fixed}`);
    const rows = (await json(`api/v1/functions?q=${q}&from=${at(from)}&to=${at(to)}`)).rows;
    const first = $("empty").locator("li button").first();
    await first.waitFor();
    assert((await first.innerText()) === rows[0].name, `${await first.innerText()}, and not ${rows[0].name}`);
    await first.click();
    await page.waitForFunction((n) => new URL(location.href).searchParams.get("sw") === n, rows[0].name);
    // And back to where everything is; what was selected by Explore is not lost on the way.
    await $("function-flame").click();
    await page.waitForFunction(() => location.pathname.endsWith("/explore"));
    await t.ready();
    await page.waitForFunction(() => / in [1-9]/.test(document.querySelector('[data-testid="search-count"]').textContent));
  });
}
