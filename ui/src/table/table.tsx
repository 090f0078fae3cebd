// SPDX-License-Identifier: Apache-2.0
// table/table.tsx - functions as rows: only those on the screen are elements

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import * as format from "../app/format.ts";
import type { Totals } from "../flame/functions.ts";
import { visible } from "../flame/names.ts";
import { type Tree, nameOf } from "../flame/tree.ts";
import { binaryOf, columnsOf, fileOf, sorted } from "./columns.ts";

export interface TableProps {
  tree: Tree;
  totals: Totals;
  marked: Uint8Array | null;
  extra: readonly string[]; // columns that somebody wants
  sort: string; // "-self": descending
  selected: number; // function, or -1
  onSort: (sort: string) => void;
  onSelect: (func: number) => void;
  onOpen: (func: number) => void;
  onCopy: (rows: number[]) => void;
  onPoint: (func: number) => void; // -1: at none any more
}

/** Whether the next table that is there takes the focus, once. */
export const takesFocus = { value: false };

const ROW = 24;
const BEYOND = 10;

export function FunctionTable(props: TableProps) {
  const { tree, totals, sort } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [last, setAt] = useState(0);
  const rows = useMemo(() => sorted(tree, totals, sort, props.marked), [tree, totals, sort, props.marked]);
  // The row that is selected is where the keys begin, wherever another answer or order has put it.
  const selected = useMemo(() => rows.indexOf(props.selected), [rows, props.selected]);
  const at = selected >= 0 ? selected : Math.min(last, rows.length - 1);
  const columns = columnsOf(tree, totals, props.extra);
  const withFile = props.extra.includes("file");
  const unit = tree.meta.unit ?? "";

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current!.clientHeight));
    observer.observe(box.current!);
    if (takesFocus.value) box.current!.focus();
    takesFocus.value = false;
    return () => observer.disconnect();
  }, []);

  const from = Math.max(0, Math.floor(top / ROW) - BEYOND);
  const to = Math.min(rows.length, Math.ceil((top + height) / ROW) + BEYOND);
  const width = (f: number) => (tree.total[0] ? `${Math.min((Math.abs(totals.total[f]) / Math.abs(tree.total[0])) * 100, 100)}%` : "0");

  const move = (to: number) => {
    const i = Math.min(Math.max(to, 0), rows.length - 1);
    setAt(i);
    props.onSelect(rows[i]);
    props.onPoint(rows[i]);
    const b = box.current!;
    if (i * ROW < b.scrollTop) b.scrollTop = i * ROW;
    else if ((i + 2) * ROW > b.scrollTop + b.clientHeight) b.scrollTop = (i + 2) * ROW - b.clientHeight;
  };
  const onKey = (e: KeyboardEvent) => {
    const page = Math.floor(height / ROW) - 1;
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    if (e.key in steps && !e.ctrlKey && !e.metaKey) move(steps[e.key]);
    else if (e.key === "Enter" && rows.length) props.onOpen(rows[at]);
    else if (e.key === "c" && (e.ctrlKey || e.metaKey) && props.selected >= 0 && getSelection()?.isCollapsed !== false) props.onCopy([props.selected]);
    else return;
    e.preventDefault();
  };
  const head = (key: string, text: string, kind: "number" | "grow" | "file" | "binary") => {
    const numeric = kind === "number";
    const mine = sort === key || sort === `-${key}`;
    return (
      <div class={`cell ${kind}`} role="columnheader" aria-sort={!mine ? "none" : sort.startsWith("-") ? "descending" : "ascending"}>
        <button class="plain" data-testid={`sort-${key}`} onClick={() => props.onSort(sort === `-${key}` ? key : numeric ? `-${key}` : sort === key ? `-${key}` : key)}>
          {text}
          <span aria-hidden="true">{mine ? (sort.startsWith("-") ? " \u25be" : " \u25b4") : ""}</span>
        </button>
      </div>
    );
  };

  return (
    <div class="table" role="grid" aria-rowcount={rows.length + 1} aria-label="Functions" data-testid="table">
      <div class="row head" role="row">
        {columns.map((c) => head(c.key, c.head, "number"))}
        {head("name", "Function", "grow")}
        {withFile && head("file", "File", "file")}
        {head("binary", "Binary", "binary")}
      </div>
      <div class="rows" ref={box} tabIndex={0} onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={onKey} onMouseLeave={() => props.onPoint(-1)} onBlur={() => props.onPoint(-1)} aria-label="Rows of functions">
        <div style={{ height: `${rows.length * ROW}px`, position: "relative" }}>
          {Array.from(rows.subarray(from, to), (f, i) => (
            <div
              key={f}
              class={`row${f === props.selected ? " selected" : ""}`}
              role="row"
              aria-rowindex={from + i + 2}
              aria-selected={f === props.selected}
              style={{ top: `${(from + i) * ROW}px` }}
              onClick={() => {
                setAt(from + i);
                props.onSelect(f);
              }}
              onMouseEnter={() => props.onPoint(f)}
              onDblClick={() => props.onOpen(f)}
            >
              {columns.map((c) => (
                <div class="cell number" role="gridcell" key={c.key}>
                  {c.text ? c.text(f) : format.value(c.get(f), unit)}
                  {!c.text && <span class="share">{format.percent(c.get(f), (c.key.endsWith("B") && tree.b ? tree.b.total : tree.total)[0])}</span>}
                </div>
              ))}
              <div class="cell grow name" role="gridcell" title={visible(nameOf(tree.functions, f))}>
                <span class="bar" style={{ width: width(f) }} aria-hidden="true" />
                <span class="over">{visible(nameOf(tree.functions, f))}</span>
              </div>
              {withFile && <div class="cell file" role="gridcell" title={fileOf(tree, f)}>{fileOf(tree, f)}</div>}
              <div class="cell binary" role="gridcell">{binaryOf(tree, f)}</div>
            </div>
          ))}
        </div>
      </div>
      {rows.length === 0 && <p class="hint">No function matches.</p>}
    </div>
  );
}
