/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/figure.h - a figure as one JSON line, the clock it comes from, the best of several turns,
 * and an end
 */
#ifndef DECIMA_BENCH_FIGURE_H
#define DECIMA_BENCH_FIGURE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * A value, and what it is held against: another measured in the same run, or a target; both in
 * `unit`.
 */
static inline void figure(const char *name, double value, const char *unit, const char *what, double other)
{
	printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"compared_with\":{\"what\":\"%"
	       "s\","
	       "\"value\":%.4g,\"unit\":\"%s\"}}\n",
	       name, value, unit, what, other, unit);
	fflush(stdout);
}

static inline double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* This thread's CPU time: neighbours on the machine do not count. */
static inline double thread_seconds(void)
{
	return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* The smaller of the two; *best is 0 before the first turn. */
static inline void at_most(double *best, double seconds)
{
	if (*best == 0 || seconds < *best)
		*best = seconds;
}

/*
 * Ends the program, which says what, when it is not there: a figure without it would be of
 * something else.
 */
static inline void need(bool there, const char *what)
{
	if (there)
		return;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

#endif
