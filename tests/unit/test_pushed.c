/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pushed.c - push.v1 and WriteRaw requests: what is in them is what the pprof decoder makes of each profile
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/codec/pprof.h"
#include "core/codec/pushed.h"
#include "core/deflate/deflate.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { N_SERIES = 3, N_EACH = 2 };

static void put_label(struct buf *series, const char *name, const char *value)
{
	struct buf pair = { 0 };

	pb__put_bytes(&pair, 1, name, strlen(name));
	pb__put_bytes(&pair, 2, value, strlen(value));
	pb__put_bytes(series, 1, pair.data, pair.n);
	buf__fini(&pair);
}

static void put_sample(struct buf *series, const struct buf *raw)
{
	struct buf sample = { 0 };

	pb__put_bytes(&sample, 1, raw->data, raw->n);
	pb__put_bytes(&sample, 2, "an id", 5);
	pb__put_bytes(series, 2, sample.data, sample.n);
	buf__fini(&sample);
}

static void put_series(struct buf *request, struct buf *series)
{
	pb__put_bytes(request, 1, series->data, series->n);
	buf__fini(series);
}

/* The batch as text, for comparing what two ways have made of the same. */
static struct buf text_of(const struct dcm_batch *b)
{
	struct buf text = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	assert_null(batch_judge__fault(b, false));
	assert_int_equal(codec__encode(b, DCM_NONE, "folded", &text, &err), 0);
	return text;
}

static uint64_t sum_of_values(const struct dcm_batch *b)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < b->n_values; i++)
		sum += (uint64_t)b->values[i];
	return sum;
}

/* The same series as WriteRaw has them: field 2, and their labels one message deeper. */
static struct buf as_write_raw(const struct buf *request)
{
	struct pb_reader r = pb__reader(request->data, request->n);
	struct pb_field series, part;
	struct buf out = { 0 };

	while (pb__next(&r, &series)) {
		struct pb_reader parts = pb__reader(series.p, series.n);
		struct buf labels = { 0 }, samples = { 0 }, one = { 0 };

		while (pb__next(&parts, &part))
			pb__put_bytes(part.number == 1 ? &labels : &samples, part.number, part.p,
				      part.n);
		pb__put_bytes(&one, 1, labels.data, labels.n);
		buf__append(&one, samples.data, samples.n);
		pb__put_bytes(&out, 2, one.data, one.n);
		buf__fini(&labels);
		buf__fini(&samples);
		buf__fini(&one);
	}
	return out;
}

static void check_write_raw(const struct buf *request, const struct dcm_batch *want)
{
	struct buf raw = as_write_raw(request);
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;

	assert_int_equal(pushed__decode_raw(raw.data, raw.n, NULL, &got, &err), 0);
	assert_null(batch_judge__fault(got, false));
	/* What they say of gauges differs. */
	assert_int_equal(got->n_profiles, want->n_profiles);
	assert_int_equal(got->n_rows, want->n_rows);
	assert_true(sum_of_values(got) == sum_of_values(want));
	buf__fini(&raw);
	batch__unref(take_ptr(got));
	/* The one's series are unknown fields of the other. */
	assert_int_equal(pushed__decode_raw(request->data, request->n, NULL, &got, &err), 0);
	assert_int_equal(got->n_profiles, 0);
}

