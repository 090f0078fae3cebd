// SPDX-License-Identifier: Apache-2.0
// app/heaviest.tsx - beside a graph of which nothing is selected: where to look first

import { useEffect, useMemo } from "preact/hooks";
import { heaviest, wholeOf, widestOf } from "../flame/heaviest.ts";
import { fit, visible } from "../flame/names.ts";
import { type Tree, nameOf } from "../flame/tree.ts";
import * as format from "./format.ts";
import { pointed } from "./store.ts";

const MOST = 14;
const ROOM = 31; // letters

/** of: the tree before it was inverted, which has each function's weight. */
export function Heaviest(props: { tree: Tree; of: Tree; onSelect: (node: number) => void }) {
  const { tree: t, of } = props;
  const all = useMemo(() => heaviest(of, MOST), [of]);
  const point = (func: number) => (pointed.value = func);
  useEffect(() => () => void point(-1), [t]);
  if (!all.length) return null;
  const signed = (text: string, weight: number) => (t.b && weight > 0 ? `+${text}` : text);
  return (
    <section class="heaviest" data-testid="heaviest">
      <h4>{t.b ? "Most changed, without what they call" : "Most weight of their own"}</h4>
      <ol onMouseLeave={() => point(-1)}>
        {all.map(({ func, weight }) => {
          const name = visible(nameOf(t.functions, func));
          return (
            <li key={func}>
              <button class="plain" title={name} onMouseEnter={() => point(func)} onFocus={() => point(func)} onBlur={() => point(-1)} onClick={() => (point(-1), props.onSelect(widestOf(t, func)))}>
                <span class="name">{fit(name, ROOM)}</span>
                <span class="share">{signed(format.percent(weight, wholeOf(t)), weight)}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
