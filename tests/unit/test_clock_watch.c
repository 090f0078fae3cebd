/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_clock_watch.c - a clock that is set is noticed, one that drifts or sleeps a
 * little is not
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/main/clock_watch.h"

#define SECOND INT64_C(1000000000)

static bool moves(struct clock_watch *w, struct clock *c, int64_t mono_ns, int64_t real_ns,
		  char text[static CLOCK_WATCH_TEXT])
{
	c->fake_mono_ns += mono_ns;
	c->fake_real_ns += real_ns;
	return clock_watch__look(w, c, text);
}

static void steps_are_told_once(void **state)
{
	struct clock c = clock__fake(5 * SECOND, 1700000000 * SECOND);
	struct clock_watch w = { 0 };
	char text[CLOCK_WATCH_TEXT] = "";

	(void)state;
	assert_false(moves(&w, &c, 0, 0, text));
	assert_false(moves(&w, &c, SECOND, SECOND, text));
	assert_true(moves(&w, &c, SECOND, SECOND + 3 * 3600 * SECOND + 7, text));
	assert_non_null(strstr(text, "went forward by 3h ("));
	assert_false(moves(&w, &c, SECOND, SECOND, text));
	assert_true(moves(&w, &c, SECOND, SECOND - 90 * SECOND, text));
	assert_non_null(strstr(text, "set back by 1m30s:"));
	assert_false(moves(&w, &c, SECOND, SECOND, text));
	/* Between two looks that are far apart, as after a long write. */
	assert_false(moves(&w, &c, 600 * SECOND, 600 * SECOND, text));
	assert_true(moves(&w, &c, 600 * SECOND, 601 * SECOND, text));
}

static void slewing_is_no_step(void **state)
{
	struct clock c = clock__fake(0, 0);
	struct clock_watch w = { 0 };
	char text[CLOCK_WATCH_TEXT];

	(void)state;
	/* A tenth too fast for an hour, and then too slow: the most that time services do. */
	for (int i = 0; i < 3600; i++)
		assert_false(moves(&w, &c, SECOND, SECOND + SECOND / 10, text));
	for (int i = 0; i < 3600; i++)
		assert_false(moves(&w, &c, SECOND, SECOND - SECOND / 10, text));
	/* Nor when it is looked at as rarely as is allowed. */
	for (int i = 0; i < 400; i++)
		assert_false(moves(&w, &c, 9 * SECOND, 9 * SECOND + 9 * SECOND / 10, text));
	for (int i = 0; i < 400; i++)
		assert_false(moves(&w, &c, 9 * SECOND, 9 * SECOND - 9 * SECOND / 10, text));
}

/* Each look takes a second, as when the process is stopped between reading the clocks. */
static int64_t slow_mono_ns(const struct clock *c)
{
	static int64_t now;

	(void)c;
	return now += SECOND;
}

static void a_look_that_took_long_says_nothing(void **state)
{
	struct clock c = clock__fake(0, 0);
	struct clock_watch w = { 0 };
	char text[CLOCK_WATCH_TEXT];

	(void)state;
	c.mono_ns = slow_mono_ns;
	for (int i = 0; i < 10; i++)
		assert_false(moves(&w, &c, 0, 100 * SECOND, text));
	assert_false(w.has_looked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_told_once),
		cmocka_unit_test(slewing_is_no_step),
		cmocka_unit_test(a_look_that_took_long_says_nothing),
	};

	return cmocka_run_group_tests_name("clock_watch", tests, NULL, NULL);
}
