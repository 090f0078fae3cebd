/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/sums.c - adds up, divides, rounds
 */
#include "plugins/storage/answer/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"

/* What pages may take; a quarter of what the question may hold, when that is less. */
enum { PAGED_MAX_BYTES = 128 << 20, N_VALUES_MAX = 16 };
/* Values of a run that may go to pages: the same, as a run has many. */
#define RUN_SMALL ((uint64_t)1 << 55)

void sums__init(struct sums *s, uint32_t n_values, bool by_stack, uint64_t max_bytes)
{
	*s = (struct sums){ .n_values = n_values, .part_mark = 1 };
	if (by_stack)
		s->paged_max = max_bytes && max_bytes / 4 < PAGED_MAX_BYTES ? max_bytes / 4
									    : PAGED_MAX_BYTES;
}

void sums__fini(struct sums *s)
{
	for (size_t i = 0; i < s->paged.n; i++)
		free(s->paged.v[i].v);
	vec__fini(&s->paged);
	vec__fini(&s->v);
	vec__fini(&s->totals);
	vec__fini(&s->touched);
	hindex__fini(&s->index);
	for (size_t i = 0; i < s->blocks.n; i++)
		stock__give(s->blocks.v[i].n == STOCK_BLOCK_BYTES ? s->stock : NULL, s->blocks.v[i].p);
	vec__fini(&s->blocks);
}

uint64_t sums__bytes(const struct sums *s)
{
	return s->v.cap * sizeof(s->v.v[0]) + s->totals.cap * sizeof(s->totals.v[0]) +
	       s->touched.cap * sizeof(s->touched.v[0]) +
	       (uint64_t)s->index.cap * sizeof(s->index.slots[0]) + s->tables_bytes + s->blocks_bytes;
}

uint32_t sums__find(struct sums *s, uint32_t group, uint64_t key)
{
	uint64_t h = hash__mix(hash__mix(0, group), key);
	uint32_t row, at = hindex__first(&s->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&s->index, h, at, &row))
		if (s->v.v[row].key == key && s->v.v[row].group == group)
			return row;
	if (s->v.n >= UINT32_MAX - 2 || !vec__reserve(&s->v, 1) ||
	    !vec__reserve(&s->totals, s->n_values) || hindex__insert(&s->index, h, (uint32_t)s->v.n) < 0)
		return UINT32_MAX;
	for (uint32_t i = 0; i < s->n_values; i++)
		s->totals.v[s->totals.n++] = 0;
	s->v.v[s->v.n] = (struct sum){ .key = key, .group = group };
	return (uint32_t)s->v.n++;
}

/* -------------------------------------------------------------------------------------------------
 * Pages
 */

static bool may_page(const struct sums *s, uint64_t bytes)
{
	return s->blocks_bytes + s->tables_bytes + bytes <= s->paged_max;
}

/* Makes the table reach the page; false when memory ran out. */
static bool reach(struct sums *s, struct sums_pages *p, uint64_t at)
{
	const uint64_t n = at + 1 > 2 * (uint64_t)p->n ? at + 1 : 2 * (uint64_t)p->n;
	int64_t **more = mem__resize(p->v, n, sizeof(*more));

	if (!more)
		return false;
	memset(more + p->n, 0, (n - p->n) * sizeof(*more));
	s->tables_bytes += (n - p->n) * sizeof(*more);
	p->v = more;
	p->n = (uint32_t)n;
	return true;
}

