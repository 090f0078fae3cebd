/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_tail.h - the last lines of a log, for who cannot see where it goes
 *
 * All memory is taken when it is made: adding a line takes none. Thread-safe.
 */
#ifndef DECIMA_BASE_LOG_TAIL_H
#define DECIMA_BASE_LOG_TAIL_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"

enum { LOG_TAIL_LINES = 200, LOG_TAIL_TEXT = 512 };

struct log_tail_line {
	int64_t real_ns;
	const char *level_name;
	struct dcm_str area, text; /* borrowed for the call; text is cut at LOG_TAIL_TEXT bytes */
};

struct log_tail;
struct log_tail *log_tail__new(void); /* NULL: out of memory */
void log_tail__free(struct log_tail *t);
DEFINE_CLEANUP(struct log_tail *, log_tail__free);

/* The oldest gives way. The texts are copied. */
void log_tail__add(struct log_tail *t, const struct log_tail_line *line);

/* The oldest first. Nothing is added meanwhile: `each` must not log. */
typedef void (*log_tail_fn)(void *ctx, const struct log_tail_line *line);
void log_tail__each(struct log_tail *t, log_tail_fn each, void *ctx);

#endif
