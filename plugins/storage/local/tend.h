/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/tend.h - the store's upkeep in rounds, and what is wrong with it
 *
 * A round recovers, seals, and now and then expires and compacts; one that fails keeps no other
 * from its turn, but on a disk that refuses nothing is written anew. Compaction goes on for as long
 * as there is work, half of the time, so that who waits for the same lock or disk has the other
 * half. A block that takes long is no reason to wait: between two of its chunks there is a round
 * that writes no block anew, whenever one is due; if the disk refuses then, the block is given up,
 * with the room that it takes. What is wrong is remembered by job, until that job succeeds: the
 * state changes when it really does, and not because another job, or none, had its turn.
 *
 * Threads: one.
 */
#ifndef DECIMA_STORAGE_LOCAL_TEND_H
#define DECIMA_STORAGE_LOCAL_TEND_H

#include "plugins/storage/local/store.h"

enum tend_job { TEND_RECOVER, TEND_SEAL, TEND_EXPIRE, TEND_COMPACT, TEND_JOBS };

struct tend_trouble {
	int error; /* 0: none */
	char text[256];
};

/* Zeroed but for the store, and `meanwhile`. */
struct tend {
	struct store *store;
	/*
	 * Called after each round that took place within another one, in the middle of a block;
	 * `changed` is what tend__round() would return. NULL: nobody.
	 */
	void (*meanwhile)(void *ctx, bool changed);
	void *ctx;
	uint64_t seconds;      /* that the rounds so far stand for */
	int64_t round_ns;      /* mono, of the last one */
	int64_t compact_at_ns; /* mono: not before; and not at all when there was nothing to do, but */
	bool idle;	       /* at its turn */
	struct tend_trouble troubles[TEND_JOBS];
	int told_error; /* of what tend__trouble() said the last time, and whose */
	enum tend_job told_job;
};

/* One round. True: what tend__trouble() says has changed. */
bool tend__round(struct tend *t);
/*
 * How long after the last one the next is due, if nothing is written meanwhile: a second while
 * there is work or trouble, some more otherwise.
 */
int64_t tend__rest_ns(const struct tend *t);
/* "" when all is well. */
const char *tend__trouble(const struct tend *t);

#endif
