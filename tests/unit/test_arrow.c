/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_arrow.c - what arrays of Arrow say, made by hand: runs, dictionaries in pieces, views, offsets
 *
 * Whole streams are the business of tests/e2e/parca_arrow.sh, which has Arrow's own library make them, and of the fuzz target.
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/codec/arrow_parts.h"
#include "tests/unit/unit.h"

static struct dcm_error err;

static struct arrow_stream stream(void)
{
	err = (struct dcm_error)DCM_ERROR_INIT;
	return (struct arrow_stream){ .err = &err, .n_messages = 3 };
}

static const struct arrow_field int32 = { .name = { "n", 1 }, .kind = ARROW_NUMBER, .number = { 32, true } };
static const struct arrow_field utf8 = { .name = { "t", 1 }, .kind = ARROW_TEXT, .width = 4 };
static const struct arrow_field views = { .name = { "v", 1 }, .kind = ARROW_VIEWS };

/* Little-endian, as the tests' machines are. */
static struct arrow_array numbers(const int32_t *v, uint64_t n)
{
	return (struct arrow_array){ .field = &int32, .n = n, .entries = { (const uint8_t *)v, n * 4 } };
}

static struct arrow_array texts(const int32_t *offsets, uint64_t n, const char *bytes)
{
	return (struct arrow_array){ .field = &utf8,
				     .n = n,
				     .entries = { (const uint8_t *)offsets, (n + 1) * 4 },
				     .more = { (const uint8_t *)bytes, strlen(bytes) } };
}

/* The runs of so many ends over values 10, 20, 30, ... */
static int check_runs(struct arrow_stream *s, const int32_t *ends, uint64_t n_ends, uint64_t n,
		      struct arrow_array *ret, struct arrow_array children[static 2])
{
	static const struct arrow_field runs = { .name = { "r", 1 }, .kind = ARROW_RUNS, .n_children = 2 };
	static const int32_t values[] = { 10, 20, 30, 40 };

	children[0] = numbers(ends, n_ends);
	children[1] = numbers(values, 4);
	*ret = (struct arrow_array){ .field = &runs, .n = n, .children = children };
	return arrow__check_runs(s, ret);
}

static void runs_say_which_value(void **state)
{
	static const int32_t ends[] = { 1, 4, 6 }, expected[] = { 10, 20, 20, 20, 30, 30 };
	struct arrow_stream s = stream();
	struct arrow_array children[2], a;
	int64_t v = 0;

	(void)state;
	assert_int_equal(check_runs(&s, ends, 3, 6, &a, children), 0);
	for (uint64_t i = 0; i < 6; i++) {
		assert_int_equal(arrow__number(&s, &a, i, &v), 0);
		assert_int_equal(v, expected[i]);
	}
	assert_int_equal(arrow__number(&s, &a, 6, &v), -EINVAL);
	/* The last run may go on beyond, and none may have no runs. */
	assert_int_equal(check_runs(&s, ends, 3, 5, &a, children), 0);
	assert_int_equal(check_runs(&s, ends, 0, 0, &a, children), 0);
}

static void runs_that_contradict_themselves_are_refused(void **state)
{
	static const int32_t wrong[][3] = {
		{ 4, 1, 6 }, { 1, 1, 6 }, { 0, 1, 6 }, { -1, 1, 6 }, { 1, 2, 5 }
	};
	struct arrow_array children[2], a;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct arrow_stream s = stream();

		assert_int_equal(check_runs(&s, wrong[i], 3, 6, &a, children), -EINVAL);
		assert_non_null(strstr(err.text, "message 3: column r: its run"));
	}
	struct arrow_stream s = stream();
	assert_int_equal(check_runs(&s, wrong[0], 0, 1, &a, children), -EINVAL);
}

