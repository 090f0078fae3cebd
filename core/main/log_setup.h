/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/log_setup.h - the process's log, as the configuration wants it
 */
#ifndef DECIMA_MAIN_LOG_SETUP_H
#define DECIMA_MAIN_LOG_SETUP_H

#include "core/base/log.h"
#include "core/main/settings.h"

/* Lines on standard error, at `info`, for before there is a configuration. */
struct log log_setup__early(void);

/*
 * Areas are copied into [max] of `areas`, which must live as long as the log; the settings need
 * not. Under systemd (JOURNAL_STREAM names our stderr) `auto` means journald's prefixes.
 */
struct log log_setup__from(const struct log_settings *s, struct log_area *areas, uint32_t max);

#endif
