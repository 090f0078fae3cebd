/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_accounts.c - counters that add up, and each way not to
 */
#include <string.h>

#include "plugins/input/ebpf/accounts.h"
#include "tests/unit/unit.h"

#define N_CPUS 3

static const enum sampler_stat ends[] = { SAMPLER_STAT_FILTERED_IDLE, SAMPLER_STAT_FILTERED_SELF,
					  SAMPLER_STAT_FILTERED_PID,  SAMPLER_STAT_FILTERED_COMM,
					  SAMPLER_STAT_BUSY,	      SAMPLER_STAT_NO_SCRATCH,
					  SAMPLER_STAT_RING_FULL };

static struct sampler_stats cpus[N_CPUS];

/* On each CPU one run of each end, and a sample of each outcome. */
static int each_once(void **state)
{
	(void)state;
	memset(cpus, 0, sizeof(cpus));
	for (int cpu = 0; cpu < N_CPUS; cpu++) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
			cpus[cpu].stat[ends[i]] = 1;
		for (int i = 0; i < SAMPLER_OUTCOME_N; i++)
			cpus[cpu].outcome[i] = 1;
		cpus[cpu].stat[SAMPLER_STAT_EMITTED] = SAMPLER_OUTCOME_N;
		cpus[cpu].stat[SAMPLER_STAT_ENTRIES] = SAMPLER_OUTCOME_N + sizeof(ends) / sizeof(*ends);
	}
	return 0;
}

static void what_adds_up(void **state)
{
	(void)state;
	assert_int_equal(accounts__open(cpus, N_CPUS, false), 0);
	assert_int_equal(accounts__open(cpus, N_CPUS, true), 0);
	assert_int_equal(accounts__open(cpus, 0, false), 0);
}

/* Every counter of a run counts, on every CPU, in both directions, and one CPU's do not stand for another's. */
static void one_too_many_or_too_few(void **state)
{
	(void)state;
	for (int cpu = 0; cpu < N_CPUS; cpu++) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
			for (int by = -1; by <= 1; by += 2) {
				cpus[cpu].stat[ends[i]] += (uint64_t)by;
				assert_int_equal(accounts__open(cpus, N_CPUS, false), 1);
				cpus[(cpu + 1) % N_CPUS].stat[ends[i]] -= (uint64_t)by;
				assert_int_equal(accounts__open(cpus, N_CPUS, false), 2);
				each_once(state);
			}
		}
		for (int i = 0; i < SAMPLER_OUTCOME_N; i++) {
			cpus[cpu].outcome[i]++;
			assert_int_equal(accounts__open(cpus, N_CPUS, false), 1);
			cpus[cpu].outcome[i] -= 2;
			assert_int_equal(accounts__open(cpus, N_CPUS, false), 1);
			each_once(state);
		}
		cpus[cpu].stat[SAMPLER_STAT_ENTRIES]++;
		assert_int_equal(accounts__open(cpus, N_CPUS, false), 1);
		each_once(state);
		cpus[cpu].stat[SAMPLER_STAT_EMITTED]++; /* too many ends, and a sample without an outcome */
		assert_int_equal(accounts__open(cpus, N_CPUS, false), 2);
		each_once(state);
	}
}

/* While it runs one a CPU is under way; three on one CPU are not. */
static void what_is_under_way(void **state)
{
	(void)state;
	for (int cpu = 0; cpu < N_CPUS; cpu++)
		cpus[cpu].stat[SAMPLER_STAT_ENTRIES] += 2;
	assert_int_equal(accounts__open(cpus, N_CPUS, true), 0);
	assert_int_equal(accounts__open(cpus, N_CPUS, false), 2 * N_CPUS);
	cpus[1].stat[SAMPLER_STAT_ENTRIES]++;
	assert_int_equal(accounts__open(cpus, N_CPUS, true), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_adds_up, each_once),
		cmocka_unit_test_setup(one_too_many_or_too_few, each_once),
		cmocka_unit_test_setup(what_is_under_way, each_once),
	};
	return cmocka_run_group_tests_name("accounts", tests, NULL, NULL);
}
