/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/ranks.c - the distinct numbers of a column
 */
#include "plugins/storage/local/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ranks__fini(struct ranks *r)
{
	vec__fini(&r->distinct);
	vec__fini(&r->bits);
	vec__fini(&r->below);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int build_sorted(struct ranks *r, const uint32_t *ids, size_t n)
{
	size_t kept = 0;

	if (!vec__reserve(&r->distinct, n))
		return -ENOMEM;
	memcpy(r->distinct.v, ids, n * sizeof(*ids));
	qsort(r->distinct.v, n, sizeof(*ids), by_number);
	for (size_t i = 0; i < n; i++)
		if (!kept || r->distinct.v[kept - 1] != r->distinct.v[i])
			r->distinct.v[kept++] = r->distinct.v[i];
	r->distinct.n = kept;
	return 0;
}

static int build_dense(struct ranks *r, const uint32_t *ids, size_t n, size_t n_words)
{
	uint32_t count = 0;

	r->bits.n = r->below.n = 0;
	if (!vec__reserve(&r->bits, n_words) || !vec__reserve(&r->below, n_words))
		return -ENOMEM;
	memset(r->bits.v, 0, n_words * sizeof(*r->bits.v));
	for (size_t i = 0; i < n; i++) {
		const uint32_t at = ids[i] - r->smallest;

		r->bits.v[at / 64] |= (uint64_t)1 << at % 64;
	}
	for (size_t w = 0; w < n_words; w++) {
		r->below.v[w] = count;
		count += (uint32_t)__builtin_popcountll(r->bits.v[w]);
	}
	if (!vec__reserve(&r->distinct, count))
		return -ENOMEM;
	for (size_t w = 0; w < n_words; w++)
		for (uint64_t left = r->bits.v[w]; left; left &= left - 1)
			r->distinct.v[r->distinct.n++] = r->smallest + (uint32_t)(w * 64) +
							 (uint32_t)__builtin_ctzll(left);
	return 0;
}

int ranks__build(struct ranks *r, const uint32_t *ids, size_t n)
{
	uint32_t largest = 0;

	r->distinct.n = 0;
	r->smallest = UINT32_MAX;
	for (size_t i = 0; i < n; i++) {
		r->smallest = ids[i] < r->smallest ? ids[i] : r->smallest;
		largest = ids[i] > largest ? ids[i] : largest;
	}
	if (!n)
		return 0;
	const size_t n_words = (size_t)(largest - r->smallest) / 64 + 1;

	r->dense = n_words <= 2 * n + 16;
	return r->dense ? build_dense(r, ids, n, n_words) : build_sorted(r, ids, n);
}

uint32_t ranks__of(const struct ranks *r, uint32_t id)
{
	if (r->dense) {
		const uint32_t at = id - r->smallest;
		const uint64_t lower = ((uint64_t)1 << at % 64) - 1;

		return r->below.v[at / 64] + (uint32_t)__builtin_popcountll(r->bits.v[at / 64] & lower);
	}
	const uint32_t *found = bsearch(&id, r->distinct.v, r->distinct.n, sizeof(id), by_number);

	return (uint32_t)(found - r->distinct.v);
}
