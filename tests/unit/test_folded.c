/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_folded.c - folded stacks out, against a slow second writer, and in
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/type.h"
#include "core/codec/folded.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static struct dcm_batch *decode(const char *text, size_t n)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	if (folded__decode((const uint8_t *)text, n, NULL, &b, &err) < 0)
		fail_msg("%s", err.text);
	return b;
}

/* The text of a profile, NUL-terminated; the caller frees. */
static char *encode(const struct dcm_batch *b, uint32_t profile)
{
	struct buf out = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	if (folded__encode(b, profile, &out, &err) < 0)
		fail_msg("%s", err.text);
	if (!out.data)
		buf__text(&out, "");
	return (char *)buf__take(&out, &(size_t){ 0 });
}

/* --- the second writer: a list of lines, looked through for each row --- */

struct naive {
	struct {
		char *stack;
		int64_t sum;
	} lines[2000];
	size_t n;
};

static void put_name(struct buf *out, struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		buf__byte(out, s.p[i] == ';'			  ? ':'
			       : s.p[i] == '\n' || s.p[i] == '\r' ? ' '
								  : (uint8_t)s.p[i]);
}

static void put_unnamed(struct buf *out, const struct dcm_batch *b, const struct dcm_location *l)
{
	struct dcm_str file = STR("[anon]");

	if (l->mapping != DCM_NONE && b->mappings[l->mapping].kind != DCM_MAPPING_ANON) {
		file = b->strings[b->mappings[l->mapping].file];
		if (file.n == 0)
			file = STR("[file]");
		for (uint32_t i = file.n - 1; i > 0 && file.p[0] != '['; i--)
			if (file.p[i - 1] == '/') {
				file = (struct dcm_str){ file.p + i, file.n - i };
				break;
			}
	}
	if (l->mapping == DCM_NONE && l->kind == DCM_FRAME_KERNEL)
		file = STR("[kernel]");
	put_name(out, file);
	buf__printf(out, "+0x%" PRIx64, l->address);
}

static char *stack_text(const struct dcm_batch *b, uint32_t stack)
{
	struct dcm_span s = b->stacks[stack];
	struct buf out = { 0 };

	for (uint32_t i = s.n; i > 0; i--) {
		const struct dcm_location *l = &b->locations[b->stack_locations[s.off + i - 1]];
		if (l->n_lines == 0) {
			buf__text(&out, out.n ? ";" : "");
			put_unnamed(&out, b, l);
		}
		for (uint32_t k = l->n_lines; k > 0; k--) {
			const struct dcm_line *line = &b->lines[l->line_off + k - 1];
			buf__text(&out, out.n ? ";" : "");
			put_name(&out, b->strings[b->functions[line->function].name]);
		}
	}
	buf__byte(&out, '\0');
	return (char *)buf__take(&out, &(size_t){ 0 });
}

static int by_stack(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *naive_text(const struct dcm_batch *b, uint32_t profile)
{
	static struct naive naive;
	const struct dcm_profile *p = &b->profiles[profile];
	struct buf out = { 0 };

	naive.n = 0;
	for (uint32_t r = 0; r < p->n_rows; r++) {
		char *stack = stack_text(b, b->row_stacks[p->row_off + r]);
		size_t i = 0;
		while (i < naive.n && strcmp(naive.lines[i].stack, stack) != 0)
			i++;
		if (i == naive.n) {
			naive.lines[naive.n].stack = stack;
			naive.lines[naive.n++].sum = 0;
		} else {
			free(stack);
		}
		naive.lines[i].sum += b->values[p->value_off + (uint64_t)(r + 1) * p->n_types - 1];
	}
	qsort(naive.lines, naive.n, sizeof(naive.lines[0]), by_stack);
	buf__text(&out, "");
	for (size_t i = 0; i < naive.n; i++) {
		if (naive.lines[i].sum)
			buf__printf(&out, "%s %" PRId64 "\n", naive.lines[i].stack, naive.lines[i].sum);
		free(naive.lines[i].stack);
	}
	return (char *)buf__take(&out, &(size_t){ 0 });
}

static void test_against_naive(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 150; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = random_batch__new(seed, RANDOM_ONE_PROFILE);
		CLEANUP(mem__freep) char *got = encode(b, 0);
		CLEANUP(mem__freep) char *want = naive_text(b, 0);
		assert_string_equal(got, want);
	}
}

