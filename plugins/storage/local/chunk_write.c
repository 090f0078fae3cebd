/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/chunk_write.c - rows become columns
 *
 * Column by column: the numbers of a column are made in one array, packed group by group (and
 * compressed, where that is asked for), and the places of pages and groups noted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "plugins/storage/local/chunk.h"
#include "plugins/storage/local/pfor.h"
#include "plugins/storage/local/ranks.h"

struct chunk_writer {
	struct ranks stacks, labels;
	VEC(uint32_t) rank_of_row;
	VEC(uint64_t) numbers;	       /* the column at hand */
	VEC(int64_t) sums;	       /* per stack */
	struct buf packed;	       /* the group at hand */
	struct buf groups, page_sizes; /* the two halves of the pages piece */
	ZSTD_CCtx *zstd;
	/* of the chunk at hand */
	const struct chunk_source *from;
	const struct chunk_options *options;
	struct chunk_sections *to;
};

struct chunk_writer *chunk_writer__new(void)
{
	return NEW(struct chunk_writer);
}

void chunk_writer__free(struct chunk_writer *w)
{
	if (!w)
		return;
	ranks__fini(&w->stacks);
	ranks__fini(&w->labels);
	vec__fini(&w->rank_of_row);
	vec__fini(&w->numbers);
	vec__fini(&w->sums);
	buf__fini(&w->packed);
	buf__fini(&w->groups);
	buf__fini(&w->page_sizes);
	ZSTD_freeCCtx(w->zstd);
	free(w);
}

uint32_t chunk__sum(const void *p, size_t n, uint64_t seed)
{
	return (uint32_t)hash__bytes(p, n, seed);
}

/* -------------------------------------------------------------------------------------------------
 * Columns of rows
 */

/* Room for n numbers, or NULL. */
static uint64_t *numbers(struct chunk_writer *w, size_t n)
{
	w->numbers.n = 0;
	return vec__reserve(&w->numbers, n ? n : 1) ? w->numbers.v : NULL;
}

/* What is packed, or what zstd makes of it when that is smaller, into the rows. */
static int put_group(struct chunk_writer *w)
{
	struct buf *rows = &w->to->rows;
	const size_t raw = w->packed.n, at = rows->n;
	size_t n = 0;

	if (w->options->zstd_level) {
		uint8_t *room = buf__reserve(rows, ZSTD_compressBound(raw));

		if (!w->zstd)
			w->zstd = ZSTD_createCCtx();
		if (!room || !w->zstd)
			return -ENOMEM;
		n = ZSTD_compressCCtx(w->zstd, room, ZSTD_compressBound(raw), w->packed.data, raw,
				      w->options->zstd_level);
		if (ZSTD_isError(n))
			return -ENOMEM;
		n = n < raw ? n : 0;
		rows->n += n;
	}
	if (!n)
		buf__append(rows, w->packed.data, raw);
	if (rows->error)
		return rows->error;
	buf__le32(&w->groups, (uint32_t)(rows->n - at));
	buf__le32(&w->groups, (uint32_t)raw);
	buf__le32(&w->groups, chunk__sum(rows->data + at, rows->n - at, w->options->seed));
	return w->groups.error;
}

