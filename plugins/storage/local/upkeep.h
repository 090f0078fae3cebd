/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/upkeep.h - what the store does when nobody asks: seals, recovers (and
 * expires: expire.h)
 *
 * Each is one change of the manifest (commit.h): it is made whole or not at all, and what failed is
 * tried again by the next call. One thread at a time is in here; the functions see to that.
 */
#ifndef DECIMA_STORAGE_LOCAL_UPKEEP_H
#define DECIMA_STORAGE_LOCAL_UPKEEP_H

#include "plugins/storage/local/store.h"

/*
 * Closes the heads and makes blocks of them. 0, also when there is nothing to seal, or the cause:
 * questions then find everything where it was.
 */
int upkeep__seal(struct store *s, struct dcm_error *err);
/* Is it time for it: a head is large, or old? */
bool upkeep__wants_seal(struct store *s);

/*
 * When something refuses: tries whether the cause has gone, and tells those who have waited. On a
 * full disk it expires and seals, and tries again. 0 when all is well.
 */
int upkeep__recover(struct store *s, struct dcm_error *err);

#endif
