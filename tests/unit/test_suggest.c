/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_suggest.c - the nearest name, and none when none is near
 */
#include "core/config/suggest.h"

#include <string.h>

#include "core/base/str.h"
#include "tests/unit/unit.h"

static const char *const names[] = { "frequency", "interval", "path", "retention", "max_size" };

#define NEAREST(wrong) suggest__nearest(STR(wrong), names, sizeof(names) / sizeof(names[0]))

static void finds_typing_errors(void **state)
{
	(void)state;
	assert_string_equal(NEAREST("frequncy"), "frequency");
	assert_string_equal(NEAREST("frequecny"), "frequency");
	assert_string_equal(NEAREST("Interval"), "interval");
	assert_string_equal(NEAREST("max-size"), "max_size");
	assert_string_equal(NEAREST("paht"), "path");
}

/* What other programs call a size, these call by its unit. */
static void sizes_are_bytes_here(void **state)
{
	static const char *const options[] = { "max_age", "max_bytes", "head_max_bytes" };

	(void)state;
	assert_string_equal(suggest__nearest(STR("max_size"), options, 3), "max_bytes");
	assert_string_equal(suggest__nearest(STR("head_max_size"), options, 3), "head_max_bytes");
	assert_null(suggest__nearest(STR("least_size"), options, 3));
}

static void says_nothing_when_nothing_is_near(void **state)
{
	(void)state;
	assert_null(NEAREST("colour"));
	assert_null(NEAREST(""));
	assert_null(NEAREST("pa"));
	assert_null(suggest__nearest(STR("x"), NULL, 0));
	/* One letter for another is a different word, not a misspelt one. */
	assert_null(suggest__nearest(STR("b"), (const char *const[]){ "a" }, 1));
}

static void first_of_equals_wins(void **state)
{
	static const char *const equals[] = { "cat", "car" };

	(void)state;
	assert_string_equal(suggest__nearest(STR("caz"), equals, 2), "cat");
}

static void text_is_a_question_or_nothing(void **state)
{
	struct suggest s = suggest__begin(STR("pth"));
	char buf[128];

	(void)state;
	assert_string_equal(suggest__text(&s, buf), "");
	suggest__offer(&s, "path");
	assert_string_equal(suggest__text(&s, buf), "; did you mean \"path\"?");
}

static void long_texts_are_no_names(void **state)
{
	char text[200];
	const char *const one[] = { text };

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_null(suggest__nearest(str__of(text), one, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_typing_errors),
		cmocka_unit_test(sizes_are_bytes_here),
		cmocka_unit_test(says_nothing_when_nothing_is_near),
		cmocka_unit_test(first_of_equals_wins),
		cmocka_unit_test(text_is_a_question_or_nothing),
		cmocka_unit_test(long_texts_are_no_names),
	};
	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
