/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/squeeze.c - each goes to where the next one is to be, and that moves on or not
 */
#include "plugins/storage/local/squeeze.h"

#include <stddef.h>

static uint32_t one_by_one(const uint32_t *ids, const int64_t *values, uint32_t n,
			   uint32_t *ret_ids, int64_t *ret_values)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const int64_t value = values[i];

		ret_ids[kept] = ids[i];
		ret_values[kept] = value;
		kept += value != 0;
	}
	return kept;
}

static uint32_t narrow_one_by_one(const uint32_t *ids, const uint32_t *values, uint32_t n,
				  uint32_t *ret_ids, uint32_t *ret_values)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		ret_ids[kept] = ids[i];
		ret_values[kept] = values[i];
		kept += values[i] != 0;
	}
	return kept;
}

#ifdef __x86_64__
#include <immintrin.h>

/* By which of four are kept: these first, whatever follows. */
#define ORDERS(X)                                                                                  \
	X(0, 1, 2, 3)                                                                              \
	X(0, 1, 2, 3)                                                                              \
	X(1, 0, 2, 3)                                                                              \
	X(0, 1, 2, 3)                                                                              \
	X(2, 0, 1, 3)                                                                              \
	X(0, 2, 1, 3)                                                                              \
	X(1, 2, 0, 3)                                                                              \
	X(0, 1, 2, 3)                                                                              \
	X(3, 0, 1, 2)                                                                              \
	X(0, 3, 1, 2)                                                                              \
	X(1, 3, 0, 2)                                                                              \
	X(0, 1, 3, 2)                                                                              \
	X(2, 3, 0, 1)                                                                              \
	X(0, 2, 3, 1)                                                                              \
	X(1, 2, 3, 0)                                                                              \
	X(0, 1, 2, 3)
#define OF_IDS(a, b, c, d) { a, b, c, d },
#define OF_VALUES(a, b, c, d)                                                                      \
	{ 2 * (a), 2 * (a) + 1, 2 * (b), 2 * (b) + 1, 2 * (c), 2 * (c) + 1, 2 * (d), 2 * (d) + 1 },

static const uint32_t ids_order[16][4] = { ORDERS(OF_IDS) };
static const uint32_t values_order[16][8] = { ORDERS(OF_VALUES) }; /* halves of them */

__attribute__((target("avx2,popcnt"))) static uint32_t four_by_four(const uint32_t *ids,
								    const int64_t *values,
								    uint32_t n, uint32_t *ret_ids,
								    int64_t *ret_values)
{
	uint32_t kept = 0, i = 0;

	for (; i + 4 <= n; i += 4) {
		const __m256i v = _mm256_loadu_si256((const void *)(values + i));
		const __m128i id = _mm_loadu_si128((const void *)(ids + i));
		const __m256i is_zero = _mm256_cmpeq_epi64(v, _mm256_setzero_si256());
		const unsigned keep = 15 ^ (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(is_zero));
		const __m256i by = _mm256_loadu_si256((const void *)values_order[keep]);
		const __m128i by_id = _mm_loadu_si128((const void *)ids_order[keep]);
		const __m128 ids_kept = _mm_permutevar_ps(_mm_castsi128_ps(id), by_id);

		_mm256_storeu_si256((void *)(ret_values + kept), _mm256_permutevar8x32_epi32(v, by));
		_mm_storeu_si128((void *)(ret_ids + kept), _mm_castps_si128(ids_kept));
		kept += (uint32_t)__builtin_popcount(keep);
	}
	return kept + one_by_one(ids + i, values + i, n - i, ret_ids + kept, ret_values + kept);
}

__attribute__((target("avx2,popcnt"))) static uint32_t narrow_four_by_four(const uint32_t *ids,
									   const uint32_t *values,
									   uint32_t n, uint32_t *ret_ids,
									   uint32_t *ret_values)
{
	uint32_t kept = 0, i = 0;

	for (; i + 4 <= n; i += 4) {
		const __m128i v = _mm_loadu_si128((const void *)(values + i));
		const __m128i id = _mm_loadu_si128((const void *)(ids + i));
		const __m128i is_zero = _mm_cmpeq_epi32(v, _mm_setzero_si128());
		const unsigned keep = 15 ^ (unsigned)_mm_movemask_ps(_mm_castsi128_ps(is_zero));
		const __m128i by = _mm_loadu_si128((const void *)ids_order[keep]);
		const __m128 v_kept = _mm_permutevar_ps(_mm_castsi128_ps(v), by);
		const __m128 ids_kept = _mm_permutevar_ps(_mm_castsi128_ps(id), by);

		_mm_storeu_si128((void *)(ret_values + kept), _mm_castps_si128(v_kept));
		_mm_storeu_si128((void *)(ret_ids + kept), _mm_castps_si128(ids_kept));
		kept += (uint32_t)__builtin_popcount(keep);
	}
	return kept + narrow_one_by_one(ids + i, values + i, n - i, ret_ids + kept, ret_values + kept);
}
#endif

uint32_t squeeze__zeroes(const uint32_t *ids, const int64_t *values, uint32_t n, uint32_t *ret_ids,
			 int64_t *ret_values)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return four_by_four(ids, values, n, ret_ids, ret_values);
#endif
	return one_by_one(ids, values, n, ret_ids, ret_values);
}

static uint32_t squeeze_narrow(const uint32_t *ids, const uint32_t *values, uint32_t n,
			       uint32_t *ret_ids, uint32_t *ret_values)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return narrow_four_by_four(ids, values, n, ret_ids, ret_values);
#endif
	return narrow_one_by_one(ids, values, n, ret_ids, ret_values);
}

uint32_t squeeze__narrow(const uint32_t *ids, const uint32_t *values, uint32_t n, uint64_t unit,
			 uint32_t *ret_ids, int64_t *ret_values)
{
	uint32_t narrow[PFOR_PAGE];
	const uint32_t kept = squeeze_narrow(ids, values, n, ret_ids, narrow);

	for (uint32_t i = 0; i < kept; i++)
		ret_values[i] = (int64_t)(narrow[i] * unit);
	return kept;
}
