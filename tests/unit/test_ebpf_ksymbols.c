/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_ksymbols.c - BPF programs that came and went, told in whatever order
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/ksymbols.h"
#include "tests/unit/failmalloc.h"

#define BASE 0xffffffffa0000000ull

static void told(struct ksymbols *k, bool is_gone, uint64_t at, uint64_t n, const char *name, int64_t time_s)
{
	struct perf_record r = { .kind = PERF_RECORD_OF_SYMBOL,
				 .start = BASE + at,
				 .end = BASE + at + n,
				 .is_gone = is_gone,
				 .name = str__of(name),
				 .time_ns = time_s * 1000000000 };

	ksymbols__add(k, &r);
}

/* For a sample of that time. */
static void assert_name_at(struct ksymbols *k, uint64_t at, int64_t time_s, const char *name)
{
	char found[KSYMBOLS_NAME] = "";
	bool is_there = ksymbols__find(k, BASE + at, time_s * 1000000000, found);

	if (is_there != (name != NULL) || (name && strcmp(found, name) != 0))
		fail_msg("+%#lx: \"%s\", not \"%s\"", (unsigned long)at, found, name ? name : "(none)");
}

static void assert_name(struct ksymbols *k, uint64_t at, const char *name)
{
	assert_name_at(k, at, 5, name);
}

static void test_ends_are_known(void **state)
{
	struct ksymbols *k = ksymbols__new();

	(void)state;
	assert_name(k, 0, NULL);
	told(k, false, 0x100, 0x40, "a", 1);
	told(k, false, 0x180, 0x80, "b", 2);
	assert_name(k, 0xff, NULL);
	assert_name(k, 0x100, "a");
	assert_name(k, 0x13f, "a");
	assert_name(k, 0x140, NULL);
	assert_name(k, 0x1ff, "b");
	assert_name(k, 0x200, NULL);
	assert_false(ksymbols__find(NULL, BASE, 0, (char[KSYMBOLS_NAME]){ 0 }));
	ksymbols__free(k);
	ksymbols__free(NULL);
}

/* What has gone is known until another one lies there, and for two minutes. */
static void test_the_place_is_used_again(void **state)
{
	struct ksymbols *k = ksymbols__new();

	(void)state;
	told(k, false, 0x100, 0x100, "a", 1);
	told(k, true, 0x100, 0x100, "a", 2);
	assert_name(k, 0x180, "a");
	told(k, false, 0x140, 0x100, "b", 3);
	assert_name(k, 0x100, "a");
	assert_name(k, 0x180, "b");
	told(k, true, 0x140, 0x100, "b", 4);
	assert_name(k, 0x180, "b");
	told(k, false, 0x900, 8, "c", 123);
	assert_name(k, 0x110, NULL);
	assert_name(k, 0x180, "b");
	told(k, false, 0x910, 8, "c", 125);
	assert_name(k, 0x180, NULL);
	assert_name(k, 0x900, "c");
	ksymbols__free(k);
}

/* Also when nothing more is heard of: samples that come later are of something else. */
static void test_what_ended_is_not_found_for_good(void **state)
{
	struct ksymbols *k = ksymbols__new();

	(void)state;
	told(k, false, 0x100, 0x40, "a", 1);
	told(k, true, 0x100, 0x40, "a", 2);
	told(k, false, 0x200, 0x40, "b", 2);
	assert_name_at(k, 0x100, 1, "a");
	assert_name_at(k, 0x100, 122, "a");
	assert_name_at(k, 0x100, 123, NULL);
	assert_name_at(k, 0x200, 100000, "b");
	ksymbols__free(k);
}

