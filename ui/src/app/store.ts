// SPDX-License-Identifier: Apache-2.0
// app/store.ts - the page's state: the address, and what was asked for it

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import * as api from "../api/client.ts";
import { follow } from "../flame/path.ts";
import { isCpuTime } from "../flame/samples.ts";
import type { Matches } from "../flame/search.ts";
import { shareTrimmed } from "../flame/splice.ts";
import { type Tree, hasTrimmed, nameOf } from "../flame/tree.ts";
import { resolve } from "../url/range.ts";
import { type Screen, type State, defaults, parse, screenOf, sideB, write } from "../url/state.ts";
import { type Arrangement, EndedToo, type Kept, TimedOut, trees } from "../worker/rpc.ts";
import { parseSelector, writeNames } from "../query/selector.ts";
import { lost, watch } from "./connection.ts";
import { forgetAnswers, remembered, sentTrees } from "./remembered.ts";
import { preferred } from "./view.ts";

/* ---- the address ---- */

const first = parse(location.search);
export const screen = signal<Screen>(screenOf(location.pathname));
/** An address that says nothing at all leaves the view to the settings. */
export const state = signal<State>(location.search ? first.state : { ...first.state, ...preferred() });
export const toasts = signal<{ id: number; text: string }[]>([]);

let lastToast = 0;
export function toast(text: string): void {
  const id = ++lastToast;
  toasts.value = [...toasts.value, { id, text }];
  setTimeout(() => (toasts.value = toasts.value.filter((t) => t.id !== id)), 6000);
}
if (first.wrong.length) toast(`Left out of the address, because it says nothing: ${first.wrong.join(", ")}`);

export function addressOf(s: State, where: Screen = screen.value): string {
  const q = write(s);
  return `${api.base}${where}${q ? `?${q}` : ""}`;
}

/** The moment that "now" means: of the last question, or refresh, so that every panel shows the same. */
export const now = signal(Date.now());

export const refreshEvery = signal(0);

/** What the browser keeps beside an address. */
interface Step {
  behind: number; // how many steps of this page lie behind, and so can be gone back without leaving it
  now: number; // what "now" meant: going back shows what was shown then
}
const stepHere = (): Partial<Step> => (history.state as Step | null) ?? {};
const stepOf = (behind: number): Step => ({ behind, now: now.value });
effect(() => history.replaceState(stepOf(stepHere().behind ?? 0), ""));

export function stepBack(): void {
  if (stepHere().behind) history.back();
}

/** Of these an answer is; the others only look at it. */
const asking = ["q", "from", "to", "b"] as const;

/** Changes the state; `push` makes a step that Back undoes. What asks anew asks until now. */
export function go(patch: Partial<State>, push = true, where: Screen = screen.value): void {
  const next = { ...state.value, ...patch };
  const address = addressOf(next, where);
  const behind = stepHere().behind ?? 0;
  if (address !== location.pathname + location.search) {
    if (push) history.pushState(stepOf(behind + 1), "", address);
    else history.replaceState(stepOf(behind), "", address);
  }
  batch(() => {
    if (asking.some((k) => k in patch) || where !== screen.value) now.value = Date.now();
    show(next, where);
  });
}

/** Each screen has a tree of its own: what another one showed, or still waits for, is not its. */
function show(next: State, where: Screen): void {
  if (where !== screen.value) {
    for (const asked of [askTree, askSeries, askSeriesB, askCloser]) asked.stop();
    for (const target of [tree, series, seriesB, closer]) target.value = nothing;
    arranged.value = null;
  }
  // At once: the screen that is left asks nothing for the state of the next one.
  batch(() => {
    state.value = next;
    screen.value = where;
  });
}

addEventListener("popstate", () => {
  const { state: s, wrong } = parse(location.search);
  const where = screenOf(location.pathname);
  const isOther = where !== screen.value || asking.some((k) => JSON.stringify(s[k]) !== JSON.stringify(state.value[k]));
  batch(() => {
    // What is refreshed goes on being of now.
    if (isOther && !refreshEvery.value) now.value = stepHere().now ?? now.value;
    show(s, where);
  });
  if (wrong.length) toast(`Left out of the address: ${wrong.join(", ")}`);
});

/* ---- what is asked ---- */

