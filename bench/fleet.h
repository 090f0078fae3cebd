/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/fleet.h - the profiles of a made-up fleet, the same in every run
 *
 * Hosts report every 10 s what their processes were doing at 19 Hz. A few services take most of the
 * time (Zipf), load follows the hour of the day, each service draws its stacks from a population of
 * its own (Zipf-Mandelbrot), and three draws in ten from an order of that population which changes
 * every four hours: what is hot now was not before.
 */
#ifndef DECIMA_BENCH_FLEET_H
#define DECIMA_BENCH_FLEET_H

#include <stdint.h>

struct fleet {
	uint32_t n_series, n_ticks; /* ticks of 10 s */
	uint32_t n_stacks;	    /* of all series; each has its own run of numbers */
	double cores, skew;	    /* of a host; of stacks: 1.15 is diverse, 1.4 repetitive */
	uint64_t seed;
};

/* One series' day: profiles by time, rows of each by stack. */
struct fleet_series {
	int64_t *time_ms; /* [n_profiles] */
	uint32_t *n_rows; /* [n_profiles] */
	uint32_t n_profiles;
	uint64_t n;
	uint32_t *stacks; /* [n] */
	int64_t *values;  /* [n] nanoseconds of CPU time */
};

/* Makes series `at` of fleet->n_series; ends the program when memory runs out. */
void fleet__series(const struct fleet *f, uint32_t at, struct fleet_series *ret);
void fleet_series__fini(struct fleet_series *s);

#endif
