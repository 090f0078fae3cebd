// SPDX-License-Identifier: Apache-2.0
// flame/panel.tsx - the flame graph: draws, and says what was done to it
//
// Keeps the view (what is zoomed to, how far down) and what the mouse is over. Everything else is its owner's.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isStill, letterSize, rowHeight, valueOf } from "../settings/kept.ts";
import { theme } from "../theme/theme.ts";
import type { Coloring } from "./color.ts";
import { type Rows, headOf, plainRows } from "./fold.ts";
import { Labels, nameFor } from "./label.ts";
import { type Look, fillOf, isAbove } from "./look.ts";
import { mirror } from "./mirror.ts";
import { paint, paintOverlay, prepare } from "./paint.ts";
import { USUAL_DETAIL } from "./names.ts";
import { type Tree } from "./tree.ts";
import { type Panel, Rects, type View, besides, layout, nodeAt, sameView, viewOf } from "./view.ts";

export interface PanelProps {
  tree: Tree;
  of: string; // what it is a tree of: as long as that is the same, another tree is looked at where the one before was
  coloring: Coloring;
  marked: Uint8Array | null;
  alone?: number; // of the legend
  func?: number; // whose frames are pointed out
  significant: Uint8Array | null;
  zoom: number;
  recenters?: boolean; // onZoom() makes another tree: what is too narrow is looked at closer without it
  selected: number;
  chosen: string; // the selection as somebody made it, in whichever tree: another one is brought into sight
  flip: boolean;
  rows?: Rows; // none: each node stands at its depth
  detail?: number; // of names
  height?: string; // as CSS has it
  label: string;
  describe: (node: number) => string; // for the tree that screen readers see
  tooltip: (node: number) => preact.ComponentChildren;
  onZoom: (node: number, push?: boolean) => void; // false: no step of its own that Back undoes
  onSelect: (node: number) => void;
  onMenu: (node: number, x: number, y: number) => void;
}

const EASE_MS = 150;
/** What names may take of a frame of the screen, with as much again for the browser to draw them: less while all else is drawn, too. */
const NAMES_MS = 4;
const MOVING_NAMES_MS = 2;

/** For tests, when the address asks for it. */
const inspected = new URLSearchParams(location.search).has("e2e");

function sibling(t: Tree, node: number, step: number): number {
  const parent = t.parent[node];
  if (parent < 0) return node;
  let before = -1;
  for (let c = parent + 1; c < t.end[parent]; c = t.end[c]) {
    if (c === node) {
      if (step < 0) return before < 0 ? node : before;
      return t.end[c] < t.end[parent] ? t.end[c] : node;
    }
    before = c;
  }
  return node;
}

