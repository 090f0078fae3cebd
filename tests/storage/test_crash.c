/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_crash.c - the store's order of writes survives power cuts, and each deviation
 * from it does not
 *
 * A moment of it by default; CRASH_CYCLES=1000000 tests/storage/test_crash takes longer. A
 * deviation that is no longer caught means that the checker has gone blind, or that the step it
 * leaves out is not needed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/storage/crash_check.h"
#include "tests/unit/unit.h"

enum { CYCLES = 10000, CYCLES_TO_CATCH = 100000 };

static uint64_t n_cycles(void)
{
	const char *text = getenv("CRASH_CYCLES");

	return text ? strtoull(text, NULL, 10) : CYCLES;
}

static void survives(enum sim_model model)
{
	struct crash_plan plan = {
		.subject = &tiny_subject,
		.model = model,
		.seed = 1,
		.n_cycles = n_cycles(),
	};
	struct crash_result r;

	crash_check(&plan, &r);
	printf("%" PRIu64 " lives, %" PRIu64 " power cuts, %" PRIu64 " acknowledged, %" PRIu64
	       " seen again, %" PRIu64 " seals, %" PRIu64 " compactions, %" PRIu64
	       " segments removed, %" PRIu64 " times missed\n",
	       r.n_cycles, r.n_power_cuts, r.n_acked, r.n_replayed, r.n_seals, r.n_compactions,
	       r.n_segments_removed, r.n_segments_missed);
	if (r.bad_seed)
		fail_msg("seed %" PRIu64 ": %s", r.bad_seed, r.fault);
	assert_true(r.n_cycles >= plan.n_cycles);
	/* It was no walk in the park. */
	assert_true(r.n_power_cuts > r.n_cycles / 2 && r.n_acked > r.n_cycles &&
		    r.n_seals > r.n_cycles / 4 && r.n_compactions > r.n_cycles / 16 &&
		    r.n_expired > r.n_cycles / 8);
	assert_true(r.n_segments_missed > r.n_cycles / 100);
}

static void test_prefix(void **state)
{
	(void)state;
	survives(SIM_PREFIX);
}

static void test_subset(void **state)
{
	(void)state;
	survives(SIM_SUBSET);
}

static void catches(unsigned deviation, enum sim_model model)
{
	struct crash_plan plan = {
		.subject = &tiny_subject,
		.model = model,
		.deviations = deviation,
		.seed = 1,
		.n_cycles = CYCLES_TO_CATCH,
	};
	struct crash_result r;

	crash_check(&plan, &r);
	printf("deviation %#x, model %d: life %" PRIu64 ", %s\n", deviation, (int)model, r.n_cycles,
	       r.fault);
	if (!r.bad_seed)
		fail_msg("not caught in %" PRIu64 " lives", r.n_cycles);
}

#define DEVIATION(name, bit, model)                                                                \
	static void test_without_##name(void **state)                                              \
	{                                                                                          \
		(void)state;                                                                       \
		catches(bit, model);                                                               \
	}

DEVIATION(block_sync, SKIP_BLOCK_SYNC, SIM_PREFIX)
DEVIATION(block_dir_sync, SKIP_BLOCK_DIR_SYNC, SIM_SUBSET)
DEVIATION(manifest_sync, SKIP_MANIFEST_SYNC, SIM_PREFIX)
DEVIATION(root_dir_sync, SKIP_ROOT_DIR_SYNC, SIM_SUBSET)
DEVIATION(wal_sync, SKIP_WAL_SYNC, SIM_PREFIX)
DEVIATION(wal_dir_sync, SKIP_WAL_DIR_SYNC, SIM_SUBSET)
DEVIATION(vouching, SKIP_VOUCHING, SIM_PREFIX)
DEVIATION(zeroes, SKIP_ZEROES, SIM_PREFIX)
DEVIATION(sync_errors, SKIP_SYNC_ERRORS, SIM_PREFIX)
DEVIATION(waiting_for_the_sync, DEVIATE_ACK_EARLY, SIM_PREFIX)
DEVIATION(keeping_blocks_until_the_manifest, DEVIATE_REMOVE_EARLY, SIM_PREFIX)
DEVIATION(keeping_segments_until_the_manifest, DEVIATE_FORGET_EARLY, SIM_PREFIX)
DEVIATION(record_sync, DEVIATE_NO_RECORD_SYNC, SIM_PREFIX)
DEVIATION(naming_segments, DEVIATE_NO_NOTE, SIM_PREFIX)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_subset),
		cmocka_unit_test(test_without_block_sync),
		cmocka_unit_test(test_without_block_dir_sync),
		cmocka_unit_test(test_without_manifest_sync),
		cmocka_unit_test(test_without_root_dir_sync),
		cmocka_unit_test(test_without_wal_sync),
		cmocka_unit_test(test_without_wal_dir_sync),
		cmocka_unit_test(test_without_vouching),
		cmocka_unit_test(test_without_zeroes),
		cmocka_unit_test(test_without_sync_errors),
		cmocka_unit_test(test_without_waiting_for_the_sync),
		cmocka_unit_test(test_without_keeping_blocks_until_the_manifest),
		cmocka_unit_test(test_without_keeping_segments_until_the_manifest),
		cmocka_unit_test(test_without_record_sync),
		cmocka_unit_test(test_without_naming_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
