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
	arena__fini(&s->arena);
}

uint64_t sums__bytes(const struct sums *s)
{
	return s->v.cap * sizeof(s->v.v[0]) + s->totals.cap * sizeof(s->totals.v[0]) +
	       s->touched.cap * sizeof(s->touched.v[0]) +
	       (uint64_t)s->index.cap * sizeof(s->index.slots[0]) + s->tables_bytes +
	       s->arena.total_bytes;
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
	return s->arena.total_bytes + s->tables_bytes + bytes <= s->paged_max;
}

/* Makes the table reach the page; false when memory ran out. */
static bool reach(struct sums *s, struct sums_pages *p, uint64_t at)
{
	const uint64_t n = at + 1 > 2 * (uint64_t)p->n ? at + 1 : 2 * (uint64_t)p->n;
	__int128 **more = mem__resize(p->v, n, sizeof(*more));

	if (!more)
		return false;
	memset(more + p->n, 0, (n - p->n) * sizeof(*more));
	s->tables_bytes += (n - p->n) * sizeof(*more);
	p->v = more;
	p->n = (uint32_t)n;
	return true;
}

/* The key's page, made where it may be; NULL where it may not or (*err) memory ran out. */
static __int128 *page_of(struct sums *s, uint32_t group, uint64_t key, int *err)
{
	const size_t bytes = SUMS_PAGE * s->n_values * sizeof(__int128);
	const uint64_t at = key / SUMS_PAGE;

	*err = 0;
	if (group < s->paged.n && at < s->paged.v[group].n && s->paged.v[group].v[at])
		return s->paged.v[group].v[at];
	if (!s->paged_max || !may_page(s, bytes + (at + 1) * sizeof(__int128 *)))
		return NULL;
	*err = -ENOMEM;
	while (s->paged.n <= group)
		if (!vec__push(&s->paged, (struct sums_pages){ 0 }))
			return NULL;
	struct sums_pages *p = &s->paged.v[group];
	if (at >= p->n && !reach(s, p, at))
		return NULL;
	/* The arena aligns to 8; a page begins at 16. */
	char *room = arena__alloc(&s->arena, bytes + 8);
	if (!room)
		return NULL;
	room += (uintptr_t)room % 16;
	*err = 0;
	return p->v[at] = memset(room, 0, bytes);
}

__int128 *sums__totals_slowly(struct sums *s, uint32_t group, uint64_t key)
{
	int err;
	__int128 *page = page_of(s, group, key, &err);

	if (page)
		return page + key % SUMS_PAGE * s->n_values;
	if (err < 0)
		return NULL;
	const uint32_t at = sums__find(s, group, key);
	return at == UINT32_MAX ? NULL : &s->totals.v[(size_t)at * s->n_values];
}

int sums__add_run(struct sums *s, const struct sums_run *run)
{
	uint64_t page_at = UINT64_MAX;
	__int128 *page = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < run->n; i++) {
		const uint32_t key = run->keys[i];

		if (!run->values[i])
			continue;
		if (key / SUMS_PAGE != page_at) {
			page_at = key / SUMS_PAGE;
			page = page_of(s, run->group, key, &r);
		}
		if (page)
			page[key % SUMS_PAGE * s->n_values + run->at] += (__int128)run->values[i] *
									 (1 << SUMS_FRACTION_BITS);
		else if (r == 0)
			r = sums__add(s, run->at, run->group, key, run->values[i]);
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

int sums__settle(struct sums *s, uint32_t at, uint64_t n_profiles)
{
	for (size_t i = 0; i < s->touched.n; i++) {
		const struct sum *sum = &s->v.v[s->touched.v[i]];
		__int128 *totals = sums__totals(s, sum->group, sum->key);

		if (!totals)
			return -ENOMEM;
		totals[at] += divide(sum->part * ((__int128)1 << SUMS_FRACTION_BITS), n_profiles);
	}
	s->touched.n = 0;
	s->part_mark++;
	return 0;
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

static int give(const struct sums *s, uint32_t group, uint64_t key, const __int128 *totals,
		sums_fn each, void *ctx)
{
	int64_t values[N_VALUES_MAX], any = 0;

	for (uint32_t k = 0; k < s->n_values; k++)
		any |= values[k] = sums__value(totals[k]);
	return any ? each(ctx, group, key, values) : 0;
}

static int give_pages(const struct sums *s, uint32_t group, sums_fn each, void *ctx)
{
	const struct sums_pages *p = &s->paged.v[group];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->n; i++)
		for (uint32_t k = 0; r == 0 && p->v[i] && k < SUMS_PAGE; k++)
			r = give(s, group, (uint64_t)i * SUMS_PAGE + k, p->v[i] + k * s->n_values,
				 each, ctx);
	return r;
}

int sums__each(const struct sums *s, const uint32_t *groups, uint32_t n_groups, sums_fn each, void *ctx)
{
	size_t n = 0, at = 0;
	CLEANUP(mem__freep) struct ordered *o = order_hashed(s, groups, n_groups, &n);
	int r = o ? 0 : -ENOMEM;

	for (uint32_t rank = 0; r == 0 && rank < n_groups; rank++) {
		if (groups[rank] < s->paged.n)
			r = give_pages(s, groups[rank], each, ctx);
		for (; r == 0 && at < n && o[at].rank == rank; at++)
			r = give(s, groups[rank], o[at].key,
				 &s->totals.v[(size_t)o[at].sum * s->n_values], each, ctx);
	}
	return r;
}
