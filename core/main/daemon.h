/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/daemon.h - the process that runs: objects, server, signals
 */
#ifndef DECIMA_MAIN_DAEMON_H
#define DECIMA_MAIN_DAEMON_H

#include "core/main/plan.h"

/*
 * Runs until SIGTERM or SIGINT; SIGHUP reloads. `source` must stay what it was at start: a reload
 * reads it again. Returns the exit status. Blocks; the caller's thread becomes the control thread.
 */
int daemon__run(const struct plan_source *source);

#endif
