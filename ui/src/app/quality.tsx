// SPDX-License-Identifier: Apache-2.0
// app/quality.tsx - how good an answer is: how much of it has no name, or no root, why, and what can be done

import { useMemo } from "preact/hooks";
import { visible } from "../flame/names.ts";
import { type Lack, lacksOf } from "../flame/quality.ts";
import type { Tree } from "../flame/tree.ts";
import * as format from "./format.ts";

const MOST = 12;
const MUCH = 0.05;

/** Texts of the sampler whose cause somebody can do something about; docs/STACKS.md has all of them. */
const remedies: Record<string, string> = {
  "deeper than max_depth": "raise max_depth of the input",
  "no frame pointer": "build what calls it with unwind tables (-fasynchronous-unwind-tables) or frame pointers",
  "no unwind rule for this code": "the file describes other functions, and not this one: its authors can",
  "no memory for unwind tables": "raise tables_memory of the input",
  "tables not built yet": "new programs only; tables_cache spares it after a restart",
  "more different stacks than a window holds": "shorten window, or lower frequency",
};

function Lacks(props: { title: string; testid: string; all: Lack[]; tree: Tree; good: boolean }) {
  const { all, tree: t } = props;
  const lacking = all.reduce((sum, l) => sum + l.weight, 0);
  const share = t.total[0] ? lacking / t.total[0] : 0;
  const text = `${format.percent(props.good ? t.total[0] - lacking : lacking, t.total[0])} ${props.title}`;
  if (!lacking) return <span>{text}</span>;
  return (
    <details class={`dropdown plain${share > MUCH ? " amber" : ""}`} data-testid={props.testid}>
      <summary>{text}</summary>
      <div class="menu below why">
        <table class="list">
          <thead><tr><th class="n">Of all</th><th>Why</th><th>Most of it</th></tr></thead>
          <tbody>
            {all.slice(0, MOST).map((l) => (
              <tr key={l.why}>
                <td class="n">{format.percent(l.weight, t.total[0])}</td>
                <td class="wide">{visible(l.why)}{remedies[l.why] && <span class="muted">: {remedies[l.why]}</span>}</td>
                <td class="mono">{visible(l.most)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {all.length > MOST && <p class="muted">and {format.count(all.length - MOST)} more reasons: {format.percent(all.slice(MOST).reduce((sum, l) => sum + l.weight, 0), t.total[0])}</p>}
      </div>
    </details>
  );
}

export function QualityFigures(props: { tree: Tree }) {
  const { tree: t } = props;
  const { unnamed, truncated } = useMemo(() => t.lacks ?? lacksOf(t), [t]);
  if (t.total[0] === 0) return null;
  return (
    <>
      <Lacks title="named" testid="unnamed" all={unnamed} tree={t} good />
      <Lacks title="truncated" testid="truncated" all={truncated} tree={t} good={false} />
    </>
  );
}
