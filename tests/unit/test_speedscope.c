/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_speedscope.c - speedscope's JSON out, read by jansson and by ourselves, and in
 *
 * Stacks are compared as folded text, which has a test of its own. Evented profiles are compared
 * with a simulation that keeps the open frames in a list.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"
#include "core/codec/folded.h"
#include "core/codec/speedscope.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static struct dcm_batch *decode(const char *text, size_t n)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	if (speedscope__decode((const uint8_t *)text, n, NULL, &b, &err) < 0)
		fail_msg("%s", err.text);
	return b;
}

static void encode(const struct dcm_batch *b, uint32_t profile, struct buf *out)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (speedscope__encode(b, profile, out, &err) < 0)
		fail_msg("%s", err.text);
}

static char *folded(const struct dcm_batch *b, uint32_t profile)
{
	struct buf out = { 0 };

	assert_int_equal(folded__encode(b, profile, &out, NULL), 0);
	if (!out.data)
		buf__text(&out, "");
	return (char *)buf__take(&out, &(size_t){ 0 });
}

/* What the viewer relies on, of one of the file's profiles. */
static void check_profile(const json_t *p, size_t n_frames)
{
	const json_t *samples = json_object_get(p, "samples"),
		     *weights = json_object_get(p, "weights");
	int64_t sum = 0;

	assert_string_equal(json_string_value(json_object_get(p, "type")), "sampled");
	assert_true(json_is_string(json_object_get(p, "name")));
	assert_int_equal(json_array_size(samples), json_array_size(weights));
	for (size_t i = 0; i < json_array_size(samples); i++) {
		const json_t *sample = json_array_get(samples, i);
		for (size_t k = 0; k < json_array_size(sample); k++)
			assert_true((size_t)json_integer_value(json_array_get(sample, k)) < n_frames);
		sum += json_integer_value(json_array_get(weights, i));
	}
	assert_int_equal(json_integer_value(json_object_get(p, "endValue")), sum);
}

static void test_out(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(seed, 0);
		struct buf out = { 0 };
		if (b->n_profiles == 0) {
			assert_int_equal(speedscope__encode(b, DCM_NONE, &out, NULL), -EINVAL);
			continue;
		}
		encode(b, DCM_NONE, &out);
		json_t *root = json_loadb((const char *)out.data, out.n, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(root);
		const json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");
		const json_t *profiles = json_object_get(root, "profiles");
		size_t n_types = 0;
		for (uint32_t p = 0; p < b->n_profiles; p++)
			n_types += b->profiles[p].n_types;
		assert_int_equal(json_array_size(profiles), n_types);
		for (size_t i = 0; i < n_types; i++)
			check_profile(json_array_get(profiles, i), json_array_size(frames));
		json_int_t active = json_integer_value(json_object_get(root, "activeProfileIndex"));
		assert_int_equal(active, b->profiles[0].n_types - 1);
		json_decref(root);
		buf__fini(&out);
	}
}

/* The last type of each profile has the stacks that folded text has. */
static void test_round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = random_batch__new(seed, RANDOM_ONE_PROFILE);
		struct buf out = { 0 };
		encode(b, 0, &out);
		CLEANUP(batch__unrefp)
		struct dcm_batch *again = decode((const char *)out.data, out.n);
		assert_int_equal(again->n_profiles, b->profiles[0].n_types);
		CLEANUP(mem__freep) char *want = folded(b, 0);
		CLEANUP(mem__freep) char *got = folded(again, again->n_profiles - 1);
		assert_string_equal(got, want);
		buf__fini(&out);
	}
}

/*
 * ------------------------------------------------------------------------------------------------
 */

#define FRAMES                                                                                     \
	"{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"f.c\",\"line\":3,"   \
	"\"col\":4},"                                                                              \
	"{\"name\":\"[c]\"},{\"name\":\"\",\"file\":null}]},\"profiles\":["
#define END "]}"

