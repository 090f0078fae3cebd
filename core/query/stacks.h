/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/stacks.h - stacks of numbers, brought into order
 *
 * Sorted stacks make a tree without any search: a stack shares its beginning with the one before
 * it, and the rest is new. Sorting is by number, position after position, a shorter stack before a
 * longer one that begins like it.
 *
 * Algorithm: multikey quicksort (Bentley and Sedgewick, "Fast Algorithms for Sorting and Searching
 * Strings", 1997) with the number at hand kept beside each reference, so that a range of stacks is
 * touched once a position. Iterative: stacks may be as deep as they like.
 */
#ifndef DECIMA_QUERY_STACKS_H
#define DECIMA_QUERY_STACKS_H

#include <stdint.h>

#include "core/base/vec.h"

struct stack_ref {
	uint32_t off, n; /* numbers.v[off .. off + n) */
	uint32_t added;	 /* how many had been added before it: where its values are */
	uint32_t key;	 /* of the sorting */
};

/* Zeroed is empty. */
struct stacks {
	VEC(uint32_t) numbers;
	VEC(struct stack_ref) refs;
	VEC(int64_t) values; /* [2 * refs.n], by `added` */
	/* Or NULL: asked now and then while they are sorted, which ends with what it says below 0. */
	int (*is_over)(void *ctx);
	void *over_ctx;
};
void stacks__fini(struct stacks *s);

/* So many stacks and numbers may come, of which some may not: they need not be moved as they grow. */
void stacks__expect(struct stacks *s, size_t n_stacks, size_t n_numbers);

/*
 * Numbers below 2^32 - 1. values [n_values], 1 or 2. -ENOMEM, or -E2BIG beyond 2^31 numbers in all.
 */
int stacks__add(struct stacks *s, const uint32_t *numbers, uint32_t n, const int64_t *values,
		uint32_t n_values);

/* -ENOMEM, or what is_over() says. Stacks are then visited in the order of refs. */
int stacks__sort(struct stacks *s);

/* How many numbers two stacks begin with alike. */
static inline uint32_t stacks__common(const struct stacks *s, const struct stack_ref *a,
				      const struct stack_ref *b)
{
	const uint32_t *p = s->numbers.v + a->off, *q = s->numbers.v + b->off;
	uint32_t n = a->n < b->n ? a->n : b->n, i = 0;

	while (i < n && p[i] == q[i])
		i++;
	return i;
}

#endif
