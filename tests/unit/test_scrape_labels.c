/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_labels.c - texts that are held once, and labels made of them
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/labels.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* Through several sizes of the table, in any order: what is held is there, what is not has gone. */
static void texts_are_one_as_long_as_held(void **state)
{
	enum { N = 3000, TURNS = 40000 };
	static struct text *held[N];
	static unsigned n_holders[N];
	struct texts t = { 0 };
	struct random r = { 7 };
	uint32_t n = 0;

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		unsigned i = (unsigned)random__below(&r, N);
		char s[16];

		snprintf(s, sizeof(s), "text %u", i);
		if (n_holders[i] && random__below(&r, 2)) {
			texts__release(&t, held[i]);
			n -= --n_holders[i] == 0;
		} else {
			struct text *x = texts__hold(&t, str__of(s));

			assert_string_equal(x->p, s);
			if (n_holders[i])
				assert_ptr_equal(x, held[i]);
			held[i] = x;
			n += n_holders[i]++ == 0;
		}
		assert_int_equal(t.n, n);
	}
	for (unsigned i = 0; i < N; i++)
		while (n_holders[i]) {
			texts__release(&t, held[i]);
			n_holders[i]--;
		}
	assert_int_equal(t.n, 0);
	assert_int_equal(t.n_bytes, 0);
	texts__fini(&t);
}

static const struct dcm_label_text some[] = { { STR("a"), STR("1") },
					      { STR("empty"), STR("") },
					      { STR("a"), STR("2") },
					      { STR("b"), STR("1") },
					      { STR("empty"), STR("x") } };

static void the_first_of_a_name_counts(void **state)
{
	static const struct dcm_label_text more[] = { { STR("b"), STR("not this") },
						      { STR("c"), STR("3") } };
	struct texts t = { 0 };
	struct labels *l = labels__new(&t, some, 5), *again = labels__new(&t, some, 5);
	struct labels *beside = labels__new(&t, more, 2), *other = labels__new(&t, some + 2, 2);
	struct dcm_label_text v[5];

	(void)state;
	assert_int_equal(labels__view(l, beside, v), 4);
	assert_true(str__eq(v[0].name, STR("a")) && str__eq(v[0].value, STR("1")));
	assert_true(str__eq(v[1].name, STR("b")) && str__eq(v[1].value, STR("1")));
	assert_true(str__eq(v[2].name, STR("empty")) && str__eq(v[2].value, STR("x")));
	assert_true(str__eq(v[3].name, STR("c")) && str__eq(v[3].value, STR("3")));
	assert_int_equal(labels__view(l, NULL, v), 3);
	assert_true(labels__are_same(l, again));
	assert_false(labels__are_same(l, other));
	labels__release(again);
	labels__release(beside);
	labels__release(other);
	labels__hold(l);
	labels__release(l);
	assert_string_equal(l->values[0]->p, "1");
	labels__release(l);
	assert_int_equal(t.n, 0);
	texts__fini(&t);
}

/* Found alike: one list of names, and each his own values. Of the same values under other names, other labels. */
static void lists_of_names_are_shared(void **state)
{
	static const struct dcm_label_text alike[] = { { STR("a"), STR("1") }, { STR("b"), STR("2") } },
					   renamed[] = { { STR("a"), STR("1") }, { STR("c"), STR("2") } };
	struct texts t = { 0 };
	struct labels *l = labels__new(&t, some, 5), *again = labels__new(&t, some, 5);
	struct labels *two = labels__new(&t, alike, 2), *other = labels__new(&t, renamed, 2);
	struct labels *first = labels__new(&t, some + 3, 1), *none = labels__new(&t, some + 1, 1);

	(void)state;
	assert_ptr_equal(l->names, again->names);
	assert_ptr_not_equal(two->names, other->names);
	assert_false(labels__are_same(two, other));
	assert_false(labels__are_same(two, first));
	assert_int_equal(none->n, 0);
	labels__release(l);
	labels__release(again);
	labels__release(two);
	labels__release(other);
	labels__release(first);
	labels__release(none);
	assert_int_equal(t.n, 0);
	texts__fini(&t);
}

static void failing_memory_is_survived(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct texts t = { 0 };
		struct labels *l = labels__new(&t, some, 5);

		if (failmalloc__disarm())
			assert_null(l);
		else
			assert_int_equal(l->n, 3);
		labels__release(l);
		assert_int_equal(t.n, 0);
		texts__fini(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_one_as_long_as_held),
		cmocka_unit_test(the_first_of_a_name_counts),
		cmocka_unit_test(lists_of_names_are_shared),
		cmocka_unit_test(failing_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