static void check_one_seed(uint64_t seed)
{
	struct buf request = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
	uint64_t n_rows = 0, sum = 0;
	uint32_t n_profiles = 0;

	for (uint32_t s = 0; s < N_SERIES; s++) {
		struct buf series = { 0 };
		char name[16];

		snprintf(name, sizeof(name), "app%u", s);
		put_label(&series, "service_name", name);
		put_label(&series, "__name__", "thing");
		put_label(&series, "__session_id__", "1");
		put_label(&series, "empty", "");
		for (uint32_t k = 0; k < N_EACH; k++) {
			CLEANUP(batch__unrefp)
			struct dcm_batch *one = random_batch__of(
				(struct dcm_hash){ 1, 1 }, 1, seed * 100 + s * 10 + k,
				RANDOM_ONE_PROFILE | RANDOM_POSITIVE, INT64_C(1700000000000000000));
			CLEANUP(batch__unrefp) struct dcm_batch *alone = NULL;
			struct buf raw = { 0 };

			assert_int_equal(pprof__encode(one, DCM_NONE, &raw, &err), 0);
			assert_int_equal(pprof__decode(raw.data, raw.n, NULL, &alone, &err), 0);
			n_profiles += alone->n_profiles;
			n_rows += alone->n_rows;
			sum += sum_of_values(alone);
			put_sample(&series, &raw);
			buf__fini(&raw);
		}
		put_series(&request, &series);
	}
	if (pushed__decode(request.data, request.n, NULL, &got, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
	assert_null(batch_judge__fault(got, false));
	assert_int_equal(got->n_profiles, n_profiles);
	assert_int_equal(got->n_rows, n_rows);
	assert_true(sum_of_values(got) == sum);
	check_write_raw(&request, got);
	buf__fini(&request);
}

static void test_equals_the_profiles_alone(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++)
		check_one_seed(seed);
}

/* A heap profile with a duration: 10 objects of 1000 bytes were allocated, 3 are in use. */
#define HEAP                                                                                       \
	"6:'' 6:'alloc_objects' 6:'count' 6:'alloc_space' 6:'bytes' 6:'inuse_objects' "            \
	"6:'inuse_space' 6:'f' 1:{1:1 2:2} 1:{1:3 2:4} 1:{1:5 2:2} 1:{1:6 2:4} "                   \
	"5:{1:1 2:7} 4:{1:1 4:{1:1}} 2:{1:[1] 2:[10 1000 3 300]} 9:1700000000000000000 "           \
	"10:1000000000"

static struct dcm_batch *decode_heap(const char *name, const char *value, const struct decode_options *o)
{
	struct buf raw = { 0 }, series = { 0 }, request = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	pb_text__append(&raw, HEAP);
	if (name)
		put_label(&series, name, value);
	put_label(&series, "service_name", "shop");
	put_sample(&series, &raw);
	put_series(&request, &series);
	if (codec__decode_with("push.v1", request.data, request.n, o, &b, &err) < 0)
		fail_msg("%s", err.text);
	buf__fini(&raw);
	buf__fini(&request);
	return b;
}

static void test_temporalities(void **state)
{
	(void)state;
	static const uint32_t want[] = { DCM_DELTA, DCM_DELTA, DCM_GAUGE, DCM_GAUGE };
	CLEANUP(batch__unrefp) struct dcm_batch *plain = decode_heap(NULL, NULL, NULL);
	CLEANUP(batch__unrefp) struct dcm_batch *delta = decode_heap("__delta__", "false", NULL);

	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(plain->types[plain->profiles[0].type_off + i].temporality, want[i]);
		assert_int_equal(delta->types[delta->profiles[0].type_off + i].temporality, want[i]);
	}
}

/* The caller's labels win, and what comes twice from the sender is a fault. */
static void test_labels(void **state)
{
	(void)state;
	const struct dcm_label_text ours[] = { { STR("service_name"), STR("ours") },
					       { STR("tenant"), STR("a") } };
	const struct decode_options o = { .labels = ours, .n_labels = 2 };
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode_heap("env", "test", &o);
	struct buf raw = { 0 }, series = { 0 }, request = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *none = NULL;

	assert_int_equal(b->n_series, 1);
	assert_int_equal(b->series[0].n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const want[][2] = { { "env", "test" },
						       { "service_name", "ours" },
						       { "tenant", "a" } };
		struct dcm_pair p = b->pairs[b->series[0].off + i];

		assert_true(str__eq(b->strings[p.name], str__of(want[i][0])));
		assert_true(str__eq(b->strings[p.value], str__of(want[i][1])));
	}
	pb_text__append(&raw, HEAP);
	put_label(&series, "env", "a");
	put_label(&series, "env", "b");
	put_sample(&series, &raw);
	put_series(&request, &series);
	assert_int_equal(pushed__decode(request.data, request.n, NULL, &none, &err), -EINVAL);
	assert_null(none);
	buf__fini(&raw);
	buf__fini(&request);
}

