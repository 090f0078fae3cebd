// SPDX-License-Identifier: Apache-2.0
// flame/raster.ts - many small frames onto a canvas: a line of pixels for each row, stretched to the row's height
//
// What a rectangle costs a canvas is the same for one pixel as for a hundred. From some thousands on it is cheaper to write their
// pixels, which a row has all alike from top to bottom: so one line of them is enough.

import type { Panel, Rects } from "./view.ts";

export interface Scale {
  ratio: number; // device pixels in one of CSS
  width: number; // of the canvas, in device pixels
  gap: number; // between frames, in device pixels
}

let scratch: OffscreenCanvas | null = null;
let image: ImageData | null = null;
let pixels = new Uint32Array(0);

/** Lines [rows][width] of nothing but `ground`. */
function lines(width: number, rows: number, ground: number): OffscreenCanvasRenderingContext2D {
  if (!scratch || !image || scratch.width !== width || scratch.height < rows) {
    scratch = new OffscreenCanvas(width, rows);
    image = new ImageData(width, rows);
    pixels = new Uint32Array(image.data.buffer);
  }
  pixels.fill(ground, 0, width * rows);
  return scratch.getContext("2d", { alpha: false, willReadFrequently: true })!;
}

/** Device pixels [left, right) of a rectangle: one at least, and its neighbour's gap left out where there is room. */
export function edges(rects: Rects, i: number, s: Scale): [left: number, right: number] {
  const left = Math.max(Math.round(rects.x[i] * s.ratio), 0);
  const end = Math.min(Math.round((rects.x[i] + rects.w[i]) * s.ratio), s.width);
  return [left, Math.max(end - (end - left > 3 * s.gap ? s.gap : 0), left + 1)];
}

/** `colors`: of each slot as the canvas has them in memory; the last one is the ground's. */
export function raster(c: CanvasRenderingContext2D, p: Panel, rects: Rects, s: Scale, colors: Uint32Array): void {
  if (rects.n === 0) return;
  // Where rows begin, a fraction of one while they move.
  const first = ((rects.y[0] % p.row) + p.row) % p.row - p.row;
  const rows = Math.ceil((p.height - first) / p.row) + 1;
  const out = lines(s.width, rows, colors[colors.length - 1]);
  const isThere = new Uint8Array(rows);
  for (let i = 0; i < rects.n; i++) {
    const row = Math.round((rects.y[i] - first) / p.row);
    if (row < 0 || row >= rows) continue;
    isThere[row] = 1;
    const [left, right] = edges(rects, i, s);
    const color = colors[rects.slot[i]];
    for (let x = row * s.width + left, end = row * s.width + Math.min(right, s.width); x < end; x++) pixels[x] = color;
  }
  out.putImageData(image!, 0, 0, 0, 0, s.width, rows);
  c.imageSmoothingEnabled = false;
  for (let row = 0; row < rows; row++) {
    if (!isThere[row]) continue;
    const y = Math.round((first + row * p.row) * s.ratio);
    const height = Math.round((first + (row + 1) * p.row) * s.ratio) - y - s.gap;
    c.drawImage(scratch!, 0, row, s.width, 1, 0, y, s.width, height);
  }
}
