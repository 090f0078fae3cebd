/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfod.h - what a debuginfod server has, into a file
 */
#ifndef DECIMA_MAIN_DEBUGINFOD_H
#define DECIMA_MAIN_DEBUGINFOD_H

#include <stdint.h>

#include "core/symbolize/symbols.h"

struct debuginfod_limits {
	int64_t timeout_ns; /* of one answer */
	uint64_t max_bytes; /* of one file */
};

/* symbols_fetch_fn; ctx: struct debuginfod_limits. */
int debuginfod__fetch(void *ctx, const struct symbols_fetch *fetch);

#endif
