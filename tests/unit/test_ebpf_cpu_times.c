/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_cpu_times.c - /proc/stat as kernels write it, cut anywhere, and this machine's
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cpu_times.h"
#include "tests/unit/unit.h"

struct seen {
	unsigned n;
	uint32_t cpu[8];
	struct cpu_times times[8];
};

static void on_cpu(void *ctx, uint32_t cpu, const struct cpu_times *times)
{
	struct seen *s = ctx;

	if (s->n < 8) {
		s->cpu[s->n] = cpu;
		s->times[s->n] = *times;
	}
	s->n++;
}

static struct seen parsed(const char *text, uint32_t n)
{
	struct seen s = { 0 };

	cpu_times__parse((struct dcm_str){ text, n }, on_cpu, &s);
	return s;
}

static const char text[] = "cpu  11 22 33 44 55 66 77 88 0 0\n"
			   "cpu0 1 2 3 400 5 6 7 8 9 10\n"
			   "cpu3 1 2 3 0 0 0 0 0\n"
			   "cpu4 1 2 3 4 5 6 7\n"
			   "cpu5 1 2 3 4 x 6 7 8\n"
			   "cpu99999 1 2 3 4 5 6 7 8\n"
			   "cpu6 1 2 3 4 5 6 7 99999999999999999999999999\n"
			   "cpu7 0 0 0 1 0 0 0 0\n"
			   "intr 5\n"
			   "cpu8 0 0 0 1 0 0 0 0\n";

static void test_lines(void **state)
{
	struct seen s = parsed(text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(s.n, 3);
	assert_int_equal(s.cpu[0], 0);
	assert_int_equal(s.times[0].idle_ns, UINT64_C(4050000000));
	assert_int_equal(s.times[0].irq_ns, 130000000);
	assert_int_equal(s.times[0].stolen_ns, 80000000);
	assert_int_equal(s.cpu[1], 3);
	assert_int_equal(s.cpu[2], 7);
	assert_int_equal(s.times[2].idle_ns, 10000000);
}

/* In memory of its very length, so that a reading behind it is found. */
static void test_cut_anywhere(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < sizeof(text); n++) {
		char *copy = malloc(n + 1);

		assert_non_null(copy);
		memcpy(copy + 1, text, n);
		assert_true(parsed(copy + 1, n).n <= 4);
		free(copy);
	}
}

static void test_this_machine(void **state)
{
	struct seen s = { 0 };

	(void)state;
	assert_int_equal(cpu_times__read(on_cpu, &s), 0);
	assert_true(s.n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests_name("ebpf_cpu_times", tests, NULL, NULL);
}
