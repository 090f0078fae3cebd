/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/seal.c - a head as a block
 */
#include "plugins/storage/local/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"

/* Memory that is used again from chunk to chunk. */
struct sealing {
	const struct stream **streams; /* [n_streams] by (series, type) */
	bool *done;		       /* [n_streams] */
	size_t n_streams;
	VEC(struct chunk_profile) profiles;
	VEC(uint32_t) stacks;
	VEC(uint32_t) labels;
	VEC(int64_t) values; /* [n_types][n_rows] */
};

static void sealing__fini(struct sealing *s)
{
	free(s->streams);
	free(s->done);
	vec__fini(&s->profiles);
	vec__fini(&s->stacks);
	vec__fini(&s->labels);
	vec__fini(&s->values);
}

static int compare_streams(const void *a, const void *b)
{
	const struct stream *x = *(const struct stream *const *)a,
			    *y = *(const struct stream *const *)b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

static int sort_streams(struct sealing *s, const struct head *h)
{
	s->streams = mem__zalloc(h->streams.n + 1, sizeof(s->streams[0]));
	s->done = mem__zalloc(h->streams.n + 1, sizeof(s->done[0]));
	if (!s->streams || !s->done)
		return -ENOMEM;
	for (size_t i = 0; i < h->streams.n; i++)
		if (h->streams.v[i].profiles.n)
			s->streams[s->n_streams++] = &h->streams.v[i];
	qsort(s->streams, s->n_streams, sizeof(s->streams[0]), compare_streams);
	return 0;
}

static bool same_rows(const struct profile *a, const struct profile *b)
{
	if (a->time_ms != b->time_ms || a->duration_ns != b->duration_ns ||
	    a->period != b->period || a->n_rows != b->n_rows)
		return false;
	for (uint32_t i = 0; i < a->n_rows; i++)
		if (a->rows[i].stack != b->rows[i].stack || a->rows[i].labels != b->rows[i].labels)
			return false;
	return true;
}

static bool same_shape(const struct stream *a, const struct stream *b)
{
	if (a->profiles.n != b->profiles.n)
		return false;
	for (size_t i = 0; i < a->profiles.n; i++)
		if (!same_rows(a->profiles.v[i], b->profiles.v[i]))
			return false;
	return true;
}

/* The types that go with the stream at `at`, itself first; marks them. */
static uint32_t take_alike(struct sealing *s, size_t at, const struct stream *ret[static CHUNK_MAX_TYPES])
{
	const struct stream *first = s->streams[at];
	uint32_t n = 0;

	for (size_t i = at; i < s->n_streams && s->streams[i]->series == first->series; i++) {
		if (n == CHUNK_MAX_TYPES)
			break;
		if (s->done[i] || (i > at && !same_shape(first, s->streams[i])))
			continue;
		s->done[i] = true;
		ret[n++] = s->streams[i];
	}
	return n;
}

static int fill_columns(struct sealing *s, const struct stream *of, uint64_t *ret_n_rows, bool *ret_labels)
{
	uint64_t n_rows = 0;

	s->profiles.n = s->stacks.n = s->labels.n = 0;
	for (size_t i = 0; i < of->profiles.n; i++)
		n_rows += of->profiles.v[i]->n_rows;
	if (n_rows > BLOCK_ROWS_MAX)
		return -EFBIG;
	if (!vec__reserve(&s->profiles, of->profiles.n) || !vec__reserve(&s->stacks, n_rows + 1) ||
	    !vec__reserve(&s->labels, n_rows + 1))
		return -ENOMEM;
	for (size_t i = 0; i < of->profiles.n; i++) {
		const struct profile *p = of->profiles.v[i];

		s->profiles.v[s->profiles.n++] = (struct chunk_profile){
			.time_ms = p->time_ms,
			.duration_ns = p->duration_ns,
			.period = p->period,
			.n_rows = p->n_rows,
		};
		for (uint32_t k = 0; k < p->n_rows; k++) {
			s->stacks.v[s->stacks.n++] = p->rows[k].stack;
			s->labels.v[s->labels.n++] = p->rows[k].labels;
			*ret_labels |= p->rows[k].labels != 0;
		}
	}
	*ret_n_rows = n_rows;
	return 0;
}

static void add_values(struct sealing *s, const struct stream *of)
{
	for (size_t i = 0; i < of->profiles.n; i++)
		for (uint32_t k = 0; k < of->profiles.v[i]->n_rows; k++)
			s->values.v[s->values.n++] = of->profiles.v[i]->rows[k].value;
}

static int write_chunk(struct sealing *s, size_t at, struct block_writer *w)
{
	const struct stream *alike[CHUNK_MAX_TYPES];
	struct chunk_source source = {
		.series = s->streams[at]->series,
		.n_types = take_alike(s, at, alike),
		.n_profiles = (uint32_t)s->streams[at]->profiles.n,
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

int seal__write(const struct head *h, const struct block_options *o, block_put_fn put, void *ctx,
		struct block_info *ret)
{
	struct sealing s = { .n_streams = 0 };
	struct block_writer *w = block_writer__new(o, put, ctx);
	int r = w ? sort_streams(&s, h) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s.n_streams; i++)
		if (!s.done[i])
			r = write_chunk(&s, i, w);
	if (r == 0)
		r = block_writer__finish(w, ret);
	block_writer__free(w);
	sealing__fini(&s);
	return r;
}
