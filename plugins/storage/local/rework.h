/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rework.h - blocks that are written anew: compaction, rescue, removal of
 * rows
 *
 * Each step is one change of the manifest (commit.h), and takes its turn with seals (upkeep.h).
 * When the store stops, the step under way is given up: -ECANCELED, and nothing has changed.
 */
#ifndef DECIMA_STORAGE_LOCAL_REWORK_H
#define DECIMA_STORAGE_LOCAL_REWORK_H

#include "plugins/storage/local/compact_plan.h"
#include "plugins/storage/local/store.h"

/*
 * The next compaction that is due. 1: one was made, there may be more; 0: none is due; or a
 * negative errno.
 */
int rework__compact(struct store *s, struct dcm_error *err);

/*
 * The next block of which a question could not read something: what can be read of it is written
 * anew, and its file set aside (block_file.h), as a compaction does with damaged inputs. One that
 * fails keeps no other waiting, and is tried again by the next call. 1: one was looked at, there
 * may be more; 0: there is none; or the first failure, a negative errno: all others were tried.
 */
int rework__rescue(struct store *s, struct dcm_error *err);

/*
 * Writes a block anew without what filters (filters.h) take, nor what `also` (may be NULL) drops.
 * With `work`, held by the caller. 0 or a negative errno.
 */
int rework__block(struct store *s, struct stored *b, const struct compact_filter *also,
		  struct dcm_error *err);
/* The same by its number. */
int rework__filter(struct store *s, uint64_t number, const struct compact_filter *filter,
		   struct dcm_error *err);

#endif