export const range = computed(() => resolve({ from: state.value.from, to: state.value.to }, now.value));
/** Of the panels: what was selected on the graph, or all. */
export const panelRange = computed(() => state.value.sel ?? range.value);
export const rangeB = computed(() => resolve(sideB(state.value), now.value));
/** Of both graphs of Compare: both ranges, and a quarter as much on either side, as far as there is time. */
export const around = computed<[number, number] | null>(() => {
  const [a, b] = [range.value, rangeB.value];
  if (!a || !b) return null;
  const from = Math.min(a[0], b[0]);
  const to = Math.max(a[1], b[1]);
  const more = Math.ceil((to - from) / 4);
  return [from - more, Math.max(to, Math.min(to + more, now.value))];
});
export const parsed = computed(() => parseSelector(state.value.q));
export const selectorText = computed(() => ("selector" in parsed.value && parsed.value.selector.type ? (state.value.q.includes("{") ? state.value.q : `${state.value.q.trim()}{}`) : ""));

const selectorType = computed(() => selectorText.value.slice(0, Math.max(selectorText.value.indexOf("{"), 0)));

/** A question and how it does. */
export interface Asked<T> {
  value?: T;
  loading: boolean;
  since: number;
  error?: api.Problem;
  came?: number; // bytes so far
  isRead?: boolean; // all bytes are there, and are made a tree of
  id?: string; // by which the server knows it
  again?: () => Promise<void>; // asks once more where it came from
}

const nothing = { loading: false, since: 0 };
export const types = signal<Asked<api.TypeInfo[]>>(nothing);
export const series = signal<Asked<api.SeriesAnswer>>(nothing);
/** Of Compare's B. */
export const seriesB = signal<Asked<api.SeriesAnswer>>(nothing);
/** origin: the answer's own number, which stays when parts are put into it; question: what it answers, "" of a file. */
export type Answer = Kept & { from: number; to: number; origin: number; question: string };
export const tree = signal<Asked<Answer>>(nothing);

export async function loadTypes(): Promise<void> {
  types.value = { ...types.value, loading: true, since: Date.now() };
  try {
    const answer = await api.types();
    types.value = { value: answer.types, loading: false, since: 0 };
    if (!state.value.q && answer.types.length) {
      const type = favourite(answer.types);
      go({ q: `${type.type}{}`, ...youngRange(type.first_ms) }, false);
    }
  } catch (e) {
    types.value = { ...types.value, loading: false, error: problemOf(e) };
  }
}

function problemOf(e: unknown): api.Problem {
  const problem = e instanceof api.Problem ? e : new api.Problem(-1, e instanceof Error ? e.message : String(e));
  if (problem.status === 0) lost();
  return problem;
}

/** What most people come for: CPU time, else what there is most of. */
function favourite(all: api.TypeInfo[]): api.TypeInfo {
  const cpu = all.find((t) => t.type.startsWith("process_cpu:cpu:"));
  return cpu ?? [...all].sort((a, b) => b.profiles - a.profiles)[0];
}

/** Where there is less than an hour yet, what there is fills the graph. */
function youngRange(first: number): Partial<State> {
  const s = state.value;
  if (s.from !== defaults.from || s.to !== defaults.to) return {};
  const minutes = (Date.now() - first) / 60_000;
  return minutes < 5 ? { from: "now-5m" } : minutes < 15 ? { from: "now-15m" } : {};
}

/** Fails when it is aborted: what cannot be ended itself, as the worker's part, is waited for no longer. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("it was cancelled"))));
}

/** Runs one question at a time for a signal: a later one ends the one before. What took its place meanwhile stays. */
function latest<T>(target: { value: Asked<T> }, run: (signal: AbortSignal, id: string) => Promise<T>) {
  let controller: AbortController | null = null;
  const ask = async (): Promise<void> => {
    controller?.abort();
    const mine = (controller = new AbortController());
    const id = api.newId();
    target.value = { value: target.value.value, loading: true, since: Date.now(), id, again: ask };
    const isMine = () => controller === mine && target.value.id === id;
    mine.signal.addEventListener("abort", () => void api.cancel(id));
    try {
      const value = await Promise.race([run(mine.signal, id), aborted(mine.signal)]);
      if (isMine()) target.value = { value, loading: false, since: 0, id, again: ask };
    } catch (e) {
      if (!isMine()) return;
      const stopped = mine.signal.aborted;
      target.value = { value: target.value.value, loading: false, since: 0, error: stopped ? undefined : problemOf(e), id, again: ask };
    } finally {
      if (controller === mine) controller = null;
    }
  };
  return Object.assign(ask, { stop: () => controller?.abort() });
}