/* Room for more pages: ever more at once, so that few pages do not take much. False: none. */
static bool add_block(struct sums *s, size_t page_bytes)
{
	uint32_t n = s->n_together ? 2 * s->n_together : 1;
	struct sums_block b = { 0 };

	if (!vec__reserve(&s->blocks, 1))
		return false;
	if (may_page(s, STOCK_BLOCK_BYTES))
		b = (struct sums_block){ stock__take(s->stock), STOCK_BLOCK_BYTES };
	if (!b.p) {
		while (n > 1 && (n * page_bytes > STOCK_BLOCK_BYTES || !may_page(s, n * page_bytes)))
			n /= 2;
		b.n = n * page_bytes;
		if (b.n > STOCK_BLOCK_BYTES / 2 && may_page(s, STOCK_BLOCK_BYTES))
			b.n = STOCK_BLOCK_BYTES;
		b.p = malloc(b.n);
	}
	if (!b.p)
		return false;
	s->blocks.v[s->blocks.n++] = b;
	s->blocks_bytes += b.n;
	s->spare = b.p;
	s->n_spare = s->n_together = (uint32_t)(b.n / page_bytes);
	return true;
}

/* Memory for one page, zeroed; NULL when it ran out. */
static int64_t *take_page(struct sums *s, size_t bytes)
{
	if (!s->n_spare && !add_block(s, bytes))
		return NULL;
	int64_t *page = s->spare;
	s->spare += bytes / sizeof(*page);
	s->n_spare--;
	return memset(page, 0, bytes);
}

/* The key's page, made where it may be; NULL where it may not or (*err) memory ran out. */
static int64_t *page_of(struct sums *s, uint32_t group, uint64_t key, int *err)
{
	const size_t bytes = SUMS_PAGE * s->n_values * sizeof(int64_t);
	const uint64_t at = key / SUMS_PAGE;

	*err = 0;
	if (group < s->paged.n && at < s->paged.v[group].n && s->paged.v[group].v[at])
		return s->paged.v[group].v[at];
	if (!s->paged_max || !may_page(s, (s->n_spare ? 0 : bytes) + (at + 1) * sizeof(int64_t *)))
		return NULL;
	*err = -ENOMEM;
	while (s->paged.n <= group)
		if (!vec__push(&s->paged, (struct sums_pages){ 0 }))
			return NULL;
	struct sums_pages *p = &s->paged.v[group];
	if (at >= p->n && !reach(s, p, at))
		return NULL;
	int64_t *page = take_page(s, bytes);
	if (!page)
		return NULL;
	*err = 0;
	return p->v[at] = page;
}

int sums__add_wide(struct sums *s, uint32_t at, uint32_t group, uint64_t key, __int128 value)
{
	const uint32_t row = sums__find(s, group, key);

	if (row == UINT32_MAX)
		return -ENOMEM;
	s->totals.v[(size_t)row * s->n_values + at] += value * (1 << SUMS_FRACTION_BITS);
	return 0;
}

static int empty_page(struct sums *s, uint32_t group, uint64_t key, int64_t *page)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < SUMS_PAGE * s->n_values; i++) {
		if (page[i])
			r = sums__add_wide(s, i % s->n_values, group, key + i / s->n_values, page[i]);
		page[i] = 0;
	}
	return r;
}

/* Makes room for as much in every total of the pages. 0 or -ENOMEM. */
static int make_room(struct sums *s, uint64_t more)
{
	int r = 0;

	if (more <= INT64_MAX - s->most)
		return 0;
	for (uint32_t g = 0; g < s->paged.n; g++)
		for (uint32_t i = 0; r == 0 && i < s->paged.v[g].n; i++)
			if (s->paged.v[g].v[i])
				r = empty_page(s, g, (uint64_t)i * SUMS_PAGE, s->paged.v[g].v[i]);
	s->most = 0;
	return r;
}

int sums__add_slowly(struct sums *s, uint32_t at, uint32_t group, uint64_t key, int64_t value)
{
	const uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
	int r = make_room(s, size <= SUMS_SMALL ? size : 0);
	int64_t *page = r == 0 && size <= SUMS_SMALL ? page_of(s, group, key, &r) : NULL;

	if (r < 0)
		return r;
	if (!page)
		return sums__add_wide(s, at, group, key, value);
	s->most += size;
	page[key % SUMS_PAGE * s->n_values + at] += value;
	return 0;
}

