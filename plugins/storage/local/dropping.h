/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/dropping.h - what blocks leave behind when they are written anew: rows that
 * filters removed
 *
 * Three things go: what the filters (filters.h) take that concern a block; states that a later one
 * has replaced, which must not come back when a filter takes that one; and what a filter of the
 * caller's drops.
 *
 *	r = dropping__init(&d, s, &what, err);
 *	... compact with dropping__filter(&d) ...
 *	dropping__fini(&d);				also after a failure
 *
 * Threads: one; init() with the store's `work`.
 */
#ifndef DECIMA_STORAGE_LOCAL_DROPPING_H
#define DECIMA_STORAGE_LOCAL_DROPPING_H

#include "plugins/storage/answer/match.h"
#include "plugins/storage/local/compact.h"
#include "plugins/storage/local/hidden.h"
#include "plugins/storage/local/store.h"

/* Blocks of one era, open, and what else is dropped of them. */
struct dropping_of {
	struct stored *const *inputs; /* [n] */
	const struct block *const *blocks;
	uint32_t n;
	const struct compact_filter *also; /* NULL: nothing */
};

/* Does a filter take something of the series at hand? */
struct dropping_verdict {
	uint32_t series; /* DCM_NONE: of none yet */
	bool takes;
};

struct dropping {
	struct dropping_of of;
	uint32_t first[COMPACT_MAX_BLOCKS]; /* [of.n] of the filters, the first that concerns the block */
	struct filters *filters;	    /* referenced */
	bool any;			    /* a filter concerns a block */
	struct view view; /* of the era alone, in whose numbers filters are asked */
	struct groups groups;
	struct match *matches; /* [filters.n] */
	struct dropping_verdict *verdicts;
	struct hidden hidden;
	struct compact_filter filter;
};

/* 0, -ENOMEM, or why the era cannot be read. */
int dropping__init(struct dropping *d, struct store *s, const struct dropping_of *of,
		   struct dcm_error *err);
void dropping__fini(struct dropping *d);

/* NULL: everything comes along. */
static inline const struct compact_filter *dropping__filter(const struct dropping *d)
{
	return d->any ? &d->filter : d->of.also;
}

#endif
