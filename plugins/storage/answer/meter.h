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

/*
 * Looks now and then, for what is called for each of very many: the comparisons of a sort. What ends
 * the question ends it for good.
 */
enum { METER_GLANCE = 4096 };
struct meter_glance {
	const struct dcm_host *host;
	const struct dcm_budget *budget;
	uint32_t n;
	int r;
};
static inline int meter__glance(struct meter_glance *p)
{
	if (p->r == 0 && p->n++ % METER_GLANCE == 0)
		p->r = meter__look(p->host, p->budget);
	return p->r;
}

/* Makes a sentence of what these and memory can fail with; returns `r`. */
int meter__explain(int r, const struct dcm_budget *budget, struct dcm_error *err);

#endif
