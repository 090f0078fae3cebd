// SPDX-License-Identifier: Apache-2.0
// app/exact.ts - of an answer that was too large to be sent whole: what the server adds up of each function

import type { ExactRow } from "../flame/exact.ts";
import { type Tree, hasTrimmed } from "../flame/tree.ts";
import { remembered } from "./remembered.ts";
import { screen, state, tree } from "./store.ts";

const MOST_ROWS = 100_000;

/** By these several functions have one name, file and binary, and rows of functions say no more than that. */
const alike = ["line", "address"];

/** The question whose functions are those of the tree as a whole; "": all of it is there, or nobody can tell, as with loops folded. */
export function exactQuestion(t: Tree): string {
  const question = screen.value === "explore" && hasTrimmed(t) && !t.b && !state.value.loops ? (tree.value.value?.question ?? "") : "";
  return alike.includes(new URLSearchParams(question.split("?")[1]).get("group") ?? "") ? "" : question;
}

export async function exactRows(question: string, signal?: AbortSignal): Promise<ExactRow[]> {
  const params = [...new URLSearchParams(question.slice(question.indexOf("?") + 1))].filter(([k]) => k !== "max_nodes" && k !== "format");
  return (await remembered<{ rows: ExactRow[] }>("functions", [...params, ["max_rows", MOST_ROWS]], signal)).rows;
}
