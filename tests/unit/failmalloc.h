/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/failmalloc.h - allocations that fail on demand
 *
 * The test is linked with -Wl,--wrap=malloc and the like (see local.mk), so the code that is linked
 * into it, and the test itself, allocate through here; shared libraries do not, except where they
 * were given our allocator. The sweep lets the 1st, the 2nd, ... allocation of a call fail, until a
 * call runs through:
 *
 *	FAILMALLOC_SWEEP(i) {
 *		struct thing *t = NULL;
 *		int r = thing__new(&t);
 *		failmalloc__disarm();
 *		if (r == 0) { thing__free(t); continue; }
 *		assert_int_equal(r, -ENOMEM);
 *	}
 *
 * A sweep counts one thread's allocations: arming, failing and counting are per thread.
 */
#ifndef DECIMA_TESTS_UNIT_FAILMALLOC_H
#define DECIMA_TESTS_UNIT_FAILMALLOC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * From here on, this thread's n-th allocation (1 is the next one) and every later one fails with
 * ENOMEM.
 */
void failmalloc__arm(uint64_t n);
/*
 * The same, but only the n-th fails and the later ones succeed: what a system short of memory often
 * does.
 */
void failmalloc__arm_once(uint64_t n);
/* Allocations succeed again. Returns whether one failed since the last arming. */
bool failmalloc__disarm(void);
/* Did the armed failure happen? Stays true after failmalloc__disarm() until the next arming. */
bool failmalloc__failed(void);

/* A bound on the sweep: a call that never gets through stops the test instead of hanging it. */
#define FAILMALLOC_SWEEP_MAX 100000u

/* Runs the block with i = 1, 2, ...; ends after the first turn in which nothing failed. */
#define FAILMALLOC_SWEEP(i) for (uint64_t i = 1; failmalloc__sweep_next(i); i++)

/* What FAILMALLOC_SWEEP asks before each turn; arms the turn. */
bool failmalloc__sweep_next(uint64_t i);

#endif
