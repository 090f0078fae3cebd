/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/extras.h - what the store itself keeps in the manifest, beside the list of
 * blocks
 *
 * Which batches were seen, as of sealed_lsn, and the smallest number that no era ever had. It
 * changes in the same instant as the blocks, so that a batch is never known as seen and in no block
 * nor in the log. docs/FORMATS.md has every byte.
 */
#ifndef DECIMA_STORAGE_LOCAL_EXTRAS_H
#define DECIMA_STORAGE_LOCAL_EXTRAS_H

#include "plugins/storage/local/era.h"
#include "plugins/storage/local/manifest.h"
#include "plugins/storage/streams/seen.h"

/* Types of the manifest's extras. */
enum {
	EXTRA_STORE = 1,
	EXTRA_FILTERS = 3, /* filters.h; 2 is losses.h's, 4 age.h's, 5 manifest.h's own */
	EXTRA_ONCE = 6,
	EXTRA_EARLIER = 7,	/* sources that EXTRA_STORE has no room for */
	EXTRA_EARLIER_ONCE = 8, /* and EXTRA_ONCE */
};

/* What was seen at one moment, as the bytes of extras. */
struct extras_store {
	struct buf last, earlier; /* sources that count; `last` has next_era, too */
	struct buf once, earlier_once;
};

/* 0 or -ENOMEM, and then there is nothing to end. */
int extras_store__make(struct extras_store *ret, const struct seen *seen, uint32_t next_era);
void extras_store__fini(struct extras_store *e); /* zeroed works */
/* 0 or -ENOMEM. */
int extras_store__write(struct manifest *m, const struct extras_store *e);
/* Leaves both as they are where there is none. -EUCLEAN: it is not what write() makes. -ENOMEM. */
int extras__read(const struct manifest *m, struct seen *seen, uint32_t *next_era, struct dcm_error *err);

/* Lists an era with the records that it has now, or takes it off the list. 0 or -ENOMEM. */
int extras__list_era(struct manifest *m, struct era *e);
void extras__forget_era(struct manifest *m, uint32_t number);

#endif