function filterParams(s: State): api.Params {
  const names = { SS: "only_stacks", HS: "hide_stacks", SFF: "focus", HF: "hide" } as const;
  return s.chips.map((c) => [names[c.kind], c.text]);
}

export function treeParams(s: State, q: string, from: number, to: number): api.Params {
  return [
    ["q", q], ["from", api.at(from)], ["to", api.at(to)],
    ["group", s.group === defaults.group ? undefined : s.group],
    ["group_by", writeNames(s.by)],
    ...filterParams(s),
  ];
}

function diffParams(s: State): api.Params {
  const [from, to] = range.value!;
  const [fromB, toB] = rangeB.value!;
  return [
    ["a_q", selectorText.value], ["b_q", s.b.q || selectorText.value],
    ["a_from", api.at(from)], ["a_to", api.at(to)], ["b_from", api.at(fromB)], ["b_to", api.at(toB)],
    ["group", s.group === defaults.group ? undefined : s.group], ["group_by", writeNames(s.by)], ...filterParams(s),
  ];
}

interface Question {
  path: string;
  params: api.Params;
  from: number;
  to: number;
  type: string;
  text: string; // path and params
}

function questionOf(path: string, params: api.Params, of: { from: number; to: number; type: string }): Question {
  return { ...of, path, params, text: `${path}?${api.query(params)}` };
}

/** The question for the screen's tree; null: it has none, or it cannot be asked. */
const treeQuestion = computed<Question | null>(() => {
  const s = state.value;
  const isDiff = screen.value === "compare";
  const isOne = screen.value === "explore" || screen.value === "function";
  const time = isDiff ? around.value && rangeB.value : isOne && range.value && panelRange.value;
  if (!selectorText.value || !time) return null;
  const [from, to] = time;
  const params = isDiff ? diffParams(s) : treeParams(s, selectorText.value, from, to);
  return questionOf(isDiff ? "diff" : "flame", [...params, ["max_nodes", s.max || undefined], ["format", "flametree"]], { from, to, type: selectorType.value });
});

/** The one that is shown, once more; null: nothing is, or what is in a file. */
function questionBefore(): Question | null {
  const was = tree.value.value;
  if (!was?.question) return null;
  const [path, query] = was.question.split("?");
  return questionOf(path, [...new URLSearchParams(query)], { from: was.from, to: was.to, type: was.tree.meta.type ?? "" });
}

/** What is shown answers another question than the address asks: that one is under way, or was ended. Where it asks none nothing is old. */
export const isOld = computed(() => {
  const shown = tree.value.value?.question;
  return treeQuestion.value !== null && Boolean(shown) && shown !== treeQuestion.value.text;
});

const MAX_POINTS = 240;
/** The server keeps the lighter ones to itself, and says how many they are. */
const MOST_LINES = 25;

/** Whole profiles fit into these: the sampler makes one each ten seconds. */
const steps = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];

export function stepFor(seconds: number): number {
  return steps.find((s) => seconds / s <= MAX_POINTS) ?? steps[steps.length - 1];
}

interface LinesQuestion {
  q: string;
  range: [number, number];
  sum: string;
}

/** The question for the screen's lines, of Compare those of A; null: it has none, or it cannot be asked. */
const linesQuestion = computed<LinesQuestion | null>(() => {
  const time = screen.value === "compare" ? around.value : screen.value === "explore" ? range.value : null;
  return selectorText.value && time ? { q: selectorText.value, range: time, sum: screen.value === "compare" ? "" : writeNames(state.value.sum) } : null;
});
const linesQuestionB = computed<LinesQuestion | null>(() => (screen.value === "compare" && linesQuestion.value ? { ...linesQuestion.value, q: state.value.b.q || selectorText.value } : null));

function linesOf({ q, range: [from, to], sum }: LinesQuestion, signal: AbortSignal, most = MOST_LINES): Promise<api.SeriesAnswer> {
  const step = stepFor((to - from) / 1000);
  return remembered("series", [["q", q], ["from", api.at(from)], ["to", api.at(to)], ["step", `${step}s`], ["sum_by", sum], ["top", most]], signal);
}

