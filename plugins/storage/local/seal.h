/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/seal.h - a head as a block
 *
 * A stream has one type; a chunk has all types of a series whose profiles have the same times and the same rows, so
 * that a heap profile's stacks stand once, as they came.
 */
#ifndef DECIMA_STORAGE_LOCAL_SEAL_H
#define DECIMA_STORAGE_LOCAL_SEAL_H

#include "plugins/storage/local/block.h"
#include "plugins/storage/local/head.h"

/*
 * The whole head, which nobody changes meanwhile, as one block. 0, -ENOMEM, -EFBIG (more rows than a block has), or
 * put()'s.
 */
int seal__write(const struct head *h, const struct block_options *o, block_put_fn put, void *ctx,
		struct block_info *ret);

#endif
