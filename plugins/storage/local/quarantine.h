/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/quarantine.h - damaged blocks that were set aside, and when they go
 *
 * quarantine/NUMBER.blk is the file of a block that could not be read whole: for people who want to
 * look at it, or to get more out of it. No answer has it; what it lacks stands in the list of
 * losses (losses.h). It goes when
 *
 *	- its loss is no longer listed, or older than the retention;
 *	- a removal concerns some of its time: what was to be removed may be in it;
 *	- all of them have more than a sixteenth of the store's bound of bytes: the oldest first, never
 *	  the newest. What is old is told by the blocks' numbers.
 *
 * Threads: who has the store's `work`, but count(): anybody.
 */
#ifndef DECIMA_STORAGE_LOCAL_QUARANTINE_H
#define DECIMA_STORAGE_LOCAL_QUARANTINE_H

#include "plugins/storage/local/store.h"

enum { QUARANTINE_PART = 16 };
#define QUARANTINE_MAX_BYTES (UINT64_C(1) << 30) /* of a store without a bound */

/*
 * Removes what is to go, durably, and notes in the store how much is left. `removed`: what a
 * removal was asked for, or NULL. 0 or a negative errno with a sentence.
 */
int quarantine__trim(struct store *s, const struct dcm_select *removed, struct dcm_error *err);

/*
 * The block's file, of so many bytes, was set aside. What is to go goes when it is this one, when all
 * are too many bytes, and when they have become twice as many: the directory is not looked through
 * for each of many.
 */
void quarantine__add(struct store *s, uint64_t number, uint64_t bytes);

/* How much there is, into the store's numbers; of a directory that cannot be listed nothing. */
void quarantine__count(struct store *s);

#endif
