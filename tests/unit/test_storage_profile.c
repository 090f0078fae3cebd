/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_storage_profile.c - what a profile in memory gives back is what it was given
 */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "plugins/storage/streams/profile.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { N_ROWS = 300, PERIOD = 52631578, N_ROUNDS = 500 };

static struct row rows[N_ROWS];

/* Rows whose values are up to 2^bits, perhaps negative, times a factor. */
static uint32_t make_rows(struct random *r, unsigned bits, int64_t factor, bool labels)
{
	const uint32_t n = (uint32_t)random__below(r, N_ROWS + 1);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t magnitude = random__next(r) >> (63 - bits) >> 1;

		rows[i] = (struct row){
			.stack = i ? rows[i - 1].stack + 1 + (uint32_t)random__below(r, 9) : 0,
			.labels = labels ? (uint32_t)random__below(r, 3) : 0,
			.value = (int64_t)magnitude * factor * (random__below(r, 4) ? 1 : -1),
		};
	}
	return n;
}

static void assert_holds(const struct profile *p, uint32_t n)
{
	int64_t values[N_ROWS];

	assert_int_equal(p->n_rows, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct row row = profile__row(p, i);

		assert_int_equal(row.stack, rows[i].stack);
		assert_int_equal(row.labels, rows[i].labels);
		assert_true(row.value == rows[i].value);
		assert_int_equal(profile__stacks(p)[i], rows[i].stack);
		assert_int_equal(profile__labels(p) ? profile__labels(p)[i] : 0, rows[i].labels);
	}
	for (uint32_t first = 0; first < n; first += 1 + n / 3) {
		profile__values(p, first, n - first, values);
		for (uint32_t i = first; i < n; i++)
			assert_true(values[i - first] == rows[i].value);
	}
}

static void rows_come_back(void **state)
{
	(void)state;
	const struct profile_head head = { -5, 10000000000, PERIOD };
	struct random r = { 1 };

	for (uint32_t i = 0; i < N_ROUNDS; i++) {
		const bool periods = i % 2;
		const uint32_t n = make_rows(&r, i % (periods ? 37 : 63), periods ? PERIOD : 1,
					     i % 3 == 0);
		struct profile *p = profile__new(&head, rows, n), *copy = p ? profile__copy(p) : NULL;

		assert_non_null(copy);
		assert_int_equal(p->time_ms, -5);
		assert_int_equal(p->duration_ns, 10000000000);
		assert_int_equal(p->period, PERIOD);
		assert_holds(p, n);
		profile__unref(p);
		assert_holds(copy, n);
		profile__unref(copy);
	}
}

/* The smallest and the largest value of each width, and one beyond them. */
static void edges_come_back(void **state)
{
	(void)state;
	static const struct {
		int64_t value;
		unsigned value_bytes;
	} edges[] = {
		{ 0, 1 },
		{ INT8_MAX, 1 },
		{ INT8_MIN, 1 },
		{ 1 + INT8_MAX, 2 },
		{ INT8_MIN - 1, 2 },
		{ INT16_MAX, 2 },
		{ INT16_MIN, 2 },
		{ 1 + INT16_MAX, 4 },
		{ INT16_MIN - 1, 4 },
		{ INT32_MAX, 4 },
		{ INT32_MIN, 4 },
		{ (int64_t)INT32_MAX + 1, 8 },
		{ (int64_t)INT32_MIN - 1, 8 },
		{ INT64_MAX, 8 },
		{ INT64_MIN, 8 },
	};
	static const int64_t periods[] = { 0, 1, -1, INT64_MAX };

	for (size_t k = 0; k < sizeof(periods) / sizeof(periods[0]); k++)
		for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
			const struct profile_head head = { .period = periods[k] };

			rows[0] = (struct row){ 0, 0, edges[i].value };
			rows[1] = (struct row){ UINT32_MAX - 1, UINT32_MAX - 1, 0 };
			struct profile *p = profile__new(&head, rows, 2);

			assert_non_null(p);
			assert_holds(p, 2);
			if (periods[k] != INT64_MAX)
				assert_int_equal(p->value_bytes, edges[i].value_bytes);
			profile__unref(p);
		}
}

/* What a sampler sends takes five bytes a row. */
static void small_rows_are_small(void **state)
{
	(void)state;
	const struct profile_head head = { .period = PERIOD };

	for (uint32_t i = 0; i < N_ROWS; i++)
		rows[i] = (struct row){ i, 0, (int64_t)PERIOD * (1 + i % 100) };
	struct profile *empty = profile__new(&head, rows, 0), *p = profile__new(&head, rows, N_ROWS);

	assert_non_null(empty);
	assert_non_null(p);
	assert_int_equal(profile__bytes(p) - profile__bytes(empty), 5 * N_ROWS);
	profile__unref(p);
	profile__unref(empty);
}

static void numbers_are_given_anew(void **state)
{
	(void)state;
	static uint32_t stacks[10 * N_ROWS];
	const uint32_t label_sets[] = { 0, 5, 9 };
	const struct profile_head head = { .period = PERIOD };
	struct random r = { 2 };

	for (uint32_t i = 0; i < 10 * N_ROWS; i++)
		stacks[i] = 2 * i + 1;
	for (uint32_t i = 0; i < N_ROUNDS; i++) {
		const uint32_t n = make_rows(&r, 10, PERIOD, i % 2);
		struct profile *p = profile__new(&head, rows, n);

		assert_non_null(p);
		profile__renumber(p, stacks, label_sets);
		for (uint32_t k = 0; k < n; k++) {
			rows[k].stack = stacks[rows[k].stack];
			rows[k].labels = label_sets[rows[k].labels];
		}
		assert_holds(p, n);
		profile__unref(p);
	}
}

static void memory_may_run_out(void **state)
{
	(void)state;
	const struct profile_head head = { .period = PERIOD };
	struct random r = { 3 };
	const uint32_t n = make_rows(&r, 10, PERIOD, true);

	FAILMALLOC_SWEEP (i) {
		struct profile *p = profile__new(&head, rows, n), *copy = p ? profile__copy(p) : NULL;
		const bool failed = failmalloc__disarm();

		assert_int_equal(copy == NULL, failed);
		profile__unref(p);
		profile__unref(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back),	cmocka_unit_test(edges_come_back),
		cmocka_unit_test(small_rows_are_small), cmocka_unit_test(numbers_are_given_anew),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
