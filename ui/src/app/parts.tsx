// SPDX-License-Identifier: Apache-2.0
// app/parts.tsx - what every screen says when it waits, has nothing, or cannot

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Problem, progressOf, setToken } from "../api/client.ts";
import { look, nextTry, outdated } from "./connection.ts";
import * as format from "./format.ts";
import { type Asked, cancelTree, toasts } from "./store.ts";

const QUIET_MS = 400;
const LOOK_MS = 500;
const ASK_MS = 1200;

/** Nothing for the first moment, then what is under way, for how long, and a way out. */
export function LoadBar(props: { asked: Asked<unknown> }) {
  const { asked } = props;
  const [now, setNow] = useState(Date.now());
  const [progress, setProgress] = useState("");
  useEffect(() => {
    if (!asked.loading) return;
    setProgress("");
    const timer = setInterval(() => {
      setNow(Date.now());
      if (asked.id && !asked.came && Date.now() - asked.since > ASK_MS)
        progressOf(asked.id)
          .then((p) => setProgress(p.total > 0 ? `reading ${format.count(p.done)} of ${format.count(p.total)}` : ""))
          .catch(() => undefined);
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [asked.loading, asked.id]);
  const waited = now - asked.since;
  if (!asked.loading || waited < QUIET_MS) return <div class="loadbar" data-testid="load" />;
  return (
    <div class="loadbar busy" data-testid="load" role="status">
      <span>
        {asked.came ? `${format.value(asked.came, "bytes")} received` : progress || "waiting for the server"} · {Math.round(waited / 1000)} s
      </span>
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

/** A part of a panel that could not be made, in a line; the rest of it stays. */
export function Failed(props: { what: string; why: string; retry: () => void }) {
  return (
    <p class="amber" role="alert" data-testid="failed">
      {props.what}: {props.why} <button class="link" data-testid="failed-retry" onClick={props.retry}>Try again</button>
    </p>
  );
}

/** The server's own sentence, and what can be done. */
export function ErrorState(props: { error: Problem; retry: () => void }) {
  const { error } = props;
  const [token, setText] = useState("");
  const forbidden = error.status === 401 || error.status === 403;
  return (
    <div class="empty problem" role="alert" data-testid="error">
      <h2>{error.status === 401 ? "A token is needed" : error.status === 403 ? "This token is not enough" : error.status === 0 ? "The server cannot be reached" : "This cannot be answered"}</h2>
      <p>{error.message}</p>
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
        </button>
      </p>
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
