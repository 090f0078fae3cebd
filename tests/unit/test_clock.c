/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_clock.c - the machine's clocks agree with the kernel's; the fake one stands still
 */
#include <time.h>

#include "core/base/clock.h"
#include "tests/unit/unit.h"

static int64_t kernel_ns(clockid_t id)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(id, &ts), 0);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void test_system(void **state)
{
	int64_t last = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t before = kernel_ns(CLOCK_MONOTONIC), mid = clock__mono(&clock__system);

		assert_true(before <= mid && mid <= kernel_ns(CLOCK_MONOTONIC));
		assert_true(mid >= last);
		last = mid;
	}
	/* The wall clock may be set while we look, so only roughly: after 2020, before 2200. */
	assert_true(clock__real(&clock__system) > INT64_C(1577836800) * 1000000000);
	assert_true(clock__real(&clock__system) < INT64_C(7258118400) * 1000000000);
}

static void test_fake(void **state)
{
	struct clock clock = clock__fake(5, 7), copy;

	(void)state;
	assert_int_equal(clock__mono(&clock), 5);
	assert_int_equal(clock__real(&clock), 7);
	assert_int_equal(clock__mono(&clock), 5);
	copy = clock; /* moves with its own fields */
	clock.fake_mono_ns += 10;
	clock.fake_real_ns = -1;
	assert_int_equal(clock__mono(&clock), 15);
	assert_int_equal(clock__real(&clock), -1);
	assert_int_equal(clock__mono(&copy), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_fake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
