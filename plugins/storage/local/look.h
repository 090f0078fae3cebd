/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/look.h - the store as a view that questions are asked of
 *
 *	view__init(&v, host, sel, n_sel);
 *	r = look__take(&v, s);
 *	... answer__merge(&v, ...) ...
 *	view__fini(&v);
 *
 * One moment is seen: heads and the list of blocks are taken in one hold of the lock. Blocks are
 * opened, and dictionaries read, without it. What cannot be read is left out, counted, and told
 * once for each block, or era until it can be read again; the next look tries again. Between two
 * dictionaries the selections' budget is looked at, and beyond store_options.dictionary_max_bytes
 * they may have as much memory as the answer: else -E2BIG.
 *
 * Threads: one a look.
 */
#ifndef DECIMA_STORAGE_LOCAL_LOOK_H
#define DECIMA_STORAGE_LOCAL_LOOK_H

#include "plugins/storage/answer/view.h"
#include "plugins/storage/local/lacks.h"
#include "plugins/storage/local/store.h"

/* Something of a block that is left out of the answer. */
struct look_gap {
	uint64_t block;		   /* 0: the log */
	int64_t first_ms, last_ms; /* inclusive */
	uint64_t n_profiles;
	const char *why; /* static; NULL: there is no gap */
};

struct look_block {
	struct stored *stored; /* referenced */
	uint32_t era;	       /* of the view */
	bool lacks;	       /* its era's dictionary is damaged, and so */
	bool noted;	       /* its pieces in the view and the ranges were noted in `lacks` */
	_Atomic bool left_out; /* something of it could not be read, and is not in the view */
	struct look_gap gap;   /* all of that; with the look's gaps_lock */
};

/* An era of wanted blocks, which stays in memory until the view has it. */
struct look_pin {
	struct era *era; /* referenced */
	bool failed;	 /* it could not be read this time */
};

/* What a view holds of the store. */
struct look {
	struct store *store;
	struct view *view;	       /* which owns it */
	bool names_only;	       /* of dictionaries that is enough, as far as is known */
	VEC(struct look_block) blocks; /* as they were written */
	VEC(struct era *) eras;	       /* [view.eras.n] borrowed from blocks and heads */
	VEC(struct look_pin) pins;
	pthread_mutex_t gaps_lock; /* pieces may be left out by several threads */
	VEC(struct look_gap) gaps; /* of what is not in `blocks`; there is room for theirs */
	struct lacks lacks;	   /* of dictionaries, in the ranges */
	struct lacks lacks_before; /* and before them, where increases may need it */
	struct filters *filters;   /* the view's; referenced */
	uint64_t last_lsn;	   /* of the log: heads have it, and no later one */
};

/*
 * Fills what view__init() began, and seals it. When the view ends, its selection's budget is told
 * what was left out. 0, -ENOMEM, or the budget's -ETIMEDOUT or -ECANCELED.
 */
int look__take(struct view *v, struct store *s);

/* Of a view that was taken. */
static inline struct look *look__of(const struct view *v)
{
	return v->ctx;
}

#endif
