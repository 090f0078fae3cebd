// SPDX-License-Identifier: Apache-2.0
// peers.mjs - other flame graphs in the same browser, with the same million nodes
//
//	node peers.mjs URL FROM_MS TO_MS        (as bench/pages.mjs; run by bench/ui, in a folder with the packages of package.json)
//
// Each gets the profile in the form that it likes best, from a server that does nothing else. "Paint" is from navigation until the
// frame behind the first one that shows the graph; "zoom" from a click on a frame until the frame behind it.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

const [url, end] = [process.argv[2], Number(process.argv[5])];
const { chromium } = createRequire(`${process.env.UI_MODULES}/`)("playwright-core");
const speedscope = dirname(createRequire(import.meta.url).resolve("speedscope/dist/release/index.html"));
const figure = (bench, value, unit) => console.log(JSON.stringify({ bench: `ui_peer_${bench}`, value: value === null ? null : Number(value.toPrecision(4)), unit, compared_with: { what: "see ui_million", value: null, unit } }));

const q = encodeURIComponent('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta{service_name="million"}');
const tree = await (await fetch(`${url}api/v1/flame?q=${q}&from=${end / 1000 - 1}&to=${end / 1000 + 60}&max_nodes=1000000&format=json`)).json();
const { frame, depth, self, total } = tree.nodes;
const nameOf = (i) => (frame[i] < 0 ? "total" : tree.frames.name[frame[i]]);

/** {name, value, children}, as d3 has it. */
function nested() {
  const nodes = frame.map((_, i) => ({ name: nameOf(i), value: total[i], children: [] }));
  const way = [];
  frame.forEach((_, i) => {
    if (i) way[depth[i] - 1].children.push(nodes[i]);
    way[depth[i]] = nodes[i];
  });
  return nodes[0];
}

/** A flamebearer: rows of (offset to the one before, total, self, name). */
function flamebearer() {
  const names = ["total", ...tree.frames.name];
  const levels = [];
  const ends = [];
  const x = [];
  const next = [];
  frame.forEach((_, i) => {
    const d = depth[i];
    x[i] = d ? next[d - 1] : 0;
    if (d) next[d - 1] += total[i];
    next[d] = x[i];
    (levels[d] ??= []).push(x[i] - (ends[d] ?? 0), total[i], self[i], frame[i] + 1);
    ends[d] = x[i] + total[i];
  });
  return { version: 1, flamebearer: { names, levels, numTicks: total[0], maxSelf: self.reduce((a, b) => Math.max(a, b), 0) }, metadata: { format: "single", units: "samples", sampleRate: 1e9, spyName: "", name: "" } };
}

/** speedscope's own file: a stack of frame numbers for each weight. */
function sampled() {
  const samples = [];
  const weights = [];
  const way = [];
  frame.forEach((f, i) => {
    way.length = depth[i];
    if (!self[i]) return void (way[depth[i]] = f);
    way[depth[i]] = f;
    samples.push(way.slice(1));
    weights.push(self[i]);
  });
  const frames = tree.frames.name.map((name) => ({ name }));
  return { $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames }, profiles: [{ type: "sampled", name: "million", unit: "nanoseconds", startValue: 0, endValue: total[0], samples, weights }] };
}

const page = (script, css = "") => `<!doctype html><meta charset=utf-8><style>body{margin:0}${css}</style><div id=at></div><script src=${script}></script>`;
const bundle = (contents, loader = "js") => buildSync({ stdin: { contents, loader, resolveDir: import.meta.dirname }, bundle: true, minify: true, write: false, outdir: ".", loader: { ".svg": "dataurl", ".css": "css" }, define: { "process.env.NODE_ENV": '"production"', global: "window" }, logLevel: "error" }).outputFiles;

const d3 = bundle(`import flamegraph from "d3-flame-graph"; import { select } from "d3-selection";
  fetch("data.json").then((r) => r.json()).then((data) => { select("#at").datum(data).call(flamegraph().width(1900).cellHeight(18).minFrameSize(1).transitionDuration(0)); });`);