/** Of the graph's lines all, as far as the server has room for them in an answer. */
export const allLines = (signal: AbortSignal): Promise<api.SeriesAnswer> => linesOf(linesQuestion.value!, signal, 1000);
/** "": there are none. */
export const linesKey = computed(() => (linesQuestion.value ? JSON.stringify(linesQuestion.value) : ""));

const askSeries = latest(series, (signal) => linesOf(linesQuestion.value!, signal));
const askSeriesB = latest(seriesB, (signal) => linesOf(linesQuestionB.value!, signal));

const askTree = latest<Answer>(tree, async (signal, id) => {
  // An address that asks nothing leaves what was there, which another worker may have to read again.
  const asked = treeQuestion.value ?? questionBefore();
  if (!asked) throw new Error("the address asks nothing");
  const { path, params, from, to, type, text: question } = asked;
  const tell = (how: { came: number } | { isRead: true }) => {
    if (tree.value.id === id) tree.value = { ...tree.value, ...how };
  };
  const bytes = sentTrees.get(question) ?? (await api.bytes(path, params, { signal, id, came: (came) => tell({ came }) }));
  tell({ isRead: true });
  // What cannot be read is asked for anew.
  sentTrees.forget(question);
  const kept = await trees.ask<"decode">({ op: "decode", bytes, type });
  sentTrees.keep(question, bytes, bytes.length);
  return { ...kept, from, to, question, origin: kept.id };
});

/* ---- what was trimmed, where somebody looks closer ---- */

const MUCH = 0.005;
const MOST_NODES = 4_000_000;
const LONGEST_WAY = 6000;

/** The names on the way to a node, as far as an address has room for them; and the node that they end at. */
function wayTo(t: Tree, node: number): { names: string[]; node: number } {
  const way: number[] = [];
  for (let i = node; i > 0; i = t.parent[i]) way.unshift(i);
  const names: string[] = [];
  let room = LONGEST_WAY;
  for (const i of way) {
    const name = nameOf(t.functions, t.func[i]);
    if ((room -= encodeURIComponent(name).length + 7) < 0) break;
    names.push(name);
  }
  return { names, node: names.length ? way[names.length - 1] : 0 };
}

/** null: there was nothing to ask, or nothing there. */
export const closer = signal<Asked<null>>(nothing);

/** The zoom, when much of what lies below it was left out; null: nothing is to be asked. */
function placeToFill(): { was: Answer; node: number; names: string[] } | null {
  const was = tree.value.value;
  const s = state.value;
  if (!was || !hasTrimmed(was.tree) || !s.zoom || s.inverted || s.loops || was.tree.n > MOST_NODES || !treeQuestion.value) return null;
  const zoom = follow(was.tree, s.zoom).node;
  if (zoom === 0 || shareTrimmed(was.tree, zoom) <= MUCH) return null;
  const { names, node } = wayTo(was.tree, zoom);
  return node === 0 ? null : { was, node, names };
}

/** Asks for what lies there, and puts it in, unless there is another tree by then; a zoom that comes later ends it. */
const askCloser = latest<null>(closer, async (signal, id) => {
  const place = placeToFill();
  if (!place) return null;
  const { was, node, names } = place;
  const { path, params } = treeQuestion.value!;
  const bytes = await api.bytes(path, [...params, ...names.map((n): [string, string] => ["under", n])], { signal, id });
  if (tree.value.value?.id !== was.id) return null;
  // Where the worker was ended for something else the tree comes anew, and this is asked again.
  const kept = await trees.ask<"splice">({ op: "splice", tree: was.id, node, bytes }).catch((e) => (e instanceof EndedToo ? null : Promise.reject(e)));
  if (kept && !signal.aborted && tree.value.value?.id === was.id) tree.value = { ...tree.value, value: { ...was, ...kept } };
  return null;
});

/** What was asked for another zoom is of no use any more. */
export function lookCloser(): void {
  askCloser.stop();
  if (placeToFill()) void askCloser();
  else closer.value = nothing;
}

/** Once more what the worker has failed at: with it or of it the tree may have gone. All that hangs on the tree follows it. */
export function again(): void {
  void tree.value.again?.();
}

/** What was there before stays. */
export function cancelTree(): void {
  askTree.stop();
}