typedef uint64_t pair __attribute__((vector_size(16)));

/* Of all values, a bound of their size; UINT64_MAX when one is below 0. */
static uint64_t largest(const int64_t *v, uint32_t n)
{
	pair bits = { 0 }, two;
	uint32_t i = 0;

	for (; i + 2 <= n; i += 2) {
		memcpy(&two, v + i, sizeof(two));
		bits |= two;
	}
	const uint64_t all = bits[0] | bits[1] | (i < n ? (uint64_t)v[i] : 0);
	return all > INT64_MAX ? UINT64_MAX : all;
}

/* Where some are too large for pages or below 0. */
static int add_each(struct sums *s, const struct sums_run *run)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < run->n; i++)
		if (run->values[i])
			r = sums__add(s, run->at, run->group, run->keys[i], run->values[i]);
	return r;
}

/* Values of keys from run->keys[i] on, as far as these are in its page; how far that was. */
static uint32_t add_to_page(int64_t *page, uint32_t stride, const struct sums_run *run, uint32_t i)
{
	const uint32_t *keys = run->keys, n = run->n, first = keys[i] - keys[i] % SUMS_PAGE;
	const int64_t *values = run->values;

	if (stride == 1) {
		for (uint32_t k; i < n && (k = keys[i] - first) < SUMS_PAGE; i++)
			page[k] += values[i];
		return i;
	}
	page += run->at;
	for (uint32_t k; i < n && (k = keys[i] - first) < SUMS_PAGE; i++)
		page[(size_t)k * stride] += values[i];
	return i;
}

