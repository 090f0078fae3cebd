/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/chunk_read.c - columns become rows
 *
 * Each piece is checked against its checksum when it is opened, and decoded within its bounds
 * whatever it holds. Sums wrap: a checksum that was made on purpose can give wrong numbers, but no
 * undefined ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "core/base/le.h"
#include "core/base/mem.h"
#include "plugins/storage/local/chunk.h"
#include "plugins/storage/local/pfor.h"
#include "plugins/storage/local/prefix.h"

static int open_piece(const struct chunk *c, const uint8_t *section,
		      const struct chunk_piece *piece, struct pfor_in *ret)
{
	const uint8_t *p = section + piece->off;

	if (chunk__sum(p, piece->n, c->seed) != piece->sum)
		return -EBADMSG;
	*ret = (struct pfor_in){ p, p + piece->n };
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Profiles
 */

void chunk_profiles__fini(struct chunk_profiles *p)
{
	free(p->memory);
	*p = (struct chunk_profiles){ 0 };
}

/* Arrays for n profiles of n_types types: one allocation, kept while it is large enough. */
static int make_room(struct chunk_profiles *p, uint32_t n, uint32_t n_types)
{
	const size_t columns = n_types + 4;
	uint64_t *at;

	if (n > UINT32_MAX / columns - 1)
		return -ENOMEM;
	if (p->cap < columns * (n + 1)) {
		at = mem__resize(p->memory, columns * (n + 1), sizeof(*at));
		if (!at)
			return -ENOMEM;
		p->memory = at;
		p->cap = (uint32_t)(columns * (n + 1));
	}
	at = p->memory;
	p->n = n;
	p->time_ms = (int64_t *)at;
	p->duration_ns = (int64_t *)(at += n);
	p->period = (int64_t *)(at += n);
	p->n_rows = (uint32_t *)(at += n);
	at += n;
	for (uint32_t t = 0; t < n_types; t++, at += n + 1)
		p->before[t] = at;
	return 0;
}

/* A page as 32-bit numbers, if all of it fits: 1; else 0, and `in` is where it was. */
static int get_small(struct pfor_in *in, uint32_t *v, uint32_t n)
{
	const struct pfor_in before = *in;

	if (pfor__page32(in, v, n) == 0)
		return 1;
	*in = before;
	return 0;
}

static int next_times(struct pfor_in *in, struct prefix_clock *clock, uint32_t n, int64_t *ret)
{
	uint32_t small[PFOR_PAGE];
	uint64_t page[PFOR_PAGE];

	if (get_small(in, small, n))
		return prefix__small_times(small, n, clock, ret) ? 0 : -EBADMSG;
	int r = pfor__page(in, page, n);
	if (r == 0 && !prefix__times((int64_t *)page, n, clock))
		r = -EBADMSG;
	if (r == 0)
		memcpy(ret, page, n * sizeof(*ret));
	return r;
}

static int get_changes_of_gaps(struct pfor_in *in, const struct chunk_entry *e, int64_t *ret)
{
	struct prefix_clock clock = { .time = e->first_ms };
	int r = 0;

	for (uint32_t at = 0, n; r == 0 && at < e->n_profiles; at += n) {
		n = e->n_profiles - at < PFOR_PAGE ? e->n_profiles - at : PFOR_PAGE;
		r = next_times(in, &clock, n, ret + at);
	}
	return r;
}

/* Times of one page, whose steps and what is over these stand apart. The first page tells the step. */
static int next_steps(struct pfor_in *steps, struct pfor_in *over, uint32_t n, uint64_t *step,
		      int64_t *time, int64_t *ret)
{
	const uint64_t none = zigzag__of(-1); /* the first is no step from where it is */
	uint64_t k[PFOR_PAGE], more[PFOR_PAGE];
	uint32_t small_k[PFOR_PAGE], small_more[PFOR_PAGE];
	const struct pfor_in before = *steps;

	if (get_small(steps, small_k, n) && get_small(over, small_more, n)) {
		if (!*step) {
			*step = small_k[0];
			small_k[0] = (uint32_t)none;
		}
		return prefix__small_steps(small_k, small_more, n, *step, time, ret) ? 0 : -EBADMSG;
	}
	*steps = before;
	if (pfor__page(steps, k, n) < 0 || pfor__page(over, more, n) < 0)
		return -EBADMSG;
	if (!*step) {
		*step = k[0];
		k[0] = none;
	}
	return prefix__steps(k, more, n, *step, time, ret) ? 0 : -EBADMSG;
}

static int get_steps(struct pfor_in *in, const struct chunk_entry *e, int64_t *ret)
{
	struct pfor_in steps = *in;
	int64_t time = e->first_ms;
	uint64_t step = 0;
	int r = pfor__skip(in, e->n_profiles);

	for (uint32_t at = 0, n; r == 0 && at < e->n_profiles; at += n) {
		n = e->n_profiles - at < PFOR_PAGE ? e->n_profiles - at : PFOR_PAGE;
		r = next_steps(&steps, in, n, &step, &time, ret + at);
		if (r == 0 && !step)
			r = -EBADMSG;
	}
	return r;
}

static int get_times(struct pfor_in *in, const struct chunk_entry *e, int64_t *ret)
{
	const int r = e->flags & CHUNK_STEPS ? get_steps(in, e, ret) : get_changes_of_gaps(in, e, ret);

	if (r == 0 && (ret[0] != e->first_ms || ret[e->n_profiles - 1] != e->last_ms))
		return -EBADMSG;
	return r;
}

static int skip_times(struct pfor_in *in, const struct chunk_entry *e)
{
	int r = pfor__skip(in, e->n_profiles);

	if (r == 0 && e->flags & CHUNK_STEPS)
		r = pfor__skip(in, e->n_profiles);
	return r;
}

/* What totals add up to, in units of their type. */
static int get_totals(struct pfor_in *in, uint32_t n_profiles, uint64_t *ret)
{
	uint32_t small[PFOR_PAGE];
	uint64_t page[PFOR_PAGE], sum = 0;
	int r = 0;

	*ret++ = 0;
	for (uint32_t at = 0, n; r == 0 && at < n_profiles; at += n) {
		n = n_profiles - at < PFOR_PAGE ? n_profiles - at : PFOR_PAGE;
		if (get_small(in, small, n)) {
			sum = prefix__running(small, n, sum, ret + at);
			continue;
		}
		r = pfor__page(in, page, n);
		for (uint32_t i = 0; r == 0 && i < n; i++)
			ret[at + i] = sum += (uint64_t)zigzag__back(page[i]);
	}
	return r;
}

static int get_row_counts(struct pfor_in *in, const struct chunk_entry *e, uint32_t *ret)
{
	int r = pfor__get32(in, ret, e->n_profiles);

	return r < 0 || prefix__sum(ret, e->n_profiles) != e->n_rows ? -EBADMSG : 0;
}

/* A column of differences from the first profile, in `unit`; it is there when one of them is not 0. */
static int get_head(struct pfor_in *in, bool there, int64_t common, int64_t unit, uint32_t n, int64_t *ret)
{
	const uint64_t first = (uint64_t)common, times = (uint64_t)unit;
	uint32_t small[PFOR_PAGE];
	uint64_t page[PFOR_PAGE];
	int r = 0;

	for (uint32_t i = 0; !there && i < n; i++)
		ret[i] = common;
	for (uint32_t at = 0, k; there && r == 0 && at < n; at += k) {
		k = n - at < PFOR_PAGE ? n - at : PFOR_PAGE;
		if (get_small(in, small, k)) {
			for (uint32_t i = 0; i < k; i++)
				ret[at + i] = (int64_t)(first + (uint64_t)zigzag__back(small[i]) * times);
			continue;
		}
		r = pfor__page(in, page, k);
		for (uint32_t i = 0; r == 0 && i < k; i++)
			ret[at + i] = (int64_t)(first + (uint64_t)zigzag__back(page[i]) * times);
	}
	return r;
}

int chunk__profiles(const struct chunk *c, unsigned want, struct chunk_profiles *ret)
{
	const struct chunk_entry *e = c->entry;
	struct pfor_in in;
	int r = open_piece(c, c->profiles, &e->profiles, &in);

	if (r == 0 && !pfor__may_hold(&in, e->n_profiles))
		r = -EBADMSG;
	if (r == 0)
		r = make_room(ret, e->n_profiles, e->n_types);
	if (r == 0)
		r = want & CHUNK_WANT_TIMES ? get_times(&in, e, ret->time_ms) : skip_times(&in, e);
	for (uint32_t t = 0; r == 0 && want >> t && t < e->n_types; t++) {
		if (c->types[t].flags & CHUNK_WIDE)
			continue;
		r = want & 1u << t ? get_totals(&in, e->n_profiles, ret->before[t])
				   : pfor__skip(&in, e->n_profiles);
	}
	if (r == 0 && want & (CHUNK_WANT_ROWS | CHUNK_WANT_SPANS))
		r = get_row_counts(&in, e, ret->n_rows);
	if (r == 0 && want & CHUNK_WANT_SPANS) {
		r = get_head(&in, e->flags & CHUNK_DURATIONS, e->duration_ns,
			     chunk__duration_unit(e->flags), e->n_profiles, ret->duration_ns);
		if (r == 0)
			r = get_head(&in, e->flags & CHUNK_PERIODS, e->period, 1, e->n_profiles,
				     ret->period);
	}
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Stacks and rollups
 */

static int get_ascending(struct pfor_in *in, uint32_t *v, uint32_t n)
{
	uint32_t next = 0;
	int r = pfor__may_hold(in, n) ? pfor__get32(in, v, n) : -EBADMSG;

	for (uint32_t at = 0, k; r == 0 && at < n; at += k) {
		k = n - at < PFOR_PAGE ? n - at : PFOR_PAGE;
		r = prefix__ids(v + at, k, &next) ? 0 : -EBADMSG;
	}
	return r;
}

int chunk__stacks(const struct chunk *c, uint32_t *ret_stacks, uint32_t *ret_label_sets)
{
	const struct chunk_entry *e = c->entry;
	struct pfor_in in;
	int r = open_piece(c, c->stacks, &e->stacks, &in);

	if (r == 0)
		r = ret_stacks ? get_ascending(&in, ret_stacks, e->n_stacks)
			       : pfor__skip(&in, e->n_stacks);
	if (r == 0 && ret_label_sets)
		r = get_ascending(&in, ret_label_sets, e->n_label_sets);
	return r;
}

/* v[n] numbers become values. */
static void make_values(const struct chunk_type *type, int64_t *v, uint32_t n)
{
	const struct chunk_type t = *type;
	const uint64_t more = t.flags & CHUNK_ONES ? 1 : 0;

	for (uint32_t i = 0; i < n && t.flags & CHUNK_SIGNED; i++)
		v[i] = chunk__value(&t, (uint64_t)v[i]);
	for (uint32_t i = 0; i < n && !(t.flags & CHUNK_SIGNED); i++)
		v[i] = (int64_t)(((uint64_t)v[i] + more) * t.unit);
}

/* The same of small numbers, and of no type with negative values. */
static void make_small_values(const struct chunk_type *type, const uint32_t *v, uint32_t n, int64_t *ret)
{
	const uint64_t more = type->flags & CHUNK_ONES ? 1 : 0, unit = type->unit;

	for (uint32_t i = 0; i < n; i++)
		ret[i] = (int64_t)((v[i] + more) * unit);
}

/* A page of numbers, as values. */
static int next_values_of(struct pfor_in *in, const struct chunk_type *type, uint32_t n, int64_t *ret)
{
	uint32_t small[PFOR_PAGE];

	if (!(type->flags & CHUNK_SIGNED) && get_small(in, small, n)) {
		make_small_values(type, small, n, ret);
		return 0;
	}
	int r = pfor__page(in, (uint64_t *)ret, n);
	if (r == 0)
		make_values(type, ret, n);
	return r;
}

/* The type's rollup: behind those of the types before. */
static int open_rollup(const struct chunk *c, unsigned type, struct pfor_in *ret)
{
	const struct chunk_entry *e = c->entry;
	int r = open_piece(c, c->rollups, &e->rollups, ret);

	for (unsigned t = 0; r == 0 && t < type; t++)
		if (!(c->types[t].flags & CHUNK_WIDE))
			r = pfor__skip(ret, e->n_stacks);
	return r;
}

int chunk_ids__begin(struct chunk_sums *it, const struct chunk *c)
{
	it->type = NULL;
	it->left = c->entry->n_stacks;
	it->next_id = 0;
	int r = open_piece(c, c->stacks, &c->entry->stacks, &it->stacks);
	return r < 0 || pfor__may_hold(&it->stacks, it->left) ? r : -EBADMSG;
}

int chunk_sums__begin(struct chunk_sums *it, const struct chunk *c, unsigned type)
{
	int r = chunk_ids__begin(it, c);

	it->type = &c->types[type];
	return r < 0 ? r : open_rollup(c, type, &it->rollup);
}

int chunk_sums__next(struct chunk_sums *it)
{
	const uint32_t n = it->left < PFOR_PAGE ? it->left : PFOR_PAGE;

	if (!n)
		return 0;
	it->left -= n;
	int r = pfor__page32(&it->stacks, it->ids, n);
	if (r == 0 && !prefix__ids(it->ids, n, &it->next_id))
		r = -EBADMSG;
	if (r == 0 && it->type)
		r = next_values_of(&it->rollup, it->type, n, it->values);
	return r < 0 ? r : (int)n;
}

int chunk__check(const struct chunk *c)
{
	const struct chunk_entry *e = c->entry;
	struct pfor_in in;
	int r = open_piece(c, c->profiles, &e->profiles, &in);

	if (r == 0)
		r = open_piece(c, c->stacks, &e->stacks, &in);
	if (r == 0)
		r = open_piece(c, c->rollups, &e->rollups, &in);
	return r < 0 ? r : open_piece(c, c->pages, &e->pages, &in);
}

/* -------------------------------------------------------------------------------------------------
 * Rows
 */

enum { GROUP_ENTRY = 12, PAGES_OF_GROUP = CHUNK_GROUP / PFOR_PAGE };
enum { GROUP_BYTES_MAX = PAGES_OF_GROUP * PFOR_PAGE_MAX };

struct column {
	uint32_t index; /* among the chunk's columns */
	uint32_t group; /* the one at hand */
	uint64_t off;	/* in the rows: behind that group */
	struct pfor_in in;
	uint8_t *raw; /* [GROUP_BYTES_MAX] of compressed groups; or NULL */
};

enum { COLUMN_RANKS, COLUMN_LABELS, COLUMN_VALUES, N_COLUMNS = COLUMN_VALUES + CHUNK_MAX_TYPES };

struct chunk_cursor {
	const struct chunk *chunk;
	const uint8_t *groups, *page_sizes; /* the halves of the pages piece */
	uint64_t row;
	uint32_t n_groups, n_pages; /* of a column */
	uint32_t wanted;	    /* columns, a bit each */
	struct column columns[N_COLUMNS];
	ZSTD_DCtx *zstd;
	uint32_t ranks[PFOR_PAGE], labels[PFOR_PAGE];
	uint64_t values[CHUNK_MAX_TYPES][PFOR_PAGE];
	/* For adding up: half as wide where all numbers of a page are small. */
	bool may_be_small, are_small;
	uint32_t small[PFOR_PAGE];
};

struct chunk_cursor *chunk_cursor__new(void)
{
	return NEW(struct chunk_cursor);
}

void chunk_cursor__free(struct chunk_cursor *cur)
{
	if (!cur)
		return;
	for (unsigned i = 0; i < N_COLUMNS; i++)
		free(cur->columns[i].raw);
	ZSTD_freeDCtx(cur->zstd);
	free(cur);
}

static int expand(struct chunk_cursor *cur, struct column *col, const uint8_t *p, uint32_t n, uint32_t raw)
{
	if (raw > GROUP_BYTES_MAX)
		return -EBADMSG;
	if (!cur->zstd)
		cur->zstd = ZSTD_createDCtx();
	if (!col->raw)
		col->raw = malloc(GROUP_BYTES_MAX);
	if (!cur->zstd || !col->raw)
		return -ENOMEM;
	if (ZSTD_decompressDCtx(cur->zstd, col->raw, raw, p, n) != raw)
		return -EBADMSG;
	col->in = (struct pfor_in){ col->raw, col->raw + raw };
	return 0;
}

static int load_group(struct chunk_cursor *cur, struct column *col, uint32_t group)
{
	const struct chunk *c = cur->chunk;
	const uint8_t *entry = cur->groups + ((size_t)col->index * cur->n_groups + group) * GROUP_ENTRY;
	const uint32_t n = le__get32(entry), raw = le__get32(entry + 4);

	if (n > c->entry->rows_bytes - col->off || n > raw)
		return -EBADMSG;
	const uint8_t *p = c->rows + c->entry->rows_off + col->off;
	if (chunk__sum(p, n, c->seed) != le__get32(entry + 8))
		return -EBADMSG;
	col->off += n;
	col->group = group;
	if (n < raw)
		return expand(cur, col, p, n, raw);
	col->in = (struct pfor_in){ p, p + n };
	return 0;
}

/* Puts the column at a page: its group's bytes, then over the pages before. */
static int seek(struct chunk_cursor *cur, unsigned which, uint32_t index, uint64_t page)
{
	struct column *col = &cur->columns[which];
	const uint32_t group = (uint32_t)(page / PAGES_OF_GROUP);
	const uint8_t *sizes = cur->page_sizes + (size_t)index * cur->n_pages * 2;
	const uint64_t entries = (uint64_t)index * cur->n_groups + group;
	uint64_t skip = 0;
	int r;

	col->index = index;
	col->off = 0;
	for (uint64_t i = 0; i < entries; i++)
		col->off += le__get32(cur->groups + i * GROUP_ENTRY);
	if (col->off > cur->chunk->entry->rows_bytes)
		return -EBADMSG;
	r = load_group(cur, col, group);
	for (uint64_t i = (uint64_t)group * PAGES_OF_GROUP; i < page; i++)
		skip += le__get16(sizes + i * 2);
	if (r == 0 && skip > (uint64_t)(col->in.end - col->in.p))
		return -EBADMSG;
	if (r == 0)
		col->in.p += skip;
	return r;
}

static int open_pages(struct chunk_cursor *cur, const struct chunk *c)
{
	const struct chunk_entry *e = c->entry;
	const uint32_t n_columns = 1u + (e->flags & CHUNK_LABELS ? 1 : 0) + e->n_types;
	struct pfor_in in;
	int r = open_piece(c, c->pages, &e->pages, &in);

	if (r < 0)
		return r;
	cur->chunk = c;
	cur->n_groups = (uint32_t)((e->n_rows + CHUNK_GROUP - 1) / CHUNK_GROUP);
	cur->n_pages = (uint32_t)(e->n_rows / PFOR_PAGE);
	cur->groups = in.p;
	cur->page_sizes = in.p + (size_t)n_columns * cur->n_groups * GROUP_ENTRY;
	return (size_t)n_columns * (cur->n_groups * (size_t)GROUP_ENTRY + cur->n_pages * (size_t)2) ==
			       e->pages.n
		       ? 0
		       : -EBADMSG;
}

int chunk_cursor__begin(struct chunk_cursor *cur, const struct chunk *c, uint64_t row, bool labels,
			uint32_t types)
{
	const bool has_labels = c->entry->flags & CHUNK_LABELS;
	const uint64_t page = row / PFOR_PAGE;
	int r = open_pages(cur, c);

	cur->row = page * PFOR_PAGE;
	cur->wanted = 0;
	cur->may_be_small = false;
	if (r < 0 || cur->row >= c->entry->n_rows)
		return r;
	cur->wanted = 1u << COLUMN_RANKS | types << COLUMN_VALUES;
	r = seek(cur, COLUMN_RANKS, 0, page);
	if (r == 0 && labels && has_labels) {
		cur->wanted |= 1u << COLUMN_LABELS;
		r = seek(cur, COLUMN_LABELS, 1, page);
	}
	for (uint32_t t = 0; r == 0 && t < c->entry->n_types; t++)
		if (types & 1u << t)
			r = seek(cur, COLUMN_VALUES + t, 1 + has_labels + t, page);
	return r;
}

static int next_values(struct chunk_cursor *cur, struct column *col, unsigned type, uint32_t n)
{
	cur->are_small = cur->may_be_small && get_small(&col->in, cur->small, n);
	return cur->are_small ? 0 : pfor__page(&col->in, cur->values[type], n);
}

static int next_of(struct chunk_cursor *cur, unsigned which, uint32_t n)
{
	const struct chunk_entry *e = cur->chunk->entry;
	struct column *col = &cur->columns[which];
	int r = 0;

	if (cur->row / CHUNK_GROUP != col->group)
		r = col->in.p == col->in.end ? load_group(cur, col, col->group + 1) : -EBADMSG;
	if (r == 0 && which == COLUMN_RANKS) {
		r = pfor__page32(&col->in, cur->ranks, n);
		return r < 0 || !prefix__ranks(cur->ranks, n, e->n_stacks) ? -EBADMSG : 0;
	}
	if (r == 0 && which == COLUMN_LABELS) {
		r = pfor__page32(&col->in, cur->labels, n);
		return r < 0 || !prefix__below(cur->labels, n, e->n_label_sets) ? -EBADMSG : 0;
	}
	return r < 0 ? r : next_values(cur, col, which - COLUMN_VALUES, n);
}

int chunk_cursor__next(struct chunk_cursor *cur, struct chunk_page *ret)
{
	const uint64_t left = cur->wanted ? cur->chunk->entry->n_rows - cur->row : 0;
	const uint32_t n = left < PFOR_PAGE ? (uint32_t)left : PFOR_PAGE;

	if (!n)
		return 0;
	*ret = (struct chunk_page){ .row = cur->row, .n = n, .ranks = cur->ranks };
	for (uint32_t columns = cur->wanted; columns; columns &= columns - 1) {
		const unsigned which = (unsigned)__builtin_ctz(columns);
		int r = next_of(cur, which, n);

		if (r < 0)
			return r;
		if (which == COLUMN_LABELS)
			ret->labels = cur->labels;
		else if (which >= COLUMN_VALUES)
			ret->values[which - COLUMN_VALUES] = cur->values[which - COLUMN_VALUES];
	}
	cur->row += n;
	return 1;
}

/* -------------------------------------------------------------------------------------------------
 * Adding up
 */

/* A place among the rows of a span. */
struct counting {
	const struct chunk_span *span;
	struct chunk_type type;
	int64_t *sums;
	uint32_t *narrow; /* instead, where it is not NULL */
	uint32_t profile; /* of the span; with slots: */
	uint32_t left;	  /* rows of it that are still to come */
};

static inline void add_to(int64_t *sum, uint64_t value)
{
	*sum = (int64_t)((uint64_t)*sum + value);
}

/* Rows [from, to) of the page, whose values stand in values[]. */
static void add_rows(const struct counting *c, const struct chunk_page *page, const int64_t *values,
		     uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		add_to(&c->sums[page->ranks[i]], (uint64_t)values[i]);
}

/* The same of numbers that are small, and of no type with negative values. */
static void add_small_rows(const struct counting *c, const struct chunk_page *page,
			   const uint32_t *numbers, uint32_t from, uint32_t to)
{
	const uint64_t more = c->type.flags & CHUNK_ONES ? 1 : 0, unit = c->type.unit;
	int64_t *sums = c->sums;

	for (uint32_t i = from; i < to; i++)
		add_to(&sums[page->ranks[i]], (numbers[i] + more) * unit);
}

/* The same in units of the type. */
static void add_narrow_rows(const struct counting *c, const struct chunk_page *page,
			    const uint32_t *numbers, uint32_t from, uint32_t to)
{
	const uint32_t more = c->type.flags & CHUNK_ONES ? 1 : 0;
	uint32_t *sums = c->narrow;

	for (uint32_t i = from; i < to; i++)
		sums[page->ranks[i]] += numbers[i] + more;
}

/* To the slots of their label sets, profile by profile. */
static void add_rows_by_slot(struct counting *c, const struct chunk_page *page,
			     const int64_t *values, uint32_t from, uint32_t to)
{
	const struct chunk_span *span = c->span;
	const size_t n_stacks = span->chunk->entry->n_stacks;

	while (from < to) {
		while (!c->left)
			c->left = span->profiles->n_rows[span->first + ++c->profile];
		const uint32_t end = to - from < c->left ? to : from + c->left;
		uint64_t seen = span->seen[c->profile];

		c->left -= end - from;
		for (; from < end; from++) {
			const unsigned slot = span->slots[page->labels[from]];

			seen |= (uint64_t)1 << slot;
			add_to(&c->sums[slot * n_stacks + page->ranks[from]], (uint64_t)values[from]);
		}
		span->seen[c->profile] = seen;
	}
}

/* Rows [first, last) of the chunk. */
static int add_pages(struct chunk_cursor *cur, struct counting *c, uint64_t first, uint64_t last)
{
	const struct chunk_span *span = c->span;
	int64_t *values = (int64_t *)cur->values[span->type];
	struct chunk_page page;
	int r = chunk_cursor__begin(cur, span->chunk, first, span->slots, 1u << span->type);

	cur->may_be_small = !(c->type.flags & CHUNK_SIGNED);
	while (r == 0 && cur->row < last) {
		r = chunk_cursor__next(cur, &page);
		if (r <= 0)
			return r < 0 ? r : -EBADMSG;
		r = 0;
		const uint32_t from = page.row < first ? (uint32_t)(first - page.row) : 0;
		const uint32_t to = page.row + page.n < last ? page.n : (uint32_t)(last - page.row);

		if (c->narrow && !cur->are_small)
			return -EBADMSG; /* the type's total says otherwise */
		if (c->narrow) {
			add_narrow_rows(c, &page, cur->small, from, to);
			continue;
		}
		if (cur->are_small && !span->slots) {
			add_small_rows(c, &page, cur->small, from, to);
			continue;
		}
		if (cur->are_small)
			make_small_values(&c->type, cur->small, page.n, values);
		else
			make_values(&c->type, values, page.n);
		if (span->slots)
			add_rows_by_slot(c, &page, values, from, to);
		else
			add_rows(c, &page, values, from, to);
	}
	return r;
}

/* The span's rows among the chunk's. */
static int add_span(struct chunk_cursor *cur, struct counting *c)
{
	const struct chunk_span *span = c->span;
	const uint32_t *n_rows = span->profiles->n_rows;
	const uint64_t first = prefix__sum(n_rows, span->first);
	const uint64_t last = first + prefix__sum(n_rows + span->first, span->n);

	return first == last ? 0 : add_pages(cur, c, first, last);
}

int chunk__sum_rows(struct chunk_cursor *cur, const struct chunk_span *span, int64_t *sums)
{
	struct counting c = { .span = span,
			      .type = span->chunk->types[span->type],
			      .sums = sums,
			      .left = span->profiles->n_rows[span->first] };

	if (span->slots && !(span->chunk->entry->flags & CHUNK_LABELS))
		return -EBADMSG;
	return add_span(cur, &c);
}

int chunk__sum_narrow(struct chunk_cursor *cur, const struct chunk_span *span, uint32_t *sums)
{
	struct counting c = { .span = span, .type = span->chunk->types[span->type], .narrow = sums };

	return add_span(cur, &c);
}
