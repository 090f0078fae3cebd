/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/age.h - the time that ages are counted from
 *
 * That of the newest profile or the clock, whichever is earlier. A clock that once was wrong must
 * not cost what is stored, so that time gets ahead of where it was by no more than AGE_AHEAD_MS,
 * and AGE_PACE times as fast as the monotonic clock: what is too old goes a day at once, and one
 * more each hour. At start it stands at the end of the profiles before the first gap of more than
 * AGE_AHEAD_MS.
 *
 * Threads: any; with the store's lock.
 */
#ifndef DECIMA_STORAGE_LOCAL_AGE_H
#define DECIMA_STORAGE_LOCAL_AGE_H

#include "plugins/storage/local/store.h"

enum { AGE_AHEAD_MS = 24 * 3600 * 1000, AGE_PACE = 24 };

/* Of what blocks and active heads there are, when nobody else is there yet. 0 or -ENOMEM. */
int age__begin(struct store *s);
/* Notes to where the time has come. With the lock for writing. */
void age__note(struct store *s);

/*
 * What is kept for so long, 0 for ever, and older than this has expired: INT64_MIN when nothing
 * has.
 */
int64_t age__cutoff(const struct store *s, int64_t retention_ms);
/* Of whatever type: what is older has expired. */
int64_t age__first_cutoff(const struct store *s);

#endif
