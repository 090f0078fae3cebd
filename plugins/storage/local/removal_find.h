/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/removal_find.h - what a removal takes: how many profiles, of which blocks,
 * and what of heads
 *
 * One thread; with the store's `work`, so that its list of blocks is still.
 */
#ifndef DECIMA_STORAGE_LOCAL_REMOVAL_FIND_H
#define DECIMA_STORAGE_LOCAL_REMOVAL_FIND_H

#include "core/base/vec.h"
#include "plugins/storage/answer/thin.h"
#include "plugins/storage/answer/view.h"
#include "plugins/storage/local/store.h"

/* Zeroed is empty. */
struct removal_found {
	struct view view;     /* what was looked at (look.h); `thin` refers to it */
	uint64_t n;	      /* profiles that lose something, each type of one counted once */
	VEC(uint64_t) blocks; /* ascending: those that have to be written anew */
	struct thin thin;     /* what heads lose */
};

/*
 * 0; 1: states of blocks may be replaced by some in heads, and a seal must come first; -ENOMEM, or
 * the budget's. `sel` outlives it.
 */
int removal_found__take(struct removal_found *f, struct store *s, const struct dcm_select *sel);
/* Also after a failure. */
void removal_found__fini(struct removal_found *f);

#endif
