/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/losses.h - what the store knows to have lost
 *
 * When a damaged block is written anew, or given up, what could not be read of it is gone from the
 * blocks. The manifest keeps, in an extra of its own, in which time that was, so that every answer
 * about this time says what it lacks (dcm_budget.gap), as long as retention keeps the time. There
 * are at most LOSSES_MAX: then the two that are nearest in time become one.
 *
 * A value type, zeroed is empty. docs/FORMATS.md has every byte.
 */
#ifndef DECIMA_STORAGE_LOCAL_LOSSES_H
#define DECIMA_STORAGE_LOCAL_LOSSES_H

#include "core/base/vec.h"
#include "plugins/storage/local/manifest.h"

enum { EXTRA_LOSSES = 2, LOSSES_MAX = 256 };

struct loss {
	uint64_t block;		   /* that it was in; of several the last one */
	int64_t first_ms, last_ms; /* of its profiles, inclusive: the lost ones are among them */
	uint64_t n_profiles;	   /* lost, as questions count */
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

#endif
