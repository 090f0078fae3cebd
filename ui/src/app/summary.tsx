// SPDX-License-Identifier: Apache-2.0
// app/summary.tsx - an answer in a line: how much, of when, and how good

import { useMemo } from "preact/hooks";
import { follow } from "../flame/path.ts";
import { isCpuTime, samplesOf } from "../flame/samples.ts";
import { shareTrimmed } from "../flame/splice.ts";
import { type Tree, hasTrimmed } from "../flame/tree.ts";
import * as format from "./format.ts";
import { Lost } from "./lost.tsx";
import { QualityFigures } from "./quality.tsx";
import { ExportMenu, ShareMenu } from "./share.tsx";
import { StoppedTargets } from "./stopped.tsx";
import { type Answer, type Drawn, closer, go, lookCloser, screen, state } from "./store.ts";

const MORE = 4;
const MOST_NODES = 8_000_000;

/** How much is not there, of all or of the zoom, and how to get it. */
function Trimmed(props: { tree: Tree }) {
  const t = props.tree;
  const s = state.value;
  const zoom = useMemo(() => (s.inverted || s.loops ? 0 : follow(t, s.zoom).node), [t, s.zoom, s.inverted, s.loops]);
  const share = useMemo(() => shareTrimmed(t, zoom), [t, zoom]);
  const more = Math.min((s.max || 1_000_000) * MORE, MOST_NODES);
  return (
    <span class="amber" data-testid="trimmed">
      {format.count(t.meta.trimmed_nodes ?? 0)} small frames not loaded: {format.percent(share, 1)} of {zoom ? "the zoom" : "all"}, hatched{" "}
      {closer.value.loading && <span class="muted">loading what is below the zoom…</span>}
      {closer.value.error && (
        <span role="alert" data-testid="closer-failed">
          what is below the zoom could not be loaded: {closer.value.error.message} <button class="link" data-testid="closer-retry" onClick={lookCloser}>Try again</button>{" "}
        </span>
      )}
      {screen.value !== "open" && (s.max || 1_000_000) < MOST_NODES && <button class="link" data-testid="load-more" onClick={() => go({ max: more })}>load more</button>}
    </span>
  );
}

/** How much there is to go by: few samples say little. */
function SampleFigures(props: { tree: Tree; from: number; to: number }) {
  const { tree: t } = props;
  const s = screen.value === "explore" && !t.b ? samplesOf(t.meta.type ?? "", t.total[0], t.meta.period) : null;
  if (!s || s.n <= 0) return null;
  return (
    <>
      <span data-testid="samples" title={s.hz ? "How often a busy CPU was looked at, each second" : undefined}>{format.count(s.n)} samples{s.hz > 0 && ` at ${format.digits(s.hz)} Hz`}</span>
      <Lost samples={s.n} from={props.from} to={props.to} />
    </>
  );
}

export function Summary(props: { kept: Answer; drawn: Drawn; seconds: number }) {
  const t = props.kept.tree;
  const unit = t.meta.unit ?? "";
  const { from, to } = props.kept;
  const leftOut = t.meta.left_out ?? [];
  const lacks = leftOut.length + (t.meta.left_out_more ?? 0);
  return (
    <div class="summary" data-testid="quality">
      <b>{format.value(t.total[0], unit)}</b>
      {t.b && <span>→ <b>{format.value(t.b.total[0], unit)}</b> in B</span>}
      {unit === "nanoseconds" && !t.b && props.seconds > 0 && <span>{format.rate(t.total[0], props.seconds, unit, isCpuTime(t.meta.type ?? ""))} on average</span>}
      {screen.value === "explore" && <span>{format.time(from, state.value.utc)} – {format.time(to, state.value.utc)}</span>}
      <SampleFigures tree={t} from={from} to={to} />
      <QualityFigures tree={t} />
      {screen.value === "explore" && <StoppedTargets from={from} to={to} />}
      {(t.meta.filtered?.[0] ?? 0) !== 0 && <span>{format.value(t.meta.filtered![0], unit)} filtered out</span>}
      {hasTrimmed(t) && <Trimmed tree={t} />}
      {leftOut.length > 0 && (
        <details class="amber" data-testid="banner">
          <summary>{lacks === 1 ? "1 piece of data is" : `${format.count(lacks)} pieces of data are`} missing</summary>
          <ul>{leftOut.map((g) => <li key={g.what}>{g.what}: {g.why} ({format.time(g.from_ms, state.value.utc)} – {format.time(g.to_ms, state.value.utc)})</li>)}</ul>
        </details>
      )}
      <span class="right">
        {screen.value !== "open" && <ShareMenu />}
        <ExportMenu {...props.drawn} />
      </span>
    </div>
  );
}
