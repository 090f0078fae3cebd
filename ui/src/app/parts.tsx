// SPDX-License-Identifier: Apache-2.0
// app/parts.tsx - what every screen says when it waits, has nothing, or cannot

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Problem, type Progress, progressOf, setToken } from "../api/client.ts";
import { copy } from "./actions.ts";
import { look, nextTry, outdated } from "./connection.ts";
import * as format from "./format.ts";
import { type Asked, cancelTree, toasts } from "./store.ts";

const QUIET_MS = 400;
const LOOK_MS = 500;
const ASK_MS = 1200;

/** What is under way at the server, and how long it may still take. */
export function stageOf(p: Progress | null, waitedMs: number): string {
  if (!p) return "waiting for the server";
  if (p.total === 0) return "waiting for its turn";
  if (p.done >= p.total) return "all is read: putting it together";
  const text = `reading ${format.count(p.done)} of ${format.count(p.total)}`;
  // Of less than this much nothing follows for the rest.
  if (p.done < p.total / 20 || waitedMs < 2000) return text;
  return `${text}, about ${format.duration(((waitedMs * (p.total - p.done)) / p.done) * 1e6)} left`;
}

/** Nothing for the first moment, then what is under way, for how long, and a way out. */
export function LoadBar(props: { asked: Asked<unknown> }) {
  const { asked } = props;
  const [now, setNow] = useState(Date.now());
  const [progress, setProgress] = useState<Progress | null>(null);
  useEffect(() => {
    if (!asked.loading) return;
    setProgress(null);
    const timer = setInterval(() => {
      setNow(Date.now());
      if (asked.id && !asked.came && Date.now() - asked.since > ASK_MS) progressOf(asked.id).then(setProgress, () => undefined);
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [asked.loading, asked.id]);
  const waited = now - asked.since;
  if (!asked.loading || waited < QUIET_MS) return <div class="loadbar" data-testid="load" />;
  const stage = asked.isRead ? `${format.value(asked.came ?? 0, "bytes")} received: unpacking` : asked.came ? `${format.value(asked.came, "bytes")} received` : stageOf(progress, waited);
  return (
    <div class="loadbar busy" data-testid="load" role="status">
      <span data-testid="load-stage">{stage} · {Math.round(waited / 1000)} s</span>
      {progress && !asked.came && progress.total > 0 && <progress aria-hidden="true" max={progress.total} value={progress.done} />}
      <button class="link" data-testid="cancel" onClick={cancelTree}>
        Cancel
      </button>
      {waited > 10_000 && <span class="muted">A shorter range or a narrower selector is faster.</span>}
    </div>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty" data-testid="empty">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** Of a time that an address says, or that was written, of which there is nothing to ask. */
export function NoRange() {
  return (
    <Empty title="This time has no length">
      <p>Its end is not after its beginning. Choose another one above.</p>
    </Empty>
  );
}

/** A part of a panel that could not be made, in a line; the rest of it stays. */
export function Failed(props: { what: string; why: string; retry: () => void }) {
  return (
    <p class="amber" role="alert" data-testid="failed">
      {props.what}: {props.why} <button class="link" data-testid="failed-retry" onClick={props.retry}>Try again</button>
    </p>
  );
}

/** What helps who looks into it; a token is never in an address. */
function diagnostics(e: Problem): string {
  const script = document.querySelector("script[src]")?.getAttribute("src") ?? "";
  const facts = { problem: e.message, status: e.status, question: e.question, question_id: e.id, page: location.href, page_version: script, time: new Date().toISOString(), browser: navigator.userAgent };
  return `${JSON.stringify(facts, null, 2)}\n`;
}

const titles: Record<number, string> = {
  0: "The server cannot be reached", 401: "A token is needed", 403: "This token is not enough", 413: "This is too large",
  429: "The server has too many questions", 503: "The server cannot answer now", 504: "This takes too long",
};
const advice: Record<number, string> = {
  413: "A shorter range, a narrower selector or a filter makes it smaller.", 429: "It answers again when others have ended.",
  504: "A shorter range or a narrower selector is faster.",
};

/** The server's own sentence, and what can be done. */
export function ErrorState(props: { error: Problem; retry: () => void }) {
  const { error } = props;
  const [token, setText] = useState("");
  const forbidden = error.status === 401 || error.status === 403;
  return (
    <div class="empty problem" role="alert" data-testid="error">
      <h2>{titles[error.status] ?? "This cannot be answered"}</h2>
      <p>{error.message}</p>
      {advice[error.status] && <p class="muted">{advice[error.status]}</p>}
      {forbidden && (
        <form
          onSubmit={(e) => {
            e.preventDefault();
            setToken(token);
            props.retry();
          }}
        >
          <label>
            Token <input type="password" autocomplete="off" value={token} onInput={(e) => setText(e.currentTarget.value)} />
          </label>{" "}
          <button class="primary">Use it in this tab</button>
        </form>
      )}
      <p>
        <button onClick={props.retry} data-testid="retry">
          Try again
        </button>{" "}
        <button data-testid="diagnostics" title="What was asked, what came of it, and with which page: for who looks into it" onClick={() => void copy(diagnostics(error), "the diagnostics")}>
          Copy diagnostics
        </button>
      </p>
      {error.id && <p class="muted mono">{error.id}</p>}
    </div>
  );
}

/** Above every screen: that the server is away, and when it is looked for again; that this page is an old one. */
export function Connection() {
  const [now, setNow] = useState(Date.now());
  const at = nextTry.value;
  useEffect(() => {
    if (!at) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [at]);
  const left = Math.ceil((at - now) / 1000);
  return (
    <div role="status">
      {at > 0 && (
        <p class="banner" data-testid="connection">
          The server cannot be reached; what is shown was answered before. {left > 0 ? `Next try in ${left} s` : "Trying…"}{" "}
          <button class="link" onClick={() => void look()}>Try now</button>
        </p>
      )}
      {outdated.value && (
        <p class="banner" data-testid="outdated">
          The server has another version of this page. <button class="link" onClick={() => location.reload()}>Reload</button>, and see the same.
        </p>
      )}
    </div>
  );
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite" data-testid="toast">
      {toasts.value.map((t) => (
        <p key={t.id}>{t.text}</p>
      ))}
    </div>
  );
}
