/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_crash_unchecked.c - without the checks of frames, power cuts do harm
 *
 * The same log with a checksum that is always the same: one of the deviations that test_crash.c
 * cannot make from outside. This program links this copy of frames.c in place of the library's.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/base/hash.h"

static uint64_t no_check(const void *p, size_t n, uint64_t seed)
{
	(void)p;
	(void)n;
	(void)seed;
	return 0;
}

#define hash__bytes no_check
#include "core/disk/frames.c" /* the deviation is the line above */
#undef hash__bytes

#include "tests/storage/crash_check.h"
#include "tests/unit/unit.h"

enum { CYCLES_TO_CATCH = 100000 };

static void catches(enum sim_model model)
{
	struct crash_plan plan = {
		.subject = &tiny_subject,
		.model = model,
		.seed = 1,
		.n_cycles = CYCLES_TO_CATCH,
	};
	struct crash_result r;

	crash_check(&plan, &r);
	printf("model %d: life %" PRIu64 ", %s\n", (int)model, r.n_cycles, r.fault);
	assert_true(r.bad_seed != 0);
}

static void test_without_checks_prefix(void **state)
{
	(void)state;
	catches(SIM_PREFIX);
}

static void test_without_checks_subset(void **state)
{
	(void)state;
	catches(SIM_SUBSET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_checks_prefix),
		cmocka_unit_test(test_without_checks_subset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
