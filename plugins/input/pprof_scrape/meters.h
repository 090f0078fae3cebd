/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/meters.h - what a job counts, as /metrics shows it, with the label scrape_job
 *
 * Jobs of one name, as before and after a reload, count on: the metrics go with the last of them.
 */
#ifndef DECIMA_PPROF_SCRAPE_METERS_H
#define DECIMA_PPROF_SCRAPE_METERS_H

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

enum meter {
	METER_SCRAPES,
	METER_SKIPPED,
	METER_SAMPLES,
	METER_BYTES,
	METER_DURATION,
	METER_RESETS,
	METER_NAMES,
	METER_NAME_FAILURES,
	METER_DROPPED,
	METER_LOOKS,
	METER_LOOK_FAILURES,
	METER_FOUND,
	METER_FAILED_DISCOVERIES,
	N_METERS
};

enum { N_HEALTHS = DCM_HEALTH_OFF + 1 };

struct meters {
	const struct dcm_host *host;
	struct dcm_metric *of[N_METERS];
	struct dcm_metric *failures[SCRAPE_N_FAILURES];
	struct dcm_metric *targets[N_HEALTHS];
};

void meters__init(struct meters *m, const struct dcm_host *host, const char *job);
void meters__fini(struct meters *m); /* zeroed: fine */
void meters__add(const struct meters *m, enum meter which, uint64_t n);
void meters__set(const struct meters *m, enum meter which, uint64_t value);
void meters__failed(const struct meters *m, enum scrape_failure why);
void meters__show(const struct meters *m, enum dcm_health health, uint32_t n_targets);

#endif
