/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/sums.h - sums by (group, key), with the three temporalities' arithmetic in
 * one place
 *
 * Everything is added up in fixed point with 20 fractional bits in 128 bits, which no sum of 64-bit
 * values leaves. Values go into a part first; settle() ends the part: what a gauge added up since
 * the last settle is divided by the number of its profiles (rounded to nearest), anything else
 * counts whole. The last rounding is half up.
 *
 * The key is a stack (merge) or a point of time (series).
 */
#ifndef DECIMA_STORAGE_MEMORY_SUMS_H
#define DECIMA_STORAGE_MEMORY_SUMS_H

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/storage/memory/match.h"

struct sum {
	uint64_t key;
	uint32_t group;
	uint32_t n_profiles; /* of time series */
	int64_t duration_ns;
	uint64_t profile_mark; /* the profile that was counted last */
	uint64_t part_mark;    /* the part that `part` belongs to */
	__int128 part;
};

struct sums {
	uint32_t n_values; /* one for each selection */
	VEC(struct sum) v;
	VEC(__int128) totals;  /* [v.n * n_values] */
	VEC(uint32_t) touched; /* sums with a part */
	struct hindex index;
	uint64_t part_mark;
};

void sums__init(struct sums *s, uint32_t n_values);
void sums__fini(struct sums *s);
uint64_t sums__bytes(const struct sums *s);

/* The sum's index, made when new; UINT32_MAX when memory ran out. */
uint32_t sums__find(struct sums *s, uint32_t group, uint64_t key);
/* Adds to the part. 0 or -ENOMEM. */
int sums__add(struct sums *s, uint32_t group, uint64_t key, int64_t value);
/* Ends the part, for value column `at`. divisor 0: whole; else the number of a gauge's profiles. */
void sums__settle(struct sums *s, uint32_t at, uint32_t divisor);

static inline int64_t sums__value(const struct sums *s, size_t sum, uint32_t at)
{
	__int128 v = (s->totals.v[sum * s->n_values + at] + ((__int128)1 << 19)) >> 20;

	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/*
 * Adds what the profiles [first, first + n) of a stream contribute, as one part for each matching
 * (group, key): rows of delta and gauge types as they are, increases over the profile before for
 * cumulative ones. by_time: the key is time_key instead of the row's stack. `taken` (may be NULL)
 * hears of each profile and the groups that it counts in, perhaps more than once, but of one
 * profile after the other.
 */
struct sums_part {
	struct sums *sums;
	struct match *match;
	const struct view_stream *stream;
	uint32_t first, n;
	bool by_time;
	uint64_t time_key;
	int (*taken)(void *ctx, uint32_t group, const struct profile *p);
	void *ctx;
};
int sums__part(const struct sums_part *part, struct meter *meter);

#endif
