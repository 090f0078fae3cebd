/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/meters.h - what the scraper counts, as /metrics shows it
 */
#ifndef DECIMA_PPROF_SCRAPE_METERS_H
#define DECIMA_PPROF_SCRAPE_METERS_H

#include <stdatomic.h>

#include <decima/plugin.h>

/* Why a scrape gave nothing. */
enum scrape_failure {
	SCRAPE_TIMEOUT, /* no answer in time */
	SCRAPE_CONNECT, /* no connection, or one that broke */
	SCRAPE_STATUS,	/* an answer of another status than 200 */
	SCRAPE_FORMAT,	/* not a profile, or a damaged one */
	SCRAPE_LIMIT,	/* larger than body_size_limit, sample_limit */
	SCRAPE_MEMORY,	/* we had no room */
	SCRAPE_N_FAILURES
};

struct meters {
	struct dcm_metric *scrapes, *failures[SCRAPE_N_FAILURES], *skipped, *samples, *bytes,
		*resets, *names, *name_failures, *duration_ms;
	struct dcm_metric *up, *down, *off, *dropped;
	struct dcm_metric *delta_bytes;
	struct dcm_metric *looks, *look_failures, *found, *failed_discoveries;
	_Atomic uint64_t n_waiting_bytes; /* of answers that were not read yet */
	uint64_t n_delta_bytes;		  /* what it shows; the loop's thread */
};

void meters__init(struct meters *m, const struct dcm_host *host);

#endif
