/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/log_tail.c - the last lines of a log: a ring of places of one size
 */
#include "core/base/log_tail.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"

struct place {
	int64_t real_ns;
	const char *level_name;
	uint32_t n_area, n_text;
	char area[LOG_AREA_MAX], text[LOG_TAIL_TEXT];
};

struct log_tail {
	pthread_mutex_t lock;
	uint32_t n, next; /* places in use; where the next line goes */
	struct place places[LOG_TAIL_LINES];
};

struct log_tail *log_tail__new(void)
{
	struct log_tail *t = NEW(struct log_tail);

	if (t)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

void log_tail__free(struct log_tail *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* As much of it as has room, whole characters. */
static uint32_t copy(char *to, size_t room, struct dcm_str from)
{
	const size_t n = from.n <= room ? from.n : str__utf8_cut(from.p, room);

	memcpy(to, from.p, n);
	return (uint32_t)n;
}

void log_tail__add(struct log_tail *t, const struct log_tail_line *line)
{
	pthread_mutex_lock(&t->lock);
	struct place *p = &t->places[t->next];

	t->next = (t->next + 1) % LOG_TAIL_LINES;
	if (t->n < LOG_TAIL_LINES)
		t->n++;
	p->real_ns = line->real_ns;
	p->level_name = line->level_name;
	p->n_area = copy(p->area, sizeof(p->area), line->area);
	p->n_text = copy(p->text, sizeof(p->text), line->text);
	pthread_mutex_unlock(&t->lock);
}

void log_tail__each(struct log_tail *t, log_tail_fn each, void *ctx)
{
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct place *p = &t->places[(t->next + LOG_TAIL_LINES - t->n + i) % LOG_TAIL_LINES];

		each(ctx, &(struct log_tail_line){ .real_ns = p->real_ns,
						   .level_name = p->level_name,
						   .area = { p->area, p->n_area },
						   .text = { p->text, p->n_text } });
	}
	pthread_mutex_unlock(&t->lock);
}
