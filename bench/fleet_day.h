/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/fleet_day.h - a day of one host of the fleet, and blocks of it
 *
 * 60 series, 8,640 ticks, some ten million rows (fleet.h); the same in every run. What fails ends
 * the program.
 */
#ifndef DECIMA_BENCH_FLEET_DAY_H
#define DECIMA_BENCH_FLEET_DAY_H

#include "bench/fleet.h"
#include "core/base/buf.h"

enum { DAY_SERIES = 60, DAY_TICKS = 8640, DAY_STACKS = 280000, DAY_WINDOWS = 12 };

struct fleet_day {
	struct fleet_series series[DAY_SERIES];
	uint64_t n_rows, n_profiles;
};

/* skew: as in struct fleet. */
void fleet_day__init(struct fleet_day *d, double skew);
void fleet_day__fini(struct fleet_day *d);

/* What becomes a block: window `at` of n that are equally long. */
struct fleet_block {
	uint32_t at, n;
	uint32_t type;		 /* of the profiles */
	uint32_t *const *labels; /* [DAY_SERIES][series.n] a label set for each row; NULL: number 0 */
	int zstd_level;
};

/* A block_put_fn: appends to a struct buf. */
int fleet_day__put(void *buf, const void *p, size_t n);

/* Appends the block. Returns the CPU seconds that the writer took for it. */
double fleet_day__write_block(const struct fleet_day *d, const struct fleet_block *b, struct buf *to);

#endif