export function FlamePanel(props: PanelProps) {
  const { tree, flip, zoom } = props;
  const plain = useMemo(() => plainRows(tree), [tree]);
  const rows = props.rows ?? plain;
  const box = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const baseCanvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const rects = useMemo(() => new Rects(), []);
  const labels = useMemo(() => new Labels(), []);
  const names = useMemo(() => new Map<number, string>(), [tree]);
  const row = rowHeight.value;
  const view = useRef<View>({ ...viewOf(tree, 0), top: 0 });
  const frame = useRef(0);
  const namesFrame = useRef(0);
  const overlayFrame = useRef(0);
  const isDrawn = useRef(false);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [over, setHovered] = useState({ tree, node: -1, x: 0, y: 0 });
  // A number means another frame in another tree.
  const hovered = over.tree === tree ? over : { ...over, node: -1 };
  const [ratio, setRatio] = useState(devicePixelRatio);
  const [isBlocked, setBlocked] = useState(false);
  const [frozen, setFrozen] = useState(false);

  const panel: Panel = { ...size, row, letters: letterSize.value, flip };
  const look: Look = {
    theme: theme.value,
    coloring: props.coloring,
    changes: valueOf("changes"),
    marked: props.marked,
    alone: props.alone,
    func: props.func,
    selected: props.selected,
    zoom,
    names,
    significant: props.significant,
    rows,
    detail: props.detail ?? USUAL_DETAIL,
  };

  // There may be two graphs in the page.
  const id = useId();
  const current = useRef({ tree, panel, look, hovered: -1 });
  current.current = { tree, panel, look, hovered: hovered.node };

  const draw = (moving = false) => {
    frame.current = 0;
    cancelAnimationFrame(namesFrame.current);
    const c = current.current;
    if (!baseCanvas.current || !overlay.current || c.panel.width === 0) return;
    layout(c.tree, view.current, c.panel, rects, c.look.rows);
    const on = paint(baseCanvas.current, c.tree, c.panel, rects, c.look);
    if (!on) return setBlocked(true);
    const write = () => {
      if (!labels.write(on, moving ? MOVING_NAMES_MS : NAMES_MS) && !moving) namesFrame.current = requestAnimationFrame(write);
    };
    const name = () => {
      labels.plan(on, c.tree, c.panel, rects, c.look);
      write();
    };
    // What is drawn first takes longest, for the browser has to read the code for it and to find the letters: one frame each.
    if (isDrawn.current) name();
    else namesFrame.current = requestAnimationFrame(name);
    isDrawn.current = true;
    if (inspected) expose(c.tree, rects, view.current, c.look, c.panel);
    drawOverlay();
  };
  const redraw = () => {
    if (!frame.current) frame.current = requestAnimationFrame(() => draw());
  };

  /** What the mouse is over lies above the graph, which stays as it is. */
  const drawOverlay = () => {
    cancelAnimationFrame(overlayFrame.current);
    overlayFrame.current = 0;
    const c = current.current;
    if (overlay.current && c.panel.width > 0) paintOverlay(overlay.current, c.tree, view.current, c.panel, c.look, c.hovered);
  };
  const redrawOverlay = () => {
    if (!frame.current && !overlayFrame.current) overlayFrame.current = requestAnimationFrame(drawOverlay);
  };

  /** Where it is on its way to. */
  const goal = useRef<View | null>(null);
  const moveTo = (to: View, ease: boolean) => {
    const from = { ...view.current };
    cancelAnimationFrame(frame.current);
    frame.current = 0;
    goal.current = null;
    if (!ease || isStill()) {
      view.current = to;
      redraw();
      return;
    }
    goal.current = to;
    const began = performance.now();
    const step = () => {
      const k = Math.min((performance.now() - began) / EASE_MS, 1);
      const e = 1 - (1 - k) ** 3;
      view.current = k < 1 ? { x0: from.x0 + (to.x0 - from.x0) * e, x1: from.x1 + (to.x1 - from.x1) * e, top: from.top + (to.top - from.top) * e } : to;
      draw(k < 1);
      if (k < 1) frame.current = requestAnimationFrame(step);
      else goal.current = null;
    };
    frame.current = requestAnimationFrame(step);
  };

  const maxTop = () => Math.max(0, rows.last + 1.5 - size.height / row);

  useLayoutEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const hasSize = size.width > 0 && size.height > 0;
  useLayoutEffect(() => {
    if (hasSize && baseCanvas.current) prepare(baseCanvas.current, panel, theme.value);
  }, [hasSize]);

  // Another place: the root of the view moves, what is above it stays in sight. Another tree of the same, as of a refresh: what was in
  // sight stays there.
  const before = useRef<{ tree: Tree; zoom: number; of: string; flip: boolean } | null>(null);
  useLayoutEffect(() => {
    if (!hasSize) return;
    const was = before.current;
    before.current = { tree, zoom, of: props.of, flip };
    const isSame = was && was.tree !== tree && was.of === props.of && was.flip === flip;
    const seen = goal.current ?? view.current;
    const moved = isSame ? sameView(was.tree, was.zoom, seen, tree, zoom) : null;
    if (moved) return moveTo({ ...moved, top: Math.min(maxTop(), seen.top) }, false);
    const room = Math.max(1, Math.floor(size.height / row));
    const level = rows.row[zoom];
    const top = Math.min(maxTop(), level > room / 2 ? Math.max(level - 3, 0) : 0);
    moveTo({ ...viewOf(tree, zoom), top }, was?.tree === tree);
  }, [tree, zoom, flip, rows, hasSize]);

  // The same size in other pixels: another zoom of the browser, another screen.
  useEffect(() => {
    const media = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    const again = () => (setRatio(devicePixelRatio), redraw());
    media.addEventListener("change", again);
    return () => media.removeEventListener("change", again);
  }, [ratio]);

  useLayoutEffect(redraw, [size.width, size.height, props.coloring, props.marked, props.alone, props.significant, props.selected, zoom, theme.value, look.changes, row, panel.letters, flip, rows, props.detail]);
  useLayoutEffect(redrawOverlay, [hovered.node, props.func]);
  useEffect(() => () => [frame, namesFrame, overlayFrame].forEach((f) => cancelAnimationFrame(f.current)), []);

  const at = (e: MouseEvent): number => {
    const r = box.current!.getBoundingClientRect();
    return nodeAt(tree, view.current, panel, { x: e.clientX - r.left, y: e.clientY - r.top }, rows);
  };

  // As long as Shift is held what is told stays where it is, and can be gone to and copied from.
  useEffect(() => {
    const on = (e: KeyboardEvent) => {
      if (e.key !== "Shift" || e.repeat) return;
      const freezes = e.type === "keydown" && current.current.hovered >= 0 && !drag.current;
      setFrozen(freezes);
      if (!freezes) setHovered({ tree: current.current.tree, node: -1, x: 0, y: 0 });
    };
    addEventListener("keydown", on);
    addEventListener("keyup", on);
    return () => {
      removeEventListener("keydown", on);
      removeEventListener("keyup", on);
    };
  }, []);

  const drag = useRef<{ x: number; y: number; view: View; moved: boolean; range: boolean } | null>(null);
  const [marked, setMarked] = useState<[number, number] | null>(null);

  const onMove = (e: MouseEvent) => {
    // Let go of outside of the page.
    if (drag.current && e.buttons === 0) {
      drag.current = null;
      setMarked(null);
    }
    const d = drag.current;
    if (d) {
      const scale = (view.current.x1 - view.current.x0) / size.width;
      const dx = e.clientX - d.x;
      const dy = e.clientY - d.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) d.moved = true;
      if (!d.moved) return;
      if (d.range) {
        const left = box.current!.getBoundingClientRect().left;
        return setMarked([Math.min(d.x, e.clientX) - left, Math.max(d.x, e.clientX) - left]);
      }
      const span = d.view.x1 - d.view.x0;
      const x0 = Math.min(Math.max(0, d.view.x0 - dx * scale), tree.width[0] - span);
      const top = Math.min(maxTop(), Math.max(0, d.view.top + ((flip ? dy : -dy) / row)));
      view.current = { x0, x1: x0 + span, top };
      redraw();
      return;
    }
    if (frozen) return;
    const node = at(e);
    const r = box.current!.getBoundingClientRect();
    setHovered({ tree, node, x: e.clientX - r.left, y: e.clientY - r.top });
  };

  // Where it is whole in sight, however much it says.
  useLayoutEffect(() => {
    const shown = tip.current;
    if (!shown) return;
    const above = box.current!.getBoundingClientRect().top;
    shown.style.top = `${besides(hovered.y, shown.offsetHeight, -above, innerHeight - above)}px`;
  }, [hovered, size]);

  const onWheel = (e: WheelEvent) => {
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      const r = box.current!.getBoundingClientRect();
      const v = view.current;
      const x = v.x0 + ((e.clientX - r.left) / size.width) * (v.x1 - v.x0);
      const factor = Math.exp(e.deltaY * 0.002);
      const span = Math.min(Math.max((v.x1 - v.x0) * factor, tree.width[0] / 2 ** 40), tree.width[0]);
      const x0 = Math.min(Math.max(0, x - (x - v.x0) * (span / (v.x1 - v.x0))), tree.width[0] - span);
      view.current = { ...v, x0, x1: x0 + span };
      redraw();
      return;
    }
    const top = Math.min(maxTop(), Math.max(0, view.current.top + ((flip ? -1 : 1) * e.deltaY) / row));
    if (top === view.current.top) return;
    e.preventDefault();
    view.current = { ...view.current, top };
    setHovered({ tree, node: -1, x: 0, y: 0 });
    redraw();
  };
  useEffect(() => {
    const element = box.current!;
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  const zoomTo = (node: number, push = true) => (props.recenters ? moveTo({ ...viewOf(tree, node), top: view.current.top }, true) : props.onZoom(node, push));
  /** A frame that is not in sight, or too narrow to be seen, comes there. */
  const bringIntoSight = (node: number, push: boolean) => {
    const room = size.height / row;
    const level = rows.row[node];
    const v = view.current;
    const wanted = viewOf(tree, node);
    const parent = Math.max(tree.parent[node], 0);
    const pixels = (whole: number) => ((wanted.x1 - wanted.x0) / whole) * size.width;
    if (wanted.x1 <= v.x0 || wanted.x0 >= v.x1 || pixels(v.x1 - v.x0) < 1) zoomTo(pixels(tree.width[parent]) < 1 ? node : parent, push);
    else if (level < v.top || level > v.top + room - 2) moveTo({ ...v, top: Math.min(maxTop(), Math.max(0, level - room / 2)) }, true);
  };
  const isShown = useRef(false);
  useLayoutEffect(() => {
    if (!hasSize) return;
    // What the address selects is no step of anybody's.
    if (props.selected > 0) bringIntoSight(props.selected, isShown.current);
    isShown.current = true;
  }, [props.chosen, hasSize]);
  const show = props.onSelect;

  /** The view by shares of itself, and `by` as wide. */
  const shift = (dx: number, dy: number, by = 1) => {
    const v = view.current;
    const span = Math.min(Math.max((v.x1 - v.x0) * by, tree.width[0] / 2 ** 40), tree.width[0]);
    const x0 = Math.min(Math.max(0, (v.x0 + v.x1 - span) / 2 + dx * span), tree.width[0] - span);
    moveTo({ x0, x1: x0 + span, top: Math.min(maxTop(), Math.max(0, v.top + (flip ? -dy : dy))) }, true);
  };

  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Escape" && hovered.node >= 0) {
      e.preventDefault();
      return setHovered({ tree, node: -1, x: 0, y: 0 });
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const selected = props.selected >= 0 ? props.selected : zoom;
    const inward = flip ? "ArrowUp" : "ArrowDown";
    const outward = flip ? "ArrowDown" : "ArrowUp";
    const pans: Record<string, () => void> = { ArrowLeft: () => shift(-0.2, 0), ArrowRight: () => shift(0.2, 0), ArrowUp: () => shift(0, -3), ArrowDown: () => shift(0, 3) };
    const actions: Record<string, () => void> = {
      "+": () => shift(0, 0, 0.5),
      "-": () => shift(0, 0, 2),
      [inward]: () => {
        let child = selected + 1;
        while (child < tree.end[selected] && headOf(tree, rows, child) === headOf(tree, rows, selected)) child++;
        if (child < tree.end[selected]) show(child);
      },
      [outward]: () => show(headOf(tree, rows, Math.max(tree.parent[headOf(tree, rows, selected)], 0))),
      ArrowLeft: () => show(sibling(tree, selected, -1)),
      ArrowRight: () => show(sibling(tree, selected, 1)),
      Enter: () => props.onZoom(selected),
      Backspace: () => zoomTo(Math.max(tree.parent[zoom], 0)),
      Home: () => zoomTo(0),
      "0": () => zoomTo(0),
      PageDown: () => moveTo({ ...view.current, top: Math.min(maxTop(), view.current.top + size.height / row - 2) }, true),
      PageUp: () => moveTo({ ...view.current, top: Math.max(0, view.current.top - size.height / row + 2) }, true),
      ContextMenu: () => props.onMenu(selected, 40, 40),
      F10: () => (e.shiftKey ? props.onMenu(selected, 40, 40) : undefined),
    };
    const act = (e.shiftKey && pans[e.key]) || actions[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  };

  const mirrored = props.selected >= 0 ? props.selected : zoom;
  const mirrorOf = useMemo(() => mirror(tree, mirrored), [tree, mirrored]);
  return (
    <div
      class="flame"
      ref={box}
      data-testid="flame"
      style={{ height: props.height }}
      tabIndex={0}
      role="tree"
      aria-label={props.label}
      aria-activedescendant={`${id}-${mirrored}`}
      onKeyDown={onKey}
      onMouseMove={onMove}
      onMouseLeave={() => !frozen && setHovered({ tree, node: -1, x: 0, y: 0 })}
      onMouseDown={(e) => {
        if (e.button === 0) drag.current = { x: e.clientX, y: e.clientY, view: { ...view.current }, moved: false, range: e.shiftKey };
      }}
      onMouseUp={(e) => {
        const d = drag.current;
        drag.current = null;
        if (marked) {
          const scale = (view.current.x1 - view.current.x0) / size.width;
          const [x0, x1] = marked.map((x) => view.current.x0 + Math.min(Math.max(x, 0), size.width) * scale);
          setMarked(null);
          if (x1 > x0) moveTo({ ...view.current, x0, x1 }, true);
        }
        if (!d || d.moved) return;
        const node = at(e);
        if (node < 0) return;
        props.onSelect(node);
        if (isAbove(tree, node, zoom)) props.onZoom(node);
      }}
      onDblClick={(e) => {
        const node = at(e);
        if (node >= 0) props.onZoom(node);
      }}
      onContextMenu={(e) => {
        const node = at(e);
        if (node < 0) return;
        e.preventDefault();
        const r = box.current!.getBoundingClientRect();
        props.onSelect(node);
        setHovered({ tree, node: -1, x: 0, y: 0 });
        props.onMenu(node, e.clientX - r.left, e.clientY - r.top);
      }}
    >
      <canvas ref={baseCanvas} class="layer" aria-hidden="true" />
      <canvas ref={overlay} class="layer" aria-hidden="true" data-testid="flame-overlay" />
      <div class="unseen" data-testid="flame-tree">
        {mirrorOf.map((m) => (
          <div id={`${id}-${m.node}`} key={m.node} role="treeitem" aria-level={tree.depth[m.node] + 1} aria-posinset={m.place} aria-setsize={m.of} aria-selected={m.node === mirrored} aria-expanded={tree.end[m.node] > m.node + 1 ? true : undefined}>
            {props.describe(m.node)}
          </div>
        ))}
      </div>
      {marked && <div class="marked" style={{ left: `${marked[0]}px`, width: `${marked[1] - marked[0]}px` }} />}
      {isBlocked && <p class="hint" role="alert" data-testid="blocked">This browser does not let pages draw. The table shows the same numbers.</p>}
      {hovered.node >= 0 && !drag.current?.moved && (
        <div
          class={frozen ? "tooltip frozen" : "tooltip"}
          role="tooltip"
          data-testid="tooltip"
          onMouseDown={(e) => e.stopPropagation()}
          onMouseUp={(e) => e.stopPropagation()}
          onDblClick={(e) => e.stopPropagation()}
          ref={tip}
          style={{ left: `${Math.min(hovered.x + 14, Math.max(size.width - 380, 0))}px` }}
        >
          {props.tooltip(hovered.node)}
        </div>
      )}
      {size.width > 0 && <span class="unseen" data-testid="flame-ready">{nameFor(tree, look, zoom)}</span>}
    </div>
  );
}

/** What is drawn, as rectangles with names: of a canvas nobody else can say it. */
function expose(t: Tree, rects: Rects, view: View, look: Look, panel: Panel): void {
  const frames = () =>
    Array.from({ length: rects.n }, (_, i) => {
      const node = rects.node[i];
      const own = node < 0 ? {} : { name: nameFor(t, look, node), total: t.total[node], depth: t.depth[node], fill: rects.slot[i], color: fillOf(rects.slot[i], look) };
      return { node, x: rects.x[i], y: rects.y[i], w: rects.w[i], ...own };
    });
  const hooks = { visible: () => rects.n, frames, view: () => ({ ...view }), panel: () => ({ ...panel, ground: look.theme.panel }), nodes: () => t.n };
  Object.assign(window, { __ui: hooks });
}
