/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/expire.h - what goes: by age, by bytes, and dead entries of the dictionary
 *
 * All with the store's lock held for writing. Nothing here can fail: without memory for a rebuild
 * the dictionary stays as it is until the next time.
 */
#ifndef DECIMA_STORAGE_MEMORY_EXPIRE_H
#define DECIMA_STORAGE_MEMORY_EXPIRE_H

#include "plugins/storage/memory/store.h"

/* Removes profiles that start before the cutoff; adds to news->n_expired. */
void expire__before(struct store *s, int64_t cutoff_ms, struct store_news *news);

/*
 * Removes the oldest until profiles and dictionary are within max_bytes; adds to news->*_evicted.
 */
void expire__to_bytes(struct store *s, uint64_t max_bytes, struct store_news *news);

/* The store's own limits. */
void expire__tend(struct store *s, int64_t now_ms, struct store_news *news);

/*
 * Rebuilds the dictionary when a third of what was stored has gone since the last time and half of
 * it is dead.
 */
void expire__shed(struct store *s);

uint64_t expire__bytes(const struct store *s);

#endif
