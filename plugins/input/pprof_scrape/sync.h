/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/sync.h - a job's targets, made anew from all that was found
 */
#ifndef DECIMA_PPROF_SCRAPE_SYNC_H
#define DECIMA_PPROF_SCRAPE_SYNC_H

#include "plugins/input/pprof_scrape/job.h"

/*
 * The job's targets and what rules dropped are what its sources say now. Targets that are the same as
 * before go on; others are stopped, or begin. On the loop's thread. 0; -ENOMEM: all is as it was.
 */
int sync__run(struct job *j);

#endif
