/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_intern.c - ids against a linear scan, addresses that stay, no memory
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/intern.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { N_TEXTS = 20000 };

static uint32_t scan(const struct intern *t, struct dcm_str s)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (str__eq(t->texts[i], s))
			return i;
	return INTERN_NONE;
}

static void test_ids(void **state)
{
	static const char *addresses[N_TEXTS];
	struct random r = { 14 };
	struct intern t;
	char text[12];

	(void)state;
	assert_int_equal(intern__init(&t), 0);
	assert_int_equal(intern__add(&t, STR("")), 0);
	assert_int_equal(intern__add(&t, (struct dcm_str){ NULL, 0 }), 0);
	assert_int_equal(intern__find(&t, (struct dcm_str){ NULL, 0 }), 0);
	for (unsigned i = 0; i < N_TEXTS; i++) {
		struct dcm_str s = { text, (uint32_t)random__below(&r, 6) };
		uint32_t want, n = t.n, id;

		random__text(&r, text, s.n, "abcd\0", 5);
		want = scan(&t, s);
		assert_int_equal(intern__find(&t, s), want);
		uint64_t h = intern__hash(&t, s);
		assert_int_equal(intern__find_hashed(&t, s, h), want);
		id = want == INTERN_NONE && i % 2 ? intern__add_new(&t, s, h) : intern__add(&t, s);
		assert_int_equal(id, want == INTERN_NONE ? n : want);
		assert_int_equal(t.n, n + (want == INTERN_NONE));
		assert_true(str__eq(intern__text(&t, id), s));
		assert_int_equal(intern__text(&t, id).p[s.n], '\0');
		if (want == INTERN_NONE)
			addresses[id] = intern__text(&t, id).p;
	}
	assert_true(t.n > 1000);
	for (uint32_t i = 1; i < t.n; i++)
		assert_ptr_equal(addresses[i], intern__text(&t, i).p);
	/* A text of the table itself may be added. */
	assert_int_equal(intern__add(&t, intern__text(&t, 5)), 5);
	intern__fini(&t);
}

/* So many that the index holds equal hash bits for different texts. */
static void test_many(void **state)
{
	struct intern t;
	char text[16];

	(void)state;
	assert_int_equal(intern__init(&t), 0);
	for (uint32_t i = 1; i <= 400000; i++) {
		struct dcm_str s = { text, (uint32_t)snprintf(text, sizeof(text), "%06u", i) };

		assert_int_equal(intern__add(&t, s), i);
	}
	intern__fini(&t);
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct intern t;
		char text[16];
		bool failed = intern__init(&t) != 0;
		uint32_t n_ok = 1;

		for (unsigned j = 0; !failed && j < 500; j++) {
			struct dcm_str s = { text, (uint32_t)snprintf(text, sizeof(text), "text-%u", j) };
			uint32_t id = intern__add(&t, s);

			if (id == INTERN_NONE)
				failed = true;
			else
				assert_int_equal(id, n_ok++);
		}
		assert_int_equal(failed, failmalloc__disarm());
		if (failed && t.n) {
			/* what was there still is, and the table goes on */
			assert_int_equal(t.n, n_ok);
			assert_int_equal(intern__find(&t, STR("text-0")), n_ok > 1 ? 1 : INTERN_NONE);
			assert_int_equal(intern__add(&t, STR("later")), n_ok);
		}
		intern__fini(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
