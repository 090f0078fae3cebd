// SPDX-License-Identifier: Apache-2.0
// tests/e2e/web-flame.mjs - the flame graph's part of web.mjs: what is drawn, by what the page says of its canvas
//
// Trees of a shape come in as files of folded stacks; what the server has to answer is asked of it.

/** As the name says: 3,000 frames in one stack; 192,000 frames beside each other, in 96 rows. */
const deep = () => `${Array.from({ length: 3000 }, (_, i) => `f${i}`).join(";")} 7\n`;
function dense(columns = 2000) {
  const out = [];
  for (let i = 0; i < columns; i++) out.push(`${Array.from({ length: 96 }, (_, d) => `g${(i * 7 + d * 3) % 400}`).join(";")};e${i} 1`);
  return out.join("\n");
}

/** More than 207,000 frames of a shape that profiles have: few are heavy, nearly all are light, and 10 to 40 lie above each other. */
function many() {
  let seed = 1;
  const random = (n) => ((seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) >> 8) % n;
  const out = [];
  for (let frames = 0; frames < 330000; ) {
    const way = ["main"];
    for (let n = 10 + random(30); way.length < n; ) way.push(`h${Math.min(random(200), random(200), random(200))}`);
    frames += way.length;
    out.push(`${way.join(";")} ${Math.ceil(1e6 / (1 + random(1e5)))}`);
  }
  return `${out.join("\n")}\n`;
}

// Of an answer's nodes, which come in preorder.
const frameOf = (answer, node) => Object.fromEntries(["name", "file", "binary", "kind"].map((c) => [c, answer.frames[c][answer.nodes.frame[node]]]));
const keyOf = (answer, node) => JSON.stringify(frameOf(answer, node));
function endOf(answer, node) {
  const { depth } = answer.nodes;
  let end = node + 1;
  while (end < depth.length && depth[end] > depth[node]) end++;
  return end;
}
function childrenOf(answer, node) {
  const out = [];
  for (let i = node + 1; i < endOf(answer, node); i = endOf(answer, i)) out.push(i);
  return out;
}
function parentOf(answer, node) {
  let i = node;
  while (answer.nodes.depth[i] >= answer.nodes.depth[node]) i--;
  return i;
}
function wayTo(answer, node) {
  const out = [];
  for (let i = node; i > 0; i = parentOf(answer, i)) out.unshift(i);
  return out;
}
/** -1: it is not there. */
function nodeAt(answer, keys) {
  let at = 0;
  for (const key of keys) {
    at = childrenOf(answer, at).find((c) => keyOf(answer, c) === key) ?? -1;
    if (at < 0) break;
  }
  return at;
}
/** A sibling that an address does not tell from it. */
function hasTwin(answer, node) {
  const code = (i) => [frameOf(answer, i).name, frameOf(answer, i).binary.split("/").at(-1)].join("\n");
  return childrenOf(answer, parentOf(answer, node)).filter((c) => code(c) === code(node)).length > 1;
}
function shareTrimmed(answer, node) {
  const { trimmed, total } = answer.nodes;
  return (trimmed ?? []).slice(node, endOf(answer, node)).reduce((a, b) => a + b, 0) / total[node];
}