/* Of all that is forgotten at once only what ended goes, and what stays is found as before. */
static void test_many_are_forgotten_at_once(void **state)
{
	struct ksymbols *k = ksymbols__new();

	(void)state;
	for (unsigned i = 0; i < KSYMBOLS_MAX; i++)
		told(k, false, 16ull * i, 8, i % 3 ? "gone" : "there", 1);
	for (unsigned i = 0; i < KSYMBOLS_MAX; i++)
		if (i % 3)
			told(k, true, 16ull * i, 8, "gone", 2);
	told(k, false, 16ull * KSYMBOLS_MAX, 8, "new", 200);
	for (unsigned i = 0; i < KSYMBOLS_MAX; i++)
		assert_name(k, 16ull * i, i % 3 ? NULL : "there");
	assert_name(k, 16ull * KSYMBOLS_MAX, "new");
	ksymbols__free(k);
}

/* Three in one place, one after the other: each order of the six records says the same. */
static void test_any_order_of_cpus(void **state)
{
	static const struct {
		bool is_gone;
		const char *name;
		int64_t time_s;
	} records[] = { { false, "a", 1 }, { true, "a", 2 },  { false, "b", 3 },
			{ true, "b", 4 },  { false, "c", 5 }, { true, "c", 6 } };
	unsigned order[] = { 0, 1, 2, 3, 4, 5 };

	(void)state;
	for (unsigned turn = 0; turn < 720; turn++) {
		/* The permutation of that number, in the factorial system. */
		unsigned left[] = { 0, 1, 2, 3, 4, 5 }, number = turn;

		for (unsigned i = 0; i < 6; i++) {
			unsigned at = number % (6 - i);

			number /= 6 - i;
			order[i] = left[at];
			memmove(&left[at], &left[at + 1], (5 - at) * sizeof(*left));
		}
		for (unsigned n = 5; n <= 6; n++) {
			struct ksymbols *k = ksymbols__new();

			/* All of them, and all but that the last one has gone. */
			for (unsigned i = 0; i < 6; i++)
				if (order[i] < n)
					told(k, records[order[i]].is_gone, 0x100, 0x100,
					     records[order[i]].name, records[order[i]].time_s);
			assert_name(k, 0x150, "c");
			ksymbols__free(k);
		}
	}
}

static void test_it_is_bounded(void **state)
{
	static char longest[2 * KSYMBOLS_NAME], found[KSYMBOLS_NAME];
	struct ksymbols *k = ksymbols__new();

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	told(k, false, 0, 8, longest, 0);
	assert_true(ksymbols__find(k, BASE, 0, found));
	assert_int_equal(strlen(found), KSYMBOLS_NAME - 1);
	told(k, false, 16, 8, "gone", 1);
	told(k, true, 16, 8, "gone", 2);
	for (unsigned i = 2; i < KSYMBOLS_MAX; i++)
		told(k, false, 16ull * i, 8, "there", 3);
	assert_name(k, 16, "gone");
	/* Who has gone makes room, then the oldest. */
	told(k, false, 16ull * KSYMBOLS_MAX, 8, "new", 4);
	assert_name(k, 16, NULL);
	assert_true(ksymbols__find(k, BASE, 0, found));
	told(k, false, 16ull * (KSYMBOLS_MAX + 1), 8, "newer", 4);
	assert_name(k, 0, NULL);
	assert_name(k, 32, "there");
	assert_name(k, 16ull * KSYMBOLS_MAX, "new");
	assert_name(k, 16ull * (KSYMBOLS_MAX + 1), "newer");
	ksymbols__free(k);
}

static void test_failing_allocations(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct ksymbols *k = ksymbols__new();

		if (k) {
			told(k, false, 0, 8, "a", 1);
			told(k, true, 32, 8, "b", 2);
			failmalloc__disarm();
			told(k, false, 64, 8, "c", 3);
			assert_name(k, 64, "c");
		}
		failmalloc__disarm();
		ksymbols__free(k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_are_known),
		cmocka_unit_test(test_the_place_is_used_again),
		cmocka_unit_test(test_what_ended_is_not_found_for_good),
		cmocka_unit_test(test_many_are_forgotten_at_once),
		cmocka_unit_test(test_any_order_of_cpus),
		cmocka_unit_test(test_it_is_bounded),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
