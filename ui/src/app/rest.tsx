// SPDX-License-Identifier: Apache-2.0
// app/rest.tsx - what is fetched when somebody wants it: what Explore does not begin with

export { svgOf } from "../flame/svg.ts";
export { Compare } from "./compare.tsx";
export { FunctionPage } from "./function.tsx";
export { LinesTable } from "./lines.tsx";
export { NoData } from "./nothing.tsx";
export { OpenFile } from "./open.tsx";
export { Sandwich } from "./sandwich.tsx";
export { SettingsSheet } from "./settings.tsx";
export { Pipeline, StatusPage } from "./system.tsx";
export { Targets } from "./targets.tsx";
