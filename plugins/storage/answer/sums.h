/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/sums.h - sums by (group, key), exact
 *
 * Everything is added up in fixed point with 20 fractional bits in 128 bits, which no sum of 64-bit
 * values leaves. Increments of delta and cumulative types go into the totals at once. Those of
 * gauges go into a part first; settle() ends the part: what was added up since the last settle is
 * divided by the number of its profiles (rounded to nearest). The last rounding is half up.
 *
 * The key is a stack (merge) or a point of time (series). Where many keys are near each other, as
 * stacks are, whole numbers go to pages: 64 bits for each of SUMS_PAGE keys, an index away. How
 * large a total there may be is known from what was added; before one leaves 64 bits, all of the
 * pages go over to the 128 bits, and begin from 0. A total is the two together. When the pages have
 * taken what they may, no further ones are made: what has no page then, and points of time, are
 * found by hash.
 */
#ifndef DECIMA_STORAGE_ANSWER_SUMS_H
#define DECIMA_STORAGE_ANSWER_SUMS_H

#include <errno.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/storage/answer/stock.h"

enum { SUMS_PAGE = 256, SUMS_FRACTION_BITS = 20 };
/* What may go to a page: so small that pages are emptied once in very many values. */
#define SUMS_SMALL ((uint64_t)1 << 44)

struct sum {
	uint64_t key;
	uint32_t group;
	uint32_t n_profiles; /* of time series */
	int64_t duration_ns;
	uint64_t profile_mark; /* the profile that was counted last */
	uint64_t part_mark;    /* the part that `part` belongs to */
	__int128 part;
};

/* A group's whole numbers by key: pages of [SUMS_PAGE][n_values], NULL where there is none. */
struct sums_pages {
	int64_t **v; /* [n] */
	uint32_t n;
};

/* Memory of pages, allocated together. */
struct sums_block {
	void *p;
	size_t n; /* STOCK_BLOCK_BYTES, or a smaller one, which is not worth keeping */
};

struct sums {
	uint32_t n_values; /* one for each selection */
	VEC(struct sum) v;
	VEC(__int128) totals;  /* [v.n * n_values] */
	VEC(uint32_t) touched; /* sums with a part */
	struct hindex index;
	uint64_t part_mark;
	VEC(struct sums_pages) paged; /* by group */
	uint64_t most;		      /* nothing in them is larger, at most INT64_MAX */
	uint64_t tables_bytes;	      /* of paged.v[].v */
	uint64_t paged_max;	      /* what tables and pages may come to; 0: no pages */
	VEC(struct sums_block) blocks;
	uint64_t blocks_bytes;
	int64_t *spare;		      /* pages that were allocated with the newest one, [n_spare] */
	uint32_t n_spare, n_together; /* how many were allocated together the last time */
	struct stock *stock;	      /* where blocks come from and go to; may be NULL */
};

/*
 * by_stack: keys are small numbers, and may have pages. max_bytes: what the question may hold; 0:
 * no bound.
 */
void sums__init(struct sums *s, uint32_t n_values, bool by_stack, uint64_t max_bytes);
void sums__fini(struct sums *s);
uint64_t sums__bytes(const struct sums *s);

/* The sum's index, made when new; UINT32_MAX when memory ran out. */
uint32_t sums__find(struct sums *s, uint32_t group, uint64_t key);

/* Adds to the total of value column `at`. 0 or -ENOMEM. */
int sums__add_wide(struct sums *s, uint32_t at, uint32_t group, uint64_t key, __int128 value);
int sums__add_slowly(struct sums *s, uint32_t at, uint32_t group, uint64_t key, int64_t value);
static inline int sums__add(struct sums *s, uint32_t at, uint32_t group, uint64_t key, int64_t value)
{
	const uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;

	if (group < s->paged.n && size <= SUMS_SMALL && size <= INT64_MAX - s->most) {
		const struct sums_pages *p = &s->paged.v[group];

		if (key / SUMS_PAGE < p->n && p->v[key / SUMS_PAGE]) {
			s->most += size;
			p->v[key / SUMS_PAGE][key % SUMS_PAGE * s->n_values + at] += value;
			return 0;
		}
	}
	return sums__add_slowly(s, at, group, key, value);
}

/*
 * Adds values[n] to the totals of the keys [n], each of which comes once; it is fast where they
 * ascend. 0 or -ENOMEM.
 */
struct sums_run {
	uint32_t at, group; /* value column */
	uint32_t n;
	const uint32_t *keys;
	const int64_t *values;
};
int sums__add_run(struct sums *s, const struct sums_run *run);

/* Adds to the part. 0 or -ENOMEM. */
int sums__add_part(struct sums *s, uint32_t group, uint64_t key, __int128 value);
/* Ends the part, for value column `at`, with the number of its profiles; without any it is void. */
void sums__settle(struct sums *s, uint32_t at, uint64_t n_profiles);

/*
 * Adds what another one came to, whose parts have ended, and which has as many values. That one is
 * good for sums__fini() alone then. 0 or -ENOMEM.
 */
struct sums_names {
	const uint32_t *groups; /* by its number of a group: what it is called here */
	/* Keys [n], at most SUMS_PAGE of 32 bits, are renamed; NULL: none is. */
	int (*rename)(void *ctx, uint32_t *keys, uint32_t n);
	void *ctx;
};
int sums__join(struct sums *s, struct sums *from, const struct sums_names *names);

/* A total as it is answered: rounded, and held at the limits. */
static inline int64_t sums__value(__int128 total)
{
	const __int128 v = (total + ((__int128)1 << (SUMS_FRACTION_BITS - 1))) >> SUMS_FRACTION_BITS;

	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/*
 * Totals by group in the order given, and by key; `each` hears of those that are answered as
 * something else than 0 in some column. 0, -ENOMEM, or what each() returned.
 */
typedef int (*sums_fn)(void *ctx, uint32_t group, uint64_t key, const int64_t *values);
int sums__each(const struct sums *s, const uint32_t *groups, uint32_t n_groups, sums_fn each, void *ctx);

#endif
