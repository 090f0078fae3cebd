/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_labelled.c - labels of a token on batches: on each series, literally, and with an id of their own
 */
#include "core/pipeline/labelled.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/* The second is one that the random series have. */
static const struct dcm_label_text labels[] = { { STR("tenant"), STR("acme") },
						{ STR("service_name"), STR("$1 ${x} $$") } };
enum { N = 2 };

static struct dcm_batch *made(struct dcm_batch *b, const struct dcm_label_text *l, uint32_t n)
{
	struct dcm_batch *ret = NULL;

	assert_int_equal(labelled__make(b, l, n, &ret, NULL), 0);
	assert_null(batch_judge__fault(ret, true));
	return ret;
}

/* The value of a series' label; "" when it has none. */
static struct dcm_str value_of(const struct dcm_batch *b, uint32_t series, struct dcm_str name)
{
	const struct dcm_span s = b->series[series];

	for (uint32_t i = 0; i < s.n; i++)
		if (str__eq(b->strings[b->pairs[s.off + i].name], name))
			return b->strings[b->pairs[s.off + i].value];
	return STR("");
}

static bool is_given(struct dcm_str name)
{
	for (uint32_t i = 0; i < N; i++)
		if (str__eq(labels[i].name, name))
			return true;
	return false;
}

/* What the series `to` has is what `from` has, but for the labels. Returns how many it had of them. */
static unsigned compare_series(const struct dcm_batch *b, uint32_t from, const struct dcm_batch *m,
			       uint32_t to)
{
	const struct dcm_span s = b->series[from];
	unsigned n_taken = 0;

	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_str name = b->strings[b->pairs[s.off + i].name];

		n_taken += is_given(name);
		if (!is_given(name))
			assert_true(str__eq(value_of(m, to, name), b->strings[b->pairs[s.off + i].value]));
	}
	for (uint32_t i = 0; i < N; i++)
		assert_true(str__eq(value_of(m, to, labels[i].name), labels[i].value));
	assert_int_equal(m->series[to].n, s.n - n_taken + N);
	return n_taken;
}

static void each_series_has_them(void **state)
{
	unsigned n_taken = 0, n_profiles = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct dcm_batch *b = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
		struct dcm_batch *m = made(b, labels, N);

		assert_int_equal(m->n_profiles, b->n_profiles);
		for (uint32_t i = 0; i < b->n_profiles; i++) {
			const struct dcm_profile *p = &b->profiles[i], *q = &m->profiles[i];

			n_taken += compare_series(b, p->series, m, q->series);
			assert_int_equal(q->n_rows, p->n_rows);
			if (p->n_rows == 0)
				continue;
			assert_memory_equal(m->row_stacks + q->row_off, b->row_stacks + p->row_off,
					    p->n_rows * sizeof(*b->row_stacks));
			assert_memory_equal(m->values + q->value_off, b->values + p->value_off,
					    (size_t)p->n_rows * p->n_types * sizeof(*b->values));
		}
		n_profiles += b->n_profiles;
		batch__unref(m);
		batch__unref(b);
	}
	assert_true(n_taken > 20 && n_profiles > 20);
}

static bool same_id(const struct dcm_batch *a, const struct dcm_batch *b)
{
	return a->id.source.lo == b->id.source.lo && a->id.source.hi == b->id.source.hi &&
	       a->id.sequence == b->id.sequence;
}

/* Who sends what another one sends is nobody's retry, and his own retry is one. */
static void the_id_is_that_of_batch_and_labels(void **state)
{
	static const struct dcm_label_text all[][2] = { { { STR("tenant"), STR("acme") } },
							{ { STR("tenant"), STR("other") } },
							{ { STR("tenan"), STR("tacme") } },
							{ { STR("acme"), STR("tenant") } },
							{ { STR("tenant"), STR("acme") },
							  { STR("x"), STR("y") } } };
	enum { N_ALL = sizeof(all) / sizeof(*all) };
	struct dcm_batch *b = random_batch__new(3, RANDOM_ONE_PROFILE), *v[N_ALL], *again;

	(void)state;
	for (size_t i = 0; i < N_ALL; i++) {
		v[i] = made(b, all[i], all[i][1].name.n ? 2 : 1);
		assert_int_equal(v[i]->id.sequence, b->id.sequence);
		assert_false(same_id(v[i], b));
		for (size_t k = 0; k < i; k++)
			assert_false(same_id(v[i], v[k]));
	}
	again = made(b, all[1], 1);
	assert_true(same_id(again, v[1]));
	batch__unref(again);
	again = made(v[1], all[1], 1);
	assert_ptr_equal(again, v[1]);
	batch__unref(again);
	for (size_t i = 0; i < N_ALL; i++)
		batch__unref(v[i]);
	batch__unref(b);
}

static void who_has_no_id_has_none(void **state)
{
	struct dcm_batch *b = random_batch__of((struct dcm_hash){ 0 }, 0, 3, RANDOM_ONE_PROFILE,
					       RANDOM_BASE_NS);
	struct dcm_batch *m = made(b, labels, N);

	(void)state;
	assert_true(m != b && same_id(m, b));
	batch__unref(m);
	batch__unref(b);
}

static void too_many_are_refused(void **state)
{
	static struct dcm_label_text many[300];
	static char names[300][8];
	struct dcm_batch *b = random_batch__new(3, RANDOM_ONE_PROFILE), *m = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	for (int i = 0; i < 300; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		many[i] = (struct dcm_label_text){ str__of(names[i]), STR("v") };
	}
	assert_int_equal(labelled__make(b, many, 300, &m, &err), -E2BIG);
	assert_null(m);
	assert_non_null(strstr(err.text, "256"));
	batch__unref(b);
}

static void without_memory(void **state)
{
	struct dcm_batch *b = random_batch__new(5, 0);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *m = NULL;
		const int e = labelled__make(b, labels, N, &m, NULL);

		failmalloc__disarm();
		if (e < 0)
			assert_int_equal(e, -ENOMEM);
		else
			assert_null(batch_judge__fault(m, true));
		batch__unref(m);
	}
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_series_has_them),
		cmocka_unit_test(the_id_is_that_of_batch_and_labels),
		cmocka_unit_test(who_has_no_id_has_none),
		cmocka_unit_test(too_many_are_refused),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
