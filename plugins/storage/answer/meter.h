/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/meter.h - the time, memory and patience of one question
 *
 * Threads: one a meter; the budget is shared with the asker, and with those that help.
 */
#ifndef DECIMA_STORAGE_ANSWER_METER_H
#define DECIMA_STORAGE_ANSWER_METER_H

#include <decima/plugin.h>

struct meter {
	const struct dcm_host *host;
	struct dcm_budget *budget; /* may be NULL */
	uint64_t bytes;		   /* charged so far */
	_Atomic uint64_t *held;	   /* by all that help with the question; NULL: there is one */
	uint64_t unread;	   /* rows until the clock is read again */
	uint64_t counted;	   /* rows told to the budget */
};

/*
 * Called for every profile, or for every piece that is added up whole: counts progress, now and
 * then looks at the clock. 0, -ETIMEDOUT, -ECANCELED.
 */
int meter__rows(struct meter *m, uint64_t n);
/*
 * Looks at once, without counting anything: for what is done before there are rows. budget may be
 * NULL.
 */
int meter__look(const struct dcm_host *host, const struct dcm_budget *budget);
/*
 * Tells the budget how many rows there are, and at the end that they are done: those that were not
 * needed as well.
 */
void meter__total(struct meter *m, uint64_t n);
void meter__done(struct meter *m, uint64_t n);
/* All that is held now, in bytes, here. 0 or -E2BIG. */
int meter__hold(struct meter *m, uint64_t bytes);
/* Makes a sentence of what these and memory can fail with; returns `r`. */
int meter__explain(int r, const struct dcm_budget *budget, struct dcm_error *err);

#endif