static void test_in(void **state)
{
	(void)state;
	static const struct {
		const char *profile, *type, *folded;
		int64_t duration;
	} cases[] = {
		{ "{\"type\":\"sampled\",\"name\":\"p\",\"unit\":\"none\",\"startValue\":0,"
		  "\"endValue\":6,"
		  "\"samples\":[[0,1],[0],[0,1],[]],\"weights\":[1,2,3,4]}",
		  "speedscope:samples:count:::delta", "[unknown] 4\na 2\na;b 4\n", 0 },
		{ "{\"type\":\"sampled\",\"unit\":\"seconds\",\"startValue\":1,\"endValue\":2.5,"
		  "\"samples\":[[0],[2,3]],\"weights\":[0.25,1.0000000004]}",
		  "speedscope:time:nanoseconds:::delta", "[c];[unknown] 1000000000\na 250000000\n",
		  1500000000 },
		{ "{\"type\":\"sampled\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":2,"
		  "\"samples\":[[1]],\"weights\":[9007199254740993]}",
		  "speedscope:space:bytes:::delta", "b 9007199254740993\n", 0 },
		{ "{\"type\":\"evented\",\"unit\":\"milliseconds\",\"startValue\":0,\"endValue\":"
		  "10,\"events\":["
		  "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":1.5},"
		  "{\"type\":\"C\",\"frame\":1,\"at\":3},{\"type\":\"C\",\"frame\":0,\"at\":4},"
		  "{\"type\":\"O\",\"frame\":1,\"at\":9},{\"type\":\"C\",\"frame\":1,\"at\":10}]}",
		  "speedscope:time:nanoseconds:::delta", "a 2500000\na;b 1500000\nb 1000000\n", 10000000 },
		{ "{\"type\":\"evented\",\"unit\":\"microseconds\",\"events\":[]}",
		  "speedscope:time:nanoseconds:::delta", "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf text = { 0 };
		buf__printf(&text, FRAMES "%s" END, cases[i].profile);
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = decode((const char *)text.data, text.n);
		CLEANUP(mem__freep) char *got = folded(b, 0);
		char type[256];
		type__format(b, &b->types[0], type, sizeof(type));
		assert_string_equal(type, cases[i].type);
		assert_string_equal(got, cases[i].folded);
		assert_int_equal(b->profiles[0].duration_ns, cases[i].duration);
		buf__fini(&text);
	}
}

static void test_labels(void **state)
{
	(void)state;
	static const char text[] = FRAMES
		"{\"type\":\"sampled\",\"name\":\"tab "
		"1\",\"unit\":\"none\",\"samples\":[[1]],\"weights\":[1]}" END;
	const struct dcm_label_text labels[] = { { STR("job"), STR("x") },
						 { STR("profile"), STR("mine") } };
	CLEANUP(batch__unrefp) struct dcm_batch *plain = decode(text, strlen(text));
	struct dcm_str name = batch__series_label(plain, plain->profiles[0].series, STR("profile"));
	assert_true(str__eq(name, STR("tab 1")));
	const struct dcm_line *line = &plain->lines[plain->locations[1].line_off];
	assert_int_equal(line->line, 3);
	assert_int_equal(line->column, 4);

	const struct decode_options o = { .labels = labels, .n_labels = 2, .name = STR("n") };
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	assert_int_equal(speedscope__decode((const uint8_t *)text, strlen(text), &o, &b, NULL), 0);
	assert_int_equal(b->series[b->profiles[0].series].n, 2);
	name = batch__series_label(b, b->profiles[0].series, STR("profile"));
	assert_true(str__eq(name, STR("mine")));
}

