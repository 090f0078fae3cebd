// SPDX-License-Identifier: Apache-2.0
// app/dialog.tsx - what lies above the page until it is closed: the focus goes in, stays in, and goes back

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog(props: { title: string; testid: string; isOpen: { value: boolean }; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = props.isOpen.value;
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  // At once: the next key is the page's.
  const close = () => {
    dialog.current?.close();
    props.isOpen.value = false;
  };
  /** Told later, by the browser: of what Escape did, or of a closing that lies before the next opening. */
  const closed = () => {
    if (open && !dialog.current?.open) props.isOpen.value = false;
  };
  return (
    <dialog ref={dialog} data-testid={props.testid} aria-labelledby={`${props.testid}-title`} onClose={closed} onClick={(e) => e.target === dialog.current && close()}>
      <div class="sheet">
        <h2 id={`${props.testid}-title`}>{props.title}</h2>
        {open && props.children}
        <p class="foot"><button onClick={close}>Close</button></p>
      </div>
    </dialog>
  );
}