/* What folded text can hold comes back: the same lines. */
static void test_round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = random_batch__new(seed, RANDOM_ONE_PROFILE | RANDOM_PLAIN_TEXT);
		CLEANUP(mem__freep) char *once = encode(b, 0);
		CLEANUP(batch__unrefp) struct dcm_batch *again = decode(once, strlen(once));
		CLEANUP(mem__freep) char *twice = encode(again, 0);
		assert_string_equal(once, twice);
	}
}

static void test_in(void **state)
{
	(void)state;
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "main;a;b 5\nmain;a 3\nmain;a;b 2\n", "main;a 3\nmain;a;b 7\n" },
		{ "a 1", "a 1\n" },
		{ "a 1\r\n\r\n# comment\nb\t2\n", "a 1\nb 2\n" },
		{ "a   12  \n", "a 12\n" },
		{ "operator new(unsigned long);a b c 4\n",
		  "operator new(unsigned long);a b c 4\n" },
		{ "a 1.4\nb 1.5\nc -1.5\n", "a 1\nb 2\nc -2\n" },
		{ "a;;b 1\n; 2\n 3\n", "[unknown] 3\n[unknown];[unknown] 2\na;[unknown];b 1\n" },
		{ "main;sys_[k];js_[j];inl_[i] 2\n", "main;sys;js;inl 2\n" },
		{ "a 0\nb -5\nc 7\nc -7\n", "b -5\n" },
		{ "", "" },
		{ "a 9223372036854775807\na 1\n", "a 9223372036854775807\na 1\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = decode(cases[i].in, strlen(cases[i].in));
		CLEANUP(mem__freep) char *text = encode(b, 0);
		assert_string_equal(text, cases[i].out);
	}
}

static void test_kinds_and_type(void **state)
{
	(void)state;
	static const char text[] = "sys_[k];js_[j];[note];plain 2\n";
	static const unsigned kinds[] = { DCM_FRAME_NATIVE, DCM_FRAME_NOTE, DCM_FRAME_JIT,
					  DCM_FRAME_KERNEL };
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode(text, strlen(text));
	char type[256];

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(b->locations[b->stack_locations[i]].kind, kinds[i]);
	type__format(b, &b->types[0], type, sizeof(type));
	assert_string_equal(type, "folded:samples:count:::delta");

	const struct dcm_label_text label = { STR("job"), STR("x") };
	const struct decode_options o = {
		.name = STR("my name"), .labels = &label, .n_labels = 1, .time_ns = 7
	};
	CLEANUP(batch__unrefp) struct dcm_batch *named = NULL;
	assert_int_equal(folded__decode((const uint8_t *)text, strlen(text), &o, &named, NULL), 0);
	type__format(named, &named->types[0], type, sizeof(type));
	assert_string_equal(type, "my_name:samples:count:::delta");
	assert_int_equal(named->profiles[0].time_ns, 7);
	assert_int_equal(named->series[named->profiles[0].series].n, 1);
}