/** Asks again when what it depends on has changed, and not when it has not. */
function whenChanged(key: () => string, act: () => void): void {
  let before = "";
  effect(() => {
    const k = key();
    if (k === before) return;
    before = k;
    // Nothing to ask for here; coming back asks anew, for another screen's answer may have taken the place.
    if (k !== "") untracked(act);
  });
}

/** What is under way is not ended for what comes anyway; and where nobody looks nothing is asked. */
function refresh(): void {
  const isWaiting = [tree, series, seriesB, closer].some((asked) => asked.value.loading);
  if (!document.hidden && !isWaiting) now.value = Date.now();
}

export function start(): void {
  void loadTypes();
  watch(run);
  // Another screen's answer may have taken the place.
  const textOf = (q: LinesQuestion | null) => (q ? JSON.stringify([screen.value, q]) : "");
  whenChanged(() => textOf(linesQuestion.value), () => void askSeries());
  whenChanged(() => textOf(linesQuestionB.value), () => void askSeriesB());
  whenChanged(
    () => (treeQuestion.value ? screen.value + treeQuestion.value.text : ""),
    () => {
      givenUp = "";
      void askTree();
    },
  );
  let timer: ReturnType<typeof setInterval> | undefined;
  effect(() => {
    clearInterval(timer);
    if (refreshEvery.value) timer = setInterval(refresh, refreshEvery.value * 1000);
  });
  whenChanged(() => JSON.stringify([tree.value.value?.id, howOf(state.value, tree.value.value?.tree)]), () => void askArranged());
  whenChanged(() => JSON.stringify([tree.value.value?.origin, state.value.zoom]), lookCloser);
  whenChanged(() => JSON.stringify([inOrder.value?.kept.id, state.value.zoom]), askDetail);
  whenChanged(() => JSON.stringify([shown.value?.upright.id, state.value.search]), () => void askSearch());
}

/* ---- what is drawn ---- */

/** What is drawn, and the same before it was inverted: of that is what is counted, for leaves first no frame has its self. */
export interface Drawn {
  kept: Kept;
  upright: Kept;
}

interface Arranged extends Drawn {
  of: number;
  how: string;
}
const arranged = signal<Arranged | null>(null);
/** Why the order that is asked for could not be made; "": it could, or is being made. */
export const arrangeError = signal("");

/** The zoom of an inverted tree that needed more than the whole has room for: its path, until another does. */
const detailed = signal("");

/** Leaves first there may be too many frames to make them all: below the zoom they are made when it needs them. */
function askDetail(): void {
  const s = state.value;
  const t = inOrder.value?.kept.tree;
  if (!s.inverted || !s.zoom || !t) return;
  const { node, whole } = follow(t, s.zoom);
  if (!whole || shareTrimmed(t, node) > MUCH) detailed.value = s.zoom;
}

/** null: as it came. Of one side there is nothing to be held against another. */
function arrangementOf(s: State, t: Tree | undefined): Arrangement | null {
  const into = s.inverted ? detailed.value : "";
  const how = { norm: t?.b ? s.norm : "", wide: t?.b ? s.wide : "", loops: s.loops, inverted: s.inverted, into, byName: s.byName } as const;
  return Object.values(how).some(Boolean) ? how : null;
}
const howOf = (s: State, t: Tree | undefined) => JSON.stringify(arrangementOf(s, t));

export async function askArranged(): Promise<void> {
  const t = tree.value.value;
  const arrangement = arrangementOf(state.value, t?.tree);
  const how = howOf(state.value, t?.tree);
  arrangeError.value = "";
  if (!t || !arrangement) return;
  const isWanted = () => tree.value.value?.id === t.id && howOf(state.value, t.tree) === how;
  try {
    const { upright, ...kept } = await trees.ask<"arrange">({ op: "arrange", tree: t.id, how: arrangement });
    if (isWanted()) arranged.value = { of: t.id, how, kept, upright: upright ?? (arrangement.inverted ? t : kept) };
  } catch (e) {
    if (isWanted() && !(e instanceof EndedToo)) arrangeError.value = (e as Error).message;
  }
}

/** The tree in the order that is asked for: as it came, or leaves first or by name; null: not made yet. */
const inOrder = computed<Drawn | null>(() => {
  const t = tree.value.value;
  if (!t || !arrangementOf(state.value, t.tree)) return t ? { kept: t, upright: t } : null;
  const a = arranged.value;
  return a && a.of === t.id && a.how === howOf(state.value, t.tree) ? a : null;
});

