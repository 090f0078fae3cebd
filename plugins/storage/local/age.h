/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/age.h - the time that ages are counted from
 *
 * That of the newest profile or the clock, whichever is earlier. A clock that once was wrong must
 * not cost what is stored, so that time gets ahead of where it was by no more than AGE_AHEAD_MS,
 * and AGE_PACE times as fast as the monotonic clock, back as on: what is too old goes a day at once, and one
 * more each hour, also when the clock was behind in between. Where it has come to is kept in the manifest, so that a machine that is off at
 * night need not come so far again each day. At start it stands there, or at the end of the profiles
 * before the first gap of more than AGE_AHEAD_MS that comes later.
 *
 * Threads: any; with the store's lock.
 */
#ifndef DECIMA_STORAGE_LOCAL_AGE_H
#define DECIMA_STORAGE_LOCAL_AGE_H

#include "plugins/storage/local/store.h"

enum {
	EXTRA_AGE = 4, /* of the manifest's extras */
	AGE_AHEAD_MS = 24 * 3600 * 1000,
	AGE_KEEP_MS = 6 * 3600 * 1000, /* so much is worth a change of the manifest for its own sake */
	AGE_PACE = 24,
};

/* INT64_MIN: it says nothing. */
int64_t age__of(const struct manifest *m);
/* Nothing when it is INT64_MIN. 0 or -ENOMEM. */
int age__write(struct manifest *m, int64_t aged_ms);

/*
 * Of what manifest, blocks and active heads there are, when nobody else is there yet. 0 or -ENOMEM.
 */
int age__begin(struct store *s, const struct manifest *m);
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
