// SPDX-License-Identifier: Apache-2.0
// app/menu.tsx - what can be done with a frame

import { visible } from "../flame/names.ts";
import { pathOf } from "../flame/path.ts";
import { Kind, type Tree, nameOf, textAt } from "../flame/tree.ts";
import { readLabel } from "../query/selector.ts";
import { addChip, copy, exactly } from "./actions.ts";
import * as format from "./format.ts";
import { type Item, Popup } from "./popup.tsx";
import { addressOf, go, screen, state, toast } from "./store.ts";
import { valueItems } from "./values.ts";

export interface MenuAt {
  node: number;
  x: number;
  y: number;
}

/** The folded line of a stack down to a node, with its weight. */
export function foldedLine(t: Tree, node: number): string {
  const stack: string[] = [];
  for (let i = node; i > 0; i = t.parent[i]) stack.unshift(nameOf(t.functions, t.func[i]).replace(/;/g, ":"));
  return `${stack.join(";")} ${t.total[node]}`;
}

function filtersOf(name: string, binary: string): Item[] {
  return [
    ["Only stacks with it", () => addChip("SS", exactly(name))],
    ["Stacks without it", () => addChip("HS", exactly(name))],
    ["Begin stacks at it", () => addChip("SFF", exactly(name))],
    ["Leave its frames out", () => addChip("HF", exactly(name))],
    ...(binary ? [["Leave its binary's frames out", () => addChip("HF", `bin:=${binary}`)] as Item] : []),
  ];
}

function functionItems(t: Tree, node: number, binary: string): Item[] {
  const name = nameOf(t.functions, t.func[node]);
  return [
    ["Callers and callees", () => go({ panel: "sandwich", sandwich: name })],
    // The server tells of it over time; it has not seen a file of somebody's, and a comparison is of two times.
    ...(screen.value === "explore" ? [["Over time, and by label", () => go({ sandwich: name }, true, "function")] as Item] : []),
    // The server filters; it has not seen a file of somebody's.
    ...(screen.value === "open" ? [] : filtersOf(name, binary)),
    ["Find it in the table", () => go({ panel: "table", search: name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") })],
  ];
}

/** What is shown now, with the frame selected. */
function linkTo(t: Tree, node: number): string {
  return new URL(addressOf({ ...state.value, selected: pathOf(t, node) }), location.href).href;
}

/** What is trimmed in a file is nowhere else; leaves first there may be more of it than is made at once. */
const closer = (): string => (screen.value !== "open" ? "to have been sent: zoom to it, or load more" : state.value.inverted ? "to be shown: zoom to it" : "to be in the file");

/** "": it is not. */
export function hatchedBecause(t: Tree, node: number): string {
  const trimmed = (t.trimmed.get(node) ?? 0) + (t.b ? (t.b.trimmed.get(node) ?? 0) * t.b.factor : 0);
  if (trimmed) return `${format.value(trimmed, t.meta.unit ?? "")} of it is in frames below it that are too small ${closer()}`;
  if (node > 0 && t.b && t.total[node] === 0) return "It is new: A has none of it";
  if (node > 0 && t.b && t.b.total[node] === 0) return "It is gone: B has none of it";
  return "";
}

interface MenuProps {
  tree: Tree;
  at: MenuAt;
  close: () => void;
  zoomTo?: (node: number) => void; // none: ways in this tree are none of a stack's, and nothing leads back to one
  fold: { text: string; act: () => void } | null;
}

export function Menu(props: MenuProps) {
  const { tree: t, at, zoomTo } = props;
  const f = t.func[at.node];
  const name = f < 0 ? "" : nameOf(t.functions, f);
  const isLabel = f >= 0 && (t.functions.flags[f] & 7) === Kind.label;
  const items: Item[] = zoomTo ? [["Zoom to it", () => zoomTo(at.node)]] : [];
  if (isLabel) items.push(...valueItems(...readLabel(name)));
  else if (f >= 0) items.push(...functionItems(t, at.node, textAt(t.functions.binaries, t.functions.binary[f])));
  if (f >= 0 && !isLabel) items.push(state.value.loops ? ["Recursion as it is", () => go({ loops: false, zoom: "", selected: "" })] : ["Fold recursion", () => go({ loops: true, zoom: "", selected: "" })]);
  const why = hatchedBecause(t, at.node);
  if (why) items.push(["Why is it hatched?", () => toast(why)]);
  if (props.fold) items.push([props.fold.text, props.fold.act]);
  if (f >= 0) items.push(["Copy its name", () => void copy(name, "the name")]);
  if (f >= 0 && zoomTo) items.push(["Copy the folded stack", () => void copy(foldedLine(t, at.node), "the stack")]);
  if (f >= 0 && zoomTo && screen.value !== "open") items.push(["Copy a link to it", () => void copy(linkTo(t, at.node), "the link")]);
  return <Popup items={items} x={at.x} y={at.y} close={props.close} label={`What to do with ${visible(name) || "all"}`} />;
}
