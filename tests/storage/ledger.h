/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/ledger.h - what a store was told and what it promised, number by number
 *
 * Drives a `struct subject` and remembers; look() compares. Numbers are given out upwards, so an
 * array holds them all.
 */
#ifndef DECIMA_TESTS_STORAGE_LEDGER_H
#define DECIMA_TESTS_STORAGE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/storage/tiny_store.h"

enum { LEDGER_MAX = 4096 };

enum promise {
	UNSENT,
	MAYBE,	 /* sent, not acknowledged: there or not */
	ACKED,	 /* must be there */
	LEAVING, /* its block is being removed by the call at work */
	FADING,	 /* its block was removed, perhaps not for good: there or not */
	UNSURE,	 /* was acknowledged, and a removal of its kind or block failed: there or not */
	/*
	 * Never acknowledged, and missing after a start. A power cut may bring it back, as it may
	 * bring back any name that was removed, but not after something newer was acknowledged.
	 */
	MISSING,
	GONE, /* removed for good: must not be there */
};

/* Zeroed but for the subject is an empty one. */
struct ledger {
	const struct subject *subject;
	uint64_t next_id;
	uint8_t promises[LEDGER_MAX];
	uint8_t seen[LEDGER_MAX]; /* how often, at the last look; 2 is "or more" */
	bool made_up;
	uint64_t n_acked, n_seen, n_expired; /* over all calls */
	char fault[160];		     /* of the last look */
};

/*
 * Sends n numbers that nobody has sent before. 0: acknowledged. Nothing is sent when the ledger is
 * full: -ENOSPC.
 */
int ledger__write(struct ledger *l, void *store, unsigned n);
/* Removes the oldest block, and finds out whether that is for good. */
int ledger__retain(struct ledger *l, void *store);
/* Removes the numbers of a kind: once that has succeeded they are gone. */
int ledger__remove(struct ledger *l, void *store, unsigned kind);
/*
 * False, and `fault`, when the store has something else than it must have. `settled`: a start has
 * gone well, so what is there is there to stay, and what is not never comes back.
 */
bool ledger__look(struct ledger *l, void *store, bool settled);

#endif
