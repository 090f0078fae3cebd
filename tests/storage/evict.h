/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/evict.h - the oldest block of a local store goes, as one does that is too much
 */
#ifndef DECIMA_TESTS_STORAGE_EVICT_H
#define DECIMA_TESTS_STORAGE_EVICT_H

#include "plugins/storage/local/store.h"

/*
 * The store's own upkeep removes the block whose newest profile is the oldest, by a bound that all
 * files together exceed by a byte. 0; 1: nothing went, for sizes could not be told; or a negative
 * errno with a sentence. One thread.
 */
int evict__oldest(struct store *s, struct dcm_error *err);

#endif