static void a_dictionary_in_pieces_is_one(void **state)
{
	static const int32_t first[] = { 0, 1, 3 }, second[] = { 0, 3 }, indices[] = { 2, 0, 1, 3, -1 };
	static const char *const expected[] = { "ccc", "a", "bb" };
	struct arrow_piece pieces[] = { { 0, texts(first, 2, "abb") }, { 2, texts(second, 1, "ccc") } };
	struct arrow_dictionary d = { .pieces = { .v = pieces, .n = 2, .cap = 2 }, .n = 3 };
	const struct arrow_field f = {
		.name = { "d", 1 }, .kind = ARROW_TEXT, .width = 4, .dictionary = &d, .index = { 32, true }
	};
	const struct arrow_array a = { .field = &f, .n = 5, .entries = { (const uint8_t *)indices, 20 } };
	struct arrow_stream s = stream();
	struct dcm_str text;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(arrow__text(&s, &a, i, &text), 0);
		assert_true(str__eq(text, str__of(expected[i])));
	}
	/* Beyond the end, and below the beginning. */
	assert_int_equal(arrow__text(&s, &a, 3, &text), -EINVAL);
	assert_int_equal(arrow__text(&s, &a, 4, &text), -EINVAL);
	assert_non_null(strstr(err.text, "column d: an index is beyond"));
}

static void nulls_are_nothing(void **state)
{
	static const int32_t v[] = { 7, 8 };
	static const uint8_t valid[] = { 2 };
	struct arrow_array a = numbers(v, 2);
	struct arrow_stream s = stream();
	int64_t n = 5;

	(void)state;
	a.valid = (struct arrow_bytes){ valid, 1 };
	assert_int_equal(arrow__number(&s, &a, 0, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(arrow__number(&s, &a, 1, &n), 0);
	assert_int_equal(n, 8);
}

static void texts_stay_in_their_bytes(void **state)
{
	static const int32_t wrong[][2] = { { 0, 4 }, { 2, 1 }, { -1, 1 }, { 0, -1 } };
	struct dcm_str text;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct arrow_array a = texts(wrong[i], 1, "abc");
		struct arrow_stream s = stream();

		assert_int_equal(arrow__text(&s, &a, 0, &text), -EINVAL);
	}
}

struct view {
	uint32_t n;
	uint8_t start[4];
	uint32_t buffer, off;
};

static void views_stay_in_their_buffers(void **state)
{
	static const struct {
		struct view view;
		int expected;
	} all[] = {
		{ { 13, "abcd", 0, 1 }, 0 },
		{ { 13, "abcd", 0, 8 }, -EINVAL },
		{ { 13, "abcd", 1, 0 }, -EINVAL },
		{ { 13, "abcd", 0, UINT32_MAX }, -EINVAL },
		{ { UINT32_MAX, "abcd", 0, 1 }, -EINVAL },
		{ { 3, "abc", 0, 0 }, 0 },
	};
	static const char bytes[] = "abcdefghijklmnopqrst";
	struct arrow_bytes buffer = { (const uint8_t *)bytes, 20 };
	struct dcm_str text;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct arrow_array a = { .field = &views,
					       .n = 1,
					       .entries = { (const uint8_t *)&all[i].view, 16 },
					       .variadic = &buffer,
					       .n_variadic = 1 };
		struct arrow_stream s = stream();

		assert_int_equal(arrow__text(&s, &a, 0, &text), all[i].expected);
		if (all[i].expected == 0)
			assert_true(str__eq(text, all[i].view.n == 3 ? STR("abc") : STR("bcdefghijklmn")));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_say_which_value),
		cmocka_unit_test(runs_that_contradict_themselves_are_refused),
		cmocka_unit_test(a_dictionary_in_pieces_is_one),
		cmocka_unit_test(nulls_are_nothing),
		cmocka_unit_test(texts_stay_in_their_bytes),
		cmocka_unit_test(views_stay_in_their_buffers),
	};

	return cmocka_run_group_tests_name("arrow", tests, NULL, NULL);
}
