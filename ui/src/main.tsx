// SPDX-License-Identifier: Apache-2.0
// main.tsx - where the page begins

import { render } from "preact";
import { App } from "./app/app.tsx";
import { start } from "./app/store.ts";

start();
// The questions are on their way; what the script took to be read is a task of its own.
setTimeout(() => render(<App />, document.getElementById("app")!));
