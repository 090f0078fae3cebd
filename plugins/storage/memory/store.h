/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/store.h - the state: streams of profiles (streams.h) over one dictionary
 *
 * A question pins the profiles that it needs under the lock (view.h) and then reads without it:
 * neither writers nor questions wait for a long question, and no callback of the host runs under
 * the lock.
 *
 * Bytes: of profiles exactly as allocated, and of the dictionary. Profiles older than the retention
 * (measured from the newest profile, or from now when that is earlier, so that old data that was
 * loaded stays) are removed, some at a time, so that the oldest stay up to a 64th part longer; beyond max_bytes the oldest go, and these are counted as lost. When
 * half of the dictionary's stacks are dead it is rebuilt.
 */
#ifndef DECIMA_STORAGE_MEMORY_STORE_H
#define DECIMA_STORAGE_MEMORY_STORE_H

#include <pthread.h>

#include <decima/plugin.h>

#include "plugins/storage/streams/seen.h"
#include "plugins/storage/streams/streams.h"

struct store_limits {
	uint64_t max_bytes;
	int64_t retention_ms; /* 0: none */
	uint32_t max_series;  /* as streams__plan() has it; 0: no bound */
};

/* What happened under the lock, to be told to the host after it. */
struct store_news {
	uint64_t n_expired; /* profiles: older than the retention */
	uint64_t n_evicted; /* profiles: gone for lack of room */
	uint64_t rows_evicted;
	struct streams_overflow overflow;
};

struct store {
	pthread_rwlock_t lock;
	struct streams streams;
	uint64_t era; /* counts rebuilds of the dictionary: ids are valid within one */
	struct seen seen;
	struct store_limits limits;
	struct streams_overflow overflow; /* since the start */
};

struct store *store__new(struct store_limits limits); /* NULL when memory ran out */
void store__free(struct store *s);

/*
 * All of the batches or nothing; batches that were seen count as stored. -ENOMEM. `now_ms` is real
 * time.
 */
int store__write(struct store *s, struct dcm_batch *const *batches, uint32_t n, int64_t now_ms,
		 struct store_news *ret_news);

/* Applies retention and limits, and rebuilds the dictionary when that pays. */
void store__tend(struct store *s, int64_t now_ms, struct store_news *ret_news);

/* Removes what starts before the cutoff, then the oldest until within max_bytes (0: no bound). */
void store__retain(struct store *s, int64_t cutoff_ms, uint64_t max_bytes, uint64_t *ret_n_profiles);

/* Fills all but size and place. */
void store__stat(struct store *s, struct dcm_store_stat *ret);

/* What holds at any moment: order, ids within the dictionary, counts that add up. */
enum { STORE_MAX_FINDINGS = 16 };
struct store_findings {
	uint32_t n; /* found; texts of the first 16 */
	char text[STORE_MAX_FINDINGS][128];
};
void store__check(struct store *s, struct store_findings *ret);

#endif
