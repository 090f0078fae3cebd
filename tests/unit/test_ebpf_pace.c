/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_pace.c - an idle machine is rarely looked at, a busy one as often as ever
 */
#include "plugins/input/ebpf/pace.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)

/* Looks in so many seconds with so many samples in each. */
static unsigned looks(unsigned seconds, double samples_a_second)
{
	int64_t now = 0, wait = 0;
	unsigned n = 0;
	double at = 0;

	while (now < seconds * SECOND) {
		double found = (double)now / SECOND * samples_a_second;

		wait = pace__next(wait, wait, (uint64_t)found - (uint64_t)at);
		assert_in_range(wait, PACE_SHORTEST_NS, PACE_LONGEST_NS);
		at = found;
		now += wait;
		n++;
	}
	return n;
}

static void test_by_load(void **state)
{
	(void)state;
	assert_in_range(looks(100, 0), 50, 53);
	assert_in_range(looks(100, 1), 50, 53);
	assert_int_equal(looks(100, 99), 400);
	/* The more there is, the more often. */
	for (unsigned rate = 1; rate < 64; rate *= 2)
		assert_true(looks(100, rate) <= looks(100, 2 * rate));
}

static void test_comes_back_at_once(void **state)
{
	(void)state;
	assert_int_equal(pace__next(PACE_LONGEST_NS, PACE_LONGEST_NS, PACE_FEW), PACE_LONGEST_NS);
	assert_int_equal(pace__next(PACE_LONGEST_NS, PACE_LONGEST_NS, PACE_FEW + 1), PACE_SHORTEST_NS);
	/* Woken by a ring, with however little in it. */
	assert_int_equal(pace__next(0, 0, 1), PACE_SHORTEST_NS);
	assert_int_equal(pace__next(PACE_SHORTEST_NS, PACE_SHORTEST_NS, 1), 2 * PACE_SHORTEST_NS);
}

/* Tables that became ready, say: where much begins, not little happens. */
static void test_sooner_is_not_idle(void **state)
{
	int64_t wait = pace__next(0, 0, 1);

	(void)state;
	for (int i = 0; i < 10; i++)
		wait = pace__next(wait, wait / 100, 1);
	assert_int_equal(wait, PACE_SHORTEST_NS);
	assert_int_equal(pace__next(wait, wait, 1), 2 * PACE_SHORTEST_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_load),
		cmocka_unit_test(test_comes_back_at_once),
		cmocka_unit_test(test_sooner_is_not_idle),
	};

	return cmocka_run_group_tests_name("ebpf_pace", tests, NULL, NULL);
}
