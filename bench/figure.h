/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/figure.h - a figure as one JSON line, and the best of several turns
 */
#ifndef DECIMA_BENCH_FIGURE_H
#define DECIMA_BENCH_FIGURE_H

#include <stdio.h>

/* A value, and what it is held against: another measured in the same run, or a target; both in `unit`. */
static inline void figure(const char *name, double value, const char *unit, const char *what, double other)
{
	printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"compared_with\":{\"what\":\"%"
	       "s\","
	       "\"value\":%.4g,\"unit\":\"%s\"}}\n",
	       name, value, unit, what, other, unit);
	fflush(stdout);
}

/* The smaller of the two; *best is 0 before the first turn. */
static inline void at_most(double *best, double seconds)
{
	if (*best == 0 || seconds < *best)
		*best = seconds;
}

#endif
