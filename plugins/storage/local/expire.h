/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/expire.h - what is too old or too much goes
 *
 * Blocks go whole, and eras with their last block; of a block with types that are kept for
 * different times the ones that are over for good are taken out by writing it anew, one block a
 * call. Each is one change of the manifest (commit.h): it is made whole or not at all, and what
 * failed is tried again by the next call. Any thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_EXPIRE_H
#define DECIMA_STORAGE_LOCAL_EXPIRE_H

#include "plugins/storage/local/rework.h"

enum { EXPIRE_ROOM_PART = 20 };
/* What went for room has so long to become free before more goes. */
#define EXPIRE_ROOM_COMES_NS (INT64_C(600) * 1000000000)

/*
 * The store's own limits: retention and max_bytes, for all and for single types. Of max_bytes the log
 * and the dictionaries have their part, but not what only a backup under way keeps. And the oldest
 * blocks go while less than a twentieth of the file system is free, unless they would not free
 * anything (a backup has their files too), or the store has no more than that twentieth itself; and
 * what blocks take that are being written anew counts as free. 0 or a negative errno with a sentence.
 * `yield` as in rework.h.
 */
int expire__now(struct store *s, const struct rework_yield *yield, struct dcm_error *err);
/* The same, as far as blocks go whole: none is written anew. */
int expire__whole(struct store *s, struct dcm_error *err);

#endif
