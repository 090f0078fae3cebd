// SPDX-License-Identifier: Apache-2.0
// worker/files.ts - what reads files, fetched by the worker when somebody opens one

import { treeOfFile } from "../open/profile.ts";

(globalThis as { treeOfFile?: typeof treeOfFile }).treeOfFile = treeOfFile;
