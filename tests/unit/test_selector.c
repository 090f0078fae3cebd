/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_selector.c - reading, writing and using selectors
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/selector.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

static void test_what_is_read_and_how_it_is_written(void **state)
{
	static const struct {
		const char *text, *canonical;
	} cases[] = {
		{ CPU, CPU },
		{ "  " CPU " \n", CPU },
		{ CPU "{}", CPU },
		{ CPU "{ }", CPU },
		{ "goroutine:goroutine:count:goroutine:count",
		  "goroutine:goroutine:count:goroutine:count" },
		{ "decima_quality:samples:count:::delta", "decima_quality:samples:count:::delta" },
		{ CPU "{job=\"api\"}", CPU "{job=\"api\"}" },
		{ CPU " { job = \"api\" , a != 'b' , } ", CPU "{job=\"api\",a!=\"b\"}" },
		{ CPU "{a=~\"x.*\",b!~`y\\.z`}", CPU "{a=~\"x.*\",b!~\"y\\\\.z\"}" },
		{ CPU "{a.b-c:d/e=\"1\",\xc3\xa9=\"2\",9x=\"3\",__y=\"4\"}",
		  CPU "{a.b-c:d/e=\"1\",\xc3\xa9=\"2\",9x=\"3\",__y=\"4\"}" },
		{ CPU "{\"a label\"=\"v\",'b'=\"v\",`c`=\"v\"}",
		  CPU "{\"a label\"=\"v\",b=\"v\",c=\"v\"}" },
		{ CPU "{a=\"\"}", CPU "{a=\"\"}" },
		{ CPU "{a=\"\\n\\t\\\\\\\"\\x41\\101\\u00e9\\U0001F525\\a\"}",
		  CPU "{a=\"\\n\\t\\\\\\\"AA\xc3\xa9\xf0\x9f\x94\xa5\\x07\"}" },
		{ CPU "{a='it\\'s',b='\"'}", CPU "{a=\"it's\",b=\"\\\"\"}" },
		{ CPU "{a=`two\nlines`}", CPU "{a=\"two\\nlines\"}" },
		{ CPU "{a=\"\\xff\"}", CPU "{a=\"\\xff\"}" },
		{ CPU "{a=\"1\",a!=\"2\"}", CPU "{a=\"1\",a!=\"2\"}" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(selector__freep) struct selector *s = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		struct buf out = { 0 };

		if (selector__parse(str__of(cases[i].text), 0, &s, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		selector__format(s, &out);
		assert_string_equal((char *)out.data, cases[i].canonical);
		buf__fini(&out);
	}
}

static void test_faults_are_placed(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "column 1: expected a profile type" },
		{ "{job=\"api\"}", "column 1: expected a profile type" },
		{ "cpu{job=\"api\"}", "column 1: profile type \"cpu\"" },
		{ "a:b:c:d:e:f", "column 1: profile type" },
		{ CPU "{", "column 51: the closing } is missing" },
		{ CPU "{job", "column 54: expected \"=\"" },
		{ CPU "{job}", "column 54: expected \"=\"" },
		{ CPU "{job==\"x\"}", "column 55: expected a quoted value for the label job" },
		{ CPU "{job=api}", "column 55: expected a quoted value for the label job" },
		{ CPU "{job=\"api}", "column 55: the string that begins here has no closing \"" },
		{ CPU "{job=\"a\nb\"}",
		  "column 55: the string that begins here has no closing \"" },
		{ CPU "{job=\"api\"", "column 60: the closing } is missing" },
		{ CPU "{job=\"api\" x=\"y\"}", "column 61: expected a comma or }" },
		{ CPU "{job=\"api\"} x", "column 62: unexpected text" },
		{ CPU "{,}", "column 51: expected the name of a label" },
		{ CPU "{=\"x\"}", "column 51: expected the name of a label" },
		{ CPU "{\"\"=\"x\"}", "column 51: expected the name of a label" },
		{ CPU "{\xc3\xa9=\"\xc3\xa9\",b}", "column 58: expected \"=\"" },
		{ CPU "{a=\"\\q\"}", "column 54: unknown escape" },
		{ CPU "{a=\"\\'\"}", "column 54: unknown escape" },
		{ CPU "{a=\"\\x4\"}", "column 54: the escape needs 2 digits" },
		{ CPU "{a=\"\\400\"}", "column 54: the escape stands for no byte" },
		{ CPU "{a=\"\\ud800\"}", "column 54: the escape stands for no character" },
		{ CPU "{a=\"\\U00110000\"}", "column 54: the escape stands for no character" },
		{ CPU "{a=\"\\", "column 54: the string ends inside an escape" },
		{ CPU "{a=~\"(\"}", "column 54: " },
		{ CPU "{a=~\"(?=x)\"}", "column 54: " },
		{ CPU "{\xff=\"x\"}", "column 51: the label is not UTF-8" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selector *s = NULL;
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(selector__parse(str__of(cases[i].text), 0, &s, &err), -EINVAL);
		assert_null(s);
		if (strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
			fail_msg("%s: said %s", cases[i].text, err.text);
	}
}

static void test_the_type_may_be_left_out_where_that_is_allowed(void **state)
{
	static const char *const cases[] = { "", " ", "{}", "{a=\"b\"}" };
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(selector__freep) struct selector *s = NULL;

		assert_int_equal(selector__parse(str__of(cases[i]), SELECTOR_TYPE_OPTIONAL, &s, NULL), 0);
		assert_int_equal(s->type.n, 0);
		assert_int_equal(s->n_matchers, i == 3);
	}
}

static void test_lists_of_names(void **state)
{
	static const struct {
		const char *text;
		uint32_t n;
		const char *names[4];
	} cases[] = {
		{ "", 0, { NULL } },
		{ "comm", 1, { "comm" } },
		{ "comm,service.name", 2, { "comm", "service.name" } },
		{ "a b,c=d,{e}", 3, { "a b", "c=d", "{e}" } },
		{ "\"a,b\",c", 2, { "a,b", "c" } },
		{ "'a,b',`\\,`,\"\\\"\\u00e9\"", 3, { "a,b", "\\,", "\"\xc3\xa9" } },
		{ "a\"b,it's", 2, { "a\"b", "it's" } },
		{ ",a,", 3, { "", "a", "" } },
		{ "\"\"", 1, { "" } },
	};
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ "a,\"b", "column 3: the string that begins here has no closing \"" },
		{ "\"a\"b,c", "column 4: expected a comma" },
		{ "\"\\q\"", "column 2: unknown escape" },
		{ "\"\\xff\"", "column 1: the label is not UTF-8" },
	};
	struct arena arena = { 0 };
	struct dcm_str *names;
	uint32_t n;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(selector__names(str__of(cases[i].text), &arena, &names, &n, NULL), 0);
		assert_int_equal(n, cases[i].n);
		for (uint32_t k = 0; k < n; k++)
			assert_true(str__eq(names[k], str__of(cases[i].names[k])));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(selector__names(str__of(wrong[i].text), &arena, &names, &n, &err),
				 -EINVAL);
		if (strncmp(err.text, wrong[i].says, strlen(wrong[i].says)) != 0)
			fail_msg("%s: said %s", wrong[i].text, err.text);
	}
	arena__fini(&arena);
}

