/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/removal.h - rows that match go: from answers at once, from the disk later
 *
 * A removal reads what may match, to count it and to know its blocks, and is then one change of the
 * manifest that adds a filter (filters.h). It needs as much room on the disk as the manifest takes,
 * and no more. Blocks are written anew without the rows step by step, when there is time and room;
 * what the log has of them goes with its segments, label texts with their era.
 *
 * What comes while it reads, or later, is not looked at and stays.
 *
 * Threads: any. One at a time looks at what is there; blocks are written anew by several (rework.h).
 */
#ifndef DECIMA_STORAGE_LOCAL_REMOVAL_H
#define DECIMA_STORAGE_LOCAL_REMOVAL_H

#include "plugins/storage/local/rework.h"

/*
 * *ret_n: profiles that lost something, each type of one counted once. 0 when it is durable.
 * Otherwise a negative errno: nothing has changed, or (-EIO and the like of a disk that took the
 * change but not its sync) a power cut may undo it, or it is durable and a file that was set aside
 * (quarantine.h), in which some of it may be, could not go: the sentence says so, and the same
 * removal once more tries again.
 */
int removal__select(struct store *s, const struct dcm_select *sel, uint64_t *ret_n,
		    struct dcm_error *err);

/*
 * Adds to *ret_n. All that starts before the time; and its blocks are written anew before it
 * returns.
 */
int removal__before(struct store *s, int64_t cutoff_ms, uint64_t *ret_n, struct dcm_error *err);

/* Seals, and does the same with the oldest until blocks have at most so many bytes. */
int removal__to(struct store *s, uint64_t max_bytes, uint64_t *ret_n, struct dcm_error *err);

/*
 * The next block that has removed rows is written anew, or filters that nothing needs any more go.
 * 1: something was done, there may be more; 0: nothing is to do, or not before a seal; or a
 * negative errno. `yield` as in rework.h.
 */
int removal__step(struct store *s, const struct rework_yield *yield, struct dcm_error *err);
/* Step after step until there is none. */
int removal__drain(struct store *s, struct dcm_error *err);

/* For who replays the log: heads hold all frames up to `lsn`. 0 or -ENOMEM. */
int removal__replay(struct store *s, uint64_t lsn);

#endif
