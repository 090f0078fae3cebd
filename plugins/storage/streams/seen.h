/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/seen.h - which batches have been stored, so that a retry is not stored
 * twice
 *
 * Sources number their batches upwards, so what was seen of one is a few intervals of sequences,
 * usually one. Fixed in size: beyond SEEN_SOURCES the source that was quiet for longest is
 * forgotten, beyond SEEN_INTERVALS of a source its lowest interval. What is a source of its own
 * (DCM_BATCH_ONCE) stands in a ring of its own, whose oldest goes beyond SEEN_ONCE, so that many of
 * them push out no source that counts. A retry that comes later than that is stored again. A source
 * of all zero is no source: such batches are never recognised.
 * Guarded by the store's lock.
 */
#ifndef DECIMA_STORAGE_STREAMS_SEEN_H
#define DECIMA_STORAGE_STREAMS_SEEN_H

#include <stdbool.h>

#include <decima/plugin.h>

/*
 * Senders that come in turn are each forgotten before their retry when they are more than these:
 * so it is as many as a store of one machine can have, in 300 KiB. SEEN_ONCE, in 128 KiB: what 800
 * programs push that send each 10 s and have no answer for 100 s.
 */
enum { SEEN_SOURCES = 1024, SEEN_INTERVALS = 16, SEEN_ONCE = 8192 };

struct seen_interval {
	uint64_t first, last; /* both seen */
};

struct seen_source {
	struct dcm_hash source;
	uint64_t used_at; /* of `now`, for forgetting */
	uint32_t n;
	/* [n] ascending, neither touching nor overlapping */
	struct seen_interval intervals[SEEN_INTERVALS];
};

/* Zeroed is empty. */
struct seen {
	struct seen_source sources[SEEN_SOURCES]; /* [n] */
	uint32_t n;
	uint64_t now;
	struct dcm_hash once[SEEN_ONCE]; /* [n_once]; when it is full, the oldest is at oldest_once */
	uint32_t n_once, oldest_once;
};

bool seen__has(const struct seen *s, const struct dcm_batch_id *id);
void seen__add(struct seen *s, const struct dcm_batch_id *id);
/* All of [first, last] at once. */
void seen__add_interval(struct seen *s, struct dcm_hash source, struct seen_interval interval);
/* Of the sources of one batch the i-th, oldest first; i < n_once. */
struct dcm_hash seen__once(const struct seen *s, uint32_t i);

#endif
