/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/figure.h - a figure as one JSON line, with its target or what it is compared with; the clock
 * it comes from, the best of several turns, and an end
 */
#ifndef DECIMA_BENCH_FIGURE_H
#define DECIMA_BENCH_FIGURE_H

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A number, or null where there is none. */
static inline void figure__number(double value)
{
	if (isnan(value))
		fputs("null", stdout);
	else
		printf("%.4g", value);
}

/*
 * A value, and another that was measured in the same run, both in `unit`. NAN: there is none, and
 * why is in its name or in the other.
 */
static inline void figure(const char *name, double value, const char *unit, const char *what, double other)
{
	printf("{\"bench\":\"%s\",\"value\":", name);
	figure__number(value);
	printf(",\"unit\":\"%s\",\"compared_with\":{\"what\":\"%s\",\"value\":", unit, what);
	figure__number(other);
	printf(",\"unit\":\"%s\"}}\n", unit);
	fflush(stdout);
}

static inline void figure__judged(const char *name, double value, const char *unit,
				  const char *sense, double target, bool met, const char *why)
{
	printf("{\"bench\":\"%s\",\"value\":", name);
	figure__number(value);
	printf(",\"unit\":\"%s\",\"target\":\"%s %.4g\",\"met\":%s", unit, sense, target,
	       isnan(value) ? "null"
	       : met	    ? "true"
			    : "false");
	if (!met && !isnan(value) && why)
		printf(",\"explained\":\"%s\"", why);
	puts("}");
	fflush(stdout);
}

/* A miss by more than this factor is none that a reason given beforehand explains. */
enum { EXPLAINED_FACTOR = 2 };

/*
 * A value that has a target in `unit`: whether it is met is in the line, and bench/lib/judge.awk
 * counts. `why`, or NULL, is a sentence for when it is missed, by no more than EXPLAINED_FACTOR: what
 * is known to cost more here.
 */
static inline void figure_at_most(const char *name, double value, const char *unit, double target,
				  const char *why)
{
	figure__judged(name, value, unit, "<=", target, value <= target,
		       value <= EXPLAINED_FACTOR * target ? why : NULL);
}
static inline void figure_at_least(const char *name, double value, const char *unit, double target,
				   const char *why)
{
	figure__judged(name, value, unit, ">=", target, value >= target,
		       EXPLAINED_FACTOR * value >= target ? why : NULL);
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

/* MiB of resident memory: what /proc/self/status calls `which`. */
static inline double resident_mib(const char *which)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[256];

	while (f && !kib && fgets(line, sizeof(line), f))
		if (strncmp(line, which, strlen(which)) == 0)
			sscanf(line + strlen(which), ": %lu", &kib);
	need(kib, "/proc/self/status cannot be read");
	fclose(f);
	return (double)kib / 1024;
}

#endif
