/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/seen.h - which batches have been stored, so that a retry is not stored
 * twice
 *
 * Sources number their batches upwards, so what was seen of one is a few intervals of sequences,
 * usually one. What is a source of its own (DCM_BATCH_ONCE) is kept as its name alone, and apart from
 * these: many of them push out no source that counts. Both are bounded, and grow up to there: of
 * those that count at least the SEEN_SOURCES that were heard of last are known, and SEEN_INTERVALS of
 * each, the highest: there are gaps where a batch had no rows, or was for somebody else, and what an output
 * sends together and has no answer for comes again together. Of the others at least the SEEN_ONCE last ones. A retry that comes later than
 * that is stored again. A source of all zero is no source: such batches are never recognised.
 *
 * Nothing is ever taken out of a table: each of the two kinds has two of them, and when the younger
 * is full, the older one is emptied and takes what comes next. A source that is heard of again is
 * copied to the younger one.
 * Guarded by the store's lock.
 */
#ifndef DECIMA_STORAGE_STREAMS_SEEN_H
#define DECIMA_STORAGE_STREAMS_SEEN_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/vec.h"

/*
 * SEEN_SOURCES: more hosts than one store takes profiles of; both tables take 20 MiB when all of
 * these send. SEEN_ONCE, 5 MiB then: what 180 programs push that send each 10 s and have no answer for
 * an hour. The local store's manifest has all of it.
 */
enum { SEEN_SOURCES = 8192, SEEN_INTERVALS = DCM_GROUP_MAX + 16, SEEN_ONCE = 65536 };

struct seen_interval {
	uint64_t first, last; /* both seen */
};

struct seen_source {
	struct dcm_hash source; /* first, as seen.c finds it there */
	uint64_t used_at;	/* of seen.now: larger the later it was heard of */
	uint32_t n;
	/* [n] ascending, neither touching nor overlapping */
	struct seen_interval intervals[SEEN_INTERVALS];
};

struct seen_once {
	VEC(struct dcm_hash) sources; /* oldest first */
	struct hindex index;
};

struct seen_counting {
	VEC(struct seen_source) sources;
	struct hindex index;
};

/* Zeroed is empty. Of the two the younger is [0]. */
struct seen {
	uint64_t now;
	uint64_t secret; /* senders choose the names: so nobody knows which of them meet in a table */
	struct seen_once once[2];
	struct seen_counting counting[2];
};

void seen__fini(struct seen *s);

bool seen__has(const struct seen *s, const struct dcm_batch_id *id);
/* Room for so many to be added, which then cannot fail. 0; -ENOMEM, also where there is no random number. */
int seen__reserve(struct seen *s, size_t n);
void seen__add(struct seen *s, const struct dcm_batch_id *id);
/* All of [first, last] at once; counts as one to be added. */
void seen__add_interval(struct seen *s, struct dcm_hash source, struct seen_interval interval);

typedef VEC(const struct seen_source *) seen_list;
/* Appends each that counts, in the order in which they were heard of last; good until something is added. 0 or -ENOMEM. */
int seen__list_counting(const struct seen *s, seen_list *ret);

size_t seen__n_once(const struct seen *s);
/* Each of the others, the oldest first. */
void seen__each_once(const struct seen *s, void (*take)(void *ctx, struct dcm_hash source), void *ctx);

#endif