/* Whatever a name is: as it is written, it is one of a list again. */
static void test_written_names_are_read_in_a_list(void **state)
{
	static const char letters[] = "ab,=\"'`{}! \\\n";
	struct arena arena = { 0 };
	struct random r = { 7 };
	(void)state;

	for (unsigned i = 0; i < 2000; i++) {
		char text[SELECTOR_MAX_NAMES][8];
		struct dcm_str want[SELECTOR_MAX_NAMES];
		struct dcm_str *names;
		struct buf list = { 0 };
		uint32_t n = 1 + (uint32_t)random__below(&r, SELECTOR_MAX_NAMES), got;

		for (uint32_t k = 0; k < n; k++) {
			want[k] = (struct dcm_str){ text[k], 1 + (uint32_t)random__below(&r, 8) };
			random__text(&r, text[k], want[k].n, letters, sizeof(letters) - 1);
			if (k > 0)
				buf__byte(&list, ',');
			selector__put_name(want[k], &list);
		}
		assert_int_equal(selector__names(buf__view(&list), &arena, &names, &got, NULL), 0);
		assert_int_equal(got, n);
		for (uint32_t k = 0; k < n; k++)
			assert_true(str__eq(names[k], want[k]));
		buf__fini(&list);
		arena__fini(&arena);
		arena = (struct arena){ 0 };
	}
}

static void test_limits(void **state)
{
	CLEANUP(selector__freep) struct selector *s = NULL;
	struct buf text = { 0 };
	(void)state;

	buf__text(&text, CPU "{");
	for (unsigned i = 0; i < SELECTOR_MAX_MATCHERS; i++)
		buf__text(&text, "a!=\"b\",");
	buf__text(&text, "}");
	assert_int_equal(selector__parse(buf__view(&text), 0, &s, NULL), 0);
	assert_int_equal(s->n_matchers, SELECTOR_MAX_MATCHERS);
	text.data[text.n - 1] = ' ';
	buf__text(&text, "c=\"d\"}");
	selector__free(s);
	s = NULL;
	assert_int_equal(selector__parse(buf__view(&text), 0, &s, NULL), -E2BIG);
	while (text.n <= SELECTOR_MAX_BYTES)
		buf__byte(&text, ' ');
	assert_int_equal(selector__parse(buf__view(&text), 0, &s, NULL), -E2BIG);
	buf__fini(&text);
}

