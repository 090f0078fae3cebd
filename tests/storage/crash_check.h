/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/crash_check.h - power cuts, by the thousand, and what must be true after each
 *
 * A run is a fresh simulated disk and several lives of a store on it. In each life the store is
 * opened, what it has is compared with what it was told, and then it is written to, sealed,
 * compacted, thinned out (by age, and, where the store can, by what matches) and copied at random,
 * until the power is cut at a random call (or, one time in four, only the process dies), while
 * calls may fail before. A seed is a run: the same one does the same again.
 *
 * What must be true: every number that was acknowledged is there, once; what was there after a
 * start stays; what was removed for good does not come back; nothing was made up; and the store
 * finds nothing to complain about. In the end of some runs segments of the log are removed: then
 * the store complains, or all is there all the same. In that of others the copy is looked at: it
 * has what the store had when it was made.
 */
#ifndef DECIMA_TESTS_STORAGE_CRASH_CHECK_H
#define DECIMA_TESTS_STORAGE_CRASH_CHECK_H

#include <stdint.h>

#include "tests/storage/sim_disk.h"
#include "tests/storage/tiny_store.h"

struct crash_plan {
	const struct subject *subject;
	enum sim_model model;
	unsigned deviations; /* of sim_disk.h and tiny_store.h */
	uint64_t seed;	     /* of the first run */
	uint64_t n_cycles;   /* lives in all */
};

struct crash_result {
	uint64_t n_cycles;
	uint64_t bad_seed; /* of the first run that failed; 0: none did */
	char fault[160];   /* what was wrong in it */
	/* Proof that something happened. n_expired: numbers; n_restored: copies that were looked at. */
	uint64_t n_acked, n_replayed, n_seals, n_compactions, n_removals, n_expired, n_backups,
		n_restored, n_power_cuts, n_segments_removed, n_segments_missed;
};

/* Stops at the first run that fails. */
void crash_check(const struct crash_plan *plan, struct crash_result *ret);

#endif