/* One request's profiles share one limit, however many they are, and a gzip of zeroes is no way around it. */
static void test_limits(void **state)
{
	(void)state;
	struct buf zeros = { 0 }, packed = { 0 }, request = { 0 };
	const struct decode_options o = { .max_bytes = 100000 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *none = NULL;
	struct buf series = { 0 };

	pb_text__append(&zeros, HEAP);
	/* A field that nobody reads, of 60,000 bytes: two profiles are too much. */
	buf__varint(&zeros, 100 << 3 | PB_BYTES);
	buf__varint(&zeros, 60000);
	memset(buf__reserve(&zeros, 60000), 0, 60000);
	zeros.n += 60000;
	assert_int_equal(deflate__pack(zeros.data, zeros.n, 6, &packed), 0);
	put_sample(&series, &packed);
	put_series(&request, &series);
	CLEANUP(batch__unrefp) struct dcm_batch *one = NULL;
	assert_int_equal(pushed__decode(request.data, request.n, &o, &one, &err), 0);
	put_sample(&series, &packed);
	put_series(&request, &series);
	assert_int_equal(pushed__decode(request.data, request.n, &o, &none, &err), -E2BIG);
	assert_non_null(strstr(err.text, "series 1, profile 1"));
	buf__fini(&zeros);
	buf__fini(&packed);
	buf__fini(&request);
}

static void test_faults(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"1:{1:{1:'' 2:'v'} 2:{1:'x'}}", /* a label without a name */
		"1:{2:{1:'no profile'}}",
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *none = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct buf request = { 0 };

		pb_text__append(&request, texts[i]);
		assert_int_equal(pushed__decode(request.data, request.n, NULL, &none, &err), -EINVAL);
		assert_non_null(strstr(err.text, "push.v1: series 0"));
		buf__fini(&request);
	}
	assert_int_equal(pushed__decode((const uint8_t *)"\x0a\x7f", 2, NULL, &none, &err), -EINVAL);
	assert_null(none);
}

/* The same request has the same id; another one, and one whose profile does not say its time, does not. */
static void test_identity(void **state)
{
	(void)state;
	const struct decode_options o = { .identity = DCM_IDENTITY_TIMED, .time_ns = 1 };
	CLEANUP(batch__unrefp)
	struct dcm_batch *a = decode_heap("env", "x", &o), *b = decode_heap("env", "x", &o),
			 *c = decode_heap("env", "y", &o), *d = decode_heap("env", "x", NULL);
	static const char untimed[] = "a;b 1\n";
	CLEANUP(batch__unrefp) struct dcm_batch *e = NULL, *f = NULL, *later = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	const struct decode_options always = { .identity = DCM_IDENTITY_ALWAYS, .time_ns = 5 },
				    then = { .identity = DCM_IDENTITY_ALWAYS, .time_ns = 6 };

	assert_true(a->id.source.lo || a->id.source.hi);
	assert_memory_equal(&a->id, &b->id, sizeof(a->id));
	assert_memory_not_equal(&a->id, &c->id, sizeof(a->id));
	assert_false(d->id.source.lo || d->id.source.hi);
	assert_int_equal(
		codec__decode_with("folded", (const uint8_t *)untimed, strlen(untimed), &o, &e, &err), 0);
	assert_false(e->id.source.lo || e->id.source.hi);
	assert_int_equal(codec__decode_with("folded", (const uint8_t *)untimed, strlen(untimed),
					    &always, &f, &err),
			 0);
	assert_true(f->id.source.lo || f->id.source.hi);
	assert_true(a->id.sequence == DCM_BATCH_ONCE && f->id.sequence == DCM_BATCH_ONCE);
	assert_int_equal(codec__decode_with("folded", (const uint8_t *)untimed, strlen(untimed),
					    &then, &later, &err),
			 0);
	assert_memory_not_equal(&f->id, &later->id, sizeof(f->id));
}

static void test_memory_runs_out(void **state)
{
	(void)state;
	struct buf raw = { 0 }, series = { 0 }, request = { 0 }, packed = { 0 };

	pb_text__append(&raw, HEAP);
	assert_int_equal(deflate__pack(raw.data, raw.n, 6, &packed), 0);
	put_label(&series, "service_name", "shop");
	put_sample(&series, &packed);
	put_series(&request, &series);
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *b = NULL;
		int r = pushed__decode(request.data, request.n, NULL, &b, &err);

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || !b);
		batch__unref(b);
	}
	buf__fini(&raw);
	buf__fini(&packed);
	buf__fini(&request);
}

static struct dcm_batch *decode_text(const char *text, const struct decode_options *o)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	assert_int_equal(
		codec__decode_with("folded", (const uint8_t *)text, strlen(text), o, &b, &err), 0);
	return b;
}

