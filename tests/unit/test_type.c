/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_type.c - profile types as text, and what is known of the usual ones
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/type.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

static struct type_text parsed(const char *text)
{
	struct type_text t;
	struct dcm_error err = DCM_ERROR_INIT;

	if (type__parse(str__of(text), &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

static void text_is_taken_apart(void **state)
{
	(void)state;
	struct type_text t = parsed("process_cpu:samples:count:cpu:nanoseconds:delta");

	assert_true(str__eq(t.name, STR("process_cpu")));
	assert_true(str__eq(t.sample_type, STR("samples")));
	assert_true(str__eq(t.sample_unit, STR("count")));
	assert_true(str__eq(t.period_type, STR("cpu")));
	assert_true(str__eq(t.period_unit, STR("nanoseconds")));
	assert_true(t.delta);
	t = parsed("memory:inuse_space:bytes:space:bytes");
	assert_true(str__eq(t.period_unit, STR("bytes")));
	assert_false(t.delta);
	t = parsed("decima_quality:samples:count:::delta");
	assert_int_equal(t.period_type.n, 0);
	assert_int_equal(t.period_unit.n, 0);
	assert_true(t.delta);
	t = parsed("a:b:::");
	assert_false(t.delta);
}

static void bad_text_gets_a_sentence(void **state)
{
	(void)state;
	static const struct {
		const char *text, *fault;
	} cases[] = {
		{ "", "expected name:" },
		{ "cpu", "expected name:" },
		{ "a:b:c:d", "expected name:" },
		{ "a:b:c:d:e:f", "expected name:" },
		{ "a:b:c:d:e:", "expected name:" },
		{ "a:b:c:d:e:delta:", "expected name:" },
		{ "a:b:c:d:e:delta:delta", "expected name:" },
		{ ":b:c:d:e", "the name is empty" },
		{ "a::c:d:e", "the sample type is empty" },
		{ "a:b:c d:d:e", "part 3 is too long, or has" },
		{ "a:b:c:d:e{", "part 5 is too long, or has" },
		{ "\xc3\xa9:b:c:d:e", "part 1 is too long, or has" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct type_text t = { .delta = true };
		assert_int_equal(type__parse(str__of(cases[i].text), &t, &err), -EINVAL);
		if (!strstr(err.text, cases[i].fault))
			fail_msg("%s: %s", cases[i].text, err.text);
		assert_true(t.delta); /* untouched */
	}
}

static void part_of_any_bytes_can_be_cleaned(void **state)
{
	(void)state;
	struct random r = { 1 };
	char part[300];

	assert_true(type__is_part(STR("")));
	assert_true(type__is_part(STR("a/b.c-d_e+f@0")));
	assert_false(type__is_part((struct dcm_str){ "a\0b", 3 }));
	for (int i = 0; i < 2000; i++) {
		uint32_t n = (uint32_t)random__below(&r, sizeof(part));
		for (uint32_t k = 0; k < n; k++)
			part[k] = (char)random__next(&r);
		uint32_t clean = type__clean(part, n);
		assert_int_equal(clean, n < 128 ? n : 128);
		assert_true(type__is_part((struct dcm_str){ part, clean }));
	}
	char good[] = "lock time";
	assert_int_equal(type__clean(good, 9), 9);
	assert_string_equal(good, "lock_time");
}

static void format_is_the_reverse_of_parse(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	static const char *const texts[] = { "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
					     "memory:inuse_space:bytes:space:bytes",
					     "a:b:::", "decima_quality:samples:count:::delta" };
	enum { N = sizeof(texts) / sizeof(texts[0]) };
	struct dcm_type types[N];
	uint32_t series = builder__series(b, NULL, 0);

	for (size_t i = 0; i < N; i++) {
		struct type_text t = parsed(texts[i]);
		types[i] = (struct dcm_type){ .name = builder__string(b, t.name),
					      .sample_type = builder__string(b, t.sample_type),
					      .sample_unit = builder__string(b, t.sample_unit),
					      .period_type = builder__string(b, t.period_type),
					      .period_unit = builder__string(b, t.period_unit),
					      .temporality = type__usual(&t) };
	}
	builder__profile(b, &(struct dcm_profile){ .series = series }, types, N);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	for (uint32_t i = 0; i < N; i++) {
		char out[200];
		uint32_t n = (uint32_t)strlen(texts[i]);
		assert_int_equal(type__format(batch, &batch->types[i], out, sizeof(out)), n);
		assert_string_equal(out, texts[i]);
		/* Cut anywhere, it stays within what it was given. */
		for (uint32_t cap = 0; cap <= n; cap++) {
			memset(out, '#', sizeof(out));
			assert_int_equal(type__format(batch, &batch->types[i], out, cap), cap);
			assert_memory_equal(out, texts[i], cap);
			assert_int_equal(out[cap], '#');
		}
	}
}

static void usual_types_are_known(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum dcm_temporality temporality;
		bool described;
	} cases[] = {
		{ "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", DCM_DELTA, true },
		{ "process_cpu:samples:count:cpu:nanoseconds:delta", DCM_DELTA, true },
		{ "memory:inuse_space:bytes:space:bytes", DCM_GAUGE, true },
		{ "memory:inuse_objects:count:space:bytes", DCM_GAUGE, true },
		{ "memory:alloc_space:bytes:space:bytes", DCM_CUMULATIVE, true },
		{ "memory:alloc_objects:count:space:bytes", DCM_CUMULATIVE, true },
		{ "memory:alloc_space:bytes:space:bytes:delta", DCM_DELTA, true },
		{ "goroutine:goroutine:count:goroutine:count", DCM_GAUGE, true },
		{ "mutex:contentions:count:contentions:count", DCM_CUMULATIVE, true },
		{ "mutex:delay:nanoseconds:contentions:count", DCM_CUMULATIVE, true },
		{ "block:delay:nanoseconds:contentions:count", DCM_CUMULATIVE, true },
		{ "block:contentions:count:contentions:count", DCM_CUMULATIVE, true },
		{ "threadcreate:threadcreate:count:threadcreate:count", DCM_CUMULATIVE, true },
		{ "decima_quality:samples:count:::delta", DCM_DELTA, true },
		{ "something:else:count::", DCM_GAUGE, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct type_text t = parsed(cases[i].text);
		assert_int_equal(type__usual(&t), cases[i].temporality);
		assert_int_equal(*type__describe(&t) != '\0', cases[i].described);
	}
	struct type_text cpu = parsed("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta");
	assert_memory_equal(type__describe(&cpu), "CPU time:", 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_taken_apart),
		cmocka_unit_test(bad_text_gets_a_sentence),
		cmocka_unit_test(part_of_any_bytes_can_be_cleaned),
		cmocka_unit_test(format_is_the_reverse_of_parse),
		cmocka_unit_test(usual_types_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
