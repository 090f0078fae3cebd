/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_mem.c - overflow, nothing, and no memory
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/sanitizer.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static void test_overflow(void **state)
{
	char *p = mem__zalloc(3, 5);
	/* Not constants, so that the compiler does not object to what is tested. */
	volatile size_t huge = SIZE_MAX, half = SIZE_MAX / 2 + 1;

	(void)state;
	assert_non_null(p);
	assert_null(mem__zalloc(huge, 2));
	assert_null(mem__zalloc(half, 2));
	assert_null(mem__zalloc_large(huge, 2));
	assert_null(mem__resize(p, huge, 3));
	assert_null(mem__resize(p, half, 2));
	assert_null(mem__dup_str(p, huge));
	for (int i = 0; i < 15; i++)
		assert_int_equal(p[i], 0);
	free(p);
}

static void test_large_is_zero_too(void **state)
{
	const size_t n = (size_t)5 << 20;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		char *p = mem__zalloc_large(n, 1);

		assert_non_null(p);
		for (size_t i = 0; i < n; i += 64)
			assert_int_equal(p[i], 0);
		memset(p, 1, n);
		free(p);
	}
}

static long peak_mib(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return u.ru_maxrss / 1024;
}

/* The pages of a large block are moved when it grows: there are never two of it. */
static void test_growing_copies_nothing(void **state)
{
	const size_t n = (size_t)64 << 20;
	char *p = mem__resize(NULL, n, 1), *neighbour;

	(void)state;
#if SANITIZER
	free(p);
	skip_because("a sanitizer's malloc copies");
#endif
	assert_non_null(p);
	memset(p, 1, n);
	const long before = peak_mib();
	neighbour = mem__resize(NULL, n, 1); /* where it could grow in its place */
	p = mem__resize(p, n + n / 2, 1);
	assert_non_null(p);
	assert_int_equal(p[n - 1], 1);
	assert_in_range(peak_mib(), before, before + 16);
	free(neighbour);
	free(p);
}

static void test_nothing_is_not_null(void **state)
{
	void *p = mem__zalloc(0, 8);

	(void)state;
	assert_non_null(p);
	p = mem__resize(p, 0, 8); /* not freed: NULL means out of memory only */
	assert_non_null(p);
	free(p);
	p = mem__dup(NULL, 0);
	assert_non_null(p);
	free(p);
	p = mem__dup_str(NULL, 0);
	assert_non_null(p);
	assert_string_equal(p, "");
	free(p);
}

static void test_copies(void **state)
{
	char *text = mem__dup_str("hello world", 5);
	int numbers[] = { 1, 2, 3 }, *copy = mem__dup(numbers, sizeof(numbers));

	(void)state;
	assert_string_equal(text, "hello");
	assert_memory_equal(copy, numbers, sizeof(numbers));
	copy = mem__resize(copy, 1000, sizeof(*copy));
	assert_non_null(copy);
	assert_memory_equal(copy, numbers, sizeof(numbers));
	free(copy);
	free(text);
}

/* Large enough for huge pages, larger, and small again. */
static void test_large_blocks(void **state)
{
	static const size_t mib[] = { 4, 9, 33, 5, 1 };
	uint8_t *p = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		size_t n = mib[i] << 20, n_before = i ? mib[i - 1] << 20 : 0;
		p = mem__resize(p, n, 1);
		assert_non_null(p);
		for (size_t at = 0; at < n && at < n_before; at += 4096)
			assert_int_equal(p[at], (uint8_t)(at >> 12));
		for (size_t at = 0; at < n; at += 4096)
			p[at] = (uint8_t)(at >> 12);
	}
	free(p);
}

static void test_no_memory(void **state)
{
	char *p = mem__dup_str("x", 1);

	(void)state;
	failmalloc__arm(1);
	assert_null(mem__zalloc(1, 1));
	assert_null(mem__zalloc_large(5 << 20, 1));
	assert_null(mem__resize(p, 10, 10));
	assert_null(mem__dup("x", 1));
	assert_null(mem__dup_str("x", 1));
	failmalloc__disarm();
	assert_string_equal(p, "x");
	free(p);
}

static unsigned n_freed;

struct thing {
	int unused;
};

static void thing__free(struct thing *t)
{
	n_freed++;
	free(t);
}
DEFINE_CLEANUP(struct thing *, thing__free);

static struct thing *make_thing(int keep)
{
	CLEANUP(thing__freep) struct thing *t = NEW(struct thing);
	CLEANUP(thing__freep) struct thing *none = NULL;

	(void)none;
	return keep ? take_ptr(t) : NULL;
}

static void test_cleanup(void **state)
{
	struct thing *t;
	int fd = 5;

	(void)state;
	assert_null(make_thing(0));
	assert_int_equal(n_freed, 1);
	t = make_thing(1);
	assert_non_null(t);
	assert_int_equal(n_freed, 1);
	thing__free(t);
	assert_int_equal(take_fd(fd), 5);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_large_is_zero_too),
		cmocka_unit_test(test_growing_copies_nothing),
		cmocka_unit_test(test_nothing_is_not_null),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_large_blocks),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_cleanup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
