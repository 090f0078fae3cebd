/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_region.c - what a region holds stays, and what it gives up is gone
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/region.h"
#include "core/base/resident.h"
#include "core/base/sanitizer.h"

static void test_what_it_holds_stays(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct region r = { 0 };
	unsigned char *p;

	(void)state;
	assert_int_equal(region__resize(&r, 1), 0);
	assert_int_equal(r.bytes, page);
	memset(r.p, 7, page);
	assert_int_equal(region__resize(&r, 100 * page + 1), 0);
	assert_int_equal(r.bytes, 101 * page);
	p = r.p;
	for (size_t i = 0; i < r.bytes; i++)
		assert_int_equal(p[i], i < page ? 7 : 0);
	/* What was given up does not come back with the next pages. */
	memset(p, 9, r.bytes);
	assert_int_equal(region__resize(&r, page), 0);
	assert_int_equal(region__resize(&r, 2 * page), 0);
	p = r.p;
	assert_int_equal(p[page - 1], 9);
	assert_int_equal(p[page], 0);
	assert_int_equal(region__resize(&r, 0), 0);
	assert_null(r.p);
	assert_int_equal(r.bytes, 0);
	region__fini(&r);
}

static void test_grows_to_twice_and_never_shrinks(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct region r = { 0 };

	(void)state;
	assert_int_equal(region__grow(&r, 3 * page), 0);
	assert_int_equal(r.bytes, 3 * page);
	assert_int_equal(region__grow(&r, page), 0);
	assert_int_equal(r.bytes, 3 * page);
	assert_int_equal(region__grow(&r, 3 * page + 1), 0);
	assert_int_equal(r.bytes, 6 * page);
	assert_int_equal(region__grow(&r, 20 * page), 0);
	assert_int_equal(r.bytes, 20 * page);
	region__fini(&r);
}

static void test_too_much_changes_nothing(void **state)
{
	/* Not constants, so that nobody sees through them. */
	volatile size_t all = SIZE_MAX, most = SIZE_MAX / 2;
	struct region r = { 0 };
	void *p;

	(void)state;
	assert_int_equal(region__resize(&r, all), -ENOMEM);
	assert_int_equal(region__grow(&r, most), -ENOMEM);
	assert_null(r.p);
	assert_int_equal(region__resize(&r, 10), 0);
	memset(r.p, 5, r.bytes);
	p = r.p;
	assert_int_equal(region__resize(&r, all), -ENOMEM);
	assert_int_equal(region__resize(&r, most), -ENOMEM);
	assert_int_equal(region__grow(&r, all), -ENOMEM);
	assert_ptr_equal(r.p, p);
	assert_int_equal(((unsigned char *)p)[r.bytes - 1], 5);
	region__fini(&r);
}

/* The kernel's count of pages is late by some of each CPU. */
static void test_pages_are_taken_when_touched_and_given_back_at_once(void **state)
{
	const size_t n = (size_t)32 << 20, about = (size_t)4 << 20;
	struct region r = { 0 };
	const uint64_t before = resident__private(getpid());

	if (SANITIZER_THREAD)
		skip_because("ThreadSanitizer's memory counts, too");
	assert_int_equal(region__resize(&r, n), 0);
	assert_in_range(resident__private(getpid()), 0, before + about);
	memset(r.p, 1, n);
	assert_in_range(resident__private(getpid()), before + n - about, before + n + about);
	assert_int_equal(region__resize(&r, n / 2), 0);
	assert_in_range(resident__private(getpid()), before + n / 2 - about, before + n / 2 + about);
	region__fini(&r);
	assert_in_range(resident__private(getpid()), 0, before + about);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_holds_stays),
		cmocka_unit_test(test_grows_to_twice_and_never_shrinks),
		cmocka_unit_test(test_too_much_changes_nothing),
		cmocka_unit_test(test_pages_are_taken_when_touched_and_given_back_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
