/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact_stream.c - a part's profiles, one after the other
 */
#include "plugins/storage/local/compact_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "plugins/storage/local/pfor.h"

enum { FIRST_ROWS = 1 << 12 /* room to begin with */ };

/* -------------------------------------------------------------------------------------------------
 * Readers
 */

static void reader__free(struct compact_reader *rd)
{
	if (!rd)
		return;
	chunk_cursor__free(rd->cursor);
	chunk_profiles__fini(&rd->profiles);
	vec__fini(&rd->stacks);
	vec__fini(&rd->label_sets);
	free(rd);
}

void compact_readers__fini(struct compact_reader *pool)
{
	while (pool) {
		struct compact_reader *next = pool->next;

		reader__free(pool);
		pool = next;
	}
}

static struct compact_reader *take_reader(struct compact_reader **pool)
{
	struct compact_reader *rd = *pool;

	if (rd) {
		*pool = rd->next;
		return rd;
	}
	rd = NEW(struct compact_reader);
	if (rd)
		rd->cursor = chunk_cursor__new();
	if (rd && rd->cursor)
		return rd;
	reader__free(rd);
	return NULL;
}

void compact_stream__end(struct compact_stream *s, struct compact_reader **pool)
{
	if (s->reader) {
		s->reader->next = *pool;
		*pool = s->reader;
		s->reader = NULL;
	}
	s->ended = true;
}

/* What a chunk's stacks piece cannot hold is not worth an allocation. */
static bool may_hold_stacks(const struct chunk_entry *e)
{
	return (e->n_stacks + (uint64_t)e->n_label_sets) / PFOR_PAGE <= e->stacks.n;
}

int compact_stream__begin(struct compact_stream *s, struct compact_reader **pool)
{
	const struct chunk_entry *e = s->part->chunk.entry;
	struct compact_reader *rd = take_reader(pool);
	uint32_t types = 0;

	if (!rd)
		return -ENOMEM;
	s->reader = rd;
	if (!may_hold_stacks(e))
		return -EBADMSG;
	rd->stacks.n = rd->label_sets.n = 0;
	if (!vec__reserve(&rd->stacks, e->n_stacks + (size_t)1) ||
	    !vec__reserve(&rd->label_sets, e->n_label_sets + (size_t)1))
		return -ENOMEM;
	for (uint32_t t = 0; t < s->part->n_types; t++)
		types |= 1u << s->part->columns[t];
	int r = chunk__stacks(&s->part->chunk, rd->stacks.v, rd->label_sets.v);
	if (r == 0)
		r = chunk__profiles(&s->part->chunk, CHUNK_WANT_TIMES | CHUNK_WANT_ROWS | CHUNK_WANT_SPANS,
				    &rd->profiles);
	if (r == 0)
		r = chunk_cursor__begin(rd->cursor, &s->part->chunk, 0, true, types);
	rd->page = (struct chunk_page){ .row = 0 };
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Rows
 */

void compact_rows__fini(struct compact_rows *g)
{
	vec__fini(&g->profiles);
	free(g->stacks);
	free(g->labels);
	free(g->values);
}

/* Room for `more` rows behind n. */
static int make_room(struct compact_rows *g, size_t more)
{
	const size_t old = g->cap;
	size_t cap = old ? old : FIRST_ROWS;
	void *p;

	while (cap - g->n < more)
		cap *= 2;
	if (cap > old) {
		p = mem__resize(g->stacks, cap, sizeof(*g->stacks));
		if (!p)
			return -ENOMEM;
		g->stacks = p;
		p = mem__resize(g->labels, cap, sizeof(*g->labels));
		if (!p)
			return -ENOMEM;
		g->labels = p;
	}
	if (cap * g->n_types > g->n_values) {
		p = mem__resize(g->values, cap * g->n_types, sizeof(*g->values));
		if (!p)
			return -ENOMEM;
		g->values = p;
		g->n_values = cap * g->n_types;
	}
	for (size_t t = g->n_types; cap > old && t-- > 1;)
		memmove(g->values + t * cap, g->values + t * old, g->n * sizeof(*g->values));
	g->cap = cap;
	return 0;
}

/* The page's rows [from, from + n) to place `to` on. */
static void copy_from_page(const struct compact_stream *s, struct compact_rows *g, uint32_t from,
			   uint32_t n, size_t to)
{
	const struct compact_reader *rd = s->reader;
	const uint32_t *ranks = rd->page.ranks + from;

	for (uint32_t i = 0; i < n; i++)
		g->stacks[to + i] = rd->stacks.v[ranks[i]];
	for (uint32_t i = 0; i < n; i++)
		g->labels[to + i] = rd->page.labels ? rd->label_sets.v[rd->page.labels[from + i]] : 0;
	for (uint32_t t = 0; t < s->part->n_types; t++) {
		const struct chunk_type type = s->part->chunk.types[s->part->columns[t]];
		const uint64_t *numbers = rd->page.values[s->part->columns[t]] + from;
		int64_t *values = g->values + t * g->cap + to;

		for (uint32_t i = 0; i < n; i++)
			values[i] = chunk__value(&type, numbers[i]);
	}
}

int compact_stream__copy(const struct compact_stream *s, struct compact_rows *g, uint32_t n)
{
	struct chunk_page *page = &s->reader->page;
	int r = make_room(g, n);

	for (uint32_t done = 0, k; r == 0 && done < n; done += k) {
		const uint64_t row = s->row + done;

		while (row >= page->row + page->n) {
			r = chunk_cursor__next(s->reader->cursor, page);
			if (r <= 0)
				return r < 0 ? r : -EBADMSG;
		}
		const uint32_t from = (uint32_t)(row - page->row);

		k = page->n - from < n - done ? page->n - from : n - done;
		copy_from_page(s, g, from, k, g->n + done);
		r = 0;
	}
	return r;
}