const pyroscope = bundle(`import { createElement } from "react"; import { createRoot } from "react-dom/client"; import { FlamegraphRenderer } from "@pyroscope/flamegraph/dist/index.js"; import "@pyroscope/flamegraph/dist/index.css";
  fetch("data.json").then((r) => r.json()).then((profile) => createRoot(document.getElementById("at")).render(createElement(FlamegraphRenderer, { profile, onlyDisplay: "flamegraph", showToolbar: false })));`);
const text = (files, ending) => files.find((f) => f.path.endsWith(ending))?.text ?? "";

const files = new Map();
const put = (path, body) => files.set(path, gzipSync(body, { level: 1 }));
put("/d3/index.html", page("app.js"));
put("/d3/app.js", text(d3, ".js"));
put("/d3/data.json", JSON.stringify(nested()));
put("/pyroscope/index.html", page("app.js", text(pyroscope, ".css")));
put("/pyroscope/app.js", text(pyroscope, ".js"));
put("/pyroscope/data.json", JSON.stringify(flamebearer()));
put("/speedscope-data.json", JSON.stringify(sampled()));

const types = { ".html": "text/html", ".js": "text/javascript", ".json": "application/json", ".css": "text/css", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  const path = new URL(request.url, "http://x").pathname;
  let body = files.get(path);
  try {
    if (!body && path.startsWith("/speedscope/")) body = gzipSync(readFileSync(join(speedscope, path.slice(12))));
  } catch {
    // It asks for pictures that it does without.
  }
  if (!body) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream", "content-encoding": "gzip" }).end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const here = `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
const afterFrame = (tab) => tab.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(performance.now())))));
const median = (v) => [...v].sort((a, b) => a - b)[Math.floor(v.length / 2)];

/** there: whether the graph is drawn; at: where frames are, from its top. */
async function measure(name, address, there, target, at) {
  const context = await browser.newContext({ viewport: { width: 1920, height: 1080 } });
  const tab = await context.newPage();
  try {
    await tab.goto(`${here}${address}`);
    await tab.waitForFunction(there, null, { timeout: 120_000, polling: "raf" });
    figure(`${name}_paint`, await afterFrame(tab), "ms after navigation");
    const session = await context.newCDPSession(tab);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize } = await session.send("Runtime.getHeapUsage");
    figure(`${name}_heap`, (usedSize + backingStorageSize) / 2 ** 20, "MB of the page's script");
    const box = await tab.locator(target).first().boundingBox();
    const times = [];
    for (let i = 0; i < 10 && times.reduce((a, b) => a + b, 0) < 20_000; i++) {
      const began = performance.now();
      await tab.mouse.click(box.x + box.width * (0.1 + 0.08 * i), box.y + at + 20 * (i % 3));
      await afterFrame(tab);
      times.push(performance.now() - began);
    }
    figure(`${name}_zoom`, median(times), "ms from a click to the frame behind it");
  } catch (e) {
    console.error(`peers.mjs: ${name}: ${String(e.message).split("\n")[0]}`);
    figure(`${name}_paint`, null, "did not come within two minutes");
  }
  await context.close();
}

/** Something else than one colour. */
const painted = `(() => { const c = document.querySelector("canvas"); if (!c?.width || !c.height) return false; const d = c.getContext("2d")?.getImageData(0, 0, c.width, Math.min(c.height, 200)).data; return !!d && d.some((v, i) => v !== d[i % 4]); })()`;
await measure("d3_flame_graph", "/d3/index.html", `document.querySelectorAll("svg g.frame").length > 10`, "svg", 200);
await measure("pyroscope", "/pyroscope/index.html", painted, "canvas", 60);
await measure("speedscope", `/speedscope/index.html#profileURL=${encodeURIComponent(`${here}/speedscope-data.json`)}`, `document.title.includes("million")`, "canvas", 100);
await browser.close();
server.close();
