/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/scrape.h - asking one target, and what becomes of its answer
 *
 * The request runs on the host's client thread, everything else on the loop's. A target that does
 * not answer keeps nobody waiting but itself: its next turns are skipped, and counted, until the
 * answer or the deadline is there. After five failures in a row it is asked more rarely, down to
 * every sixth turn, but for ten minutes at most.
 */
#ifndef DECIMA_PPROF_SCRAPE_SCRAPE_H
#define DECIMA_PPROF_SCRAPE_SCRAPE_H

#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/target.h"

/* Sets the timer of its first turn. 0 or -ENOMEM. */
int scrape__schedule(struct target *t);
/*
 * A target that is the same as one of before takes its place: its turn, what is under way, what it
 * counted. With the job's lock; the old one may be freed then.
 */
void scrape__take_over(struct target *t, struct target *old);
/* Gives up what is under way; the target may be freed then. */
void scrape__stop(struct target *t);

#endif
