/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log.c - one line to a person or to journald
 *
 * A line lives on the stack: logging allocates nothing and works when memory is out. Messages are
 * cut at MESSAGE_MAX bytes; what input put into them cannot forge a line or steer a terminal
 * (str__clean). Thread-safe: one write(2) per line; a line that cannot be written is lost, because
 * there is nobody left to tell. errno is kept.
 */
#include "core/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/log_tail.h"
#include "core/base/str.h"
#include "core/base/units.h"

enum {
	MESSAGE_MAX = 2048,
	HEAD_MAX = 256,
	LINE_MAX_BYTES = 2 * (MESSAGE_MAX + LOG_AREA_MAX) + HEAD_MAX
};

static const struct {
	const char *name;
	int syslog; /* RFC 5424 severity */
} levels[] = {
	[DCM_LOG_ERROR] = { "error", 3 },
	[DCM_LOG_WARNING] = { "warning", 4 },
	[DCM_LOG_INFO] = { "info", 6 },
	[DCM_LOG_DEBUG] = { "debug", 7 },
};
enum { N_LEVELS = sizeof(levels) / sizeof(levels[0]) };

struct line {
	size_t n;
	char text[LINE_MAX_BYTES];
};

static void put(struct line *line, const char *text, size_t n)
{
	size_t room = sizeof(line->text) - line->n;

	if (n > room)
		n = room;
	memcpy(line->text + line->n, text, n);
	line->n += n;
}

static void put_text(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

/* A cleaned text as a JSON string: only the quote and the backslash are left to escape. */
static void put_json(struct line *line, const char *text, size_t n)
{
	put_text(line, "\"");
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			put_text(line, "\\");
		put(line, text + i, 1);
	}
	put_text(line, "\"");
}

static int level_of(const struct log *l, const char *area)
{
	for (uint32_t i = 0; i < l->n_areas; i++)
		if (strcmp(l->areas[i].name, area) == 0)
			return l->areas[i].level;
	return l->level;
}

static void put_time(struct line *line, enum log_format format)
{
	char text[32];
	struct timespec now = { 0 };
	struct tm tm = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (format == LOG_JSON) {
		put_text(line, units__format_time((int64_t)now.tv_sec * 1000000000 + now.tv_nsec, text));
		return;
	}
	localtime_r(&now.tv_sec, &tm); /* a person reads it beside the clock on the wall */
	put(line, text, strftime(text, sizeof(text), "%H:%M:%S", &tm));
}

static void compose(struct line *line, enum log_format format, int level, struct dcm_str area,
		    struct dcm_str text)
{
	char severity = (char)('0' + levels[level].syslog);

	switch (format) {
	case LOG_JSON:
		put_text(line, "{\"time\":\"");
		put_time(line, format);
		put_text(line, "\",\"level\":\"");
		put_text(line, levels[level].name);
		put_text(line, "\",\"area\":");
		put_json(line, area.p, area.n);
		put_text(line, ",\"message\":");
		put_json(line, text.p, text.n);
		put_text(line, "}");
		break;
	case LOG_KERNEL:
		put(line, (char[]){ '<', severity, '>' }, 3);
		break;
	case LOG_TEXT:
		put_time(line, format);
		put_text(line, " ");
		put_text(line, levels[level].name);
		put_text(line, " ");
		break;
	}
	if (format != LOG_JSON) {
		put(line, area.p, area.n);
		put_text(line, ": ");
		put(line, text.p, text.n);
	}
	put_text(line, "\n");
}

static void keep(struct log_tail *tail, int level, struct dcm_str area, struct dcm_str text)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	log_tail__add(tail, &(struct log_tail_line){ .real_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
						     .level_name = levels[level].name,
						     .area = area,
						     .text = text });
}

void log__vline(const struct log *l, int level, const char *area, const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX], name[LOG_AREA_MAX];
	struct line line = { .n = 0 };
	int saved = errno, n;
	size_t n_text, n_name;
	ssize_t done;

	if (level < 0 || level >= N_LEVELS || level > level_of(l, area))
		return;
	errno = saved; /* for %m */
	n = vsnprintf(text, sizeof(text), fmt, ap);
	n_text = n < 0 ? 0 : (size_t)n;
	if (n_text >= sizeof(text))
		n_text = str__utf8_cut(text, sizeof(text) - 1);
	str__clean(text, n_text);
	n_name = strlen(area);
	if (n_name > sizeof(name))
		n_name = str__utf8_cut(area, sizeof(name));
	memcpy(name, area, n_name);
	str__clean(name, n_name);
	compose(&line, l->format, level, (struct dcm_str){ name, (uint32_t)n_name },
		(struct dcm_str){ text, (uint32_t)n_text });
	if (l->tail)
		keep(l->tail, level, (struct dcm_str){ name, (uint32_t)n_name },
		     (struct dcm_str){ text, (uint32_t)n_text });
	do
		done = write(l->fd, line.text, line.n);
	while (done < 0 && errno == EINTR);
	errno = saved;
}

void log__line(const struct log *l, int level, const char *area, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log__vline(l, level, area, fmt, ap);
	va_end(ap);
}
