/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/prefix.h - running sums over a page of numbers
 *
 * Columns hold steps, readers want where these lead. One step after the other waits for the one
 * before; four at a time wait once (the sums within four are made side by side: Hillis and Steele,
 * Data parallel algorithms, 1986). What neither vectors nor 32 bits can hold goes step by step.
 *
 * What is read is hostile: results are within the bounds given, or the functions say no. No state,
 * any thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_PREFIX_H
#define DECIMA_STORAGE_LOCAL_PREFIX_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/storage/local/pfor.h"

/*
 * v[n] gaps become ids: *next + v[0], then each the one before + 1 + its gap; *next becomes one
 * more than the last. All are below DCM_NONE, or it is false. n <= PFOR_PAGE.
 */
bool prefix__ids(uint32_t *v, uint32_t n, uint32_t *next);

/*
 * v[n] ways up become ranks, from 0 on and round the end at n_ranks (up to 2^30) to the beginning.
 * False: a way is not below n_ranks. n <= PFOR_PAGE, and v has room for that many.
 */
bool prefix__ranks(uint32_t *v, uint32_t n, uint32_t n_ranks);

/* Whether all of v[n] are below the limit, which is at most 2^31. */
bool prefix__below(const uint32_t *v, uint32_t n, uint32_t limit);

/*
 * v[n], zigzag of by how much steps change, becomes times from *time on, whose last step was *step;
 * both go on. Sums wrap. False: a time is before the one before it. n <= PFOR_PAGE.
 */
struct prefix_clock {
	int64_t time, step;
};
bool prefix__times(int64_t *v, uint32_t n, struct prefix_clock *from);
/* The same of numbers below 2^32, to ret[n]. */
bool prefix__small_times(const uint32_t *v, uint32_t n, struct prefix_clock *from, int64_t *ret);

/*
 * Steps of one length: n_steps[n], zigzag of how many less 1, and over[n], zigzag of by how much more
 * than these, become times from *time on, which goes on. Sums wrap. False: a time is before the one
 * before it. n <= PFOR_PAGE; ret may be n_steps.
 */
bool prefix__steps(const uint64_t *n_steps, const uint64_t *over, uint32_t n, uint64_t step,
		   int64_t *time, int64_t *ret);
/* The same of numbers below 2^32. */
bool prefix__small_steps(const uint32_t *n_steps, const uint32_t *over, uint32_t n, uint64_t step,
			 int64_t *time, int64_t *ret);

/* What v[n] add up to. */
uint64_t prefix__sum(const uint32_t *v, uint32_t n);

/*
 * ret[n]: what is `before` and the zigzags up to here stand for, added up; returns the last, or
 * `before` when n is 0. Sums wrap. n <= PFOR_PAGE.
 */
uint64_t prefix__running(const uint32_t *v, uint32_t n, uint64_t before, uint64_t *ret);

#endif