/* As many objects were allocated as are in use: two profiles of the same bytes, and no retry. */
static void test_identity_of_measures(void **state)
{
	(void)state;
	static const char text[] = "a;b 1\n";
	const struct decode_measure allocated = { STR("memory:alloc_objects:count:::delta"), 1, 0, 0 },
				    in_use = { STR("memory:inuse_objects:count::"), 1, 0, 0 },
				    scaled = { STR("memory:alloc_objects:count:::delta"), 2, 0, 0 };
	struct decode_options o = { .identity = DCM_IDENTITY_ALWAYS, .time_ns = 5, .measure = &allocated };
	CLEANUP(batch__unrefp)
	struct dcm_batch *a = decode_text(text, &o), *again = decode_text(text, &o), *b = NULL, *c = NULL;

	o.measure = &in_use;
	b = decode_text(text, &o);
	o.measure = &scaled;
	c = decode_text(text, &o);
	assert_memory_equal(&a->id, &again->id, sizeof(a->id));
	assert_memory_not_equal(&a->id, &b->id, sizeof(a->id));
	assert_memory_not_equal(&a->id, &c->id, sizeof(a->id));
}

/* A profile that says its time is the same one at whatever time its sender says: "now-5m" is another at a retry. */
static void test_identity_of_times(void **state)
{
	(void)state;
	const struct decode_options o = { .identity = DCM_IDENTITY_ALWAYS, .time_ns = 5 },
				    later = { .identity = DCM_IDENTITY_ALWAYS, .time_ns = 6 };
	CLEANUP(batch__unrefp)
	struct dcm_batch *a = decode_heap("env", "x", &o), *b = decode_heap("env", "x", &later),
			 *c = decode_text("a;b 1\n", &o), *d = decode_text("a;b 1\n", &later);

	assert_true(a->id.source.lo || a->id.source.hi);
	assert_memory_equal(&a->id, &b->id, sizeof(a->id));
	assert_memory_not_equal(&c->id, &d->id, sizeof(c->id));
}

/* Folded text that says what it counts, and lines. */
static void test_measure(void **state)
{
	(void)state;
	static const char folded[] = "a;b 3\na;c 4\n", lines[] = "a;b\na;b\n\na;c\n";
	const struct decode_measure cpu = {
		STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"), 10000000, 10000000, 1000000000
	};
	const struct decode_measure bad = { STR("no type"), 1, 0, 0 },
				    large = { STR("a:b:count:::delta"), INT64_MAX, 0, 0 };
	struct decode_options o = { .measure = &cpu };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *none = NULL;

	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL, *l = NULL;
	assert_int_equal(
		codec__decode_with("folded", (const uint8_t *)folded, strlen(folded), &o, &b, &err), 0);
	assert_true(sum_of_values(b) == 70000000);
	assert_int_equal(b->profiles[0].duration_ns, 1000000000);
	assert_int_equal(b->profiles[0].period, 10000000);
	assert_true(str__eq(b->strings[b->types[0].name], STR("process_cpu")));
	assert_int_equal(b->types[0].temporality, DCM_DELTA);
	assert_int_equal(
		codec__decode_with("lines", (const uint8_t *)lines, strlen(lines), NULL, &l, &err), 0);
	struct buf text = text_of(l);
	assert_string_equal((const char *)text.data, "a;b 2\na;c 1\n");
	buf__fini(&text);
	o.measure = &bad;
	assert_int_equal(codec__decode_with("folded", (const uint8_t *)folded, strlen(folded), &o,
					    &none, &err),
			 -EINVAL);
	o.measure = &large;
	assert_int_equal(codec__decode_with("folded", (const uint8_t *)folded, strlen(folded), &o,
					    &none, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "line 1"));
}

/* JSON with HEAP, under one of the names that it may have. */
static struct buf json_of(const char *name, const char *before)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	struct buf raw = { 0 }, json = { 0 };

	pb_text__append(&raw, HEAP);
	buf__printf(&json,
		    "{\"unknown\":[{}],\"series\":[%s{\"labels\":[{\"name\":\"service_name\","
		    "\"value\":\"shop\"}],\"annotations\":null,\"samples\":[{\"%s\":\"",
		    before, name);
	for (size_t bit = 0; bit < raw.n * 8; bit += 6) {
		size_t at = bit / 8;
		unsigned two = (unsigned)raw.data[at] << 8 | (at + 1 < raw.n ? raw.data[at + 1] : 0);
		buf__byte(&json, (uint8_t)digits[two >> (10 - bit % 8) & 63]);
	}
	buf__text(&json, "\",\"ID\":\"an id\"}]}]}");
	buf__fini(&raw);
	return json;
}

