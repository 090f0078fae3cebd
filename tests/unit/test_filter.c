/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_filter.c - filters, row by row, against asking every rule of every frame
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/query/filter.h"
#include "core/query/walk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/naive_rows.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"

/* Texts without a character that means something to a regex. */
static const char *const patterns[FILTER_N_FIELDS][6] = {
	[FILTER_FUNCTION] = { "malloc", "run", "e", "main", "libc", "a" },
	[FILTER_FILE] = { "main", "b", "", "rs", "src", "lib" },
	[FILTER_BINARY] = { "app", "lib", "a", "kernel", "", "so" },
	[FILTER_LINE] = { "1", "0", "42", "7", "99", "" },
	[FILTER_ADDRESS] = { "0x10", "3", "0x1001", "f", "7f", "0" },
	[FILTER_FRAME_KIND] = { "native", "kernel", "jit", "interpreted", "note", "e" },
};

#define MAX_RULES 4

static uint32_t some_rules(struct random *r, struct naive_rule *rules, struct filter *f)
{
	uint32_t n = 1 + (uint32_t)random__below(r, MAX_RULES);

	for (uint32_t i = 0; i < n; i++) {
		struct naive_rule *rule = &rules[i];

		*rule = (struct naive_rule){ .kind = (enum filter_kind)random__below(r, 4),
					     .field = (enum filter_field)random__below(r, FILTER_N_FIELDS),
					     .equal = random__below(r, 3) == 0 };
		rule->text = patterns[rule->field][random__below(r, 6)];
		assert_int_equal(filter__add(f, rule->kind, rule->field, rule->equal,
					     str__of(rule->text), NULL),
				 0);
	}
	return n;
}

static void compare_row(const struct walk *w, const struct naive_row *row)
{
	assert_int_equal(w->n, row->n);
	for (uint32_t i = 0; i < w->n; i++) {
		char *key = naive_rows__key_of(&w->frames->v[w->ids[i]], w->frames->group);

		assert_string_equal(key, row->frames[i].key);
		free(key);
	}
	for (uint32_t s = 0; s < w->n_values; s++)
		assert_int_equal(w->values[s], row->values[s]);
}

static unsigned n_shown, n_filtered;

static void compare_walk(struct frames *frames, const struct filter *f, const struct naive_rows *rows)
{
	struct walk w;
	uint32_t i = 0;
	int r;

	assert_int_equal(walk__init(&w, frames, f, NULL), 0);
	for (; (r = walk__next(&w)) > 0; i++) {
		assert_int_equal(r == 2, rows->v[i].filtered);
		n_filtered += r == 2;
		n_shown += r == 1;
		if (r == 1)
			compare_row(&w, &rows->v[i]);
	}
	assert_int_equal(r, 0);
	assert_int_equal(i, rows->n);
	walk__fini(&w);
}

static void test_rows_are_what_the_rules_say(void **state)
{
	struct random r = { 1 };
	(void)state;

	n_shown = n_filtered = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, seed % 2 ? 0 : RANDOM_ALL_NAMED, 1,
							 1 + seed % 2);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		CLEANUP(filter__freep) struct filter *f = filter__new();
		struct naive_rule rules[MAX_RULES];
		uint32_t n = some_rules(&r, rules, f);
		enum frames_group group = (enum frames_group)(seed / 2 % 5);
		struct naive_rows rows = naive_rows__make(b, group, rules, n);

		assert_int_equal(frames__new(b, group, NULL, &frames, NULL), 0);
		compare_walk(frames, f, &rows);
		naive_rows__free(&rows);
	}
	assert_true(n_shown > 300 && n_filtered > 300);
}

