// SPDX-License-Identifier: Apache-2.0
// chart/chart.tsx - totals over time: a line a series, a drag selects what the panels are of

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { SeriesAnswer } from "../api/client.ts";
import * as format from "../app/format.ts";
import { visible } from "../flame/names.ts";
import { isDark } from "../theme/theme.ts";
import { type Line, align, alone, keyOf, linesOf, nameOfSeries, totalOf } from "./steps.ts";

const MOST = 25;
const HEIGHT = 132;
const strokes = ["#3b78c2", "#c9742a", "#3f9a5b", "#b4476f", "#7a5fc0", "#9a8420", "#2c8f92", "#8a6a43", "#5f7d55", "#a44fa6"];

/** Where there are more lines than colours: the next ones are broken, in longer and then shorter pieces. */
const dashes: (number[] | undefined)[] = [undefined, [8, 4], [2, 3]];
const dashOf = (i: number): number[] | undefined => dashes[Math.floor(i / strokes.length)];

/** What stands for a line in its legend. */
function swatchOf(i: number): string {
  const color = strokes[i % strokes.length];
  const dash = dashOf(i);
  if (!dash) return color;
  const [on, off] = dash.map((n) => n / 2);
  return `repeating-linear-gradient(90deg, ${color} 0 ${on}px, transparent ${on}px ${on + off}px)`;
}

export interface ChartProps {
  answer: SeriesAnswer;
  from: number;
  to: number;
  selection: [number, number] | null;
  utc: boolean;
  isRate: boolean;
  isCpu: boolean; // of time on CPUs
  marks?: { at: number; text: string }[]; // moments (ms) that have a line of their own
  height?: number;
  testid?: string;
  onSelect: (range: [number, number] | null) => void;
  onCompare: (range: [number, number]) => void; // a drag with Alt
  onLabels: (labels: Record<string, string>, x: number, y: number) => void; // a menu is asked for
  onAll?: () => void; // lines are wanted that are not here
  onMoment?: (at: number, x: number, y: number) => void; // one of a moment and what is around it
}

/** The heaviest first, at most so many. */
function heaviest(lines: Line[]): Line[] {
  return [...lines].sort((a, b) => totalOf(b) - totalOf(a)).slice(0, MOST);
}

const FONT = "12px system-ui, sans-serif";
const LEAST_SIDE = 56;

/** As wide as the longest of what stands beside the lines. */
function sideFor(c: CanvasRenderingContext2D, texts: string[] | null): number {
  c.save();
  c.font = FONT;
  const widest = Math.max(0, ...(texts ?? []).map((t) => c.measureText(t).width));
  c.restore();
  return Math.max(LEAST_SIDE, Math.ceil(widest) + 20);
}

/** A broken line from the top to the bottom at each moment. */
function drawMarks(u: uPlot, marks: { at: number }[], color: string): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.strokeStyle = color;
  u.ctx.lineWidth = devicePixelRatio || 1;
  u.ctx.setLineDash([3 * u.ctx.lineWidth, 3 * u.ctx.lineWidth]);
  u.ctx.beginPath();
  for (const m of marks) {
    const x = Math.round(u.valToPos(m.at / 1000, "x", true)) + 0.5;
    if (x < left || x > left + width) continue;
    u.ctx.moveTo(x, top);
    u.ctx.lineTo(x, top + height);
  }
  u.ctx.stroke();
  u.ctx.restore();
}

const ends = (m: Marked): [number, number] => [Math.round(Math.min(m.anchor, m.at)), Math.round(Math.max(m.anchor, m.at))];

const DAY_S = 86_400;

/** What stands at moments (in seconds) that are `step` apart: the clock, and the day where it begins or changes. */
export function timeTicks(moments: number[], step: number, utc: boolean): string[] {
  let before = "";
  return moments.map((t) => {
    const { day, clock: whole } = format.dayAndClock(t * 1000, utc);
    const clock = step < 60 ? whole : whole.slice(0, 5);
    const text = step >= DAY_S ? day : day === before ? clock : `${clock}\n${day}`;
    before = day;
    return text;
  });
}

/** A range that is chosen by keys, before it is applied: where it began, and where the cursor is. */
interface Marked {
  anchor: number;
  at: number;
}

