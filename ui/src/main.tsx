// SPDX-License-Identifier: Apache-2.0
// main.tsx - where the page begins

import { render } from "preact";
import { App } from "./app/app.tsx";
import { start } from "./app/store.ts";

start();
render(<App />, document.getElementById("app")!);
