/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/kept.h - how much is in the store, as numbers that whoever changes it keeps
 *
 * Who asks waits for nothing but who writes these numbers down: not for the store's lock, under
 * which a dictionary may be read, and not for the disk. A profile counts where it is stored: a
 * state (gauge, cumulative) that a later write has replaced counts until its block is written anew,
 * because to know of it the blocks would have to be read.
 *
 * Threads: get() from any; count_*() with the store's lock for writing.
 */
#ifndef DECIMA_STORAGE_LOCAL_KEPT_H
#define DECIMA_STORAGE_LOCAL_KEPT_H

#include <pthread.h>
#include <stdint.h>

/* What some profiles come to. */
struct kept_amount {
	uint64_t bytes, n_profiles, n_rows;
	int64_t first_ms, last_ms; /* INT64_MAX, INT64_MIN: none */
};

struct kept_numbers {
	struct kept_amount blocks, heads;
	uint32_t n_removals; /* filters: what they take counts until it is written anew */
	uint64_t n_series, n_stacks,
		n_locations; /* of the largest dictionary that was read: eras have most in common */
	/* The bounds; 0: none, or the store is only read, and what writes it has others. */
	int64_t retention_ms;
	uint64_t max_bytes;
};

struct kept {
	pthread_mutex_t lock; /* held for a copy */
	struct kept_numbers numbers;
};

struct store;

void kept__init(struct kept *k);
void kept__fini(struct kept *k);

/* After a change of the heads, of the eras, the filters or the bounds; and after one of the blocks as well. */
void kept__count_heads(struct store *s);
void kept__count_all(struct store *s);

struct kept_numbers kept__get(struct store *s);
/* Of blocks and heads together; of an empty store both times are 0. */
struct kept_amount kept__sum(const struct kept_numbers *n);

#endif
