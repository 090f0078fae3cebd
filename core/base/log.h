/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log.h - one line to a person or to journald
 *
 * A `struct log` is made once by core/main and handed down; there is no global one. Thread-safe: a
 * line is formatted on the caller's stack and leaves in one write(2).
 */
#ifndef DECIMA_BASE_LOG_H
#define DECIMA_BASE_LOG_H

#include <stdarg.h>
#include <stdint.h>

#include <decima/plugin.h>

enum log_format {
	LOG_TEXT,  /* "12:00:01 warning ebpf: sentence" */
	LOG_JSON,  /* {"time":"...","level":"warning","area":"ebpf","message":"sentence"} */
	LOG_KERNEL /* "<4>ebpf: sentence": what journald reads from a service's stderr */
};

struct log_tail;
struct log {
	int fd;
	enum log_format format;
	int level;		      /* enum dcm_log_level: more talkative ones are dropped */
	const struct log_area *areas; /* [n_areas]: levels that differ per area */
	uint32_t n_areas;
	struct log_tail *tail; /* gets them too; NULL: there is none */
};
/* An instance's name has no more bytes than that; longer ones are shown cut. */
#define LOG_AREA_MAX 64
struct log_area {
	char name[LOG_AREA_MAX + 1];
	int level;
};

void log__line(const struct log *l, int level, const char *area, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void log__vline(const struct log *l, int level, const char *area, const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

#endif
