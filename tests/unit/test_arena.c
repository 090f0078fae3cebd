/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_arena.c - blocks that do not overlap, cost what they say, and fail cleanly
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { N_BLOCKS = 3000 };

struct block {
	unsigned char *p;
	size_t n;
};

/* Every byte of every block is written, and read when all stand: an overlap would show. */
static void fill_and_check(struct arena *a, struct random *r)
{
	static struct block blocks[N_BLOCKS];
	size_t sum = 0;

	for (unsigned i = 0; i < N_BLOCKS; i++) {
		size_t n = random__below(r, i % 100 == 0 ? 200000 : 300);

		blocks[i].n = n;
		blocks[i].p = arena__alloc(a, n);
		assert_non_null(blocks[i].p);
		assert_int_equal((uintptr_t)blocks[i].p % 8, 0);
		memset(blocks[i].p, (int)(i & 0xff), n);
		sum += n;
	}
	for (unsigned i = 0; i < N_BLOCKS; i++)
		for (size_t j = 0; j < blocks[i].n; j++)
			assert_true(blocks[i].p[j] == (i & 0xff));
	assert_true(a->total_bytes >= sum);
	assert_true(a->total_bytes < 2 * sum + (1 << 21));
}

static void test_blocks(void **state)
{
	struct random r = { 7 };
	struct arena a = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		fill_and_check(&a, &r);
		arena__reset(&a);
		assert_int_equal(a.total_bytes, 4096);
	}
	arena__fini(&a);
	assert_int_equal(a.total_bytes, 0);
	arena__fini(&a);
	arena__reset(&a);
	assert_non_null(arena__alloc(&a, 0));
	arena__fini(&a);
}

/* A huge block does not waste the room in the chunk that was newest. */
static void test_huge(void **state)
{
	struct arena a = { 0 };
	char *x = arena__alloc(&a, 8), *y;

	(void)state;
	assert_non_null(arena__zalloc(&a, 3, 1 << 20));
	y = arena__alloc(&a, 8);
	assert_ptr_equal(y, x + 8);
	assert_null(arena__alloc(&a, SIZE_MAX));
	assert_null(arena__alloc(&a, SIZE_MAX - 8));
	assert_null(arena__zalloc(&a, SIZE_MAX / 2, 3));
	arena__fini(&a);

	/* first of all, and then a reset: nothing huge is kept */
	assert_non_null(arena__alloc(&a, 10 << 20));
	assert_non_null(arena__alloc(&a, 8));
	arena__reset(&a);
	assert_int_equal(a.total_bytes, 4096);
	arena__fini(&a);
}

static void test_text(void **state)
{
	struct arena a = { 0 };
	struct dcm_str s = arena__str(&a, STR("a\0b"));
	char *p;

	(void)state;
	assert_true(str__eq(s, STR("a\0b")));
	assert_int_equal(s.p[3], '\0');
	s = arena__str(&a, (struct dcm_str){ NULL, 0 });
	assert_string_equal(s.p, "");
	p = arena__printf(&a, "%s-%d", "x", 12);
	assert_string_equal(p, "x-12");
	p = arena__printf(&a, "%*d", 9000, 1);
	assert_int_equal(strlen(p), 9000);
	p = arena__zalloc(&a, 100, 7);
	for (int i = 0; i < 700; i++)
		assert_int_equal(p[i], 0);
	arena__fini(&a);
}

static void test_no_memory(void **state)
{
	struct arena a = { 0 };
	size_t before;

	(void)state;
	failmalloc__arm(1);
	assert_null(arena__alloc(&a, 1));
	assert_null(arena__zalloc(&a, 1, 1));
	assert_null(arena__str(&a, STR("x")).p);
	assert_null(arena__printf(&a, "x"));
	failmalloc__disarm();
	assert_int_equal(a.total_bytes, 0);
	assert_non_null(arena__alloc(&a, 1));
	before = a.total_bytes;
	failmalloc__arm(1);
	assert_null(arena__alloc(&a, 100000));
	assert_non_null(arena__alloc(&a, 100)); /* there is room still */
	failmalloc__disarm();
	assert_int_equal(a.total_bytes, before);
	arena__fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