/* The column v[n_rows] at the end of the rows, and where its pages stand. */
static int put_column(struct chunk_writer *w, const uint64_t *v)
{
	const uint64_t n_rows = w->from->n_rows;

	for (uint64_t row = 0; row < n_rows; row += CHUNK_GROUP) {
		const uint64_t end = n_rows - row < CHUNK_GROUP ? n_rows : row + CHUNK_GROUP;
		uint64_t at = row;

		buf__reset(&w->packed);
		for (; end - at >= PFOR_PAGE; at += PFOR_PAGE) {
			const size_t before = w->packed.n;

			pfor__put_page(&w->packed, v + at, PFOR_PAGE);
			buf__byte(&w->page_sizes, (uint8_t)(w->packed.n - before));
			buf__byte(&w->page_sizes, (uint8_t)((w->packed.n - before) >> 8));
		}
		pfor__put(&w->packed, v + at, end - at);
		if (w->packed.error || w->page_sizes.error)
			return -ENOMEM;
		int r = put_group(w);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Each rank as the way up from the one before, round the end to the beginning where it falls: which
 * it does at the next profile, whose first rank is not far from there. A page begins anew, so that
 * reading can begin with any page.
 */
static int put_ranks(struct chunk_writer *w)
{
	const struct chunk_source *from = w->from;
	const uint32_t n_stacks = (uint32_t)w->stacks.distinct.n;
	uint64_t *ways = numbers(w, from->n_rows);
	uint32_t before = 0;

	w->rank_of_row.n = 0;
	if (!ways || !vec__reserve(&w->rank_of_row, from->n_rows ? from->n_rows : 1))
		return -ENOMEM;
	for (uint64_t row = 0; row < from->n_rows; row++) {
		const uint32_t rank = ranks__of(&w->stacks, from->stacks[row]);

		if (row % PFOR_PAGE == 0)
			before = 0;
		ways[row] = rank >= before ? rank - before : rank - before + n_stacks;
		before = w->rank_of_row.v[row] = rank;
	}
	return put_column(w, ways);
}

static int put_labels(struct chunk_writer *w)
{
	uint64_t *v = numbers(w, w->from->n_rows);

	if (!v)
		return -ENOMEM;
	for (uint64_t row = 0; row < w->from->n_rows; row++)
		v[row] = ranks__of(&w->labels, w->from->labels[row]);
	return put_column(w, v);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* The largest number that divides all values, their signs and their sum. */
static struct chunk_type survey(const int64_t *v, uint64_t n)
{
	struct chunk_type t = { .flags = CHUNK_ONES };
	uint64_t sum = 0;
	bool fits = true;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t a = magnitude(v[i]), b = t.unit;

		if (v[i] <= 0)
			t.flags = v[i] < 0 ? CHUNK_SIGNED : t.flags & ~(uint32_t)CHUNK_ONES;
		if (__builtin_add_overflow(sum, a, &sum) || sum > INT64_MAX)
			fits = false;
		t.total = (int64_t)((uint64_t)t.total + (uint64_t)v[i]);
		if (b && a % b == 0)
			continue;
		while (a) {
			const uint64_t rest = b % a;

			b = a;
			a = rest;
		}
		t.unit = b;
	}
	if (!t.unit)
		t.unit = 1;
	if (!fits) {
		t.flags |= CHUNK_WIDE;
		t.total = 0;
	}
	return t;
}

/* The number that stands for a value: what chunk__value() turns around. */
static uint64_t number_of(const struct chunk_type *t, int64_t value)
{
	if (!(t->flags & CHUNK_SIGNED))
		return (uint64_t)value / t->unit - (t->flags & CHUNK_ONES ? 1 : 0);
	const uint64_t n = magnitude(value) / t->unit;

	return value < 0 ? n * 2 - 1 : n * 2;
}

static int put_values(struct chunk_writer *w, const struct chunk_type *t, const int64_t *values)
{
	const uint64_t n = w->from->n_rows;
	uint64_t *v = numbers(w, n);

	if (!v)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		v[i] = number_of(t, values[i]);
	return put_column(w, v);
}

/* -------------------------------------------------------------------------------------------------
 * The other pieces
 */

static int end_piece(struct chunk_writer *w, const struct buf *section, size_t began,
		     struct chunk_piece *ret)
{
	if (section->error)
		return section->error;
	if (section->n - began > UINT32_MAX)
		return -EFBIG;
	/* A section that is still empty has no bytes to point at. */
	const uint8_t *p = section->data ? section->data + began : (const uint8_t *)"";

	*ret = (struct chunk_piece){
		.off = began,
		.n = (uint32_t)(section->n - began),
		.sum = chunk__sum(p, section->n - began, w->options->seed),
	};
	return 0;
}

/* Ascending ids as the first, then gaps less one. */
static int put_ascending(struct chunk_writer *w, const uint32_t *ids, size_t n)
{
	uint64_t *v = numbers(w, n);

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = i ? ids[i] - ids[i - 1] - 1 : ids[i];
	pfor__put(&w->to->stacks, v, n);
	return 0;
}

static int put_stacks(struct chunk_writer *w, struct chunk_entry *ret)
{
	const size_t began = w->to->stacks.n;
	int r = put_ascending(w, w->stacks.distinct.v, w->stacks.distinct.n);

	if (r == 0 && ret->flags & CHUNK_LABELS)
		r = put_ascending(w, w->labels.distinct.v, w->labels.distinct.n);
	return r < 0 ? r : end_piece(w, &w->to->stacks, began, &ret->stacks);
}

static int put_rollup(struct chunk_writer *w, const struct chunk_type *t, const int64_t *values)
{
	const size_t n = w->stacks.distinct.n;
	uint64_t *v = numbers(w, n);

	w->sums.n = 0;
	if (!v || !vec__reserve(&w->sums, n ? n : 1))
		return -ENOMEM;
	memset(w->sums.v, 0, n * sizeof(*w->sums.v));
	for (uint64_t i = 0; i < w->from->n_rows; i++)
		w->sums.v[w->rank_of_row.v[i]] += values[i];
	for (size_t i = 0; i < n; i++)
		v[i] = number_of(t, w->sums.v[i]);
	pfor__put(&w->to->rollups, v, n);
	return 0;
}

/* ms between profile i, 1 or more, and the one before. */
static uint64_t gap_at(const struct chunk_source *from, uint32_t i)
{
	return (uint64_t)from->profiles[i].time_ms - (uint64_t)from->profiles[i - 1].time_ms;
}

static int put_changes_of_gaps(struct chunk_writer *w)
{
	const struct chunk_source *from = w->from;
	uint64_t *v = numbers(w, from->n_profiles);
	uint64_t before = 0;

	if (!v)
		return -ENOMEM;
	v[0] = 0;
	for (uint32_t i = 1; i < from->n_profiles; i++) {
		const uint64_t gap = gap_at(from, i);

		v[i] = zigzag__of((int64_t)(gap - before));
		before = gap;
	}
	pfor__put(&w->to->profiles, v, from->n_profiles);
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * What the others are about a multiple of: one of the shortest, but none of the few that are far
 * too short, of two profiles at nearly one time. At least 1; there are two profiles.
 */
static uint64_t shortest_gap(const struct chunk_source *from)
{
	enum { SOME = 31 };
	uint64_t gaps[SOME];
	const uint32_t n_gaps = from->n_profiles - 1, n = n_gaps < SOME ? n_gaps : SOME;

	for (uint32_t i = 0; i < n; i++)
		gaps[i] = gap_at(from, 1 + (uint32_t)((uint64_t)i * n_gaps / n));
	qsort(gaps, n, sizeof(*gaps), by_size);
	return gaps[n / 8] ? gaps[n / 8] : 1;
}

/* Each gap as how many steps it has, and by how much it is longer than these. */
static int put_steps(struct chunk_writer *w)
{
	const struct chunk_source *from = w->from;
	const uint64_t step = shortest_gap(from);
	uint64_t *v = numbers(w, 2 * (size_t)from->n_profiles), *over = v + from->n_profiles;

	if (!v)
		return -ENOMEM;
	v[0] = step;
	over[0] = 0;
	for (uint32_t i = 1; i < from->n_profiles; i++) {
		const uint64_t gap = gap_at(from, i), n = gap / step + (gap % step > step / 2);

		v[i] = zigzag__of((int64_t)(n - 1));
		over[i] = zigzag__of((int64_t)(gap - n * step));
	}
	pfor__put(&w->to->profiles, v, from->n_profiles);
	pfor__put(&w->to->profiles, over, from->n_profiles);
	return 0;
}

/* In the way that takes fewer bytes. */
static int put_times(struct chunk_writer *w, struct chunk_entry *ret)
{
	struct buf *to = &w->to->profiles;
	const size_t first = to->n;
	int r = put_changes_of_gaps(w);
	const size_t second = to->n;

	if (r == 0 && w->from->n_profiles > 1)
		r = put_steps(w);
	if (r < 0 || to->error)
		return r < 0 ? r : to->error;
	if (to->n == second || to->n - second >= second - first) {
		to->n = second;
		return 0;
	}
	memmove(to->data + first, to->data + second, to->n - second);
	to->n -= second - first;
	ret->flags |= CHUNK_STEPS;
	return 0;
}

static int put_totals(struct chunk_writer *w, const struct chunk_type *t, const int64_t *values)
{
	uint64_t *v = numbers(w, w->from->n_profiles), row = 0;

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->from->n_profiles; i++) {
		int64_t sum = 0;

		for (uint32_t k = 0; k < w->from->profiles[i].n_rows; k++)
			sum += values[row++];
		v[i] = zigzag__of(sum / (int64_t)t->unit);
	}
	pfor__put(&w->to->profiles, v, w->from->n_profiles);
	return 0;
}

/* By how much the duration of a is longer than that of b. */
static int64_t longer(const struct chunk_profile *a, const struct chunk_profile *b)
{
	return (int64_t)((uint64_t)a->duration_ns - (uint64_t)b->duration_ns);
}

/*
 * Row counts, and durations and periods where they are not all the same: as the difference from the
 * first one's.
 */
static int put_heads(struct chunk_writer *w, unsigned flags)
{
	const struct chunk_profile *p = w->from->profiles;
	const uint32_t n = w->from->n_profiles;
	uint64_t *v = numbers(w, n);

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		v[i] = p[i].n_rows;
	pfor__put(&w->to->profiles, v, n);
	if (flags & CHUNK_DURATIONS) {
		const int64_t unit = chunk__duration_unit(flags);

		for (uint32_t i = 0; i < n; i++)
			v[i] = zigzag__of(longer(&p[i], &p[0]) / unit);
		pfor__put(&w->to->profiles, v, n);
	}
	if (flags & CHUNK_PERIODS) {
		for (uint32_t i = 0; i < n; i++)
			v[i] = zigzag__of((int64_t)((uint64_t)p[i].period - (uint64_t)p[0].period));
		pfor__put(&w->to->profiles, v, n);
	}
	return 0;
}

static int put_profiles(struct chunk_writer *w, const struct chunk_type *types, struct chunk_entry *ret)
{
	const struct chunk_source *from = w->from;
	const size_t began = w->to->profiles.n;
	int r = put_times(w, ret);

	for (uint32_t t = 0; r == 0 && t < from->n_types; t++)
		if (!(types[t].flags & CHUNK_WIDE))
			r = put_totals(w, &types[t], from->values + t * from->n_rows);
	if (r == 0)
		r = put_heads(w, ret->flags);
	return r < 0 ? r : end_piece(w, &w->to->profiles, began, &ret->profiles);
}

static int put_pages(struct chunk_writer *w, struct chunk_entry *ret)
{
	const size_t began = w->to->pages.n;

	buf__append(&w->to->pages, w->groups.data, w->groups.n);
	buf__append(&w->to->pages, w->page_sizes.data, w->page_sizes.n);
	return end_piece(w, &w->to->pages, began, &ret->pages);
}

/* -------------------------------------------------------------------------------------------------
 * The chunk
 */

static struct chunk_entry entry_of(const struct chunk_source *from)
{
	const struct chunk_profile *p = from->profiles;
	struct chunk_entry e = {
		.series = from->series,
		.n_types = (uint16_t)from->n_types,
		.n_profiles = from->n_profiles,
		.n_rows = from->n_rows,
		.first_ms = p[0].time_ms,
		.last_ms = p[from->n_profiles - 1].time_ms,
		.duration_ns = p[0].duration_ns,
		.period = p[0].period,
	};

	bool whole_ms = true;

	for (uint32_t i = 1; i < from->n_profiles; i++) {
		if (p[i].duration_ns != p[0].duration_ns)
			e.flags |= CHUNK_DURATIONS;
		if (longer(&p[i], &p[0]) % CHUNK_NS_A_MS)
			whole_ms = false;
		if (p[i].period != p[0].period)
			e.flags |= CHUNK_PERIODS;
	}
	if (e.flags & CHUNK_DURATIONS && whole_ms)
		e.flags |= CHUNK_DURATIONS_MS;
	for (uint64_t i = 0; from->labels && i < from->n_rows; i++)
		if (from->labels[i]) {
			e.flags |= CHUNK_LABELS;
			break;
		}
	return e;
}

static int write_columns(struct chunk_writer *w, struct chunk_entry *e, struct chunk_type *types)
{
	const struct chunk_source *from = w->from;
	const size_t began = w->to->rollups.n;
	int r = put_ranks(w);

	if (r == 0 && e->flags & CHUNK_LABELS)
		r = put_labels(w);
	for (uint32_t t = 0; r == 0 && t < from->n_types; t++) {
		const int64_t *values = from->values + t * from->n_rows;

		types[t] = survey(values, from->n_rows);
		types[t].type = from->types[t];
		r = put_values(w, &types[t], values);
		if (r == 0 && !(types[t].flags & CHUNK_WIDE))
			r = put_rollup(w, &types[t], values);
	}
	return r < 0 ? r : end_piece(w, &w->to->rollups, began, &e->rollups);
}

int chunk__write(struct chunk_writer *w, const struct chunk_source *from, const struct chunk_options *o,
		 struct chunk_sections *to, struct chunk_entry *ret, struct chunk_type *ret_types)
{
	struct chunk_entry e = entry_of(from);
	struct chunk_type types[CHUNK_MAX_TYPES];
	int r;

	w->from = from;
	w->options = o;
	w->to = to;
	buf__reset(&to->rows);
	buf__reset(&w->groups);
	buf__reset(&w->page_sizes);
	r = ranks__build(&w->stacks, from->stacks, from->n_rows);
	if (r == 0 && e.flags & CHUNK_LABELS)
		r = ranks__build(&w->labels, from->labels, from->n_rows);
	e.n_stacks = (uint32_t)w->stacks.distinct.n;
	e.n_label_sets = e.flags & CHUNK_LABELS ? (uint32_t)w->labels.distinct.n : 0;
	if (r == 0)
		r = write_columns(w, &e, types);
	if (r == 0)
		r = put_stacks(w, &e);
	if (r == 0)
		r = put_profiles(w, types, &e);
	if (r == 0)
		r = put_pages(w, &e);
	if (r < 0)
		return r;
	e.rows_bytes = to->rows.n;
	*ret = e;
	memcpy(ret_types, types, from->n_types * sizeof(*types));
	return 0;
}