static void test_json(void **state)
{
	(void)state;
	static const char *const names[] = { "rawProfile", "raw_profile" };
	CLEANUP(batch__unrefp) struct dcm_batch *want = decode_heap(NULL, NULL, NULL);
	const struct dcm_hash x = batch__content(want);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *none;

	for (unsigned i = 0; i < 2; i++) {
		struct buf json = json_of(names[i], "null,");
		struct dcm_batch *got = NULL;
		int r = codec__decode_with("push.v1.json", json.data, json.n, NULL, &got, &err);
		assert_int_equal(r, -EINVAL);
		assert_non_null(strstr(err.text, "PushRequest.series is no object"));
		buf__fini(&json);
		json = json_of(names[i], "");
		if (codec__decode_with("push.v1.json", json.data, json.n, NULL, &got, &err) < 0)
			fail_msg("%s", err.text);
		const struct dcm_hash y = batch__content(got);
		assert_true(x.lo == y.lo && x.hi == y.hi);
		batch__unref(got);
		FAILMALLOC_SWEEP (k) {
			got = NULL;
			r = codec__decode_with("push.v1.json", json.data, json.n, NULL, &got, NULL);
			failmalloc__disarm();
			assert_true(r == 0 ? got != NULL : r == -ENOMEM && !got);
			batch__unref(got);
		}
		buf__fini(&json);
	}
	assert_int_equal(codec__decode_with("push.v1.json", (const uint8_t *)"[1]", 3, NULL, &none, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "push.v1: JSON: it is no object"));
}

/* One sample, at an address of a position-independent file that was mapped somewhere. */
static struct buf one_address(uint64_t address)
{
	static const char *const strings[] = { "", "cpu", "nanoseconds", "/bin/app", "abcdef" };
	struct buf profile = { 0 }, part = { 0 };

	pb__put_varint(&part, 1, 1);
	pb__put_varint(&part, 2, 2);
	pb__put_nested(&profile, 1, &part);
	pb__put_varint(&part, 1, 1);
	pb__put_varint(&part, 2, 7);
	pb__put_nested(&profile, 2, &part);
	pb__put_varint(&part, 1, 1);
	pb__put_varint(&part, 2, 0x550000001000);
	pb__put_varint(&part, 3, 0x550000009000);
	pb__put_varint(&part, 4, 0x1000);
	pb__put_varint(&part, 5, 3);
	pb__put_varint(&part, 6, 4);
	pb__put_nested(&profile, 3, &part);
	pb__put_varint(&part, 1, 1);
	pb__put_varint(&part, 2, 1);
	pb__put_varint(&part, 3, address);
	pb__put_nested(&profile, 4, &part);
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		pb__put_bytes(&profile, 6, strings[i], strlen(strings[i]));
	buf__fini(&part);
	return profile;
}

/* Parca's agents of before WriteArrow said so of what they had counted by the file already. */
static void test_normalized(void **state)
{
	static const struct {
		uint64_t address;
		bool is_normalized;
		uint32_t kind;
		uint64_t want;
	} cases[] = {
		{ 0x550000002345, false, DCM_ADDR_FILE_OFFSET, 0x2345 },
		{ 0x2345, true, DCM_ADDR_VADDR, 0x2345 },
		/* An address is as it is said to be, wherever it may lie. */
		{ 0x550000002345, true, DCM_ADDR_VADDR, 0x550000002345 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf profile = one_address(cases[i].address), series = { 0 }, push = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;

		put_sample(&series, &profile);
		put_series(&push, &series);
		struct buf raw = as_write_raw(&push);
		pb__put_varint(&raw, 3, cases[i].is_normalized);
		assert_int_equal(pushed__decode_raw(raw.data, raw.n, NULL, &got, &err), 0);
		const struct dcm_location *l =
			&got->locations[got->stack_locations[got->stacks[got->row_stacks[0]].off]];
		assert_int_equal(l->addr_kind, cases[i].kind);
		assert_int_equal(l->address, cases[i].want);
		assert_int_not_equal(l->mapping, DCM_NONE);
		buf__fini(&profile);
		buf__fini(&push);
		buf__fini(&raw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_the_profiles_alone),
		cmocka_unit_test(test_temporalities),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_identity_of_measures),
		cmocka_unit_test(test_identity_of_times),
		cmocka_unit_test(test_memory_runs_out),
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_normalized),
	};

	return cmocka_run_group_tests_name("pushed", tests, NULL, NULL);
}
