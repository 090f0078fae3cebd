/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/compare.h - the two sides of a diff, made comparable: rates, and what chance explains
 *
 * Sums over an hour and over five minutes say nothing side by side. So values are compared as
 *
 *	COMPARE_RATES	what adds up (delta and cumulative types): per second of the side's time
 *	COMPARE_MEANS	states (gauges): as they are, for a merge of theirs is a mean over time already
 *	COMPARE_TOTALS	as they are, where one side is a state and the other adds up
 *
 * The time of a side is its range as it was asked for, without what lies in the future and what lies before the
 * store's first profile; the range as asked for when that leaves nothing. It is not the time of the
 * side's profiles: a program that sleeps makes none, and has used nothing meanwhile.
 *
 * Whether a change is more than chance is told from samples. Of n1 and n2 samples in all, x1 and x2
 * have a function (or node). Two-proportion z-test, pooled (NIST/SEMATECH e-Handbook of Statistical
 * Methods, 7.3.3):
 *
 *	p = (x1 + x2) / (n1 + n2)      z = (x2/n2 - x1/n1) / sqrt(p (1 - p) (1/n1 + 1/n2))
 *
 * A change is significant when |z| >= COMPARE_LEVEL and the normal distribution may stand for the counts:
 * none of the four that are expected (n1 p, n1 (1 - p), n2 p, n2 (1 - p)) is below 5 (Cochran, "Some
 * methods for strengthening the common chi-squared tests", Biometrics 10, 1954; z^2 is that
 * statistic). So it is the share of the samples that is tested: a load that doubled evenly has twice
 * the rate everywhere, and no share that changed. Samples count as independent, which those of one busy thread
 * are not quite: the test then sees a little too much.
 *
 * A sample is worth the period where the type counts what the period does ("cpu:nanoseconds" of both), and 1 in
 * "samples:count". Of other types, of states, and where a side's period is unknown or not one, no
 * samples are known, and nothing is tested.
 *
 * Threads: functions of their arguments.
 */
#ifndef DECIMA_QUERY_COMPARE_H
#define DECIMA_QUERY_COMPARE_H

#include <stdbool.h>

#include <decima/plugin.h>

#define COMPARE_LEVEL	   2.5758 /* of |z|: two-sided, so that chance exceeds it once in 100 times */
#define COMPARE_CONFIDENCE 0.99

enum compare_by { COMPARE_TOTALS, COMPARE_RATES, COMPARE_MEANS };

struct compare_side {
	int64_t from_ms, to_ms; /* [from, to): its time; both 0: nobody told */
	bool is_told;		/* what follows is known: the store told it */
	uint64_t n_profiles;
	int64_t duration_ns; /* sum of theirs */
	int64_t period;	     /* theirs when it is one, else 0 */
	double per_sample;   /* what a sample is worth; 0: unknown */
};

/* Zeroed compares totals, and tests nothing. */
struct compare {
	bool is_diff; /* else there is no second side */
	enum compare_by by;
	struct compare_side side[2];
	const char *no_samples; /* why no samples are known, whatever the side; NULL: they may be */
};

/* A side as the question has it, of a store whose first profile is of first_ms (0: of none). */
void compare__set_range(struct compare_side *s, const struct dcm_select *sel, int64_t first_ms,
			int64_t now_ms);
/*
 * Chooses `by` and what samples are worth, from the types of an answer with two value columns, when the sides have
 * been told. An empty side's temporality is the other's.
 */
void compare__set_types(struct compare *c, const struct dcm_batch *answer);

/* Of a side: > 0, and 1 where nobody told. */
double compare__seconds(const struct compare *c, unsigned side);
/* The value per second of its side, or as it is. */
double compare__normal(const struct compare *c, unsigned side, int64_t value);
/*
 * What values of a side are multiplied with so that sums of both sides weigh alike; 1 for the side of
 * the longer time, and for both where they have the same or are no rates.
 */
double compare__factor(const struct compare *c, unsigned side);
static inline __int128 compare__scaled(double factor, int64_t value)
{
	return factor == 1 ? (__int128)value : (__int128)((double)value * factor);
}

static inline uint64_t compare__weight(double factor, int64_t value)
{
	__int128 w = compare__scaled(factor, value);

	w = w < 0 ? -w : w;
	return w > UINT64_MAX ? UINT64_MAX : (uint64_t)w;
}

/* Samples of a value of a side; NAN when that is unknown. */
double compare__samples(const struct compare *c, unsigned side, int64_t value);
/*
 * A sentence why nothing is tested (static, or in `buf`), or NULL. all: of a side, all that it weighs, filtered
 * or not.
 */
const char *compare__untested(const struct compare *c, const int64_t all[2], char buf[static 128]);

struct comparison {
	double delta;  /* B - A, normal values */
	double change; /* delta / |A|; NAN when A is 0 */
	double z; /* NAN when nothing is tested, or the values are no counts of such a whole; 0 when p is 0 or 1 */
	bool is_significant;
};
struct comparison compare__values(const struct compare *c, const int64_t all[2],
				  const int64_t values[2]);

#endif
