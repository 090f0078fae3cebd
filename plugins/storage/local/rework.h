/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rework.h - blocks that are written anew: compaction, rescue, removal of
 * rows
 *
 * Each step is one change of the manifest (commit.h). A large block takes minutes, in which the
 * store seals and retires blocks as ever: `work` is held to choose the blocks and to exchange them,
 * and nobody holds it while the new ones are written. Nobody else writes the same anew meanwhile.
 * Who removes one of the blocks, or finds rows in it that go (removal.h), calls it outdated; what
 * was written is thrown away then, and the step is due again.
 *
 * When the store stops, the step under way is given up: -ECANCELED, and nothing has changed.
 */
#ifndef DECIMA_STORAGE_LOCAL_REWORK_H
#define DECIMA_STORAGE_LOCAL_REWORK_H

#include "plugins/storage/local/compact_plan.h"
#include "plugins/storage/local/store.h"

/*
 * Called between chunks while blocks are written, without a lock of the store's: whoever has one
 * thread for everything does the rest there. True: the step is given up, -ECANCELED.
 */
struct rework_yield {
	bool (*fn)(void *ctx);
	void *ctx;
};

/* Of all that follow: `yield` may be NULL. */

/* With `work`, and without it meanwhile: until something was written anew, or a moment is over. */
void rework__wait(struct store *s);

/*
 * The next compaction that is due. 1: one was made, there may be more; 0: none is due; or a
 * negative errno.
 */
int rework__compact(struct store *s, const struct rework_yield *yield, struct dcm_error *err);

/*
 * The next block of which a question could not read something: what can be read of it is written
 * anew, and its file set aside (block_file.h), as a compaction does with damaged inputs. One that
 * fails keeps no other waiting, and is tried again by the next call. 1: one was looked at, there
 * may be more; 0: there is none; or the first failure, a negative errno: all others were tried.
 */
int rework__rescue(struct store *s, const struct rework_yield *yield, struct dcm_error *err);

/*
 * Writes a block anew without what filters (filters.h) take, nor what `also` (may be NULL) drops.
 * With `work`, held by the caller, who has to look at the list of blocks again afterwards. 0; 1: it
 * is due again, as when somebody is at it; or a negative errno.
 */
int rework__block(struct store *s, struct stored *b, const struct compact_filter *also,
		  const struct rework_yield *yield, struct dcm_error *err);
/* The same by its number. Adds to *ret_n_gone, as questions count, the profiles that went. */
int rework__filter(struct store *s, uint64_t number, const struct compact_filter *filter,
		   const struct rework_yield *yield, uint64_t *ret_n_gone, struct dcm_error *err);

#endif
