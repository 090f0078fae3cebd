/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/squeeze.h - what is left of numbers and their values when zeroes go
 *
 * A short range of a chunk has values for some of its stacks; the others, which are most, are not
 * worth a look at the answer's sums. No branch is taken for each, as none could be foreseen.
 *
 * No state, any thread. n <= PFOR_PAGE.
 */
#ifndef DECIMA_STORAGE_LOCAL_SQUEEZE_H
#define DECIMA_STORAGE_LOCAL_SQUEEZE_H

#include <stdint.h>

#include "plugins/storage/local/pfor.h"

/*
 * Those of ids[n] whose values[n] are not 0, in their order, to ret_ids and ret_values; how many.
 * Both have room for n, which is all written over. They may be ids and values themselves.
 */
uint32_t squeeze__zeroes(const uint32_t *ids, const int64_t *values, uint32_t n, uint32_t *ret_ids,
			 int64_t *ret_values);

/* The same of values[n] * unit. */
uint32_t squeeze__narrow(const uint32_t *ids, const uint32_t *values, uint32_t n, uint64_t unit,
			 uint32_t *ret_ids, int64_t *ret_values);

#endif