static void test_refusals(void **state)
{
	(void)state;
#define PROFILE(s) FRAMES s END
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "speedscope: line 1, column 0: '[' or '{' expected near end of file" },
		{ "[]", "speedscope: it has no list of profiles" },
		{ "{\"profiles\":[]}", "speedscope: it has no list shared.frames" },
		{ "{\"profiles\":[],\"profiles\":[]}", NULL },
		{ "{\"profiles\":[],\"shared\":{\"frames\":[{}]}}",
		  "speedscope: shared.frames[0]: its name or file is no text" },
		{ "{\"profiles\":[],\"shared\":{\"frames\":[{\"name\":\"a\",\"file\":5}]}}",
		  "speedscope: shared.frames[0]: its name or file is no text" },
		{ PROFILE("5"), "speedscope: profiles[0]: its unit is none of speedscope's" },
		{ PROFILE("{\"unit\":\"parsecs\"}"),
		  "speedscope: profiles[0]: its unit is none of speedscope's" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"x\"}"),
		  "speedscope: profiles[0]: its type is neither \"sampled\" nor \"evented\"" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\"}"),
		  "speedscope: profiles[0]: samples and weights are not two lists of one length" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\",\"samples\":[[0]],\"weights\":[]"
			  "}"),
		  "speedscope: profiles[0]: samples and weights are not two lists of one length" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\",\"samples\":[7],\"weights\":[1]"
			  "}"),
		  "speedscope: profiles[0].samples[0]: it is no list" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\",\"samples\":[[0,4]],\"weights\":"
			  "[1]}"),
		  "speedscope: profiles[0].samples[0]: it names a frame that does not exist" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\",\"samples\":[[-1]],\"weights\":["
			  "1]}"),
		  "speedscope: profiles[0].samples[0]: it names a frame that does not exist" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\",\"samples\":[[0.5]],\"weights\":"
			  "[1]}"),
		  "speedscope: profiles[0].samples[0]: it names a frame that does not exist" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"sampled\",\"samples\":[[0]],\"weights\":["
			  "\"x\"]}"),
		  "speedscope: profiles[0].weights[0]: it is no number, or too large" },
		{ PROFILE("{\"unit\":\"seconds\",\"type\":\"sampled\",\"samples\":[[0]],"
			  "\"weights\":[1e300]}"),
		  "speedscope: profiles[0].weights[0]: it is no number, or too large" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"evented\"}"),
		  "speedscope: profiles[0]: it has no list of events" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"evented\",\"events\":[{\"at\":0}]}"),
		  "speedscope: profiles[0].events[0]: it names a frame that does not exist" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"evented\",\"events\":[{\"at\":0,\"frame\":"
			  "0,\"type\":\"X\"}]}"),
		  "speedscope: profiles[0].events[0]: its type is neither \"O\" nor \"C\"" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"evented\",\"events\":[{\"at\":0,\"frame\":"
			  "0,\"type\":\"C\"}]}"),
		  "speedscope: profiles[0].events[0]: it closes a frame that is not the innermost "
		  "one" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"evented\",\"events\":[{\"frame\":0,"
			  "\"type\":\"O\"}]}"),
		  "speedscope: profiles[0].events[0]: its time is no number, or too large" },
		{ PROFILE("{\"unit\":\"none\",\"type\":\"evented\",\"events\":[{\"at\":2,\"frame\":"
			  "0,\"type\":\"O\"},"
			  "{\"at\":1,\"frame\":0,\"type\":\"C\"}]}"),
		  "speedscope: profiles[0].events[1]: it is before the one before it" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *b = NULL;
		int r = speedscope__decode((const uint8_t *)cases[i].text, strlen(cases[i].text),
					   NULL, &b, &err);
		assert_int_equal(r, -EINVAL);
		if (cases[i].sentence)
			assert_string_equal(err.text, cases[i].sentence);
	}
}

