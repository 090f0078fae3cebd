// SPDX-License-Identifier: Apache-2.0
// build.mjs - ui/src into ui/dist: the same bytes each time, each file named after what is in it
//
//	node build.mjs [DIR]
//
// Writes DIR (ui/dist) anew: index.html, icon.svg, licences.txt, app-HASH.js and the pieces that
// it needs at once or later, worker-HASH.js and files-HASH.js, which that one fetches, app-HASH.css, and `files`, which lists them
// for whoever embeds them: NAME TYPE, and whether the name changes with the content.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");

const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  write: false,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
};

/**
 * The first Intl object takes a browser some 40 ms of its main thread, and uPlot makes two when it is loaded: of numbers' format,
 * which nobody asks it for (chart.tsx has its own), and of the zone's name, of which only UTC is asked.
 */
const withoutIntl = {
  name: "uplot-without-intl",
  setup(made) {
    made.onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      for (const [from, to] of [
        ["const numFormatter = new Intl.NumberFormat(domEnv ? nav.language : 'en-US');", "const numFormatter = { format: String };"],
        ["const localTz = new Intl.DateTimeFormat().resolvedOptions().timeZone;", 'const localTz = "";'],
      ]) {
        if (contents.split(from).length !== 2) throw new Error(`${path} has not once: ${from}`);
        contents = contents.replace(from, to);
      }
      return { contents, loader: "js" };
    });
  },
};

async function bundle(entry, options = {}) {
  const { outputFiles } = await build({ ...common, entryPoints: [entry], format: "esm", outdir: out, ...options });
  return outputFiles;
}

/** The program in pieces: its entry, what that needs at once, and what is fetched when somebody wants it. */
async function pieces(entry, options) {
  const split = { splitting: true, metafile: true, format: "esm", outdir: out, entryNames: "app-[hash]", chunkNames: "[name]-[hash]" };
  const { outputFiles, metafile } = await build({ ...common, entryPoints: [entry], ...split, ...options });
  const outputs = Object.entries(metafile.outputs).map(([path, { entryPoint, imports }]) => ({ name: basename(path), entryPoint, imports: imports.filter((i) => i.kind === "import-statement").map((i) => basename(i.path)) }));
  const { name } = outputs.find((o) => o.entryPoint === entry);
  const needed = new Set([name]);
  // A set is passed to its end, whatever is put into it meanwhile.
  for (const one of needed) outputs.find((o) => o.name === one).imports.forEach((i) => needed.add(i));
  return { scriptName: name, preloads: [...needed].slice(1), scripts: outputFiles.map((f) => [basename(f.path), f.contents]) };
}

function named(name, bytes) {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 10);
  const dot = name.lastIndexOf(".");
  return `${name.slice(0, dot)}-${hash}${name.slice(dot)}`;
}

const [files] = await bundle("src/worker/files.ts", { format: "iife" });
const filesName = named("files.js", files.contents);
const [worker] = await bundle("src/worker/worker.ts", { format: "iife", define: { FILES: JSON.stringify(filesName) } });
const workerName = named("worker.js", worker.contents);
const { scriptName, preloads, scripts } = await pieces("src/main.tsx", { plugins: [withoutIntl], jsx: "automatic", jsxImportSource: "preact", define: { WORKER: JSON.stringify(workerName) } });
const [style] = await bundle("src/theme/all.css");
const styleName = named("app.css", style.contents);
const page = readFileSync(join(here, "src/index.html"), "utf8").replace("@STYLE@", styleName).replace("@SCRIPT@", scriptName).replace("@PRELOADS@", preloads.map((p) => `<link rel="modulepreload" href="${p}">\n`).join(""));

// What is bundled, and asks to be named.
const licences = ["preact", "@preact/signals", "@preact/signals-core", "uplot"]
  .map((name) => `${name}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`)
  .join("\n----\n\n");

const all = [
  ["index.html", "text/html; charset=utf-8", page, false],
  ["licences.txt", "text/plain; charset=utf-8", licences, false],
  ["icon.svg", "image/svg+xml", readFileSync(join(here, "src/icon.svg")), false],
  ...scripts.map(([name, contents]) => [name, "text/javascript; charset=utf-8", contents, true]),
  [workerName, "text/javascript; charset=utf-8", worker.contents, true],
  [filesName, "text/javascript; charset=utf-8", files.contents, true],
  [styleName, "text/css; charset=utf-8", style.contents, true],
];

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const [name, , bytes] of all) writeFileSync(join(out, name), bytes);
writeFileSync(join(out, "files"), all.map(([name, type, , hashed]) => `${name}\t${type}\t${hashed ? 1 : 0}\n`).join(""));
