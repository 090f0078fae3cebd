/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/ranks.h - the distinct numbers of a column, and which place each has among
 * them
 *
 * Stacks and label sets are numbered through an era; a chunk sees few of them, and its rows say
 * which of those it is. A set of bits over [smallest, largest] counts places by population count:
 * one pass in, one pass out, no sorting. Where the numbers are so far apart that the bits would
 * cost more than the rows, they are sorted and searched instead.
 *
 * One thread. Memory is used again from column to column.
 */
#ifndef DECIMA_STORAGE_LOCAL_RANKS_H
#define DECIMA_STORAGE_LOCAL_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"

struct ranks {
	VEC(uint32_t) distinct; /* ascending */
	uint32_t smallest;
	bool dense;	     /* the bits are in use */
	VEC(uint64_t) bits;  /* bit i: smallest + i is there */
	VEC(uint32_t) below; /* by word of bits: how many are in words before */
};
void ranks__fini(struct ranks *r);

/* Takes in ids[n]. 0 or -ENOMEM. */
int ranks__build(struct ranks *r, const uint32_t *ids, size_t n);

/* The place of an id that was taken in. */
uint32_t ranks__of(const struct ranks *r, uint32_t id);

#endif