/** What an arrow key makes of it: a step further, within the range; with Shift the range grows. */
export function step(m: Marked, by: number, grows: boolean, [from, to]: [number, number]): Marked {
  const at = Math.min(Math.max(m.at + by, from), to);
  return { anchor: grows ? m.anchor : at, at };
}

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const withAlt = useRef(false);
  const [marked, setMarked] = useState<Marked | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState<number | null>(null);
  const pressed = useRef(-1);
  const { step_ms, lines } = useMemo(() => linesOf(props.answer), [props.answer]);
  const series = useMemo(() => heaviest(lines), [lines]);
  const unit = props.answer.unit;
  const divisor = props.isRate ? step_ms / 1000 : 1;
  /** What a line has where the cursor is; where that is nowhere, on average over the range, as totals below it; a state of what came. */
  const textOf = (s: Line): string => {
    const i = cursor === null ? -1 : s.t_ms.indexOf(cursor);
    if (cursor !== null && i < 0) return "\u2013";
    if (props.isRate) return cursor === null ? format.rate(totalOf(s), (props.to - props.from) / 1000, unit, props.isCpu) : format.rate(s.value[i], divisor, unit, props.isCpu);
    return format.value(cursor === null ? totalOf(s) / Math.max(s.value.length, 1) : s.value[i], unit);
  };
  const height = props.height ?? HEIGHT;

  useLayoutEffect(() => {
    // Where the browser lets nobody draw there are no lines; the numbers are below.
    if (!document.createElement("canvas").getContext("2d")) return;
    const css = getComputedStyle(document.documentElement);
    const muted = css.getPropertyValue("--muted").trim();
    const divider = css.getPropertyValue("--divider").trim();
    const axis = { stroke: muted, grid: { stroke: divider, width: 1 }, ticks: { stroke: divider, width: 1 }, font: FONT };
    const { axis: moments, columns } = align(series, step_ms, divisor);
    const u = new uPlot(
      {
        width: Math.max(box.current!.clientWidth, 100),
        height,
        tzDate: (ts) => (latest.current.utc ? uPlot.tzDate(new Date(ts * 1000), "Etc/UTC") : new Date(ts * 1000)),
        cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
        padding: [18, 32, 0, 0],
        legend: { show: false },
        scales: { x: { time: true, range: () => [latest.current.from / 1000, latest.current.to / 1000] }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : props.isRate && props.isCpu ? 1e9 : 1] } },
        axes: [{ ...axis, space: 72, values: (_u, ticks, _axis, _space, step) => timeTicks(ticks, step, latest.current.utc) }, { ...axis, size: (u, texts) => sideFor(u.ctx, texts), space: 18, values: (_u, ticks) => ticks.map((v) => (props.isRate ? format.rate(v, 1, unit, props.isCpu) : format.value(v, unit))) }],
        series: [
          {},
          ...series.map((s, i) => ({
            label: nameOfSeries(s),
            stroke: strokes[i % strokes.length],
            width: 1.5,
            dash: dashOf(i),
            fill: series.length === 1 ? `${strokes[0]}33` : undefined,
            spanGaps: false,
            points: { show: false, filter: () => alone(columns[i]) },
          })),
        ],
        hooks: {
          draw: [(plotted) => drawMarks(plotted, latest.current.marks ?? [], muted)],
          setCursor: [(plotted) => setCursor(plotted.cursor.idx == null ? null : Math.round(plotted.data[0][plotted.cursor.idx] * 1000))],
          setSelect: [
            (plotted) => {
              const { left, width } = plotted.select;
              if (width < 3) return;
              const ms = (x: number) => Math.round(plotted.posToVal(x, "x") * 1000);
              const range: [number, number] = [ms(left), ms(left + width)];
              if (withAlt.current) latest.current.onCompare(range);
              else latest.current.onSelect(range);
            },
          ],
        },
      },
      [moments, ...columns] as uPlot.AlignedData,
      box.current!,
    );
    plot.current = u;
    setCursor(null);
    const observer = new ResizeObserver(() => u.setSize({ width: Math.max(box.current!.clientWidth, 100), height }));
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      u.destroy();
    };
  }, [props.answer, isDark.value, props.utc]);

  useEffect(() => plot.current?.redraw(false, false), [props.marks]);

  useEffect(() => {
    const u = plot.current;
    if (!u) return;
    const s = marked ? ends(marked) : props.selection;
    const left = s ? u.valToPos(s[0] / 1000, "x") : 0;
    const width = s ? u.valToPos(s[1] / 1000, "x") - left : 0;
    // A cursor that has no width yet is seen all the same.
    const seen = marked && width < 2 ? 2 : width;
    u.setSelect({ left, top: 0, width: seen, height: u.over.clientHeight }, false);
  }, [props.selection, marked, props.answer, isDark.value, props.utc]);

  useLayoutEffect(() => {
    series.forEach((one, i) => plot.current?.setSeries(i + 1, { show: !hidden.has(keyOf(one)) }));
  }, [hidden, props.answer, isDark.value, props.utc]);

  const onKey = (e: KeyboardEvent) => {
    const { from, to, selection } = props;
    const start = marked ?? { anchor: selection?.[0] ?? from, at: selection?.[1] ?? from };
    const stride = (to - from) / 100;
    const moves: Record<string, number> = { ArrowLeft: -stride, ArrowRight: stride, Home: from - to, End: to - from };
    if (e.key in moves && !e.ctrlKey && !e.metaKey && !e.altKey) setMarked(step(start, moves[e.key], e.shiftKey, [from, to]));
    else if (e.key === "Enter" && marked && marked.anchor !== marked.at) {
      props.onSelect(ends(marked));
      setMarked(null);
    } else if (e.key === "Escape" && marked) setMarked(null);
    else return;
    e.preventDefault();
  };
  /** A click that is no drag is for the step of time that it is nearest to. */
  const onClick = (e: MouseEvent) => {
    const isDrag = Math.abs(e.clientX - pressed.current) > 2;
    if (isDrag || cursor === null || !(e.target as HTMLElement).closest(".u-over")) return;
    const range: [number, number] = [cursor, cursor + step_ms];
    if (e.altKey) props.onCompare(range);
    else props.onSelect(range);
  };
  const onMenu = (e: MouseEvent) => {
    const u = plot.current;
    if (!u || !props.onMoment || !(e.target as HTMLElement).closest(".u-over")) return;
    e.preventDefault();
    const place = box.current!.getBoundingClientRect();
    props.onMoment(Math.round(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, "x") * 1000), Math.min(e.clientX - place.left, place.width - 240), e.clientY - place.top);
  };
  const toggle = (key: string) => {
    const next = new Set(hidden);
    if (!next.delete(key)) next.add(key);
    setHidden(next);
  };
  /** Alone; once more, all. The first of the two clicks has hidden or shown it already. */
  const solo = (key: string) => {
    const others = series.map(keyOf).filter((k) => k !== key);
    setHidden(others.every((k) => hidden.has(k)) && hidden.has(key) ? new Set() : new Set(others));
  };
  return (
    <div class="lines">
      <div ref={box} class="chart" style={{ minHeight: `${height}px` }} data-testid={props.testid ?? "metrics"} tabIndex={0} role="application" aria-label="Totals over time. Drag to select a range, with Alt to compare it; click for the nearest step; right click for what is around a moment; or arrows move, with Shift they select, Enter takes the range" onKeyDown={onKey} onBlur={() => setMarked(null)} onMouseDownCapture={(e) => ((withAlt.current = e.altKey), (pressed.current = e.clientX))} onClick={onClick} onContextMenu={onMenu} />
      {cursor !== null && (
        <p class="readout" data-testid={`${props.testid ?? "metrics"}-cursor`} aria-hidden="true">
          {format.time(cursor, props.utc)}
          {series.length === 1 && <> · <b>{textOf(series[0])}</b></>}
        </p>
      )}
      <p class="unseen" role="status" data-testid="marked">{marked && ends(marked).map((t) => format.time(t, props.utc)).join(" to ")}</p>
      <SeriesLegend series={series} hidden={hidden} all={props.answer.series.length + (props.answer.series_left_out ?? 0)} textOf={textOf} onToggle={toggle} onSolo={solo} onLabels={props.onLabels} onAll={props.onAll} />
    </div>
  );
}

