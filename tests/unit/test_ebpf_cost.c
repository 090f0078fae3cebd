/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_cost.c - what was waited is not paid for as what was done
 */
#include "plugins/input/ebpf/cost.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

/* Work again and again, resting as told: the share of the time that it takes, of a million. */
static int64_t share(int64_t wall_ns, int64_t cpu_ns, int64_t of_ns)
{
	return of_ns * 1000000 / (wall_ns + cost__rest(wall_ns, cpu_ns));
}

static void test_shares(void **state)
{
	(void)state;
	for (int64_t cpu = 1; cpu < 100 * MS; cpu *= 3) {
		for (int64_t wait = 0; wait < 1000 * MS; wait = 2 * wait + 1) {
			assert_true(share(cpu + wait, cpu, cpu) <= 1000000 / COST_CPU);
			assert_true(share(cpu + wait, cpu, wait) <= 1000000 / COST_WAIT);
		}
	}
	assert_int_equal(cost__rest(0, 0), 0);
}

static void test_a_lost_cpu_is_no_work(void **state)
{
	(void)state;
	/* 10 ms without a CPU in a reading of 20 us. */
	assert_true(cost__rest(10 * MS + MS / 50, MS / 50) <= 111 * MS);
	assert_int_equal(cost__rest(10 * MS, 10 * MS), 5000 * MS);
	/* Clocks of unlike grain. */
	assert_int_equal(cost__rest(MS, 2 * MS), cost__rest(MS, MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_a_lost_cpu_is_no_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
