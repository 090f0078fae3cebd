/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/block_rows.c - blocks as plain lists of profiles, for oracles
 */
#include "tests/storage/block_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/unit/random_chunk.h"
#include "tests/unit/unit.h"

int put_to_buf(void *ctx, const void *p, size_t n)
{
	struct buf *b = ctx;

	buf__append(b, p, n);
	return b->error;
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

/* The rows of all profiles of a chunk, one after the other. */
static struct plain_row *read_rows(const struct chunk *c)
{
	const struct chunk_entry *e = c->entry;
	struct plain_row *rows = mem__zalloc(e->n_rows + 1, sizeof(*rows));
	uint32_t *stacks = mem__zalloc(e->n_stacks + (size_t)1, sizeof(*stacks));
	uint32_t *sets = mem__zalloc(e->n_label_sets + (size_t)1, sizeof(*sets));
	struct chunk_cursor *cur = chunk_cursor__new();
	struct chunk_page page;
	uint64_t row = 0;

	assert_true(rows && stacks && sets && cur);
	assert_int_equal(chunk__stacks(c, stacks, sets), 0);
	assert_int_equal(chunk_cursor__begin(cur, c, 0, true, (1u << e->n_types) - 1), 0);
	while (chunk_cursor__next(cur, &page) > 0)
		for (uint32_t i = 0; i < page.n; i++, row++) {
			rows[row].stack = stacks[page.ranks[i]];
			rows[row].label_set = page.labels ? sets[page.labels[i]] : 0;
			for (uint32_t t = 0; t < e->n_types; t++)
				rows[row].values[t] = chunk__value(&c->types[t], page.values[t][i]);
		}
	assert_true(row == e->n_rows);
	chunk_cursor__free(cur);
	free(stacks);
	free(sets);
	return rows;
}

static void read_chunk(plain_profiles *to, const struct chunk *c, uint32_t number)
{
	struct plain_row *rows = read_rows(c), *row = rows;
	const uint32_t chunk = to->n ? to->v[to->n - 1].chunk + 1 : 0;
	struct chunk_profiles p = { 0 };

	assert_int_equal(chunk__profiles(c, CHUNK_WANT_TIMES | CHUNK_WANT_ROWS | CHUNK_WANT_SPANS, &p), 0);
	for (uint32_t i = 0; i < p.n; row += p.n_rows[i++]) {
		struct plain_profile profile = {
			.block = number,
			.chunk = chunk,
			.series = c->entry->series,
			.n_types = c->entry->n_types,
			.time_ms = p.time_ms[i],
			.duration_ns = p.duration_ns[i],
			.period = p.period[i],
			.n_rows = p.n_rows[i],
			.rows = mem__dup(row, p.n_rows[i] * sizeof(*row)),
		};

		for (uint32_t t = 0; t < c->entry->n_types; t++)
			profile.types[t] = c->types[t].type;
		assert_true(profile.rows || !profile.n_rows);
		assert_true(vec__push(to, profile));
	}
	chunk_profiles__fini(&p);
	free(rows);
}

void plain__read(plain_profiles *to, const struct block *b, uint32_t number)
{
	for (uint64_t i = 0; i < b->info.n_chunks; i++) {
		struct chunk c;

		assert_int_equal(block__chunk(b, i, &c), 0);
		read_chunk(to, &c, number);
	}
}

void plain__fini(plain_profiles *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].rows);
	vec__fini(p);
}

static int compare(const struct plain_profile *a, const struct plain_profile *b)
{
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	for (uint32_t t = 0; t < a->n_types && t < b->n_types; t++)
		if (a->types[t] != b->types[t])
			return a->types[t] < b->types[t] ? -1 : 1;
	if (a->n_types != b->n_types)
		return a->n_types < b->n_types ? -1 : 1;
	return (a->time_ms > b->time_ms) - (a->time_ms < b->time_ms);
}

/* By insertion: obviously stable. */
void plain__sort(plain_profiles *p)
{
	for (size_t i = 1; i < p->n; i++) {
		const struct plain_profile it = p->v[i];
		size_t at = i;

		for (; at > 0 && compare(&p->v[at - 1], &it) > 0; at--)
			p->v[at] = p->v[at - 1];
		p->v[at] = it;
	}
}

bool plain__same(const struct plain_profile *a, const struct plain_profile *b)
{
	return compare(a, b) == 0 && a->duration_ns == b->duration_ns && a->period == b->period &&
	       a->n_rows == b->n_rows &&
	       (!a->n_rows || memcmp(a->rows, b->rows, a->n_rows * sizeof(*a->rows)) == 0);
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

/* Lists of types that blocks share, in the order in which a directory may have them. */
static const struct {
	uint32_t n, types[4];
} lists[] = { { 1, { 2 } }, { 4, { 5, 6, 7, 8 } }, { 2, { 7, 8 } }, { 1, { 7 } }, { 2, { 9, 4 } } };
enum { N_LISTS = sizeof(lists) / sizeof(lists[0]) };

static int by_number(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Times of this shape, ascending, some of them equal. */
static void set_times(struct random_chunk *c, struct random *r, const struct random_block_shape *shape)
{
	const uint32_t n = c->source.n_profiles;
	int64_t *times = mem__zalloc(n, sizeof(*times));

	assert_non_null(times);
	for (uint32_t i = 0; i < n; i++)
		times[i] = shape->first_ms + (int64_t)random__below(r, (uint64_t)shape->span_ms);
	qsort(times, n, sizeof(*times), by_number);
	for (uint32_t i = 0; i < n; i++)
		c->profiles[i].time_ms = times[i];
	free(times);
}

static void write_chunk(struct block_writer *w, struct random *r,
			const struct random_block_shape *shape, uint32_t series, unsigned list)
{
	struct random_shape s = random_shape(r);
	struct random_chunk c;

	s.n_profiles = (uint32_t)random__below(r, shape->max_profiles) + 1;
	s.max_rows = (uint32_t)random__below(r, shape->max_rows) + 1;
	s.n_types = lists[list].n;
	s.n_stacks = random__below(r, 2) ? 300 : 100000;
	if (s.n_label_sets > 1)
		s.n_label_sets = 7;
	random_chunk__init(&c, r, &s, series);
	memcpy(c.source.types, lists[list].types, sizeof(lists[list].types));
	set_times(&c, r, shape);
	assert_int_equal(block_writer__chunk(w, &c.source), 0);
	random_chunk__fini(&c);
}

void random_block__init(struct random_block *b, struct random *r, const struct random_block_shape *shape)
{
	struct block_options o = { .era = 3, .zstd_level = shape->zstd_level };
	struct block_info info;
	struct block_writer *w;

	for (unsigned i = 0; i < BLOCK_ID_BYTES; i++)
		o.id[i] = (uint8_t)random__next(r);
	*b = (struct random_block){ .bytes = { .n = 0 } };
	w = block_writer__new(&o, put_to_buf, &b->bytes);
	assert_non_null(w);
	for (uint32_t series = 0; series < shape->n_series; series++)
		for (unsigned list = 0; list < N_LISTS; list++)
			for (unsigned n = (unsigned)random__below(r, 5); n > 2; n--)
				write_chunk(w, r, shape, series, list);
	assert_int_equal(block_writer__finish(w, &info), 0);
	block_writer__free(w);
	assert_int_equal(block__open(&b->block, b->bytes.data, b->bytes.n, NULL), 0);
}

void random_block__fini(struct random_block *b)
{
	buf__fini(&b->bytes);
}
