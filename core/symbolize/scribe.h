/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/scribe.h - writes down what was resolved; private to this folder
 *
 * Names wait in memory until the keeper's thread writes them behind those that are on disk, a frame
 * for each build id (names.h). What is there twice, or damaged, goes when a log is written anew,
 * which happens each time that it has doubled. What was not written when a process is killed is
 * lost: a few seconds of names, which other samples bring again.
 */
#ifndef DECIMA_SYMBOLIZE_SCRIBE_H
#define DECIMA_SYMBOLIZE_SCRIBE_H

#include <stdint.h>

#include "core/symbolize/depot.h"
#include "core/symbolize/learned.h"

struct scribe;

/* 0 or -ENOMEM. depot: borrowed. */
int scribe__new(struct depot *depot, struct scribe **ret);
/* What waits is given up. NULL is fine. */
void scribe__free(struct scribe *s);

/* Copies a name (n > 0) that is to be written. Any thread; takes no lock but its own. */
void scribe__add(struct scribe *s, const struct learned_key *key, const struct learned *what);

/*
 * Writes what waits, also what another thread is writing just now. What cannot be written waits on.
 * Any thread, one after the other.
 */
void scribe__flush(struct scribe *s);

/* Removes what was written of a build id, and what waits to be. Any thread. */
void scribe__forget(struct scribe *s, const char *build_id);

struct scribe_stat {
	uint64_t n_written;   /* addresses */
	uint64_t n_dropped;   /* addresses: too many waited, no memory, or their log is full */
	uint64_t n_bad_bytes; /* of frames that were damaged, and are gone */
};
void scribe__stat(struct scribe *s, struct scribe_stat *ret); /* any thread */

#endif