int sums__add_run(struct sums *s, const struct sums_run *run)
{
	const uint64_t size = largest(run->values, run->n);
	int r = size <= RUN_SMALL ? make_room(s, size) : 0;

	if (size > RUN_SMALL)
		return add_each(s, run);
	s->most += size;
	for (uint32_t i = 0, end; r == 0 && i < run->n; i = end) {
		int64_t *page = page_of(s, run->group, run->keys[i], &r);

		if (page) {
			end = add_to_page(page, s->n_values, run, i);
			continue;
		}
		/*
		 * Not by sums__add(): what it makes room for would take away the room that the run
		 * counts on.
		 */
		end = i + 1;
		if (r == 0 && run->values[i])
			r = sums__add_wide(s, run->at, run->group, run->keys[i], run->values[i]);
	}
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Parts
 */

int sums__add_part(struct sums *s, uint32_t group, uint64_t key, __int128 value)
{
	uint32_t at = sums__find(s, group, key);

	if (at == UINT32_MAX)
		return -ENOMEM;
	struct sum *sum = &s->v.v[at];
	if (sum->part_mark != s->part_mark) {
		if (!vec__push(&s->touched, at))
			return -ENOMEM;
		sum->part_mark = s->part_mark;
		sum->part = 0;
	}
	sum->part += value;
	return 0;
}

/* a / b rounded to nearest, halves up. b > 0. */
static __int128 divide(__int128 a, __int128 b)
{
	__int128 n = 2 * a + b, d = 2 * b, q = n / d;

	return n % d < 0 ? q - 1 : q;
}

void sums__settle(struct sums *s, uint32_t at, uint64_t n_profiles)
{
	for (size_t i = 0; n_profiles && i < s->touched.n; i++) {
		const uint32_t row = s->touched.v[i];

		s->totals.v[(size_t)row * s->n_values + at] += divide(
			s->v.v[row].part * ((__int128)1 << SUMS_FRACTION_BITS), n_profiles);
	}
	s->touched.n = 0;
	s->part_mark++;
}

/* -------------------------------------------------------------------------------------------------
 * Joining
 */

/* All that pages of the other may have is ours then, and so is their memory. */
static int adopt_blocks(struct sums *s, struct sums *from)
{
	if (!vec__reserve(&s->blocks, from->blocks.n))
		return -ENOMEM;
	for (size_t i = 0; i < from->blocks.n; i++)
		s->blocks.v[s->blocks.n++] = from->blocks.v[i];
	s->blocks_bytes += from->blocks_bytes;
	s->most += from->most;
	from->blocks.n = 0;
	return 0;
}

/*
 * Pages of the same keys: they are taken over where there are none yet, and their memory is by
 * then. There is room for what is in them.
 */
static int join_pages(struct sums *s, uint32_t group, const struct sums_pages *from)
{
	while (s->paged.n <= group)
		if (!vec__push(&s->paged, (struct sums_pages){ 0 }))
			return -ENOMEM;
	struct sums_pages *to = &s->paged.v[group];
	if (from->n > to->n && !reach(s, to, from->n - 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->n; i++) {
		const int64_t *page = from->v[i];

		if (page && to->v[i])
			for (uint32_t k = 0; k < SUMS_PAGE * s->n_values; k++)
				to->v[i][k] += page[k];
		else if (page)
			to->v[i] = from->v[i];
	}
	return 0;
}

/* Keys of a page that add up to something, from `key` on, and their values column by column. */
static int rename_page(struct sums *s, uint32_t group, uint32_t key, const int64_t *page,
		       const struct sums_names *names)
{
	uint32_t keys[SUMS_PAGE], at[SUMS_PAGE], n = 0;
	int64_t values[SUMS_PAGE];
	int r = 0;

	for (uint32_t i = 0; i < SUMS_PAGE; i++) {
		int64_t any = 0;

		for (uint32_t k = 0; k < s->n_values; k++)
			any |= page[(size_t)i * s->n_values + k];
		keys[n] = key + i;
		at[n] = i * s->n_values;
		n += any != 0;
	}
	if (n)
		r = names->rename(names->ctx, keys, n);
	for (uint32_t k = 0; r == 0 && n && k < s->n_values; k++) {
		const struct sums_run run = { k, group, n, keys, values };

		for (uint32_t i = 0; i < n; i++)
			values[i] = page[at[i] + k];
		r = sums__add_run(s, &run);
	}
	return r;
}

/* One that is found by hash. */
static int join_sum(struct sums *s, const struct sums *from, uint32_t i, const struct sums_names *names)
{
	const struct sum *f = &from->v.v[i];
	uint32_t renamed = (uint32_t)f->key;
	int r = names->rename ? names->rename(names->ctx, &renamed, 1) : 0;

	if (r < 0)
		return r;
	const uint32_t row = sums__find(s, names->groups[f->group], names->rename ? renamed : f->key);
	if (row == UINT32_MAX)
		return -ENOMEM;
	for (uint32_t k = 0; k < s->n_values; k++)
		s->totals.v[(size_t)row * s->n_values + k] += from->totals.v[(size_t)i * s->n_values + k];
	s->v.v[row].n_profiles += f->n_profiles;
	if (__builtin_add_overflow(s->v.v[row].duration_ns, f->duration_ns, &s->v.v[row].duration_ns))
		s->v.v[row].duration_ns = INT64_MAX;
	return 0;
}

static int rename_pages(struct sums *s, uint32_t group, const struct sums_pages *from,
			const struct sums_names *names)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < from->n; i++)
		if (from->v[i])
			r = rename_page(s, group, i * SUMS_PAGE, from->v[i], names);
	return r;
}

