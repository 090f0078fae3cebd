// SPDX-License-Identifier: Apache-2.0
// flame/svg.ts - a flame graph as a picture that scales: what is zoomed to, with all of its rows, and a title on each frame
//
// Names are text wherever they come from: the five characters that mean something to XML are escaped, and what it forbids is shown
// as what it is (flame/names.ts).

import { fit } from "./names.ts";
import { nameFor } from "./label.ts";
import { type Look, fillOf, inkFor, slotOf } from "./look.ts";
import { type Tree, hasTrimmed } from "./tree.ts";
import { Rects, TRIMMED, layout } from "./view.ts";

const WIDTH = 1600;
const ROW = 18;
const LETTER = 6.65; // 11 px, of the widest of the usual fonts
const MOST = 50_000; // elements: what shows pictures takes long over more

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\ufffe\uffff]/g, "\ufffd");
}

const round = (v: number) => Number(v.toFixed(2));

/** As fine as has room in a picture: a dense tree's narrow frames become blocks, everywhere alike. */
function rectsOf(t: Tree, zoom: number, look: Look, flip: boolean, height: number): Rects {
  const rects = new Rects();
  const view = { x0: t.x[zoom], x1: t.x[zoom] + t.width[zoom], top: 0 };
  for (let least = 1; least <= WIDTH; least *= 2) {
    layout(t, view, { width: WIDTH, height, row: ROW, letters: 11, flip }, rects, look.rows, least);
    if (rects.n <= MOST) return rects;
  }
  throw new Error(`its stacks are ${look.rows.last + 1} frames deep, and a picture has room for ${MOST} frames: zoom in.`);
}

/** `flip`: the root is at the bottom. Throws a sentence where not even the wide frames have room. */
export function svgOf(t: Tree, zoom: number, look: Look, flip: boolean, describe: (node: number) => string): string {
  const height = (look.rows.last + 1) * ROW;
  const rects = rectsOf(t, zoom, look, flip, height);
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="11">`,
    `<rect width="100%" height="100%" fill="${look.theme.panel}"/>`,
  ];
  if (hasTrimmed(t)) out.push(`<defs><pattern id="trimmed" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2" height="6" fill="${look.theme.muted}"/></pattern></defs>`);
  for (let i = 0; i < rects.n; i++) {
    const node = rects.node[i];
    const x = Math.max(rects.x[i], 0);
    const width = Math.min(rects.x[i] + rects.w[i], WIDTH) - x;
    if (width <= 0) continue;
    const fill = node === TRIMMED ? "url(#trimmed)" : fillOf(slotOf(t, node, look), look);
    const box = `<rect x="${round(x)}" y="${round(rects.y[i])}" width="${round(Math.max(width - (width > 3 ? 1 : 0), 0.5))}" height="${ROW - 1}" fill="${fill}"/>`;
    if (node < 0) {
      out.push(box);
      continue;
    }
    const text = fit(nameFor(t, look, node), Math.floor((width - 6) / LETTER), look.detail);
    const name = text ? `<text x="${round(x + 3)}" y="${round(rects.y[i] + ROW - 5.5)}" fill="${inkFor(fill)}">${escaped(text)}</text>` : "";
    out.push(`<g><title>${escaped(describe(node))}</title>${box}${name}</g>`);
  }
  return `${out.join("\n")}\n</svg>\n`;
}
