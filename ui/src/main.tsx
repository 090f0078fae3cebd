// SPDX-License-Identifier: Apache-2.0
// main.tsx - where the page begins

import { render } from "preact";
import { App } from "./app/app.tsx";
import { start } from "./app/store.ts";

// What the script took to be read, its questions and the page are a task each: on a busy machine one of all three is long.
setTimeout(() => {
  start();
  setTimeout(() => render(<App />, document.getElementById("app")!));
});