static void test_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *in, *sentence;
	} cases[] = {
		{ "a 1\nb\n", "folded: line 2: there is no value behind a blank at its end" },
		{ "a x\n", "folded: line 1: what stands behind its last blank is no number" },
		{ "a 1e5\n", "folded: line 1: what stands behind its last blank is no number" },
		{ "a -\n", "folded: line 1: what stands behind its last blank is no number" },
		{ "\n\na 9223372036854775808\n", "folded: line 3: its value is too large" },
		{ "a 99999999999999999999999\n", "folded: line 1: its value is too large" },
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = folded__decode((const uint8_t *)cases[i].in, strlen(cases[i].in), NULL, &b, &err);
		assert_int_equal(r, -EINVAL);
		assert_string_equal(err.text, cases[i].sentence);
	}
	struct buf deep = { 0 };
	for (int i = 0; i < 4096; i++)
		buf__text(&deep, i ? ";a" : "a");
	buf__text(&deep, " 1\n");
	assert_int_equal(folded__decode(deep.data, deep.n, NULL, &b, &err), 0);
	batch__unref(take_ptr(b));
	deep.n -= 3;
	buf__text(&deep, ";a 1\n");
	assert_int_equal(folded__decode(deep.data, deep.n, NULL, &b, &err), -E2BIG);
	assert_string_equal(err.text, "folded: line 1: more than 4096 frames");
	const struct decode_options small = { .max_bytes = 10 };
	assert_int_equal(folded__decode(deep.data, deep.n, &small, &b, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more than the limit of 10"));
	buf__fini(&deep);
}

/* Profiles of several types: each stack says which. The last type of each is the one written. */
static void test_several_types(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	struct dcm_function f = { .name = builder__string(builder, STR("work")) };
	struct dcm_line line = { .function = builder__function(builder, &f) };
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };
	uint32_t location = builder__location(builder, &l, &line, 1);
	uint32_t stack = builder__stack(builder, &location, 1),
		 empty = builder__stack(builder, NULL, 0);
	struct dcm_type types[] = {
		{ .name = builder__string(builder, STR("n")),
		  .sample_type = builder__string(builder, STR("a")) },
		{ .name = builder__string(builder, STR("n")),
		  .sample_type = builder__string(builder, STR("b")) },
	};
	struct dcm_profile head = { .series = builder__series(builder, NULL, 0) };

	builder__profile(builder, &head, types, 2);
	builder__row(builder, stack, 0, (int64_t[]){ 3, 4 });
	builder__profile(builder, &head, types, 1);
	builder__row(builder, stack, 0, (int64_t[]){ 5 });
	builder__row(builder, empty, 0, (int64_t[]){ 6 });
	assert_int_equal(builder__seal(builder, &b, NULL), 0);
	CLEANUP(mem__freep) char *first = encode(b, 0);
	assert_string_equal(first, "work 4\n");
	CLEANUP(mem__freep) char *second = encode(b, 1);
	assert_string_equal(second, "[unknown] 6\nwork 5\n");
	CLEANUP(mem__freep) char *all = encode(b, DCM_NONE);
	assert_string_equal(
		all, "type=n:a::::delta 6\ntype=n:a::::delta;work 5\ntype=n:b::::delta;work 4\n");
}

static void test_encode_limits(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode("main;work 5\n", 12);
	struct buf out = { .limit = 5 };
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(folded__encode(b, 0, &out, &err), -EFBIG);
	assert_non_null(strstr(err.text, "folded: it takes more than the limit"));
	assert_int_equal(folded__encode(b, 3, &out, &err), -EINVAL);
	buf__fini(&out);
}

static void test_no_memory(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = random_batch__new(3, RANDOM_ONE_PROFILE | RANDOM_PLAIN_TEXT);
	CLEANUP(mem__freep) char *text = encode(b, 0);

	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		int r = folded__encode(b, 0, &out, &err);
		failmalloc__disarm();
		buf__fini(&out);
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			assert_non_null(strstr(err.text, "memory"));
		}
	}
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *got = NULL;
		int r = folded__decode((const uint8_t *)text, strlen(text), NULL, &got, NULL);
		failmalloc__disarm();
		batch__unref(got);
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_naive),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_in),
		cmocka_unit_test(test_kinds_and_type),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_several_types),
		cmocka_unit_test(test_encode_limits),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("folded", tests, NULL, NULL);
}
