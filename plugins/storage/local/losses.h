/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/losses.h - what the store knows to have lost
 *
 * When a damaged block is written anew, or given up, what could not be read of it is gone from the
 * blocks; and what cannot be read of the log goes with its segment. The manifest keeps, in an extra
 * of its own, in which time that was, so that every answer about this time says what it lacks
 * (dcm_budget.gap), as long as retention keeps the time. There are at most LOSSES_MAX: then the two
 * that are nearest in time become one.
 *
 * Each start finds anew what cannot be read of the log, until a seal has put the frames around it
 * into blocks. Until then that is a list of its own.
 *
 * Value types, zeroed is empty. docs/FORMATS.md has every byte.
 */
#ifndef DECIMA_STORAGE_LOCAL_LOSSES_H
#define DECIMA_STORAGE_LOCAL_LOSSES_H

#include "core/base/vec.h"
#include "plugins/storage/local/manifest.h"

enum { EXTRA_LOSSES = 2, LOSSES_MAX = 256 };

struct loss {
	uint64_t block;		   /* that it was in; of several the last one; 0: the log */
	int64_t first_ms, last_ms; /* of its profiles, inclusive: the lost ones are among them */
	uint64_t n_profiles;	   /* lost, as questions count; 0: nobody knows how many */
};

typedef VEC(struct loss) loss_list; /* by first_ms */

/* Replaces *to, which is left as it is on failure: -ENOMEM, or -EUCLEAN with a sentence. */
int losses__read(const struct manifest *m, loss_list *to, struct dcm_error *err);
/* 0 or -ENOMEM. */
int losses__write(struct manifest *m, const loss_list *from);

/* 0 or -ENOMEM, after which it is as it was. */
int losses__add(loss_list *to, const struct loss *more);
/* Takes out what began, and ended, in [from_ms, to_ms). Returns how many. */
size_t losses__remove(loss_list *l, int64_t from_ms, int64_t to_ms);

/*
 * What a replay finds lost as it goes from frame to frame. A lost frame has no times: they are
 * taken to be those of the frames around it.
 */
struct lost_frames {
	loss_list list;
	uint64_t n;	  /* frames; those that could be read and not kept too */
	int64_t first_ms; /* of the frame before; of the first one where blocks end, INT64_MIN: none */
	struct loss open; /* when is_open: a loss for whose end a frame is waited */
	bool is_open;
};

/* So many frames that cannot be read are next. */
void lost_frames__add(struct lost_frames *l, uint64_t n);
/* A frame that is next has profiles of these times. 0 or -ENOMEM. */
int lost_frames__pass(struct lost_frames *l, int64_t first_ms, int64_t last_ms);
/*
 * None comes any more, at this time. What is lost where nothing was before is from since_ms on. 0
 * or -ENOMEM.
 */
int lost_frames__end(struct lost_frames *l, int64_t since_ms, int64_t now_ms);

#endif
