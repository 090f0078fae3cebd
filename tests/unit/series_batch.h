/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/series_batch.h - batches with ever new series, and what is left of them in a store
 * that has room for some
 */
#ifndef DECIMA_TESTS_UNIT_SERIES_BATCH_H
#define DECIMA_TESTS_UNIT_SERIES_BATCH_H

#include <stdbool.h>

#include <decima/plugin.h>

enum { SERIES_BATCH_ROWS = 3, SERIES_BATCH_MAX = 64 };

/* The types of their profiles, and the label of what has no room. */
#define SERIES_BATCH_DELTA    "process_cpu:process_cpu:count:process_cpu:count:delta"
#define SERIES_BATCH_GAUGE    "heap:heap:count:heap:count:gauge"
#define SERIES_BATCH_OVERFLOW "__overflow__"

/* Which series there are already, of 0 .. SERIES_BATCH_MAX - 1. */
struct series_room {
	uint32_t max, n;
	bool known[SERIES_BATCH_MAX];
	uint64_t n_folded, n_refused; /* rows */
};

/*
 * One profile of a type of its own: {pod="pod-N", service_name="api"}, or {__overflow__="true"} for
 * N = DCM_NONE. Without an id, so that none is a retry.
 */
struct dcm_batch *series_batch__new(int64_t time_ms, uint32_t n, bool is_gauge);

/*
 * What a store with so much room has of series_batch__new(time_ms, n, is_gauge), as another batch;
 * NULL: nothing. Counts.
 */
struct dcm_batch *series_batch__expect(struct series_room *room, int64_t time_ms, uint32_t n,
				       bool is_gauge);

#endif
