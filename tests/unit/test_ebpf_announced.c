/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_announced.c - walks by mappings that were another moment's
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/input/ebpf/announced.h"

#define MS INT64_C(1000000)

enum { MAIN = 0x1100, LIBRARY = 0x5101, JIT = 0x9100, NOWHERE = 0x100 };

#define PROGRAM "1000-2000 r-xp 00000000 08:01 5 /main\n"
#define LIB_A	"5000-6000 r-xp 00000000 08:01 7 /a.so\n"
#define LIB_B	"5000-6000 r-xp 00000000 08:01 8 /b.so\n"
#define MEMORY	"9000-a000 r-xp 00000000 00:00 0 \n"

static struct maps *maps_of(const char *text)
{
	struct maps_parser p;
	struct maps *m = NULL;

	assert_int_equal(maps__parse_begin(&p), 0);
	maps__parse(&p, text, strlen(text));
	assert_int_equal(maps__parse_end(&p, &m), 0);
	return m;
}

/* Announces them for a millisecond from then on. */
static void announce(struct announced *a, const char *text, int64_t ms, int64_t looked_ms)
{
	struct maps *m = maps_of(text);

	announced__add(a, m, ms * MS, (ms + 1) * MS, looked_ms * MS);
	maps__unref(m);
}

/* At the end of libraries there is the same in all of them. */
static bool same(void *ctx, const struct maps_range *by, const struct maps_range *of, uint64_t address)
{
	(void)ctx;
	assert_true(address >= by->start && address < by->end && address >= of->start &&
		    address < of->end);
	return address == 0x5fff;
}

static uint32_t n_sure_of(const struct announced *a, int64_t ms, const char *text,
			  const uint64_t *frames, uint32_t n)
{
	struct maps *m = maps_of(text);
	uint32_t sure = announced__n_sure(
		a, &(struct announced_walk){
			   .time_ns = ms * MS, .maps = m, .frames = frames, .n = n, .same = same });

	maps__unref(m);
	return sure;
}

/* Of a leaf in the library, and main. */
static uint32_t n_sure(const struct announced *a, int64_t ms, const char *text)
{
	return n_sure_of(a, ms, text, (const uint64_t[]){ LIBRARY, MAIN }, 2);
}

static void test_up_to_the_first_that_is_another_file(void **state)
{
	static const uint64_t above[] = { MAIN, LIBRARY, MAIN }, jit[] = { MAIN, JIT, MAIN },
			      lost[] = { NOWHERE };
	struct announced a = { 0 };

	(void)state;
	/* Nothing was announced: nothing was walked by it. */
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_A), 2);
	announce(&a, PROGRAM LIB_A, 100, 90);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_A), 2);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_B), 0);
	assert_int_equal(n_sure_of(&a, 200, PROGRAM LIB_B, above, 3), 1);
	/* Another part of the same file has other rules. */
	assert_int_equal(n_sure(&a, 200, PROGRAM "5000-6000 r-xp 00001000 08:01 7 /a.so\n"), 0);
	/* The other file is not in this stack; and a walk ends where nothing was announced. */
	assert_int_equal(n_sure_of(&a, 200, PROGRAM LIB_B, lost, 1), 1);
	assert_int_equal(n_sure_of(&a, 200, PROGRAM LIB_B MEMORY, jit, 3), 3);
	assert_int_equal(
		n_sure_of(&a, 200, PROGRAM LIB_B, (const uint64_t[]){ 0x5fff, 0x6000, LIBRARY }, 3), 2);
	/* Unmapped since. */
	assert_int_equal(n_sure(&a, 200, PROGRAM), 0);
	announced__fini(&a);
}

static void test_by_what_was_announced_then(void **state)
{
	struct announced a = { 0 };

	(void)state;
	announce(&a, PROGRAM LIB_A, 100, 90);
	announce(&a, PROGRAM LIB_B, 300, 290);
	announce(&a, PROGRAM LIB_A MEMORY, 500, 490);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_A), 2);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_B), 0);
	assert_int_equal(n_sure(&a, 400, PROGRAM LIB_B), 2);
	assert_int_equal(n_sure(&a, 400, PROGRAM LIB_A), 0);
	assert_int_equal(n_sure(&a, 600, PROGRAM LIB_A MEMORY), 2);
	/* While it was announced, and for as long as a walk lasts before: one or the other. */
	for (int64_t ms = 299; ms <= 301; ms++) {
		assert_int_equal(n_sure(&a, ms, PROGRAM LIB_A), 0);
		assert_int_equal(n_sure(&a, ms, PROGRAM LIB_B), 0);
	}
	/* What was before all that is known may have been either. */
	for (int i = 0; i < ANNOUNCED_STATES; i++)
		announce(&a, i % 2 ? PROGRAM LIB_A : PROGRAM LIB_B, 700 + 200 * i, 690 + 200 * i);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_A), 0);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_B), 0);
	assert_int_equal(n_sure(&a, 800, PROGRAM LIB_B), 2);
	announced__fini(&a);
}

/* Within one look at the rings. */
static void test_many_at_once(void **state)
{
	struct announced a = { 0 };

	(void)state;
	announce(&a, PROGRAM LIB_A, 100, 90);
	/* However often memory changes, the files are known. */
	for (int64_t ms = 300; ms < 400; ms += 10) {
		announce(&a, PROGRAM LIB_A MEMORY, ms, ms > 350 ? 290 : ms - 5);
		announce(&a, PROGRAM LIB_A, ms + 5, ms > 350 ? 290 : ms);
	}
	assert_int_equal(a.n, 1);
	assert_int_equal(n_sure(&a, 200, PROGRAM LIB_A), 2);
	assert_int_equal(n_sure(&a, 355, PROGRAM LIB_A MEMORY), 2);
	assert_int_equal(n_sure(&a, 355, PROGRAM LIB_B), 0);
	assert_int_equal(n_sure(&a, 450, PROGRAM LIB_B), 0);
	/* Files that take turns then: which one it was is not known, before and after it is. */
	announce(&a, PROGRAM LIB_B, 500, 490);
	announce(&a, PROGRAM LIB_A, 510, 490);
	announce(&a, PROGRAM LIB_B, 520, 490);
	assert_int_equal(n_sure(&a, 450, PROGRAM LIB_A), 2);
	assert_int_equal(n_sure(&a, 515, PROGRAM LIB_A), 0);
	assert_int_equal(n_sure(&a, 515, PROGRAM LIB_B), 0);
	assert_int_equal(n_sure(&a, 600, PROGRAM LIB_B), 2);
	announced__fini(&a);
}

/* A library that is new where nothing was led nobody astray; one in place of memory, or of one that went, did. */
static void test_files_that_come_and_go(void **state)
{
	static const char *const states[][2] = {
		{ PROGRAM, PROGRAM LIB_A },
		{ PROGRAM "5000-6000 r-xp 00000000 00:00 0 \n", PROGRAM LIB_A },
		{ PROGRAM LIB_A, PROGRAM },
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct announced a = { 0 };

		announce(&a, states[i][0], 100, 90);
		announce(&a, states[i][1], 300, 290);
		assert_int_equal(a.n, i ? 2 : 1);
		assert_int_equal(n_sure(&a, 400, states[i][1]), 2);
		if (i)
			assert_int_equal(n_sure(&a, 200, states[i][1]), 0);
		announced__fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up_to_the_first_that_is_another_file),
		cmocka_unit_test(test_by_what_was_announced_then),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_files_that_come_and_go),
	};

	return cmocka_run_group_tests_name("ebpf_announced", tests, NULL, NULL);
}
