// SPDX-License-Identifier: Apache-2.0
// app/figures.tsx - what a node is: its weights, of what they are a share, where its code is

import { visible } from "../flame/names.ts";
import { type Tree, kindNames, nameOf, ownOf, textAt } from "../flame/tree.ts";
import { isCpuTime } from "../flame/samples.ts";
import { sampled } from "../flame/significance.ts";
import * as format from "./format.ts";

/** Of a diff: how many samples say so, and what chance leaves of it. */
function Samples(props: { tree: Tree; node: number }) {
  const s = sampled(props.tree, props.node);
  if (!s) return null;
  const points = (share: number) => `${share > 0 ? "+" : ""}${format.digits(share * 100)}`;
  return (
    <>
      <tr>
        <th>Samples</th>
        <td>{format.count(Math.round(s.a))}</td>
        <td>and {format.count(Math.round(s.b))} in B</td>
      </tr>
      <tr title="By how much its share of all samples changed, and what it changed by with 95 % confidence: as if samples did not hang together, which those of one busy thread do: the true interval is a little wider">
        <th>Its share</th>
        <td>{points(s.change)} %</td>
        <td>95 %: {points(s.from)} to {points(s.to)}</td>
      </tr>
    </>
  );
}

export function Figures(props: { tree: Tree; node: number; zoom: number; seconds: number }) {
  const { tree: t, node } = props;
  const unit = t.meta.unit ?? "";
  const parent = t.parent[node];
  const own = ownOf(t, node);
  const trimmed = t.trimmed.get(node) ?? 0;
  const trimmedB = t.b?.trimmed.get(node) ?? 0;
  const all = (t.meta.total?.[0] ?? t.total[0]) + (t.meta.filtered?.[0] ?? 0);
  return (
    <table class="figures">
      <tbody>
        <tr>
          <th>Total</th>
          <td>{format.value(t.total[node], unit)}</td>
          <td>{format.percent(t.total[node], t.total[0])} of all shown</td>
        </tr>
        {t.b && (
          <tr>
            <th>Total B</th>
            <td>{format.value(t.b.total[node], unit)}</td>
            <td>{format.percent(t.b.total[node], t.b.total[0])}</td>
          </tr>
        )}
        {own !== null && (
          <tr>
            <th>Self</th>
            <td>{format.value(own, unit)}</td>
            <td>{format.percent(own, t.total[0])}</td>
          </tr>
        )}
        {(trimmed !== 0 || trimmedB !== 0) && (
          <tr>
            <th>Not shown</th>
            <td>{format.value(trimmed, unit)}</td>
            <td>{t.b && `and ${format.value(trimmedB, unit)} in B, `}in frames below it that are too small</td>
          </tr>
        )}
        {t.b && (
          <tr>
            <th>Change</th>
            <td>{changeOf(t, node)}</td>
            <td>{t.meta.compare?.by === "share" ? "of its share" : t.b.factor === 1 ? "" : "per second"}</td>
          </tr>
        )}
        {t.b && <Samples tree={t} node={node} />}
        {unit === "nanoseconds" && props.seconds > 0 && (
          <tr>
            <th>On average</th>
            <td colSpan={2}>{format.rate(t.total[node], props.seconds, unit, isCpuTime(t.meta.type ?? ""))}</td>
          </tr>
        )}
        {parent > 0 && (
          <tr>
            <th>Of its caller</th>
            <td />
            <td>{format.percent(t.total[node], t.total[parent])}</td>
          </tr>
        )}
        {props.zoom > 0 && (
          <tr>
            <th>Of the zoom</th>
            <td />
            <td>{format.percent(t.total[node], t.total[props.zoom])}</td>
          </tr>
        )}
        {all !== t.total[0] && (
          <tr>
            <th>Of everything</th>
            <td />
            <td>{format.percent(t.total[node], all)}, with what is filtered out</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

export function Where(props: { tree: Tree; node: number }) {
  const { tree: t, node } = props;
  const f = t.func[node];
  if (f < 0) return null;
  const fns = t.functions;
  const file = visible(textAt(fns.files, fns.file[f]));
  const binary = visible(textAt(fns.binaries, fns.binary[f]));
  const buildId = textAt(fns.buildIds, fns.buildId[f]);
  const reason = textAt(fns.reasons, fns.reason[f]);
  return (
    <dl class="where">
      {file && (<><dt>File</dt><dd>{file}{fns.line[f] ? `:${fns.line[f]}` : ""}</dd></>)}
      {fns.address[f] !== 0n && (<><dt>Address</dt><dd class="mono">0x{fns.address[f].toString(16)}</dd></>)}
      {binary && (<><dt>Binary</dt><dd>{binary}</dd></>)}
      {buildId && (<><dt>Build id</dt><dd class="mono">{buildId}</dd></>)}
      <dt>Kind</dt>
      <dd>{kindNames[fns.flags[f] & 7]}{fns.flags[f] & 8 ? ", seen inlined only" : ""}</dd>
      {reason && (<><dt>No name because</dt><dd>{reason}</dd></>)}
    </dl>
  );
}

export function changeOf(t: Tree, node: number): string {
  const a = t.total[node];
  const b = t.b!.total[node] * t.b!.factor;
  if (a === 0) return b === 0 ? "none" : "new in B";
  if (b === 0) return "gone in B";
  const change = ((b - a) / Math.abs(a)) * 100;
  // What is no more than a number's last bit has no direction.
  const text = format.digits(change);
  return `${text === "0" ? "" : change > 0 ? "▲ +" : "▼ "}${text} %`;
}

export function titleOf(t: Tree, node: number): string {
  return t.func[node] < 0 ? "all" : visible(nameOf(t.functions, t.func[node]));
}

export function describe(t: Tree, node: number): string {
  const unit = t.meta.unit ?? "";
  const own = ownOf(t, node);
  return `${titleOf(t, node)}, ${format.percent(t.total[node], t.total[0])} of total, ${format.value(t.total[node], unit)}${own === null ? "" : `, self ${format.percent(own, t.total[0])}`}`;
}