export async function flame(t) {
  const { $, assert, at, check, cpu, fixed, from, json, open, page, q, ready, to, tree, url } = t;
  const frames = () => page.evaluate(() => window.__ui.frames());
  const ui = (what) => page.evaluate((w) => window.__ui[w](), what);
  const settled = () => page.waitForFunction(() => !document.querySelector(".stale") && window.__ui?.visible() > 0);
  const drawn = async (test, why) => {
    for (let i = 0; i < 40; i++) {
      if (test(await frames())) return;
      await page.waitForTimeout(100);
    }
    throw new Error(why);
  };
  const show = async (more = "") => {
    await open(`explore?q=${q}&${fixed}&e2e=1${more}`);
    await settled();
  };
  const load = async (text, more = "") => {
    await page.goto(`${url}open?e2e=1${more}`);
    await $("open-file").setInputFiles({ name: "a.folded", mimeType: "text/plain", buffer: Buffer.from(text) });
    await ready();
    await settled();
  };
  const inRow = (all, level) => all.filter((f) => f.depth === level).sort((a, b) => a.x - b.x);

  await check("group_by_all", async () => {
    for (const group of ["line", "file", "binary", "address"]) {
      await show(`&group=${group}`);
      const want = await tree(`&group=${group}`);
      const names = new Set(want.frames.name);
      const seen = (await frames()).filter((f) => f.node > 0);
      assert(seen.length > 0 && seen.every((f) => names.has(f.name)), `${group}: ${seen.map((f) => f.name).slice(0, 5)}`);
      assert((await ui("nodes")) === want.nodes.frame.length, `${group}: ${await ui("nodes")} nodes, the server has ${want.nodes.frame.length}`);
    }
  });
  await check("labels_lead", async () => {
    await show();
    await $("fg-labels").locator("summary").click();
    await $("fg-labels-comm").click();
    await page.waitForFunction(() => location.search.includes("by=comm"));
    await drawn((all) => inRow(all, 1).length && inRow(all, 1).every((f) => f.name.startsWith("comm=")), "the first row is no label's");
  });
  await check("by_label_frames_have_their_labels_colour", async () => {
    await open(`explore?q=${encodeURIComponent(`${cpu}{}`)}&${fixed}&e2e=1&by=comm&cb=label`);
    await settled();
    const all = (await frames()).filter((f) => f.node > 0);
    const leads = (f) => inRow(all, 1).find((l) => l.x <= f.x + 0.01 && f.x + f.w <= l.x + l.w + 0.01);
    const fills = new Map(inRow(all, 1).map((l) => [l.name, l.fill]));
    assert(fills.size > 1 && new Set(fills.values()).size > 1, JSON.stringify([...fills]));
    for (const f of all) assert(leads(f) && f.fill === fills.get(leads(f).name), `${f.name} has another fill than ${leads(f)?.name}`);
    assert((await $("legend").innerText()).includes("comm="), await $("legend").innerText());
    await show("&cb=label");
    assert(/pick under Labels/.test(await $("legend").innerText()), await $("legend").innerText());
    await show("&cb=binary");
  });
  await check("order_by_name", async () => {
    await show();
    const before = (await frames()).length;
    await $("fg-order").selectOption("name");
    await drawn((all) => {
      const names = inRow(all, 1).filter((f) => f.node >= 0).map((f) => f.name);
      return names.length > 0 && JSON.stringify(names) === JSON.stringify([...names].sort());
    }, "the first row is not in the order of names");
    assert(before > 0 && page.url().includes("ord=name"), page.url());
    await $("fg-order").selectOption("weight");
    await drawn((all) => {
      const totals = inRow(all, 1).filter((f) => f.node >= 0).map((f) => f.total);
      return totals.every((v, i) => i === 0 || v <= totals[i - 1]);
    }, "the heaviest is not first");
  });
  await check("names_by_steps", async () => {
    await show();
    for (let i = 0; i < 3; i++) await $("names-less").click();
    assert(page.url().includes("nm=0") && (await $("names-less").isDisabled()), page.url());
    for (let i = 0; i < 4; i++) await $("names-more").click();
    assert(page.url().includes("nm=4") && (await $("names-more").isDisabled()), page.url());
  });
  await check("chains_fold", async () => {
    await load("a;b;c;d;e 10\na;b;c;d;f 10\n");
    const rows = (all) => Math.max(...all.map((f) => f.y)) / 20;
    assert(rows(await frames()) === 5, `${rows(await frames())} rows`);
    await $("fold").click();
    await drawn((all) => rows(all) === 2, "four only children are not one row");
    const box = await $("flame").boundingBox();
    await page.mouse.click(box.x + 40, box.y + 30, { button: "right" });
    await $("menu").getByText("Unfold its chain").click();
    await drawn((all) => rows(all) === 5, "it does not unfold");
    await page.mouse.click(box.x + 40, box.y + 30, { button: "right" });
    await $("menu").getByText("Fold its chain").click();
    await drawn((all) => rows(all) === 2, "it does not fold again");
    await $("fold").click();
  });
  await check("colours_have_a_legend", async () => {
    await show("&cb=binary");
    const texts = [await $("legend").innerText()];
    for (const mode of ["kind", "file", "self"]) {
      await $("fg-colour").selectOption(mode);
      await page.waitForFunction((before) => !before.includes(document.querySelector('[data-testid="legend"]').innerText), texts);
      texts.push(await $("legend").innerText());
    }
    await $("fg-colour").selectOption("binary");
    const t = await tree();
    const binary = (f) => t.frames.binary[t.nodes.frame[f.node]];
    await drawn((all) => {
      const fills = new Map(all.filter((f) => f.node > 0).map((f) => [binary(f), f.fill]));
      return fills.size > 1 && all.every((f) => f.node <= 0 || fills.get(binary(f)) === f.fill);
    }, "a binary has two fills, or there is one binary");
  });
  await check("why_without_a_name_or_a_root", async () => {
    const text = "[truncated: no frame pointer];spin 3\n[truncated: deeper than max_depth];main;spin 2\n_start;main;spin 5\n";
    await page.goto(`${url}open`);
    await $("open-file").setInputFiles({ name: "cut.folded", mimeType: "text/plain", buffer: Buffer.from(text) });
    await ready();
    await $("truncated").locator("summary").click();
    const rows = await $("truncated").locator("tbody tr").allInnerTexts();
    assert(rows.length === 2 && /30.0 %\s+no frame pointer: build .*\s+spin/.test(rows[0]) && /20.0 %\s+deeper than max_depth: raise/.test(rows[1]), rows.join(" | "));
    // Of what the server has: each reason is a sentence of its own.
    const nameless = encodeURIComponent(`${cpu}{comm="nameless"}`);
    await open(`explore?q=${nameless}&${fixed}`);
    const answer = await json(`api/v1/flame?q=${nameless}&from=${at(from)}&to=${at(to)}`);
    const reasons = new Set(answer.frames.unnamed.filter((why) => why !== null));
    await $("unnamed").locator("summary").click();
    const told = await Promise.all((await $("unnamed").locator("tbody tr").all()).map((row) => row.locator("td").nth(1).innerText()));
    assert(told.length > 0 && told.every((why) => reasons.has(why)), `${told}: not all of them the server's`);
  });
  await check("orientation_mirrors", async () => {
    await show();
    const before = (await frames()).filter((f) => f.node >= 0);
    await $("orientation").click();
    const { height, row } = await ui("panel");
    await drawn((all) => {
      const y = new Map(all.map((f) => [f.node, f.y]));
      return before.every((f) => Math.abs((y.get(f.node) ?? -1e9) - (height - row - f.y)) < 0.01);
    }, "not the same frames from below");
    await $("orientation").click();
  });
  await check("zoom_stays_by_path", async () => {
    await show();
    const before = inRow(await frames(), 3)[0];
    const box = await $("flame").boundingBox();
    await page.mouse.dblclick(box.x + before.x + before.w / 2, box.y + before.y + 10);
    await page.waitForFunction(() => location.search.includes("z="));
    const z = new URL(page.url()).searchParams.get("z");
    const end = async () => page.waitForFunction((n) => document.querySelector('[data-testid="live"]')?.textContent === `Zoomed to ${n}`, before.name, { timeout: 5000 });
    await end();
    const z0 = await ui("panel");
    await drawn((all) => all.some((f) => f.name === before.name && f.depth === before.depth && f.x === 0 && Math.abs(f.w - z0.width) < 0.01), "it is not as wide as the graph");
    await $("run").click();
    await ready();
    await end();
    assert(new URL(page.url()).searchParams.get("z") === z, "a refresh moves the zoom");
    await show(`&z=${z.slice(0, 4)}zzzz`);
    await page.waitForFunction(() => /deepest part/.test(document.querySelector('[data-testid="toast"]').textContent), null, { timeout: 5000 });
  });
  const all = encodeURIComponent("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{}");
  const ask = (max, way = []) => json(`api/v1/flame?q=${all}&from=${at(from)}&to=${at(to)}&group_by=comm&max_nodes=${max}${way.map((n) => `&under=${encodeURIComponent(n)}`).join("")}`);
  const max = 60;
  /** Frames below which the server has more when it is asked for that path alone: how much is still left out then. */
  async function* fillable(whole, tried = []) {
    // Names lead to it there; frames of other binaries may have the same ones, so that it is looked up by all that makes it one.
    for (const f of (await frames()).filter((x) => x.node > 0 && x.w > 8).sort((a, b) => a.depth - b.depth || b.w - a.w).slice(0, 20)) {
      const way = wayTo(whole, f.node);
      if (way.some((node) => hasTwin(whole, node))) continue;
      const before = shareTrimmed(whole, f.node);
      if (before <= 0.005) continue;
      const want = await ask(max, way.map((node) => frameOf(whole, node).name));
      const found = nodeAt(want, way.map((node) => keyOf(whole, node)));
      const after = found < 0 ? 1 : shareTrimmed(want, found);
      tried.push(`${f.name}: ${before} ${after}`);
      if (after <= before - 0.002) yield { f, after };
    }
  }
  const zoomTo = async (f) => {
    const box = await $("flame").boundingBox();
    await page.mouse.dblclick(box.x + f.x + f.w / 2, box.y + f.y + 10);
  };
  const shareOfZoom = async () => Number(/: ([\d.]+) % of the zoom/.exec((await $("trimmed").count()) ? await $("trimmed").innerText() : ": 0 % of the zoom")[1]);
  await check("trimmed_is_hatched_and_asked_for", async () => {
    const whole = await ask(max);
    assert(whole.trimmed_nodes > 0, "nothing is trimmed: the profile is too small");
    await open(`explore?q=${all}&${fixed}&e2e=1&by=comm&max=${max}`);
    await settled();
    assert((await $("trimmed").innerText()).includes("small frames not loaded"), await $("trimmed").innerText());
    const seen = await frames();
    const { width, height, row } = await ui("panel");
    // Hatched is the row below, as far down as is in sight.
    const inSight = whole.nodes.trimmed.filter((_, i) => (whole.nodes.depth[i] + 2) * row <= height);
    const lost = inSight.map((w) => (w / whole.total[0]) * width).filter((w) => w > 1.5);
    const hatched = seen.filter((f) => f.node === -2);
    assert(hatched.length >= lost.length, `${hatched.length} hatched, ${lost.length} trimmed`);
    for (const w of lost) assert(hatched.some((f) => Math.abs(f.w - w) < 0.5), `nothing is hatched for ${w} px`);
    const tried = [];
    for await (const { f, after } of fillable(whole, tried)) {
      const nodes = await ui("nodes");
      await zoomTo(f);
      await page.waitForFunction((n) => window.__ui.nodes() > n, nodes, { timeout: 5000 });
      const share = await shareOfZoom();
      assert(Math.abs(share - after * 100) < 0.06, `${f.name}: the page says ${share} % is left, the server ${after * 100} %`);
      assert((await frames()).find((x) => x.node === 0).total === whole.total[0], "the whole weighs something else now");
      return;
    }
    throw new Error(`no frame has more below it than is there: ${tried.join("; ")}`);
  });
  await check("what_counts_less_than_all_says_so", async () => {
    for (const [more, isLess] of [[`&max=${max}`, true], ["", false]]) {
      await open(`explore?q=${all}&${fixed}&by=comm&v=both&s=a${more}`);
      await $("search-count").getByText("frames").waitFor();
      await $("table").waitFor();
      // Of each function the server knows all of it: the table has that, and counts those that have no frame.
      const rows = (await json(`api/v1/functions?q=${all}&from=${at(from)}&to=${at(to)}&group_by=comm&max_rows=100000`)).rows;
      if (isLess) await $("table-missing").waitFor();
      assert((await $("table-missing").count()) === Number(isLess) && (await $("table-trimmed").count()) === 0, `${more}: the table`);
      await $("search").fill("");
      await page.waitForFunction(() => document.querySelectorAll('[data-testid="table"] .rows .row').length > 20);
      const first = $("table").locator(".rows .row").first();
      const { name, self } = rows[0];
      const share = (self[0] / rows.reduce((sum, r) => sum + r.self[0], 0)) * 100;
      const text = await first.innerText();
      assert(text.includes(name) && text.includes(`${share.toFixed(share >= 10 ? 1 : 2)} %`), `${more}: ${text}, and not ${name} ${share}`);
      await $("search").fill("a");
      await $("search-count").getByText("frames").waitFor();
      assert((await $("search-count").innerText()).startsWith("at least") === isLess, await $("search-count").innerText());
    }
  });
  await check("of_two_zooms_the_last_one_is_filled", async () => {
    const whole = await ask(max);
    await open(`explore?q=${all}&${fixed}&e2e=1&by=comm&max=${max}`);
    await settled();
    const two = [];
    for await (const place of fillable(whole)) if (two.push(place) === 2) break;
    assert(two.length === 2, `${two.length} frames have more below them`);
    // Answers come when they are let go, the first one's first.
    const held = [];
    await page.route("**/api/v1/flame?*under=*", (route) => held.push(() => route.continue().catch(() => undefined)));
    const isHeld = async (n) => {
      for (let i = 0; i < 50 && held.length < n; i++) await page.waitForTimeout(100);
      assert(held.length === n, `${held.length} of ${n} questions`);
    };
    await zoomTo(two[0].f);
    await isHeld(1);
    await $("crumbs").getByText("all", { exact: true }).click();
    await page.waitForTimeout(400);
    await zoomTo(two[1].f);
    await isHeld(2);
    held[0]();
    await page.waitForTimeout(700);
    held[1]();
    await page.waitForFunction(() => !/loading/.test(document.querySelector('[data-testid="trimmed"]')?.innerText ?? ""));
    await page.waitForTimeout(300);
    const share = await shareOfZoom();
    assert(Math.abs(share - two[1].after * 100) < 0.06, `${two[1].f.name}: ${share} % is left, the server says ${two[1].after * 100} %`);
    await page.unroute("**/api/v1/flame?*under=*");
  });
  await check("deep_3000", async () => {
    await load(deep());
    const { height } = await page.locator(".flame canvas").first().evaluate((c) => ({ height: c.getBoundingClientRect().height }));
    assert(height <= 900, `a canvas of ${height} px`);
    const box = await $("flame").boundingBox();
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.wheel(0, 3000 * 20);
    await drawn((all) => all.some((f) => f.depth === 3000), "the last row does not come into sight");
    const last = (await frames()).find((f) => f.depth === 3000);
    await page.mouse.move(box.x + 60, box.y + last.y + 10);
    await page.waitForFunction(() => document.querySelector('[data-testid="tooltip"]')?.textContent.includes("f2999"), null, { timeout: 3000 });
  });
  await check("dense_192k", async () => {
    await load(dense());
    const { width } = await ui("panel");
    const covered = new Map();
    for (const f of await frames()) covered.set(f.y, (covered.get(f.y) ?? 0) + f.w);
    assert(covered.size > 10, `${covered.size} rows`);
    for (const [y, w] of covered) assert(w > width * 0.98 && w < width * 1.05, `row at ${y}: ${w} of ${width} px`);
  });
  await check("pixels_are_the_frames", async () => {
    // Few of them one by one, and many by their pixels.
    for (const text of ["a;b;c 10\na;b;d 7\na;e 3\n", dense(400)]) {
      await load(text, "&cb=name");
      assert((await $("fg-colour").inputValue()) === "name", await $("fg-colour").inputValue());
      const { row, height, ground } = await ui("panel");
      const seen = (await frames()).filter((f) => f.node > 0 && f.w > 2 && f.y >= 0 && f.y + row <= height);
      const some = seen.filter((_, i) => i % Math.ceil(seen.length / 300) === 0);
      const wrong = await page.locator(".flame canvas").first().evaluate((c, [some, ground]) => {
        const g = c.getContext("2d");
        const at = (x, y) => [...g.getImageData(Math.round(x), Math.round(y), 1, 1).data].slice(0, 3).map((v) => v.toString(16).padStart(2, "0")).join("");
        const out = [];
        for (const f of some) {
          // Its upper edge, where no letters are, and the line between it and the next row.
          const own = at(f.x, f.y + 1);
          const below = at(f.x, f.y + 19);
          if (`#${own}` !== f.color || `#${below}` !== ground) out.push(`${f.name} at ${f.x}, ${f.y}, ${f.w} wide: ${own}, below ${below}, and not ${f.color}`);
        }
        return out;
      }, [some, ground]);
      if (text.length > 1000) assert((await ui("visible")) > 6000, `${await ui("visible")} are not many`);
      assert(some.length > 2 && wrong.length === 0, `${wrong.length} of ${some.length}: ${wrong.slice(0, 2).join("; ")}`);
    }
  });
  await check("names_come_when_there_is_time", async () => {
    // More names than one frame of the screen has time for: those that wait come in the next ones.
    await load(Array.from({ length: 60 }, (_, i) => `${Array.from({ length: 60 }, (_, d) => `n${i}_${d}_${"x".repeat(d)}`).join(";")} 1`).join("\n"));
    const unnamed = () =>
      page.locator(".flame canvas").first().evaluate((c, all) => {
        const g = c.getContext("2d");
        return all.filter((f) => new Set(new Uint32Array(g.getImageData(Math.ceil(f.x) + 2, f.y + 4, Math.floor(f.w) - 6, 12).data.buffer)).size < 2).map((f) => f.name);
      }, seen);
    const { row, height } = await ui("panel");
    const seen = (await frames()).filter((f) => f.node > 0 && f.w > 40 && f.y >= 0 && f.y + row <= height);
    await page.evaluate(() => new Promise((done) => { let quiet = 0; const look = () => (++quiet > 30 ? done() : requestAnimationFrame(look)); look(); }));
    const left = await unnamed();
    assert(left.length === 0, `${left.length} of ${seen.length} have no name: ${left.slice(0, 3)}`);
  });
  await check("of_207k_frames_those_with_a_pixel_are_drawn", async () => {
    await load(many());
    const [n, seen] = [await ui("nodes"), await ui("visible")];
    assert(n >= 207000 && seen >= 1000 && seen <= 6000, `${seen} of ${n} frames`);
    const { width } = await ui("panel");
    const root = (await frames()).find((f) => f.node === 0);
    assert(root.w === width && root.name === "all", JSON.stringify(root));
    // Its name is there: the row has pixels of more than one colour.
    const colours = await page.locator(".flame canvas").first().evaluate((c, y) => {
      const row = c.getContext("2d").getImageData(0, y * devicePixelRatio, 80 * devicePixelRatio, 1).data;
      return new Set(Array.from({ length: row.length / 4 }, (_, i) => row.slice(i * 4, i * 4 + 4).join())).size;
    }, root.y + 10);
    assert(colours > 2, "the root has no name");
  });
  await check("inverted_zoom_has_its_frames", async () => {
    await load(many(), "&inv=1");
    const hatched = (f, all) => all.some((h) => h.node === -2 && h.y > f.y && h.x < f.x + f.w && f.x < h.x + h.w);
    const all = await frames();
    const of = inRow(all, 1).filter((f) => f.node > 0 && f.w > 5 && hatched(f, all)).at(-1);
    assert(of, "nothing is hatched: the file has too few frames");
    const box = await $("flame").boundingBox();
    await page.mouse.dblclick(box.x + of.x + of.w / 2, box.y + of.y + 10);
    await settled();
    await drawn((now) => now.some((f) => f.depth > 2) && now.every((f) => f.node !== -2), `${of.name} is hatched where it is zoomed to`);
    // Another one, and back.
    await page.goBack();
    await drawn((now) => now.filter((f) => f.depth === 1).length > 1, "Back does not lead out of the zoom");
  });
  await check("table_of_100k_rows", async () => {
    await load(Array.from({ length: 100000 }, (_, i) => `row_${i} ${100000 - i}`).join("\n"));
    await $("panel-table").click();
    const rows = $("table").locator(".rows .row");
    await rows.first().waitFor();
    await $("table").locator(".rows").focus();
    await page.keyboard.press("End");
    await $("table").getByText("row_99999", { exact: true }).waitFor();
    assert((await rows.count()) <= 120, `${await rows.count()} rows are elements`);
    await page.keyboard.press("Home");
    await $("table").getByText("row_0", { exact: true }).waitFor();
  });
  await check("sharp_on_every_screen", async () => {
    for (const ratio of [1, 1.5, 2, 3]) {
      const context = await page.context().browser().newContext({ viewport: { width: 1000, height: 700 }, deviceScaleFactor: ratio });
      const other = await context.newPage();
      await other.goto(`${url}explore?q=${q}&${fixed}`);
      await other.waitForSelector('[data-testid="flame-ready"]', { state: "attached" });
      const sizes = await other.locator(".flame canvas").evaluateAll((all) => all.map((c) => [c.width, c.getBoundingClientRect().width, c.height, c.getBoundingClientRect().height]));
      for (const [w, cssW, h, cssH] of sizes) assert(Math.abs(w - cssW * ratio) <= 1 && Math.abs(h - cssH * ratio) <= 1, `ratio ${ratio}: ${sizes}`);
      await context.close();
    }
  });
}