int sums__join(struct sums *s, struct sums *from, const struct sums_names *names)
{
	int r = names->rename ? 0 : make_room(s, from->most);

	if (r == 0 && !names->rename)
		r = adopt_blocks(s, from);
	for (uint32_t g = 0; r == 0 && g < from->paged.n; g++)
		r = names->rename ? rename_pages(s, names->groups[g], &from->paged.v[g], names)
				  : join_pages(s, names->groups[g], &from->paged.v[g]);
	for (uint32_t i = 0; r == 0 && i < from->v.n; i++)
		r = join_sum(s, from, i, names);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Giving out
 */

struct ordered {
	uint32_t rank; /* of the group */
	uint32_t sum;
	uint64_t key;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The sums that are found by hash, by rank and key; *ret_n of them. NULL when memory ran out. */
static struct ordered *order_hashed(const struct sums *s, const uint32_t *groups, uint32_t n_groups,
				    size_t *ret_n)
{
	struct ordered *o = mem__resize(NULL, s->v.n ? s->v.n : 1, sizeof(*o));
	CLEANUP(mem__freep)
	uint32_t *ranks = mem__resize(NULL, n_groups ? n_groups : 1, sizeof(*ranks));
	size_t n = 0;

	if (!o || !ranks) {
		free(o);
		return NULL;
	}
	for (uint32_t i = 0; i < n_groups; i++)
		ranks[groups[i]] = i;
	for (uint32_t i = 0; i < s->v.n; i++)
		o[n++] = (struct ordered){ ranks[s->v.v[i].group], i, s->v.v[i].key };
	qsort(o, n, sizeof(*o), compare_ordered);
	*ret_n = n;
	return o;
}

/* On the way through a group: [at, end) of what is found by hash is still to be given out. */
struct giving {
	const struct sums *s;
	const struct ordered *at, *end;
	uint32_t group;
	sums_fn each;
	void *ctx;
};

/* whole[n_values], or NULL, and totals[n_values], or NULL, of a key. */
static int give(const struct giving *g, uint64_t key, const int64_t *whole, const __int128 *totals)
{
	int64_t values[N_VALUES_MAX], any = 0;

	for (uint32_t k = 0; k < g->s->n_values; k++) {
		const __int128 total = totals ? totals[k] : 0;

		any |= values[k] = !totals ? whole[k]
				   : whole ? sums__value(total + (__int128)whole[k] *
									 (1 << SUMS_FRACTION_BITS))
					   : sums__value(total);
	}
	return any ? g->each(g->ctx, g->group, key, values) : 0;
}

static const __int128 *totals_of(const struct giving *g)
{
	return &g->s->totals.v[(size_t)g->at->sum * g->s->n_values];
}

/* A key of a page, and the hashed ones before it. */
static int give_whole(struct giving *g, uint64_t key, const int64_t *whole)
{
	int r = 0;

	for (; r == 0 && g->at < g->end && g->at->key < key; g->at++)
		r = give(g, g->at->key, NULL, totals_of(g));
	if (r == 0 && g->at < g->end && g->at->key == key) {
		r = give(g, key, whole, totals_of(g));
		g->at++;
		return r;
	}
	return r != 0 ? r : give(g, key, whole, NULL);
}

static int give_pages(struct giving *g, const struct sums_pages *p)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->n; i++)
		for (uint32_t k = 0; r == 0 && p->v[i] && k < SUMS_PAGE; k++)
			r = give_whole(g, (uint64_t)i * SUMS_PAGE + k, p->v[i] + k * g->s->n_values);
	return r;
}

int sums__each(const struct sums *s, const uint32_t *groups, uint32_t n_groups, sums_fn each, void *ctx)
{
	size_t n = 0;
	CLEANUP(mem__freep) struct ordered *o = order_hashed(s, groups, n_groups, &n);
	struct giving g = { .s = s, .at = o, .end = o, .each = each, .ctx = ctx };
	int r = o ? 0 : -ENOMEM;

	for (uint32_t rank = 0; r == 0 && rank < n_groups; rank++) {
		g.group = groups[rank];
		while (g.end < o + n && g.end->rank == rank)
			g.end++;
		if (g.group < s->paged.n)
			r = give_pages(&g, &s->paged.v[g.group]);
		for (; r == 0 && g.at < g.end; g.at++)
			r = give(&g, g.at->key, NULL, totals_of(&g));
	}
	return r;
}
