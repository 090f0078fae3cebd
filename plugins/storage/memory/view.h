/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/view.h - what a question looks at, pinned; and what it may cost
 *
 * A view holds references to the dictionary and to the profiles of the types and ranges asked for,
 * taken in one hold of the store's lock: several selections see the same moment. It is then read
 * without the lock, by one thread.
 */
#ifndef DECIMA_STORAGE_MEMORY_VIEW_H
#define DECIMA_STORAGE_MEMORY_VIEW_H

#include <decima/plugin.h>

#include "plugins/storage/memory/store.h"

/* The time, memory and patience of one question. */
struct meter {
	const struct dcm_host *host;
	struct dcm_budget *budget; /* may be NULL */
	uint64_t bytes;		   /* charged so far */
	uint64_t unread;	   /* rows until the clock is read again */
	uint64_t counted;	   /* rows told to the budget */
};

/*
 * Called for every profile: counts progress, now and then looks at the clock. 0, -ETIMEDOUT,
 * -ECANCELED.
 */
int meter__rows(struct meter *m, uint64_t n);
/*
 * Tells the budget how many rows there are, and at the end that they are done: those that were not
 * needed as well.
 */
void meter__total(struct meter *m, uint64_t n);
void meter__done(struct meter *m, uint64_t n);
/* 0 or -E2BIG. */
int meter__charge(struct meter *m, uint64_t bytes);
/* Makes a sentence of what the two and memory can fail with; returns `r`. */
int meter__explain(int r, const struct dcm_budget *budget, struct dcm_error *err);

struct view_stream {
	uint32_t selection; /* which one of those asked for */
	uint32_t series, type;
	uint32_t temporality; /* enum dcm_temporality */
	uint32_t n;
	size_t first; /* profiles.v[first .. first + n) */
	/* the profile before the range, for cumulative types; NULL: none */
	const struct profile *before;
};

struct view {
	struct dict *dict;
	struct dict_counts counts;
	uint64_t era;
	VEC(struct view_stream) streams; /* sorted by (selection, series, type) */
	VEC(struct profile *) profiles;	 /* each referenced, `before` ones as well */
	uint64_t n_rows;
};

/* 0 or -ENOMEM. An empty type selects all types. */
int view__init(struct view *v, struct store *s, const struct dcm_select *sel, uint32_t n_sel);
void view__fini(struct view *v);

static inline const struct profile *view__profile(const struct view *v,
						  const struct view_stream *st, uint32_t i)
{
	return v->profiles.v[st->first + i];
}

#endif
