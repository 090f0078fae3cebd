/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/mosaic.c - seals streams into blocks in memory, and asks the questions of all of it
 */
#include "tests/storage/mosaic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/local/block_piece.h"
#include "tests/unit/random_batch.h"

#define BASE_MS (RANDOM_BASE_NS / 1000000)
enum { ERA_MS = 120000 };

static void need(bool there)
{
	if (!there) {
		fprintf(stderr, "mosaic: out of memory\n");
		abort();
	}
}

/* -------------------------------------------------------------------------------------------------
 * Asking
 */

static void note_unreadable(void *ctx, const struct piece *p, int error)
{
	struct mosaic *m = ctx;

	m->n_unreadable += error == -EBADMSG && block_piece__block(p);
}

static void note_end(void *ctx)
{
	struct mosaic *m = ctx;

	m->n_shared += m->view->was_shared;
}

static int add_era(struct mosaic *m, struct view *v, uint32_t at)
{
	const struct dict_counts counts = dict__counts(m->dicts[at]);
	const uint32_t era = view__era(v, m->dicts[at], &counts);
	int r = era == DCM_NONE ? -ENOMEM : 0;

	for (size_t i = 0; r == 0 && i < m->blocks.n; i++) {
		const struct mosaic_block *b = m->blocks.v[i];

		if (b->era == at && !b->hidden)
			r = block_piece__add_all(
				v, &(struct block_pieces){ &b->block, era, b->first_filter });
	}
	return r == 0 ? stream_piece__add_all(v, era, &m->streams[at]) : r;
}

/* ask.take */
static int take(void *instance, struct view *v)
{
	struct mosaic *m = instance;
	int r = 0;

	v->filters = (struct view_filters){ m->filters.v, (uint32_t)m->filters.n };
	m->view = v;
	v->let_go = note_end;
	v->unreadable = note_unreadable;
	v->ctx = m;
	for (uint32_t i = 0; r == 0 && i < MOSAIC_ERAS; i++)
		if (m->dicts[i]->types.n)
			r = add_era(m, v, i);
	return r == 0 ? view__seal(v) : r;
}

static const struct dcm_storage_ops ops = {
	.size = sizeof(ops),
	ASK_OPS,
};

/* -------------------------------------------------------------------------------------------------
 * Filling
 */

struct mosaic *mosaic__new(void)
{
	struct mosaic *m = calloc(1, sizeof(*m));

	need(m);
	storage__host(&m->storage);
	crew__init(&m->crew, 1, 1);
	stock__init(&m->stock);
	m->ask = (struct ask){ &m->storage.host, take, &m->crew, &m->stock };
	m->storage.ops = &ops;
	m->storage.instance = m;
	for (unsigned i = 0; i < MOSAIC_ERAS; i++) {
		m->dicts[i] = dict__new();
		need(m->dicts[i]);
		streams__init(&m->streams[i], dict__ref(m->dicts[i]));
	}
	return m;
}

void mosaic__free(struct mosaic *m)
{
	for (unsigned i = 0; i < MOSAIC_ERAS; i++) {
		streams__fini(&m->streams[i]);
		dict__unref(m->dicts[i]);
	}
	for (size_t i = 0; i < m->blocks.n; i++) {
		buf__fini(&m->blocks.v[i]->bytes);
		free(m->blocks.v[i]);
	}
	vec__fini(&m->blocks);
	vec__fini(&m->filters);
	stock__fini(&m->stock);
	free(m);
}

void mosaic__write(struct mosaic *m, const struct dcm_batch *b)
{
	for (int i = 0; i < MOSAIC_ERAS; i++) {
		const int64_t from = i ? BASE_MS + i * ERA_MS : INT64_MIN;
		const int64_t to = i + 1 < MOSAIC_ERAS ? BASE_MS + (i + 1) * ERA_MS : INT64_MAX;
		struct streams_plan plan = { 0 };

		need(streams__plan(&m->streams[i], &plan, b, from, to) == 0);
		streams__apply(&m->streams[i], &plan);
		streams_plan__fini(&plan);
	}
}

/* Columns of a chunk that is being made. */
struct columns {
	VEC(struct chunk_profile) profiles;
	VEC(uint32_t) stacks, labels;
	VEC(int64_t) values; /* type after type */
};

static void columns__fini(struct columns *c)
{
	vec__fini(&c->profiles);
	vec__fini(&c->stacks);
	vec__fini(&c->labels);
	vec__fini(&c->values);
}