/** The tree on the screen. Until an answer is in its order it is the one before, dimmed, so that a refresh does not move anything. */
let last: Drawn | null = null;
export const shown = computed<Drawn | null>(() => {
  const t = tree.value.value;
  return (last = t ? (inOrder.value ?? last ?? { kept: t, upright: t }) : null);
});
export const arranging = computed(() => shown.value !== inOrder.value);

trees.held = () =>
  untracked(() => {
    const drawn = [shown.value, arranged.value].flatMap((d) => (d ? [d.kept.id, d.upright.id] : []));
    return [...drawn, ...(tree.value.value ? [tree.value.value.id] : [])];
  });

/** A function that the mouse or the keys are at beside the graph, which shows where it is; -1: none. */
export const pointed = signal(-1);

/** of: the upright tree that was searched; functions have the same numbers in what is drawn. */
export const matches = signal<{ of: number; text: string; found: Matches } | null>(null);
/** Of the frames that match and are drawn, which one is selected: from 1 on; 0: none of them. */
export const matchPlace = signal<{ at: number; of: number }>({ at: 0, of: 0 });
export const searchError = signal("");

/** Whether to search once more can help: the expression is a good one. */
export const searchFailed = signal(false);
/** What took too long would do so in the tree that is asked for then, too: until somebody wants it or another question. */
let givenUp = "";
const TOO_LONG = "this expression takes too long";

export async function askSearch(): Promise<void> {
  const t = shown.value?.upright;
  const text = state.value.search;
  searchError.value = "";
  searchFailed.value = false;
  if (!t || !text) {
    if (!text) givenUp = "";
    matches.value = null;
    return;
  }
  try {
    new RegExp(text, "i");
  } catch (e) {
    searchError.value = (e as Error).message.replace(/^Invalid regular expression: /, "");
    matches.value = null;
    return;
  }
  if (text === givenUp) {
    matches.value = null;
    searchFailed.value = true;
    searchError.value = TOO_LONG;
    return;
  }
  givenUp = "";
  try {
    const found = await trees.ask<"search">({ op: "search", tree: t.id, text, flags: "i" }, 400);
    if (shown.value?.upright.id === t.id && state.value.search === text) matches.value = { of: t.id, text, found };
  } catch (e) {
    if (e instanceof EndedToo) return;
    const isSlow = e instanceof TimedOut;
    if (isSlow) {
      givenUp = text;
      // The worker that kept the trees was ended with them, whatever is searched for by now.
      void tree.value.again?.();
    }
    if (shown.value?.upright.id !== t.id || state.value.search !== text) return;
    matches.value = null;
    searchFailed.value = true;
    searchError.value = isSlow ? TOO_LONG : `could not search: ${(e as Error).message}`;
  }
}

/** Somebody wants it: a busy machine may have been why it took too long. */
export function searchAgain(): void {
  givenUp = "";
  again();
}

/** Until now; and what had no answer is asked again, whether its range has moved or not. */
export function run(): void {
  now.value = Date.now();
  void loadTypes();
  const isAsked = treeQuestion.value !== null;
  if (linesQuestion.value && series.value.error) void askSeries();
  if (isAsked && seriesB.value.error && screen.value === "compare") void askSeriesB();
  if (tree.value.error && (isAsked || screen.value === "open")) void tree.value.again?.();
}

/** The same where somebody wants it, and not what was answered before. */
export function runAnew(): void {
  const lines = linesQuestion.value ? [[series, askSeries] as const] : [];
  const asked = [[tree, askTree] as const, ...lines, ...(linesQuestionB.value ? [[seriesB, askSeriesB] as const] : [])];
  const before = asked.map(([of]) => of.value.id);
  forgetAnswers();
  run();
  // Fixed times have not moved.
  if (treeQuestion.value) asked.forEach(([of, ask], i) => of.value.id === before[i] && void ask());
}

/** Of a question that had an answer before, which is better than none. */
export const failed = (asked: Asked<unknown>) => asked.error !== undefined && (asked.error.status !== 0 || asked.value === undefined);

/** Of what adds up over time, totals are rates; a state is what it is. */
export const isRate = computed(() => {
  const type = types.value.value?.find((t) => t.type === selectorType.value);
  return type?.temporality !== "gauge";
});
export const isCpu = computed(() => isCpuTime(selectorType.value));