/* JSON that costs far more than its bytes is refused before it is read. */
static void test_limits(void **state)
{
	(void)state;
	const struct decode_options o = { .max_bytes = 100000 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;
	struct buf text = { 0 };

	for (int i = 0; i < 20000; i++)
		buf__text(&text, "{},");
	assert_int_equal(speedscope__decode(text.data, text.n, &o, &b, &err), -E2BIG);
	assert_non_null(strstr(err.text, "more memory than the limit of 1600000"));
	/* In a string they cost nothing. */
	buf__reset(&text);
	buf__text(&text, "{\"x\\\"\":\"");
	for (int i = 0; i < 20000; i++)
		buf__text(&text, "{},");
	buf__text(&text, "\"}");
	assert_int_equal(speedscope__decode(text.data, text.n, &o, &b, &err), -EINVAL);

	/* Frames that are open at once, and in one sample. */
	buf__reset(&text);
	buf__text(&text, FRAMES "{\"unit\":\"none\",\"type\":\"evented\",\"events\":[");
	for (int i = 0; i < 4097; i++)
		buf__printf(&text, "%s{\"at\":%d,\"frame\":0,\"type\":\"O\"}", i ? "," : "", i);
	buf__text(&text, "]}" END);
	assert_int_equal(speedscope__decode(text.data, text.n, NULL, &b, &err), -E2BIG);
	assert_string_equal(err.text, "speedscope: profiles[0]: more than 4096 frames are open");
	buf__reset(&text);
	buf__text(&text,
		  FRAMES "{\"unit\":\"none\",\"type\":\"sampled\",\"weights\":[1],\"samples\":[[0");
	for (int i = 0; i < 4096; i++)
		buf__text(&text, ",0");
	buf__text(&text, "]]}" END);
	assert_int_equal(speedscope__decode(text.data, text.n, NULL, &b, &err), -E2BIG);
	assert_string_equal(err.text,
			    "speedscope: profiles[0].samples[0]: 4097 frames, more than 4096");
	buf__fini(&text);
}

/* Random events, and a list of open frames: each passing of time is a line of folded text. */
static void test_events_simulated(void **state)
{
	(void)state;
	static const char *const names[] = { "a", "b", "[c]", "[unknown]" };

	for (uint64_t seed = 0; seed < 30; seed++) {
		struct random r = { seed };
		struct buf json = { 0 }, text = { 0 };
		uint32_t open[64], n_open = 0;
		buf__text(&json, FRAMES "{\"unit\":\"none\",\"type\":\"evented\",\"events\":[");
		uint64_t at = 0;
		for (int i = 0; i < 300; i++) {
			uint64_t passed = random__below(&r, 4);
			for (uint32_t k = 0; i && passed && k < n_open; k++)
				buf__printf(&text, "%s%s", k ? ";" : "", names[open[k]]);
			if (i && passed && n_open)
				buf__printf(&text, " %" PRIu64 "\n", passed);
			at += passed;
			bool opens = n_open == 0 || (n_open < 60 && random__below(&r, 2));
			uint32_t frame = opens ? (uint32_t)random__below(&r, 4) : open[n_open - 1];
			if (opens)
				open[n_open++] = frame;
			else
				n_open--;
			buf__printf(&json, "%s{\"at\":%" PRIu64 ",\"frame\":%u,\"type\":\"%c\"}",
				    i ? "," : "", at, frame, opens ? 'O' : 'C');
		}
		buf__text(&json, "]}" END);
		CLEANUP(batch__unrefp)
		struct dcm_batch *got = decode((const char *)json.data, json.n);
		CLEANUP(batch__unrefp) struct dcm_batch *want = NULL;
		assert_int_equal(folded__decode(text.data, text.n, NULL, &want, NULL), 0);
		CLEANUP(mem__freep) char *x = folded(got, 0);
		CLEANUP(mem__freep) char *y = folded(want, 0);
		assert_string_equal(x, y);
		buf__fini(&json);
		buf__fini(&text);
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(3, RANDOM_ONE_PROFILE);
	struct buf text = { 0 };

	encode(b, 0, &text);
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };
		int r = speedscope__encode(b, 0, &out, NULL);
		failmalloc__disarm();
		buf__fini(&out);
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *got = NULL;
		int r = speedscope__decode(text.data, text.n, NULL, &got, NULL);
		failmalloc__disarm();
		batch__unref(got);
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
	static const char events[] = FRAMES
		"{\"type\":\"evented\",\"unit\":\"none\",\"events\":[{\"type\":\"O\",\"frame\":0,"
		"\"at\":0},"
		"{\"type\":\"O\",\"frame\":1,\"at\":1},{\"type\":\"C\",\"frame\":1,\"at\":3}]}" END;
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *got = NULL;
		int r = speedscope__decode((const uint8_t *)events, strlen(events), NULL, &got, NULL);
		failmalloc__disarm();
		batch__unref(got);
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
	buf__fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_in),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_events_simulated),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("speedscope", tests, NULL, NULL);
}
