/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_vec.c - growth, overflow, and no memory
 */
#include "core/base/vec.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

struct pair {
	uint64_t a;
	uint32_t b;
};

static void test_push(void **state)
{
	VEC(struct pair) pairs = { 0 };
	size_t n_grown = 0, cap = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		assert_true(vec__push(&pairs, (struct pair){ .a = i * 3u, .b = i }));
		n_grown += pairs.cap != cap;
		cap = pairs.cap;
	}
	assert_int_equal(pairs.n, 100000);
	assert_true(n_grown < 40);
	assert_true(pairs.cap < 160000);
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(pairs.v[i].a == i * 3u && pairs.v[i].b == i);
	vec__fini(&pairs);
	assert_null(pairs.v);
	assert_int_equal(pairs.cap, 0);
	vec__fini(&pairs);
}

static void test_reserve(void **state)
{
	VEC(uint16_t) v = { 0 };

	(void)state;
	assert_true(vec__reserve(&v, 0));
	assert_true(vec__reserve(&v, 1000));
	assert_true(v.cap >= 1000);
	v.n = 1000;
	assert_false(vec__reserve(&v, SIZE_MAX));
	assert_false(vec__reserve(&v, SIZE_MAX - 1000));
	assert_false(vec__reserve(&v, SIZE_MAX / 2));
	assert_true(v.cap >= 1000 && v.n == 1000);
	vec__fini(&v);
}

static void test_no_memory(void **state)
{
	VEC(int) v = { 0 };
	unsigned n_failed = 0;

	(void)state;
	for (int i = 0; i < 1000;) {
		size_t n = v.n;
		bool ok;

		failmalloc__arm(1);
		ok = vec__push(&v, i);
		if (failmalloc__disarm()) {
			assert_false(ok);
			assert_int_equal(v.n, n);
			n_failed++;
			ok = vec__push(&v, i);
		}
		assert_true(ok);
		i++;
	}
	assert_true(n_failed > 5);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.v[i], i);
	vec__fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
