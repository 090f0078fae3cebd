// SPDX-License-Identifier: Apache-2.0
// app/lines.tsx - the lines over time as a table, of which the graph has the heaviest

import { useEffect, useState } from "preact/hooks";
import { keyOf, nameOfSeries, totalOf } from "../chart/steps.ts";
import { visible } from "../flame/names.ts";
import * as format from "./format.ts";
import { linesOpen } from "./keys.ts";
import { Failed } from "./parts.tsx";
import { useQuestion } from "./question.ts";
import { allLines, isCpu, isRate, linesKey, range } from "./store.ts";
import { narrowTo } from "./values.ts";

const ROWS_MAX = 300;

export function LinesTable() {
  const [word, setWord] = useState("");
  const [turn, setTurn] = useState(0);
  const { value, failed } = useQuestion(linesKey.value && `${linesKey.value} ${turn}`, allLines);
  // Back may lead to where there are none.
  useEffect(() => void (linesKey.value || (linesOpen.value = false)), [linesKey.value]);
  if (failed) return <Failed what="The lines are not known" why={failed} retry={() => setTurn(turn + 1)} />;
  if (!value || !range.value) return <p class="hint" role="status">Waiting for the server.</p>;
  const seconds = (range.value[1] - range.value[0]) / 1000;
  const all = value.series.map((s) => ({ s, name: visible(nameOfSeries(s)), total: totalOf(s) }));
  const found = all.filter((l) => l.name.toLowerCase().includes(word.toLowerCase()));
  const sum = all.reduce((n, l) => n + Math.abs(l.total), 0);
  const text = (l: (typeof all)[number]) => (isRate.value ? format.rate(l.total, seconds, value.unit, isCpu.value) : format.value(l.total / Math.max(l.s.value.length, 1), value.unit));
  return (
    <>
      <p class="about">On average over the range; heaviest first{value.series_left_out ? `, and ${format.count(value.series_left_out)} lighter ones that no answer has room for` : ""}.</p>
      <p><input class="words" type="search" aria-label="Lines with these letters" placeholder="Some letters of it" value={word} onInput={(e) => setWord(e.currentTarget.value)} /></p>
      <table class="list" data-testid="lines-table">
        <thead><tr><th>Line</th><th class="n">Average</th><th class="n">Of these</th><th>What to do</th></tr></thead>
        <tbody>
          {found.slice(0, ROWS_MAX).map((l) => (
            <tr key={keyOf(l.s)}>
              <td class="mono wide">{l.name}</td>
              <td class="n">{text(l)}</td>
              <td class="n">{format.percent(l.total, sum)}</td>
              <td><button class="link" onClick={(e) => (e.currentTarget.closest("dialog")?.close(), narrowTo(l.s.labels))}>only this</button></td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.length > ROWS_MAX && <p class="about">{format.count(found.length - ROWS_MAX)} more; narrow them above.</p>}
      {found.length === 0 && <p class="about">None has these letters.</p>}
    </>
  );
}
