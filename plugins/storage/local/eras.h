/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/eras.h - which dictionaries are in memory
 *
 * A dictionary comes into memory when a question or a write needs it, and is read without the
 * store's lock, so that who needs another one does not wait. What cannot be read this time is tried
 * again by the next who asks. Beyond store_options.dictionary_max_bytes the ones that were not
 * asked for the longest go, except those that a head, a view, or anybody else has a reference to: a
 * question that needs more has more, as far as its own memory (look.h) goes.
 *
 * Threads: any; without the store's lock, but where it is asked for.
 */
#ifndef DECIMA_STORAGE_LOCAL_ERAS_H
#define DECIMA_STORAGE_LOCAL_ERAS_H

#include "plugins/storage/local/store.h"

/* How the store reads its eras' logs. */
struct era_how eras__how(const struct store *s);

/*
 * Makes the dictionary be there, as long as the caller's reference to the era; or with names_only at
 * least its names (era__dict()). 0, -ENOMEM, or why it cannot be read:
 * at this moment, or for good (era->unreadable).
 */
int eras__load(struct store *s, struct era *e, bool names_only, struct dcm_error *err);

/* What its dictionary takes in memory, 0 without one. With the store's lock. */
uint64_t eras__bytes(const struct era *e);
/* Lets those go that are too many. */
void eras__trim(struct store *s);

#endif
