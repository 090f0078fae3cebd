/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/seal.c - a head as blocks
 */
#include "plugins/storage/local/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "plugins/storage/local/compact_plan.h"

/* Of a stream what is in the window. */
struct span {
	uint32_t series, type;
	struct profile *const *profiles; /* [n] */
	size_t n;
};

/* Memory that is used again from chunk to chunk. */
struct sealing {
	struct span *spans; /* [n_spans] by (series, type) */
	bool *done;	    /* [n_spans] */
	size_t n_spans;
	VEC(struct chunk_profile) profiles;
	VEC(uint32_t) stacks;
	VEC(uint32_t) labels;
	VEC(int64_t) values; /* [n_types][n_rows] */
};

static void sealing__fini(struct sealing *s)
{
	free(s->spans);
	free(s->done);
	vec__fini(&s->profiles);
	vec__fini(&s->stacks);
	vec__fini(&s->labels);
	vec__fini(&s->values);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

bool seal__window(const struct head *h, int64_t from_ms, struct heads_window *ret)
{
	const int64_t length = compact_default_rules.window_ms[0];
	int64_t first_ms = INT64_MAX;

	for (size_t i = 0; i < h->streams.n; i++) {
		const struct stream *st = &h->streams.v[i];
		size_t at = stream__first_from(st, from_ms);

		if (at < st->profiles.n && st->profiles.v[at]->time_ms < first_ms)
			first_ms = st->profiles.v[at]->time_ms;
	}
	if (first_ms == INT64_MAX)
		return false;
	const int64_t rest = first_ms % length;
	ret->from_ms = first_ms - (rest < 0 ? rest + length : rest);
	ret->until_ms = ret->from_ms + length;
	return true;
}

static int find_spans(struct sealing *s, const struct head *h, const struct heads_window *w,
		      struct seal_amount *amount)
{
	s->spans = mem__zalloc(h->streams.n + 1, sizeof(s->spans[0]));
	s->done = mem__zalloc(h->streams.n + 1, sizeof(s->done[0]));
	if (!s->spans || !s->done)
		return -ENOMEM;
	for (size_t i = 0; i < h->streams.n; i++) {
		const struct stream *st = &h->streams.v[i];
		const size_t first = stream__first_from(st, w->from_ms);
		const size_t end = stream__first_from(st, w->until_ms);

		if (first == end)
			continue;
		s->spans[s->n_spans++] = (struct span){ st->series, st->type,
							st->profiles.v + first, end - first };
		amount->n_profiles += end - first;
		for (size_t k = first; k < end; k++)
			amount->n_rows += st->profiles.v[k]->n_rows;
	}
	qsort(s->spans, s->n_spans, sizeof(s->spans[0]), compare_spans);
	return 0;
}

static bool same_rows(const struct profile *a, const struct profile *b)
{
	if (a->time_ms != b->time_ms || a->duration_ns != b->duration_ns ||
	    a->period != b->period || a->n_rows != b->n_rows)
		return false;
	const size_t bytes = a->n_rows * sizeof(uint32_t);

	return a->has_labels == b->has_labels &&
	       memcmp(profile__stacks(a), profile__stacks(b), bytes) == 0 &&
	       (!a->has_labels || memcmp(profile__labels(a), profile__labels(b), bytes) == 0);
}

static bool same_shape(const struct span *a, const struct span *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same_rows(a->profiles[i], b->profiles[i]))
			return false;
	return true;
}

/* The types that go with the span at `at`, itself first; marks them. */
static uint32_t take_alike(struct sealing *s, size_t at, const struct span *ret[static CHUNK_MAX_TYPES])
{
	const struct span *first = &s->spans[at];
	uint32_t n = 0;

	for (size_t i = at; i < s->n_spans && s->spans[i].series == first->series; i++) {
		if (n == CHUNK_MAX_TYPES)
			break;
		if (s->done[i] || (i > at && !same_shape(first, &s->spans[i])))
			continue;
		s->done[i] = true;
		ret[n++] = &s->spans[i];
	}
	return n;
}

static int fill_columns(struct sealing *s, const struct span *of, uint64_t *ret_n_rows, bool *ret_labels)
{
	uint64_t n_rows = 0;

	s->profiles.n = s->stacks.n = s->labels.n = 0;
	for (size_t i = 0; i < of->n; i++)
		n_rows += of->profiles[i]->n_rows;
	if (n_rows > BLOCK_ROWS_MAX)
		return -EFBIG;
	if (!vec__reserve(&s->profiles, of->n) || !vec__reserve(&s->stacks, n_rows + 1) ||
	    !vec__reserve(&s->labels, n_rows + 1))
		return -ENOMEM;
	for (size_t i = 0; i < of->n; i++) {
		const struct profile *p = of->profiles[i];

		s->profiles.v[s->profiles.n++] = (struct chunk_profile){
			.time_ms = p->time_ms,
			.duration_ns = p->duration_ns,
			.period = p->period,
			.n_rows = p->n_rows,
		};
		memcpy(s->stacks.v + s->stacks.n, profile__stacks(p), p->n_rows * sizeof(uint32_t));
		if (p->has_labels)
			memcpy(s->labels.v + s->labels.n, profile__labels(p),
			       p->n_rows * sizeof(uint32_t));
		else
			memset(s->labels.v + s->labels.n, 0, p->n_rows * sizeof(uint32_t));
		s->stacks.n += p->n_rows;
		s->labels.n += p->n_rows;
		*ret_labels |= p->has_labels;
	}
	*ret_n_rows = n_rows;
	return 0;
}

static void add_values(struct sealing *s, const struct span *of)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct profile *p = of->profiles[i];

		profile__values(p, 0, p->n_rows, s->values.v + s->values.n);
		s->values.n += p->n_rows;
	}
}

static int write_chunk(struct sealing *s, size_t at, struct block_writer *w)
{
	const struct span *alike[CHUNK_MAX_TYPES];
	struct chunk_source source = {
		.series = s->spans[at].series,
		.n_types = take_alike(s, at, alike),
		.n_profiles = (uint32_t)s->spans[at].n,
	};
	bool labels = false;
	int r = fill_columns(s, alike[0], &source.n_rows, &labels);

	s->values.n = 0;
	if (r == 0 && !vec__reserve(&s->values, source.n_rows * source.n_types + 1))
		r = -ENOMEM;
	if (r)
		return r;
	for (uint32_t t = 0; t < source.n_types; t++) {
		source.types[t] = alike[t]->type;
		add_values(s, alike[t]);
	}
	source.profiles = s->profiles.v;
	source.stacks = s->stacks.v;
	source.labels = labels ? s->labels.v : NULL;
	source.values = s->values.v;
	return block_writer__chunk(w, &source);
}

int seal__write(const struct head *h, const struct heads_window *window, const struct block_options *o,
		block_put_fn put, void *ctx, struct block_info *ret, struct seal_amount *ret_amount)
{
	struct sealing s = { .n_spans = 0 };
	struct seal_amount amount = { 0 };
	struct block_writer *w = block_writer__new(o, put, ctx);
	int r = w ? find_spans(&s, h, window, &amount) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s.n_spans; i++)
		if (!s.done[i])
			r = write_chunk(&s, i, w);
	if (r == 0)
		r = block_writer__finish(w, ret);
	if (r == 0)
		*ret_amount = amount;
	block_writer__free(w);
	sealing__fini(&s);
	return r;
}
