/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_wall.c - dates and times, while somebody sets the clock
 */
#include "tests/unit/unit.h"

#include "plugins/input/ebpf/wall.h"

#define SECOND 1000000000ll
#define TICK   10000000ll

static int64_t mono, real;

static int64_t mono_ns(const struct dcm_host *host)
{
	(void)host;
	return mono;
}

static int64_t real_ns(const struct dcm_host *host)
{
	(void)host;
	return real;
}

static const struct dcm_host host = { .size = sizeof(host), .mono_ns = mono_ns, .real_ns = real_ns };

static void pass(int64_t ns)
{
	mono += ns;
	real += ns;
}

static struct wall begin(void)
{
	struct wall w;

	mono = 100 * SECOND;
	real = 1000000 * SECOND;
	wall__init(&w, &host);
	return w;
}

static void test_clock_left_alone(void **state)
{
	struct wall w = begin();
	int64_t date = real + 5 * SECOND;

	(void)state;
	pass(10 * SECOND);
	wall__look(&w, &host);
	assert_true(wall__was_over(&w, date, 106 * SECOND));
	assert_true(wall__was_over(&w, date, 105 * SECOND + TICK));
	/* The date may be that of the last tick. */
	assert_false(wall__was_over(&w, date, 105 * SECOND + TICK - 1));
	assert_false(wall__was_over(&w, date, 104 * SECOND));
	assert_false(wall__was_over(&w, INT64_MAX, INT64_MAX));
	assert_true(wall__was_over(&w, INT64_MIN, 104 * SECOND));
}

/* A file that was made after the record must not seem older than it, wherever the clock stood. */
static void test_clock_set(void **state)
{
	(void)state;
	for (int64_t step = -100 * SECOND; step <= 100 * SECOND; step += 10 * SECOND) {
		struct wall w = begin();
		int64_t record, made;

		pass(10 * SECOND);
		record = mono;
		pass(SECOND);
		made = real;
		real += step;
		wall__look(&w, &host);
		assert_false(wall__was_over(&w, made, record));
		/* The same when it was made behind the step. */
		pass(SECOND);
		made = real;
		wall__look(&w, &host);
		assert_false(wall__was_over(&w, made, record));
	}
}

/* After two spans it is as if the clock had always been what it is; what is older is not known. */
static void test_spans(void **state)
{
	struct wall w = begin();
	int64_t date;

	(void)state;
	pass(10 * SECOND);
	real += 3600 * SECOND;
	date = real;
	pass(SECOND);
	wall__next(&w, &host);
	assert_false(wall__was_over(&w, date, mono));
	pass(10 * SECOND);
	wall__next(&w, &host);
	assert_true(wall__was_over(&w, date, mono));
	assert_true(wall__was_over(&w, date, mono - 10 * SECOND));
	assert_false(wall__was_over(&w, date, mono - 10 * SECOND - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_left_alone),
		cmocka_unit_test(test_clock_set),
		cmocka_unit_test(test_spans),
	};

	return cmocka_run_group_tests_name("ebpf_wall", tests, NULL, NULL);
}
