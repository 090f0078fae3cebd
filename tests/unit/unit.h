/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/unit.h - cmocka with the headers it wants first, and a skip that says why
 */
#ifndef DECIMA_TESTS_UNIT_UNIT_H
#define DECIMA_TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/*
 * Ends the test as skipped, with a reason that tools/test prints. To be called in the test function
 * itself: __func__ is the name that the report knows. `state`, its argument, is what a helper lacks.
 */
#define skip_because(...)                                                                          \
	do {                                                                                       \
		(void)state;                                                                       \
		fprintf(stderr, "skip: %s: ", __func__);                                           \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
		_skip(__FILE__, __LINE__);                                                         \
	} while (0)

/* The whole of a test program that cannot run here: one case, skipped. */
#define SKIPPED_PROGRAM(group, why)                                                                \
	static void test_nothing(void **state)                                                     \
	{                                                                                          \
		skip_because(why);                                                                 \
	}                                                                                          \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { cmocka_unit_test(test_nothing) };              \
		return cmocka_run_group_tests_name(group, tests, NULL, NULL);                      \
	}

/* cmocka's own says nothing. */
#undef skip

#endif
