// SPDX-License-Identifier: Apache-2.0
// app/popup.tsx - a menu at a place: arrows move, Escape and a click elsewhere close, and the focus goes back

import { useLayoutEffect, useRef } from "preact/hooks";

export type Item = [text: string, act: () => void];

export function Popup(props: { items: Item[]; x: number; y: number; label: string; close: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  const { close } = props;
  // Before it is seen: a key that is pressed then is meant for it.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    list.current?.querySelector("button")?.focus({ preventScroll: true });
    const away = (e: MouseEvent) => !list.current?.contains(e.target as Node) && close();
    addEventListener("mousedown", away);
    return () => {
      removeEventListener("mousedown", away);
      if (!document.activeElement || document.activeElement === document.body) before?.focus();
    };
  }, []);
  // Where all of it is in sight, if there is room for it.
  useLayoutEffect(() => {
    const own = list.current!;
    own.style.top = `${props.y}px`;
    const { top, bottom } = own.getBoundingClientRect();
    own.style.top = `${props.y - Math.max(Math.min(bottom + 4 - innerHeight, top - 4), 0)}px`;
  }, [props.x, props.y]);
  const step = (e: KeyboardEvent) => {
    const buttons = [...list.current!.querySelectorAll("button")];
    const i = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (e.key === "Escape" || e.key === "Tab") close();
    else if (e.key === "ArrowDown") buttons[(i + 1) % buttons.length].focus();
    else if (e.key === "ArrowUp") buttons[(i + buttons.length - 1) % buttons.length].focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="menu" role="menu" ref={list} data-testid="menu" style={{ left: `${props.x}px` }} onKeyDown={step} aria-label={props.label}>
      {props.items.map(([text, act]) => (
        <button key={text} role="menuitem" onClick={() => (close(), act())}>
          {text}
        </button>
      ))}
    </div>
  );
}
