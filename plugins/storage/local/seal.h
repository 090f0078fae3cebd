/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/seal.h - a head as blocks
 *
 * One for each window of time, two hours as those of compactions (compact_plan.h), so that what
 * comes late stands in a small block of its own, which is compacted without the large ones that
 * were there before.
 *
 * A stream has one type; a chunk has all types of a series whose profiles have the same times and
 * the same rows, so that a heap profile's stacks stand once, as they came.
 */
#ifndef DECIMA_STORAGE_LOCAL_SEAL_H
#define DECIMA_STORAGE_LOCAL_SEAL_H

#include <stdbool.h>

#include "plugins/storage/local/block.h"
#include "plugins/storage/local/head.h"

/*
 * The window of the head's first profile that does not start before from_ms. False: there is none.
 */
bool seal__window(const struct head *h, int64_t from_ms, struct heads_window *ret);

/* What questions count: a profile of k types is k, and so are its rows. */
struct seal_amount {
	uint64_t n_profiles, n_rows;
};

/*
 * What the head, which nobody changes meanwhile, has in the window, as one block. 0, -ENOMEM,
 * -EFBIG (more rows than a block has), or put()'s.
 */
int seal__write(const struct head *h, const struct heads_window *window, const struct block_options *o,
		block_put_fn put, void *ctx, struct block_info *ret, struct seal_amount *ret_amount);

#endif
