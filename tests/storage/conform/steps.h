/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/steps.h - what may happen to a storage, in any order
 *
 * A plan is drawn first and then walked, and each step brings its own seed, so that leaving steps
 * out changes nothing in the others: that is how a failure is made small.
 */
#ifndef DECIMA_TESTS_STORAGE_CONFORM_STEPS_H
#define DECIMA_TESTS_STORAGE_CONFORM_STEPS_H

#include "tests/storage/conform/trial.h"

enum { PLAN_MAX_STEPS = 256 };

struct step {
	uint64_t seed;
	uint32_t index; /* in the plan as it was drawn */
	uint32_t kind;
};

struct plan {
	uint64_t seed;
	unsigned flags; /* enum random_flag of all its batches */
	uint32_t n;
	struct step steps[PLAN_MAX_STEPS];
};

/* Draws n steps, at most PLAN_MAX_STEPS. */
void plan__draw(struct plan *p, uint64_t seed, uint32_t n);

struct walked {
	uint32_t n;		   /* steps that went well: p->n, or where it ended */
	uint64_t n_asked, n_empty; /* questions, and those to which the answer was nothing */
	struct buf why;		   /* the report, when a step failed; the caller frees it */
};

/* Walks it with fresh stores, looking after each step whether the answers are alike. */
struct walked plan__walk(const struct plan *p, const struct trial_options *o);

/*
 * Leaves steps out of a plan that fails, for as long as what is left fails too; at most n_walks
 * tries. *failure: of the plan as it came, and then of what is left.
 */
void plan__shrink(struct plan *p, const struct trial_options *o, uint32_t n_walks, struct walked *failure);

const char *steps__name(const struct step *step);

#endif
