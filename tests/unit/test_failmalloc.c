/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_failmalloc.c - the tool that the allocation sweeps of the other tests rely on
 * does fail
 */
#include "tests/unit/failmalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

/*
 * Hides the pointer from the optimiser, which may drop an allocation that nothing reads and call it
 * a success.
 */
static void *volatile kept;

static void *hidden(void *p)
{
	kept = p;
	return kept;
}

static bool can_allocate(void)
{
	void *p = hidden(malloc(16));
	free(p);
	return p;
}

static void armed_fails_from_the_nth_on(void **state)
{
	(void)state;
	failmalloc__arm(2);
	bool first = can_allocate(), second = can_allocate();
	int err = errno;
	bool third = can_allocate(), failed = failmalloc__disarm(), after = can_allocate();
	assert_true(first);
	assert_false(second);
	assert_int_equal(err, ENOMEM);
	assert_false(third);
	assert_true(failed);
	assert_true(after);
}

static void armed_once_fails_once(void **state)
{
	(void)state;
	failmalloc__arm_once(1);
	bool first = can_allocate(), second = can_allocate(), failed = failmalloc__disarm();
	assert_false(first);
	assert_true(second);
	assert_true(failed);
}

static void every_function_is_wrapped(void **state)
{
	(void)state;
	failmalloc__arm(1);
	void *c = hidden(calloc(1, 8)), *r = hidden(realloc(NULL, 4096));
	char *d = hidden(strdup("x")), *n = hidden(strndup("xy", 1));
	failmalloc__disarm();
	assert_null(c);
	assert_null(r);
	assert_null(d);
	assert_null(n);
	d = strndup("xyz", 2);
	assert_string_equal(d, "xy");
	free(d);
}

/* Allocates three times; returns how many allocations it got before one failed. */
static int allocate_three(void)
{
	int n = 0;
	while (n < 3 && can_allocate())
		n++;
	return n;
}

static void sweep_fails_each_in_turn(void **state)
{
	(void)state;
	int turns = 0, through = 0;
	FAILMALLOC_SWEEP (i) {
		int n = allocate_three();
		failmalloc__disarm();
		turns++;
		through += n == 3;
		assert_int_equal(n, i <= 3 ? (int)i - 1 : 3);
	}
	assert_int_equal(turns, 4);
	assert_int_equal(through, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(armed_fails_from_the_nth_on),
		cmocka_unit_test(armed_once_fails_once),
		cmocka_unit_test(every_function_is_wrapped),
		cmocka_unit_test(sweep_fails_each_in_turn),
	};
	return cmocka_run_group_tests_name("failmalloc", tests, NULL, NULL);
}
