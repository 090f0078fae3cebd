/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_types.h - which types a block has, and how much of each
 *
 * A block never changes, nor does what its numbers mean: what was found out once is kept with it,
 * so that its era's dictionary need not come into memory each time.
 */
#ifndef DECIMA_STORAGE_LOCAL_BLOCK_TYPES_H
#define DECIMA_STORAGE_LOCAL_BLOCK_TYPES_H

#include "core/base/vec.h"
#include "plugins/storage/local/store.h"

struct block_type {
	uint32_t type;	/* of the era's dictionary */
	uint64_t bytes; /* of the block; a chunk's are shared by its types alike */
	char *text; /* as selections write it; NULL: the dictionary lacks it, or from block__types() */
};

typedef VEC(struct block_type) block_type_list;

/* By number, each once, into an empty list. 0 or -ENOMEM. */
int block__types(const struct block *b, block_type_list *ret);

struct block_types {
	block_type_list list;
};
void block_types__free(struct block_types *t); /* NULL is fine */

/*
 * With `work`. Valid as long as the block's reference. *last is the era that a call was for, which
 * has its dictionary in memory as long: a reference of the caller's, NULL at first. 0, -ENOMEM, or
 * why the block or its dictionary cannot be read now.
 */
int block_types__get(struct store *s, struct stored *b, struct era **last,
		     const struct block_types **ret);

#endif