interface LegendProps {
  series: Line[];
  hidden: ReadonlySet<string>;
  all: number;
  textOf: (s: Line) => string;
  onToggle: (key: string) => void;
  onSolo: (key: string) => void;
  onLabels: ChartProps["onLabels"];
  onAll: ChartProps["onAll"];
}

type LegendOrder = "weight" | "name" | "last";
const legendOrders: Record<LegendOrder, [text: string, before: (a: Line, b: Line) => number]> = {
  weight: ["by weight", () => 0], // as they come
  name: ["by name", (a, b) => nameOfSeries(a).localeCompare(nameOfSeries(b), undefined, { numeric: true })],
  last: ["by the last value", (a, b) => (b.value.at(-1) ?? 0) - (a.value.at(-1) ?? 0)],
};

function SeriesLegend(props: LegendProps) {
  const { series, hidden, all } = props;
  const [order, setOrder] = useState<LegendOrder>("weight");
  if (series.length === 1 && Object.keys(series[0].labels).length === 0) return null;
  const lines = series.map((s, i) => ({ s, i })).sort((a, b) => legendOrders[order][1](a.s, b.s));
  return (
    <ul class="legend" data-testid="series-legend">
      {series.length > 2 && (
        <li>
          <select data-testid="lines-order" aria-label="Order of the lines' names" value={order} onChange={(e) => setOrder(e.currentTarget.value as LegendOrder)}>
            {Object.entries(legendOrders).map(([key, [text]]) => <option key={key} value={key}>{text}</option>)}
          </select>
        </li>
      )}
      {lines.map(({ s, i }) => {
        const key = keyOf(s);
        const menu = (e: MouseEvent) => {
          e.preventDefault();
          const place = (e.currentTarget as HTMLElement).closest(".lines")!.getBoundingClientRect();
          props.onLabels(s.labels, Math.min(e.clientX - place.left, place.width - 240), e.clientY - place.top);
        };
        return (
          <li key={key}>
            <button
              class="plain"
              data-testid={`legend-${i}`}
              aria-pressed={!hidden.has(key)}
              title="Click: show or hide. Double click: alone. Right click: what can be done with it."
              onClick={(e) => (e.detail > 1 ? undefined : props.onToggle(key))}
              onDblClick={() => props.onSolo(key)}
              onContextMenu={menu}
            >
              <span class="swatch" style={{ background: swatchOf(i) }} /> {visible(nameOfSeries(s))}
            </button>
            <span class="muted figure">{props.textOf(s)}</span>
          </li>
        );
      })}
      {all > series.length && <li class="muted" data-testid="legend-more">top {series.length} of {format.count(all)} {props.onAll && <button class="link" data-testid="lines-all" onClick={props.onAll}>show table</button>}</li>}
    </ul>
  );
}
