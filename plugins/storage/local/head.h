/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/head.h - what is in the log only, by era
 *
 * A head holds the profiles of one era as streams over that era's dictionary. Batches are planned
 * into the heads of all eras that their profiles belong to, and then applied, as streams.h has it;
 * in between the log takes them.
 *
 * Threads: the store's lock, for writing where the heads are not const. A head that nobody adds to
 * any more may be read without it.
 */
#ifndef DECIMA_STORAGE_LOCAL_HEAD_H
#define DECIMA_STORAGE_LOCAL_HEAD_H

#include "plugins/storage/local/era.h"
#include "plugins/storage/streams/streams.h"

struct head {
	struct era *era; /* loaded; referenced */
	struct streams streams;
	int64_t oldest_ms; /* of its profiles; INT64_MAX: none */
};

struct heads {
	VEC(struct head *); /* v[n] */
};
void heads__fini(struct heads *h);
void heads__drop_empty(struct heads *h); /* those without a profile */
void heads__measure(struct heads *h);	 /* after profiles went: their oldest and newest times */
uint64_t heads__bytes(const struct heads *h); /* without dictionaries */
/* Has one the dictionary of an era that is full? */
bool heads__any_full(const struct heads *h, uint64_t era_max_bytes);

/* Profiles that start in [from_ms, until_ms) are taken. */
struct heads_window {
	int64_t from_ms, until_ms;
};

/* How many were not, each type of one counted. */
struct heads_refused {
	uint64_t n_too_old, n_too_new;
};

/*
 * Where heads that are missing come from. era(): the era that begins there, loaded, and one to
 * which something may be added; borrowed. 0 or a negative errno with a sentence.
 */
typedef int (*era_source_fn)(void *ctx, int64_t begin_ms, struct era **ret, struct dcm_error *err);
struct heads_source {
	era_source_fn era;
	void *ctx;
	struct heads_window window;
	uint64_t era_max_bytes; /* of a dictionary: heads of larger ones take nothing; 0: no bound */
	uint32_t max_series;	/* of a dictionary, as streams__plan() has it; 0: no bound */
};

/*
 * Where the first era after `after` begins that has a profile of the batch within the window;
 * INT64_MAX: none has.
 */
int64_t heads__next_era(const struct dcm_batch *b, const struct heads_window *window, int64_t after);

struct head_planned {
	struct head *head;
	struct streams_plan plan;
};

struct heads_plan {
	VEC(struct head_planned) items;
};
void heads_plan__fini(struct heads_plan *p);

/*
 * Adds to *ret what was left out. 0, -ENOMEM, or era()'s: the plan can only be freed, and heads
 * that were made for it are empty.
 */
int heads__plan(struct heads *h, struct heads_plan *plan, const struct dcm_batch *b,
		const struct heads_source *source, struct heads_refused *ret, struct dcm_error *err);
void heads__apply(struct heads_plan *plan);

/*
 * The head of that era, which is loaded, and what is planned for it, made where they are missing.
 * The latter may move at the next call. 0 or -ENOMEM.
 */
int heads__plan_of(struct heads *h, struct heads_plan *plan, struct era *e, struct head **ret_head,
		   struct streams_plan **ret);

#endif