/* The batch that a filter makes holds the kept rows, in their order, and nothing else. */
static void test_batches_are_what_the_rules_leave(void **state)
{
	struct random r = { 2 };
	unsigned n_rows = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, 0, 2, 1 + seed % 2);
		CLEANUP(batch__unrefp) struct dcm_batch *left = NULL;
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		CLEANUP(filter__freep) struct filter *f = filter__new();
		struct naive_rule rules[MAX_RULES];
		uint32_t n = some_rules(&r, rules, f), i = 0;
		struct naive_rows rows = naive_rows__make(b, FRAMES_FUNCTION, rules, n);
		int64_t filtered[16], expected[2] = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		struct walk w;

		if (filter__batch(f, b, 0, &left, filtered, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(left->n_profiles, b->n_profiles);
		assert_int_equal(frames__new(left, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
		assert_int_equal(walk__init(&w, frames, NULL, NULL), 0);
		for (; i < rows.n; i++) {
			if (rows.v[i].filtered) {
				for (unsigned s = 0; s < 2; s++)
					expected[s] += rows.v[i].values[s];
				continue;
			}
			assert_int_equal(walk__next(&w), 1);
			compare_row(&w, &rows.v[i]);
			n_rows++;
		}
		assert_int_equal(walk__next(&w), 0);
		for (unsigned s = 0; s < 2; s++)
			assert_int_equal(filtered[s], expected[s]);
		walk__fini(&w);
		naive_rows__free(&rows);
	}
	assert_true(n_rows > 300);
}

static void test_no_filter_keeps_the_batch(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(1, 0, 1, 1);
	CLEANUP(batch__unrefp) struct dcm_batch *same = NULL;
	int64_t filtered[16];
	(void)state;

	assert_int_equal(filter__batch(NULL, b, 0, &same, filtered, NULL), 0);
	assert_ptr_equal(same, b);
	assert_int_equal(filtered[0], 0);
	assert_true(filter__is_empty(NULL));
}

static void test_text_forms(void **state)
{
	static const struct {
		const char *text;
		enum filter_field field;
		bool equal;
		const char *pattern;
	} cases[] = {
		{ "malloc", FILTER_FUNCTION, false, "malloc" },
		{ "fn:~malloc", FILTER_FUNCTION, false, "malloc" },
		{ "fn:=malloc", FILTER_FUNCTION, true, "malloc" },
		{ "bin:=app", FILTER_BINARY, true, "app" },
		{ "file:~main", FILTER_FILE, false, "main" },
		{ "line:=42", FILTER_LINE, true, "42" },
		{ "addr:~0x10", FILTER_ADDRESS, false, "0x10" },
		{ "kind:=kernel", FILTER_FRAME_KIND, true, "kernel" },
		{ "std::run", FILTER_FUNCTION, false, "std::run" },
		{ "run::~run", FILTER_FUNCTION, false, "run::~run" },
		{ ":~run", FILTER_FUNCTION, false, ":~run" },
		{ "fn:~zz:~x", FILTER_FUNCTION, false, "zz:~x" },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(9, 0, 1, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(filter__freep) struct filter *f = filter__new();
		struct naive_rule rule = { FILTER_ONLY_STACKS, cases[i].field, cases[i].equal,
					   cases[i].pattern };
		struct naive_rows rows = naive_rows__make(b, FRAMES_FUNCTION, &rule, 1);

		assert_int_equal(filter__add_text(f, FILTER_ONLY_STACKS, str__of(cases[i].text), NULL), 0);
		compare_walk(frames, f, &rows);
		naive_rows__free(&rows);
	}
}

static void test_patterns_are_searched_for(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(4, RANDOM_ALL_NAMED, 1, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(filter__freep) struct filter *anchored = filter__new();
	struct naive_rule rule = { FILTER_HIDE, FILTER_FUNCTION, true, "main" };
	struct naive_rows rows = naive_rows__make(b, FRAMES_FUNCTION, &rule, 1);
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(filter__add_text(anchored, FILTER_HIDE, STR("^main$"), NULL), 0);
	compare_walk(frames, anchored, &rows);
	naive_rows__free(&rows);
}

#define FIELDS "; the fields are fn, file, bin, line, addr and kind"

static void test_wrong_ones_are_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} fields[] = {
		{ "bni:~libc", "\"bni\" is no field of a frame; did you mean \"bin\"?" FIELDS },
		{ "Kind:=kernel",
		  "\"Kind\" is no field of a frame; did you mean \"kind\"?" FIELDS },
		{ "zz_1:~", "\"zz_1\" is no field of a frame" FIELDS },
	};
	CLEANUP(filter__freep) struct filter *f = filter__new();
	struct dcm_error err = DCM_ERROR_INIT;
	(void)state;

	assert_int_equal(filter__add_text(f, FILTER_HIDE, STR("("), &err), -EINVAL);
	assert_true(err.text[0]);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		assert_int_equal(filter__add_text(f, FILTER_HIDE, str__of(fields[i].text), &err), -EINVAL);
		assert_string_equal(err.text, fields[i].want);
	}
	assert_true(filter__is_empty(f));
	for (unsigned i = 0; i < FILTER_MAX_RULES; i++)
		assert_int_equal(filter__add_text(f, FILTER_HIDE, STR("x"), NULL), 0);
	assert_int_equal(filter__add_text(f, FILTER_HIDE, STR("x"), &err), -E2BIG);
}

static void test_without_memory(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(3, 0, 1, 1);
	(void)state;

	FAILMALLOC_SWEEP (i) {
		struct filter *f = filter__new();
		struct dcm_batch *left = NULL;
		int64_t filtered[16];
		int r = f ? filter__add_text(f, FILTER_HIDE, STR("fn:=run"), NULL) : -ENOMEM;

		if (r == 0)
			r = filter__add_text(f, FILTER_FOCUS, STR("m"), NULL);
		if (r == 0)
			r = filter__batch(f, b, 0, &left, filtered, NULL);
		failmalloc__disarm();
		/* Sealing shrinks its columns, and can do without. */
		assert_true(r == 0 || (r == -ENOMEM && failmalloc__failed()));
		batch__unref(left);
		filter__free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_what_the_rules_say),
		cmocka_unit_test(test_batches_are_what_the_rules_leave),
		cmocka_unit_test(test_no_filter_keeps_the_batch),
		cmocka_unit_test(test_text_forms),
		cmocka_unit_test(test_patterns_are_searched_for),
		cmocka_unit_test(test_wrong_ones_are_refused),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
