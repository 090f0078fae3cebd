/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/store.h - the state: streams of profiles over one dictionary
 *
 * A stream holds the profiles of one series and one type, by time. A profile of k types is k
 * profiles here, one of each type, and counts as k; its rows are sorted by (stack, label set), each
 * pair once.
 *
 * Profiles are reference-counted and never change while anybody else holds one, so a question pins
 * what it needs under the lock (view.h) and then reads without it: neither writers nor questions
 * wait for a long question, and no callback of the host runs under the lock.
 *
 * Bytes: of profiles exactly as allocated, and of the dictionary. Profiles older than the retention
 * (measured from the newest profile, or from now when that is earlier, so that old data that was
 * loaded stays) are removed; beyond max_bytes the oldest go, and these are counted as lost. When
 * half of the dictionary's stacks are dead it is rebuilt.
 */
#ifndef DECIMA_STORAGE_MEMORY_STORE_H
#define DECIMA_STORAGE_MEMORY_STORE_H

#include <pthread.h>

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/storage/dict/dict.h"
#include "plugins/storage/memory/seen.h"

struct row {
	uint32_t stack, labels;
	int64_t value;
};

struct profile {
	_Atomic uint32_t refs;
	uint32_t n_rows;
	int64_t time_ms, duration_ns, period;
	struct row rows[]; /* [n_rows] sorted by (stack, labels), unique */
};

struct stream {
	uint32_t series, type;
	VEC(struct profile *) profiles; /* by time; equal times in the order written */
};

struct store_limits {
	uint64_t max_bytes;
	int64_t retention_ms; /* 0: none */
};

/* What happened under the lock, to be told to the host after it. */
struct store_news {
	uint64_t n_expired; /* profiles: older than the retention */
	uint64_t n_evicted; /* profiles: gone for lack of room */
	uint64_t rows_evicted;
};

struct store {
	pthread_rwlock_t lock;
	struct dict *dict;
	uint64_t era; /* counts rebuilds: ids are valid within one */
	VEC(struct stream) streams;
	struct hindex stream_index; /* by (series, type) */
	struct seen seen;
	uint64_t profile_bytes, n_profiles, n_rows;
	uint64_t freed_bytes; /* of profiles, since the dictionary was last looked through */
	int64_t newest_ms;
	struct store_limits limits;
};

struct store *store__new(struct store_limits limits); /* NULL when memory ran out */
void store__free(struct store *s);

struct profile *profile__new(uint32_t n_rows); /* rows unset; NULL when memory ran out */
void profile__unref(struct profile *p);	       /* NULL is fine */
static inline uint64_t profile__bytes(const struct profile *p)
{
	return sizeof(*p) + (uint64_t)p->n_rows * sizeof(p->rows[0]) + sizeof(struct profile *);
}
static inline struct profile *profile__ref(struct profile *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

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

/* --- with the lock held --- */
/* Index of the stream, or DCM_NONE. */
uint32_t store__find_stream(const struct store *s, uint32_t series, uint32_t type);
/* Where the profile stands in its stream, or -1. */
ptrdiff_t store__find_profile(const struct stream *st, const struct profile *p);
/* --- with the lock held for writing --- */
/*
 * Puts another profile (or NULL: none) in the place of streams[stream].profiles[at], taking over
 * its reference.
 */
void store__replace(struct store *s, uint32_t stream, size_t at, struct profile *with);

#endif
