// SPDX-License-Identifier: Apache-2.0
// app/view.ts - settings that are also in the address: what a page that says nothing of them begins with

import { detailNames } from "../flame/names.ts";
import type { ColorBy } from "../flame/color.ts";
import { valueOf } from "../settings/kept.ts";
import type { State } from "../url/state.ts";

/** By the setting's key. */
const parts: Record<string, () => Partial<State>> = {
  zone: () => ({ utc: valueOf("zone") === "utc" }),
  colour: () => ({ color: valueOf("colour") as ColorBy }),
  names: () => ({ detail: detailNames.indexOf(valueOf("names")) }),
  order: () => ({ byName: valueOf("order") === "name" }),
  root: () => ({ flame: valueOf("root") === "bottom" }),
};

/** What one setting says of the view; null: nothing. */
export function viewOf(key: string): Partial<State> | null {
  return parts[key]?.() ?? null;
}

export function preferred(): Partial<State> {
  return Object.assign({}, ...Object.keys(parts).map((key) => viewOf(key)));
}