/* May they stand side by side: the same profiles of the same rows? */
static bool go_together(const struct stream *a, const struct stream *b)
{
	if (a->series != b->series || a->profiles.n != b->profiles.n)
		return false;
	for (size_t i = 0; i < a->profiles.n; i++) {
		const struct profile *x = a->profiles.v[i], *y = b->profiles.v[i];

		if (x->time_ms != y->time_ms || x->n_rows != y->n_rows ||
		    x->duration_ns != y->duration_ns || x->period != y->period)
			return false;
		for (uint32_t k = 0; k < x->n_rows; k++)
			if (profile__row(x, k).stack != profile__row(y, k).stack ||
			    profile__row(x, k).labels != profile__row(y, k).labels)
				return false;
	}
	return true;
}

static void add_profiles(struct columns *c, const struct stream *st)
{
	for (size_t i = 0; i < st->profiles.n; i++) {
		const struct profile *p = st->profiles.v[i];
		const struct chunk_profile head = { p->time_ms, p->duration_ns, p->period, p->n_rows };

		need(vec__push(&c->profiles, head));
		for (uint32_t k = 0; k < p->n_rows; k++)
			need(vec__push(&c->stacks, profile__row(p, k).stack) &&
			     vec__push(&c->labels, profile__row(p, k).labels));
	}
}

static void add_values(struct columns *c, const struct stream *st)
{
	for (size_t i = 0; i < st->profiles.n; i++)
		for (uint32_t k = 0; k < st->profiles.v[i]->n_rows; k++)
			need(vec__push(&c->values, profile__row(st->profiles.v[i], k).value));
}

/* streams[0 .. n), sorted: as many of the first ones as fit become one chunk. */
static size_t write_chunk(struct block_writer *w, struct stream *const *streams, size_t n)
{
	CLEANUP(columns__fini) struct columns c = { 0 };
	struct chunk_source source = { .series = streams[0]->series };

	/* Columns are there, also where no profile has rows. */
	need(vec__reserve(&c.stacks, 1) && vec__reserve(&c.labels, 1) && vec__reserve(&c.values, 1));
	add_profiles(&c, streams[0]);
	while (source.n_types < n && source.n_types < CHUNK_MAX_TYPES &&
	       go_together(streams[0], streams[source.n_types])) {
		add_values(&c, streams[source.n_types]);
		source.types[source.n_types] = streams[source.n_types]->type;
		source.n_types++;
	}
	source.n_profiles = (uint32_t)c.profiles.n;
	source.profiles = c.profiles.v;
	source.n_rows = c.stacks.n;
	source.stacks = c.stacks.v;
	source.labels = c.labels.v;
	source.values = c.values.v;
	need(block_writer__chunk(w, &source) == 0);
	return source.n_types;
}

static int compare_streams(const void *a, const void *b)
{
	const struct stream *x = *(struct stream *const *)a, *y = *(struct stream *const *)b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

static int put(void *ctx, const void *p, size_t n)
{
	buf__append(ctx, p, n);
	return 0;
}

static void write_block(struct mosaic *m, uint32_t era, int zstd_level, struct mosaic_block *to)
{
	const struct block_options o = { .era = era, .zstd_level = zstd_level };
	struct block_writer *w = block_writer__new(&o, put, &to->bytes);
	VEC(struct stream *) order = { 0 };
	struct block_info info;

	need(w && vec__reserve(&order, m->streams[era].n + 1));
	for (size_t i = 0; i < m->streams[era].n; i++)
		if (m->streams[era].v[i].profiles.n)
			order.v[order.n++] = &m->streams[era].v[i];
	qsort(order.v, order.n, sizeof(order.v[0]), compare_streams);
	for (size_t i = 0; i < order.n;)
		i += write_chunk(w, order.v + i, order.n - i);
	need(block_writer__finish(w, &info) == 0 && !to->bytes.error);
	block_writer__free(w);
	vec__fini(&order);
}

void mosaic__seal(struct mosaic *m, uint32_t era, int zstd_level)
{
	struct mosaic_block *b = calloc(1, sizeof(*b));

	if (!m->streams[era].n_profiles) {
		free(b);
		return;
	}
	need(b && vec__push(&m->blocks, b));
	b->era = era;
	b->first_filter = (uint32_t)m->filters.n;
	write_block(m, era, zstd_level, b);
	need(block__open(&b->block, b->bytes.data, b->bytes.n, NULL) == 0);
	streams__fini(&m->streams[era]);
	streams__init(&m->streams[era], dict__ref(m->dicts[era]));
}

void mosaic__remove(struct mosaic *m, const struct dcm_select *sel)
{
	for (uint32_t i = 0; i < MOSAIC_ERAS; i++)
		mosaic__seal(m, i, 0);
	need(vec__push(&m->filters, *sel));
}