/* A random selector as a struct, written, read and written again. */
static void test_round_trip(void **state)
{
	static const char alphabet[] = "ab.-:/_ \"'`\\\n\t\x01\x7f{},=!~\xc3\xa9\xff";
	struct random r = { 1 };
	unsigned n_read = 0;
	(void)state;

	for (unsigned round = 0; round < 3000; round++) {
		char texts[8][12];
		struct dcm_matcher matchers[4];
		struct selector made = { .type = STR(CPU), .matchers = matchers };
		CLEANUP(selector__freep) struct selector *s = NULL;
		struct buf once = { 0 }, twice = { 0 };

		made.n_matchers = (uint32_t)random__below(&r, 5);
		for (uint32_t i = 0; i < made.n_matchers; i++) {
			uint32_t n = 1 + (uint32_t)random__below(&r, 6),
				 m = (uint32_t)random__below(&r, 12);

			random__text(&r, texts[2 * i], n, alphabet, sizeof(alphabet) - 1);
			random__text(&r, texts[2 * i + 1], m, alphabet, sizeof(alphabet) - 1);
			matchers[i] = (struct dcm_matcher){ .op = (uint32_t)random__below(&r, 2),
							    .name = { texts[2 * i], n },
							    .value = { texts[2 * i + 1], m } };
		}
		selector__format(&made, &once);
		int e = selector__parse(buf__view(&once), 0, &s, NULL);
		bool names_are_utf8 = true;
		for (uint32_t i = 0; i < made.n_matchers; i++)
			names_are_utf8 &= str__is_utf8(matchers[i].name);
		assert_int_equal(e, names_are_utf8 ? 0 : -EINVAL);
		if (e == 0) {
			n_read++;
			assert_int_equal(s->n_matchers, made.n_matchers);
			for (uint32_t i = 0; i < made.n_matchers; i++) {
				assert_true(str__eq(s->matchers[i].name, matchers[i].name));
				assert_true(str__eq(s->matchers[i].value, matchers[i].value));
				assert_int_equal(s->matchers[i].op, matchers[i].op);
			}
			selector__format(s, &twice);
			assert_true(str__eq(buf__view(&once), buf__view(&twice)));
		}
		buf__fini(&once);
		buf__fini(&twice);
	}
	assert_true(n_read > 1000);
}

static void test_matching(void **state)
{
	CLEANUP(selector__freep) struct selector *s = NULL;
	(void)state;

	assert_int_equal(
		selector__parse(STR(CPU "{a=\"x\",a!=\"x\",a=~\"x|y\",a!~\"x|y\",a=~\"x?\"}"), 0, &s, NULL),
		0);
	static const struct {
		const char *value;
		bool accepted[5];
	} cases[] = {
		{ "x", { true, false, true, false, true } },
		{ "y", { false, true, true, false, false } },
		{ "", { false, true, false, true, true } },
		{ "xy", { false, true, false, true, false } },
		{ "zxz", { false, true, false, true, false } }, /* anchored */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t k = 0; k < 5; k++)
			assert_int_equal(selector__accepts(&s->matchers[k], str__of(cases[i].value)),
					 cases[i].accepted[k]);
}

static struct dcm_batch *small_batch(void)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_pair pair = { builder__string(b, STR("job")), builder__string(b, STR("api")) };
	struct dcm_type types[2] = { { .name = builder__string(b, STR("process_cpu")),
				       .sample_type = builder__string(b, STR("samples")),
				       .sample_unit = builder__string(b, STR("count")),
				       .period_type = builder__string(b, STR("cpu")),
				       .period_unit = builder__string(b, STR("nanoseconds")),
				       .temporality = DCM_DELTA } };
	struct dcm_profile head = { .series = builder__series(b, &pair, 1), .time_ns = 1 };
	struct dcm_batch *batch = NULL;

	types[1] = types[0];
	types[1].sample_type = builder__string(b, STR("cpu"));
	types[1].sample_unit = types[1].period_unit;
	builder__profile(b, &head, types, 2);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

static void test_taking_profiles(void **state)
{
	static const struct {
		const char *text;
		bool takes;
	} cases[] = {
		{ "", true },
		{ CPU, true },
		{ "process_cpu:samples:count:cpu:nanoseconds:delta", true },
		{ "process_cpu:samples:count:cpu:nanoseconds", false },
		{ "{job=\"api\"}", true },
		{ "{job=~\"a.*\",nowhere=\"\"}", true },
		{ "{job!=\"api\"}", false },
		{ CPU "{nowhere=~\".+\"}", false },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *batch = small_batch();
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(selector__freep) struct selector *s = NULL;

		assert_int_equal(
			selector__parse(str__of(cases[i].text), SELECTOR_TYPE_OPTIONAL, &s, NULL), 0);
		assert_int_equal(selector__takes(s, batch, 0), cases[i].takes);
	}
}

static void test_without_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct selector *s = NULL;
		int e = selector__parse(
			STR(CPU "{a=\"b\\n\",'c d'=~\"x.*y[0-9]\",e!=\"f\",g!~\"h|i\",j=\"k\"}"), 0,
			&s, NULL);
		failmalloc__disarm();
		if (e == 0) {
			selector__free(s);
			continue;
		}
		assert_int_equal(e, -ENOMEM);
		assert_null(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_read_and_how_it_is_written),
		cmocka_unit_test(test_faults_are_placed),
		cmocka_unit_test(test_the_type_may_be_left_out_where_that_is_allowed),
		cmocka_unit_test(test_lists_of_names),
		cmocka_unit_test(test_written_names_are_read_in_a_list),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_matching),
		cmocka_unit_test(test_taking_profiles),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("selector", tests, NULL, NULL);
}
