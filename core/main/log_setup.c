/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/log_setup.c - which format standard error wants
 */
#include "core/main/log_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT_AUTO, FORMAT_TEXT, FORMAT_JSON, FORMAT_JOURNAL };

/* JOURNAL_STREAM is "DEVICE:INODE" of the socket that systemd gave (systemd.exec(5)). */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	char ours[64];

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	for (size_t i = 0; ours[i] || stream[i]; i++)
		if (ours[i] != stream[i])
			return false;
	return true;
}

struct log log_setup__early(void)
{
	return (struct log){ .fd = STDERR_FILENO,
			     .format = is_journal() ? LOG_KERNEL : LOG_TEXT,
			     .level = DCM_LOG_INFO };
}

struct log log_setup__from(const struct log_settings *s, struct log_area *areas, uint32_t max)
{
	struct log l = log_setup__early();
	const int32_t *levels = s->areas.items;

	if (s->format == FORMAT_TEXT)
		l.format = LOG_TEXT;
	else if (s->format == FORMAT_JSON)
		l.format = LOG_JSON;
	else if (s->format == FORMAT_JOURNAL)
		l.format = LOG_KERNEL;
	l.level = s->level;
	for (uint32_t i = 0; i < s->areas.n && l.n_areas < max; i++) {
		struct log_area *to = &areas[l.n_areas];
		size_t n = strlen(s->areas.keys[i]);

		/* Nobody has a name as long as that. */
		if (n > LOG_AREA_MAX)
			continue;
		memcpy(to->name, s->areas.keys[i], n + 1);
		to->level = levels[i];
		l.n_areas++;
	}
	l.areas = areas;
	return l;
}
