/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_otlp.c - OTLP profiles: what the versions' own modules wrote means the same in each, and what is refused
 *
 * tests/data/otlp/VERSION.pb is what tests/programs/otlp made of VERSION.json with the published Go module of that version, and
 * VERSION-pdata.pb what the collector's pdata made of that (pdata/pprofile v0.121.0, 0.133.0, 0.138.0, 0.145.0, 0.150.0), by code
 * of its own: its messages come in another order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"
#include "core/codec/codec.h"
#include "core/codec/otlp.h"
#include "core/codec/pprof.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)
#define START  (INT64_C(1790000000) * SECOND) /* of the profiles in tests/data/otlp */

/* Of the sources: tests/FOLDER/VERSION.EXTENSION. */
static struct buf read_source(const char *folder, const char *version, const char *extension)
{
	struct buf bytes = { 0 };
	char path[512];

	snprintf(path, sizeof(path), TEST_SRCDIR "/tests/%s/%s.%s", folder, version, extension);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	uint8_t *room = buf__reserve(&bytes, 65536);
	assert_non_null(room);
	bytes.n = fread(room, 1, 65536, f);
	fclose(f);
	assert_true(bytes.n > 0);
	return bytes;
}

static struct buf read_file(const char *version)
{
	return read_source("data/otlp", version, "pb");
}

static struct dcm_batch *decode(const struct buf *bytes, const struct decode_options *o)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *b = NULL;

	if (otlp__decode(bytes->data, bytes->n, o, &b, &err) < 0)
		fail_msg("%s", err.text);
	assert_null(batch_judge__fault(b, false));
	return b;
}

static struct dcm_batch *decode_text(const char *text, const struct decode_options *o)
{
	struct buf bytes = { 0 };

	pb_text__append(&bytes, text);
	struct dcm_batch *b = decode(&bytes, o);
	buf__fini(&bytes);
	return b;
}

static void put_string(struct buf *out, const struct dcm_batch *b, uint32_t s)
{
	buf__printf(out, "%.*s", STR_ARG(b->strings[s]));
}

static void put_labels(struct buf *out, const struct dcm_batch *b, uint32_t set)
{
	for (uint32_t i = 0; i < b->label_sets[set].n; i++) {
		const struct dcm_label *l = &b->labels[b->label_sets[set].off + i];
		buf__printf(out, " %.*s=", STR_ARG(b->strings[l->name]));
		if (l->unit == DCM_NONE)
			put_string(out, b, l->str);
		else
			buf__printf(out, "%lld", (long long)l->num);
	}
}

static void put_location(struct buf *out, const struct dcm_batch *b, const struct dcm_location *l)
{
	buf__printf(out, "  kind %u addr %u:%llx", l->kind, l->addr_kind, (unsigned long long)l->address);
	if (l->mapping != DCM_NONE) {
		const struct dcm_mapping *m = &b->mappings[l->mapping];
		buf__printf(out, " in %u ", m->kind);
		put_string(out, b, m->file);
		buf__text(out, " ");
		put_string(out, b, m->build_id);
	}
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct dcm_line *line = &b->lines[l->line_off + i];
		buf__text(out, " ");
		if (line->function != DCM_NONE) {
			put_string(out, b, b->functions[line->function].name);
			buf__text(out, "@");
			put_string(out, b, b->functions[line->function].file);
		}
		buf__printf(out, ":%lld", (long long)line->line);
	}
	buf__text(out, "\n");
}

static void put_profile(struct buf *out, const struct dcm_batch *b, const struct dcm_profile *p)
{
	char type[256];

	type__format(b, &b->types[p->type_off], type, sizeof(type));
	buf__printf(out, "%s %u at %lld for %lld each %lld\n", type,
		    b->types[p->type_off].temporality, (long long)((p->time_ns - START) / SECOND),
		    (long long)(p->duration_ns / SECOND), (long long)p->period);
	for (uint32_t i = 0; i < b->series[p->series].n; i++) {
		struct dcm_pair pair = b->pairs[b->series[p->series].off + i];
		buf__text(out, " ");
		put_string(out, b, pair.name);
		buf__text(out, "=");
		put_string(out, b, pair.value);
	}
	buf__text(out, "\n");
	for (uint32_t r = 0; r < p->n_rows; r++) {
		const uint64_t row = p->row_off + r;
		buf__printf(out, " %lld", (long long)b->values[p->value_off + r * p->n_types]);
		put_labels(out, b, b->row_labels ? b->row_labels[row] : 0);
		buf__text(out, "\n");
		const struct dcm_span s = b->stacks[b->row_stacks[row]];
		for (uint32_t i = 0; i < s.n; i++)
			put_location(out, b, &b->locations[b->stack_locations[s.off + i]]);
	}
}

/* Everything that a reader may see, as text. */
static char *text_of(const struct dcm_batch *b)
{
	struct buf out = { 0 };

	for (uint32_t i = 0; i < b->n_profiles; i++)
		put_profile(&out, b, &b->profiles[i]);
	buf__byte(&out, 0);
	assert_false(out.error);
	return (char *)buf__take(&out, &(size_t){ 0 });
}

/* ---- the versions ---- */

static const char *const versions[] = { "1.10", "1.9", "1.8", "1.7", "1.5" };
enum { N_VERSIONS = sizeof(versions) / sizeof(versions[0]) };

/* As `writer` wrote it; all the same as `first`, which is made of the first when it is NULL. */
static char *check_versions(const char *writer, char *first)
{
	for (size_t i = 0; i < N_VERSIONS; i++) {
		struct decode_notes notes = { 0 };
		const struct decode_options o = { .notes = &notes };
		char name[32];

		snprintf(name, sizeof(name), "%s%s", versions[i], writer);
		struct buf bytes = read_file(name);
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(&bytes, &o);
		char *text = text_of(b);
		if (i == 0)
			assert_null(notes.old_version);
		else
			assert_string_equal(notes.old_version, versions[i]);
		assert_int_equal(notes.n_refused, 0);
		if (!first) {
			first = text;
		} else {
			assert_string_equal(text, first);
			free(text);
		}
		buf__fini(&bytes);
	}
	return first;
}

static void test_versions_agree(void **state)
{
	(void)state;
	char *first = check_versions("", NULL);

	check_versions("-pdata", first);
	free(first);
}

/* 1.4 is 1.5, but for what it says of a whole profile. */
static void test_1_4(void **state)
{
	struct buf old = read_file("1.4"), next = read_file("1.5");
	struct decode_notes notes = { 0 };
	const struct decode_options o = { .notes = &notes };
	CLEANUP(batch__unrefp) struct dcm_batch *a = decode(&old, &o), *b = decode(&next, NULL);
	char *was = text_of(a), *is = text_of(b);

	(void)state;
	assert_string_equal(notes.old_version, "1.5");
	assert_int_equal(notes.n_refused, 0);
	/* Of the first of the two, which takes four windows. */
	for (unsigned i = 0; i < 4; i++) {
		char *at = strstr(was, " tier=front");

		assert_non_null(at);
		memmove(at, at + 11, strlen(at + 11) + 1);
	}
	assert_string_equal(was, is);
	free(was);
	free(is);
	buf__fini(&old);
	buf__fini(&next);
}

static bool has(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

/* As the JSON says: 25 s in windows of 10 s, timestamps that count 1, values that stand at the profile's time. */
static void test_content(void **state)
{
	(void)state;
	struct buf bytes = read_file("1.10");
	CLEANUP(batch__unrefp) struct dcm_batch *b = decode(&bytes, NULL);
	char *text = text_of(b);

	assert_int_equal(b->n_profiles, 5);
	assert_true(has(
		text,
		"process_cpu:samples:count:cpu:nanoseconds:delta 0 at 0 for 25 each 52631578\n"));
	assert_true(has(
		text,
		"process_cpu:samples:count:cpu:nanoseconds:delta 0 at 0 for 10 each 52631578\n"));
	assert_true(has(text, " at 10 for 10 each 52631578\n"));
	assert_true(has(text, " at 20 for 5 each 52631578\n"));
	assert_true(has(text, "memory:inuse_space:bytes:: 1 at 0 for 25 each 0\n"));
	assert_true(has(text, " flags=[\"a\",true] otel_scope_name=profiler otel_scope_version=1.0 "
			      "pod=shop-1 service_name=shop\n"));
	assert_true(has(text, " 3 cpu=3 pid=4711 thread_name=worker\n"));
	assert_true(has(text, " 2 pid=4711 thread_name=worker\n"));
	assert_true(has(text, " 2 cpu=3 pid=4711 span_id=0102030405060708 thread_name=worker "
			      "trace_id=0102030405060708090a0b0c0d0e0f10\n"));
	assert_true(has(text, " 7 pid=4711\n"));
	/* Native ones by their place in the file, inlined calls first; the kernel's and Python's by name. */
	assert_true(has(text, "  kind 0 addr 2:3000 in 0 /bin/app "
			      "abcdef0123456789abcdef0123456789abcdef01 inlined@:3 work@:20\n"
			      "  kind 0 addr 2:2000 in 0 /bin/app "
			      "abcdef0123456789abcdef0123456789abcdef01 main@:10\n"));
	assert_true(has(
		text,
		"  kind 0 addr 2:4000 in 0 /bin/app abcdef0123456789abcdef0123456789abcdef01\n"));
	assert_true(
		has(text,
		    "  kind 1 addr 1:ffffffff81000000 in 1 [kernel.kallsyms]  do_syscall_64@:0\n"));
	assert_true(has(text, "  kind 3 addr 0:0 handler@app.py:9\n"));
	free(text);
	buf__fini(&bytes);
}

/* A caller that says which version it is gets no guess. */
static void test_told_version(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;

	for (size_t i = 0; i < N_VERSIONS; i++) {
		struct buf bytes = read_file(versions[i]);
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		int r = otlp__decode_current(bytes.data, bytes.n, NULL, &b, &err);

		assert_int_equal(r, i == 0 ? 0 : -EINVAL);
		assert_true(i == 0 || has(err.text, "otlp 1.10: profile 0"));
		buf__fini(&bytes);
	}
}

static struct buf read_json(const char *version)
{
	return read_source("programs/otlp", version, "json");
}

/* The JSON that the modules were given says what they wrote; of versions whose names are no more it is refused. */
static void test_json_agrees(void **state)
{
	(void)state;
	struct buf binary = read_file("1.10");
	CLEANUP(batch__unrefp) struct dcm_batch *want = decode(&binary, NULL);
	char *wanted = text_of(want);

	for (size_t i = 0; i < N_VERSIONS; i++) {
		struct buf bytes = read_json(versions[i]);
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		int r = otlp__decode_json(bytes.data, bytes.n, NULL, &b, &err);

		if (i < 3) {
			assert_int_equal(r, 0);
			char *text = text_of(b);
			assert_string_equal(text, wanted);
			free(text);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_true(has(err.text, "is of OTLP 1.7 or before"));
		}
		buf__fini(&bytes);
	}
	free(wanted);
	buf__fini(&binary);
}

#define JSON_OF(sample, tables)                                                                    \
	"{\"unknown\":[{}],\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"             \
	"\"sampleType\":{\"typeStrindex\":1},"                                                     \
	"\"timeUnixNano\":\"1790000000000000000\",\"samples\":[{" sample "}]}]}]}],"               \
	"\"dictionary\":{\"stringTable\":[\"\",\"samples\",\"k\"]" tables "}}"

static void test_json(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says; /* of the batch, or of the refusal */
		int code;
	} cases[] = {
		{ JSON_OF("\"values\":[\"-3\",4,\"5\"],\"timestampsUnixNano\":["
			  "\"1790000000000000000\",1790000000000000000,1790000000000000001]",
			  ""),
		  "\n 6\n", 0 },
		{ JSON_OF("\"values\":[1],\"linkIndex\":1",
			  ",\"linkTable\":[{},{\"traceId\":\"0102030405060708090A0B0C0D0E0F10\","
			  "\"spanId\":\"AQIDBAUGBwg=\"}]"),
		  "\n 1 span_id=0102030405060708 trace_id=0102030405060708090a0b0c0d0e0f10\n", 0 },
		{ JSON_OF("\"values\":[1],\"attributeIndices\":[0]",
			  ",\"attributeTable\":[{\"keyStrindex\":2,\"value\":{\"kvlistValue\":{"
			  "\"values\":[{\"key\":\"a\",\"value\":{\"doubleValue\":1.5}},{\"key\":"
			  "\"b\",\"value\":{\"boolValue\":false}}]}}}]"),
		  "\n 1 k={\"a\":1.5,\"b\":false}\n", 0 },
		{ JSON_OF("\"values\":[1.5]", ""), "Sample.values is no whole number", -EINVAL },
		{ JSON_OF("\"values\":[\"1x\"]", ""), "Sample.values is no whole number", -EINVAL },
		{ JSON_OF("\"values\":[\"99999999999999999999\"]", ""),
		  "Sample.values is no number of 64 bits", -EINVAL },
		{ JSON_OF("\"values\":1", ""), "Sample.values is no array", -EINVAL },
		{ JSON_OF("\"value\":[1]", ""), "Sample.value is of OTLP 1.7 or before", -EINVAL },
		{ JSON_OF("\"values\":[1],\"stackIndex\":7", ""),
		  "stack_index of a sample is entry 7", -EINVAL },
		{ "{\"dictionary\":5}", "ExportProfilesServiceRequest.dictionary is no object", -EINVAL },
		{ "{\"dictionary\":{\"stringTable\":[5]}}",
		  "ProfilesDictionary.stringTable is no string", -EINVAL },
		{ "[]", "it is no object", -EINVAL },
		{ "{\"dictionary\":", "line 1, column", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
		int r = otlp__decode_json((const uint8_t *)cases[i].text, strlen(cases[i].text),
					  NULL, &b, &err);
		char *text = r == 0 ? text_of(b) : NULL;

		if (r != cases[i].code || !has(text ? text : err.text, cases[i].says))
			fail_msg("case %zu: %d: %s", i, r, text ? text : err.text);
		free(text);
	}
}

/* Objects in objects, and a text whose tree would be larger than what is allowed. */
static void test_json_limits(void **state)
{
	(void)state;
	struct buf deep = { 0 }, wide = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	const struct decode_options o = { .max_bytes = 10000 };
	struct dcm_batch *none = NULL;

	buf__text(&deep, "{\"resourceProfiles\":{\"resource\":{\"attributes\":{\"value\":");
	for (int i = 0; i < 100; i++)
		buf__text(&deep, "{\"arrayValue\":{\"values\":");
	buf__text(&deep, "{}");
	for (int i = 0; i < 100; i++)
		buf__text(&deep, "}}");
	buf__text(&deep, "}}}}");
	assert_int_equal(otlp__decode_json(deep.data, deep.n, NULL, &none, &err), -E2BIG);
	assert_true(has(err.text, "nested more than 48 deep"));
	buf__text(&wide, "{\"x\":[");
	for (int i = 0; i < 3000; i++)
		buf__text(&wide, "{},");
	buf__text(&wide, "{}]}");
	assert_int_equal(otlp__decode_json(wide.data, wide.n, &o, &none, &err), -E2BIG);
	assert_true(has(err.text, "take more memory"));
	buf__reset(&wide);
	buf__text(&wide, "{\"x\":\"");
	for (int i = 0; i < 10000; i++)
		buf__byte(&wide, 'x');
	buf__text(&wide, "\"}");
	assert_int_equal(otlp__decode_json(wide.data, wide.n, &o, &none, &err), -E2BIG);
	buf__fini(&deep);
	buf__fini(&wide);
}

/* ---- by hand: strings 1 samples, 2 count, 3 k, 4 f ---- */

#define STRINGS "5:'' 5:'samples' 5:'count' 5:'k' 5:'f' 5:'profile.frame.type'"
#define TABLES	"2:{} 2:{3:{1:1}} 3:{} 3:{1:4} 7:{} 7:{1:[1]} " STRINGS
#define ATTRS	"6:{} 6:{1:3 2:{1:'v'}} 6:{1:3 2:{1:'w'}} 6:{1:3 2:{3:5}}"
#define REQUEST(profile, tables)                                                                   \
	"1:{1:{1:{1:'service.name' 2:{1:'s'}}} 2:{2:{" profile "}}} 2:{" tables "}"
#define TYPE "1:{1:1 2:2} 3:#1790000000000000000 4:5000000000 "

static int64_t sum_of(const struct dcm_batch *b)
{
	int64_t sum = 0;

	for (uint64_t i = 0; i < b->n_values; i++)
		sum += b->values[i];
	return sum;
}

static void test_samples(void **state)
{
	(void)state;
	static const struct {
		const char *text, *version;
		int64_t sum;
		uint32_t n_rows, n_profiles;
	} cases[] = {
		/* unpacked, and packed in two pieces */
		{ REQUEST(TYPE "2:{1:1 4:3}", TABLES), NULL, 3, 1, 1 },
		{ REQUEST(TYPE "2:{1:1 4:[3] 4:[4] 5:#1790000000000000000 5:#1790000000000000001}", TABLES),
		  NULL, 7, 1, 1 },
		/* a value of 0 is no row, and no profile */
		{ REQUEST(TYPE "2:{1:1 4:[0]}", TABLES), NULL, 0, 0, 0 },
		/* no request, no dictionary */
		{ "", NULL, 0, 0, 0 },
		{ "1:{}", NULL, 0, 0, 0 },
		/* one field 2: values (1.9), as a sample needs some */
		{ REQUEST(TYPE "2:{1:1 2:[1]}", TABLES " " ATTRS), "1.9", 1, 1, 1 },
		/* timestamps beside it: attributes, if they may be */
		{ REQUEST(TYPE "2:{1:1 2:[1] 5:#1790000000000000000}", TABLES " " ATTRS), NULL, 1, 1, 1 },
		/* no such attribute: values */
		{ REQUEST(TYPE "2:{1:1 2:[9] 5:'\001\001\001\001\001\001\001\001'}", TABLES " " ATTRS),
		  "1.9", 9, 1, 1 },
		/* the same twice: no attributes */
		{ REQUEST(TYPE "2:{1:1 2:[1 1] 5:#1790000000000000000 5:#1790000000000000001}",
			  TABLES " " ATTRS),
		  "1.9", 2, 1, 1 },
		/* unpacked attributes and link of 1.10, beside packed values */
		{ REQUEST(TYPE "2:{1:1 2:1 2:2 3:0 4:[6]}", TABLES " " ATTRS), NULL, 6, 1, 1 },
		/* async-profiler's, lists of one that are not packed: attribute and value of 1.9, and of 1.10 */
		{ REQUEST(TYPE "2:{1:1 3:1 2:28}", TABLES " " ATTRS), "1.9", 28, 1, 1 },
		{ REQUEST(TYPE "2:{1:1 3:1 2:1}", TABLES " " ATTRS), "1.9", 1, 1, 1 },
		{ REQUEST(TYPE "2:{1:1 2:28}", TABLES " " ATTRS), "1.9", 28, 1, 1 },
		{ REQUEST(TYPE "2:{1:1 2:1 4:15}", TABLES " " ATTRS), NULL, 15, 1, 1 },
		/* 5 s across a multiple of 10 s are one profile; 15 s are two */
		{ REQUEST("1:{1:1} 3:#1790000007000000000 4:5000000000 2:{1:1 "
			  "5:#1790000008000000000 5:#1790000011000000000}",
			  TABLES),
		  NULL, 2, 1, 1 },
		{ REQUEST("1:{1:1} 3:#1790000007000000000 4:15000000000 2:{1:1 "
			  "5:#1790000016000000000 5:#1790000018000000000}",
			  TABLES),
		  NULL, 2, 2, 2 },
		/* single samples fold: two profiles of one timestamp in 10 s, and a third */
		{ "1:{2:{2:{1:{1:1} 2:{1:1 5:#1790000001000000000}} 2:{1:{1:1} 2:{1:1 "
		  "5:#1790000009000000000}} "
		  "2:{1:{1:1} 2:{1:1 5:#1790000010000000000}}}} 2:{" TABLES "}",
		  NULL, 3, 3, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decode_notes notes = { 0 };
		const struct decode_options o = { .notes = &notes };
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode_text(cases[i].text, &o);

		if (b->n_rows != cases[i].n_rows || sum_of(b) != cases[i].sum ||
		    b->n_profiles != cases[i].n_profiles)
			fail_msg("case %zu: %llu rows, %lld, %u profiles", i,
				 (unsigned long long)b->n_rows, (long long)sum_of(b), b->n_profiles);
		assert_string_equal(notes.old_version ? notes.old_version : "",
				    cases[i].version ? cases[i].version : "");
	}
}

/* Of 1.9 two values, of 1.10 two attributes; the sender's requests before it say which. */
static void test_what_does_not_tell(void **state)
{
	(void)state;
#define TWO_TIMES   "5:#1790000001000000000 5:#1790000002000000000"
#define NOT_TELLING "2:{1:1 2:[1 2] " TWO_TIMES "}"
#define LINKS_6	    " 4:{} 4:{} 4:{} 4:{} 4:{} 4:{}"
	static const struct {
		const char *text, *likely, *version;
		bool told;
		int64_t sum;
	} cases[] = {
		{ REQUEST(TYPE NOT_TELLING, TABLES " " ATTRS), NULL, "1.10", false, 2 },
		{ REQUEST(TYPE NOT_TELLING, TABLES " " ATTRS), "1.10", "1.10", false, 2 },
		{ REQUEST(TYPE NOT_TELLING, TABLES " " ATTRS), "1.7", "1.10", false, 2 },
		{ REQUEST(TYPE NOT_TELLING, TABLES " " ATTRS), "1.9", "1.9", false, 3 },
		{ REQUEST(TYPE NOT_TELLING, TABLES " " ATTRS), "1.8", "1.8", false, 3 },
		/* dropped_attributes_count of 1.8, and a profile's id from 1.9 on */
		{ REQUEST(TYPE "9:1 " NOT_TELLING, TABLES " " ATTRS), "1.9", "1.8", false, 3 },
		{ REQUEST(TYPE "7:'0123456789abcdef' " NOT_TELLING, TABLES " " ATTRS), "1.8", "1.9",
		  false, 3 },
		/* It tells: a list is of values where it has no index of an attribute. */
		{ REQUEST(TYPE "2:{1:1 2:[9 9] 5:#1790000001000000000 5:#1790000002000000000}",
			  TABLES " " ATTRS),
		  "1.10", "1.9", true, 18 },
		{ REQUEST(TYPE "2:{1:1 2:[1 2] 4:[7]}", TABLES " " ATTRS), "1.9", "1.10", true, 7 },
		/* Beside a list that is packed a number is a link. */
		{ REQUEST(TYPE "2:{1:1 2:[1 2] 3:1 " TWO_TIMES "}", TABLES " " ATTRS " 4:{} 4:{}"),
		  "1.9", "1.10", true, 2 },
		{ REQUEST(TYPE "2:{1:1 2:[1 2] 4:1 " TWO_TIMES "}", TABLES " " ATTRS " 4:{} 4:{}"),
		  "1.10", "1.9", true, 3 },
		/* Else it is none that the table does not have, and no attribute. */
		{ REQUEST(TYPE "2:{1:1 2:1 3:1 4:1}", TABLES " " ATTRS " 4:{} 4:{}"), NULL, "1.10",
		  false, 1 },
		{ REQUEST(TYPE "2:{1:1 2:1 4:9}", TABLES " " ATTRS " 4:{} 4:{}"), "1.9", "1.10", true, 9 },
		{ REQUEST(TYPE "2:{1:1 2:1 3:5 4:1}", TABLES " " ATTRS LINKS_6), "1.9", "1.10", true, 1 },
		/* There are as many values as timestamps. */
		{ REQUEST(TYPE "2:{1:1 2:[1 2] 5:#1790000001000000000}", TABLES " " ATTRS), "1.9",
		  "1.10", true, 1 },
		{ REQUEST(TYPE "2:{1:1 2:1 2:2 4:1 " TWO_TIMES "}", TABLES " " ATTRS " 4:{} 4:{}"),
		  "1.10", "1.9", true, 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decode_notes notes = { 0 };
		const struct decode_options o = { .notes = &notes, .likely_version = cases[i].likely };
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode_text(cases[i].text, &o);

		if (strcmp(notes.version, cases[i].version) != 0 ||
		    notes.is_version_told != cases[i].told || sum_of(b) != cases[i].sum)
			fail_msg("case %zu: %s, %d, %lld", i, notes.version, notes.is_version_told,
				 (long long)sum_of(b));
	}
}

/* Names that come twice: of a sample, and of the series. */
static void test_names(void **state)
{
	(void)state;
	const struct dcm_label_text ours[] = { { STR("service_name"), STR("ours") } };
	const struct decode_options o = { .labels = ours, .n_labels = 1 };
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode_text(REQUEST(TYPE "2:{1:1 2:[1 2 3 1 4] 4:[1]}", TABLES
						  " " ATTRS " 6:{1:6 2:{1:'x'}} 5:'service.name'"),
					  &o);
	char *text = text_of(b);

	assert_true(has(text, " service_name=ours service_name_2=s\n"));
	assert_true(has(text, " 1 exported_service_name=x k=v k_2=w k_3=5\n"));
	free(text);
}

/* What a series lacks comes from what is nearest to it; a process is of samples. */
static void test_defaults(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode_text(
		"1:{1:{1:{1:'host.name' 2:{1:'h'}} 1:{1:'process.executable.name' 2:{1:'app'}} "
		"1:{1:'process.pid' 2:{3:7}} 1:{1:'__up' 2:{2:1}} 1:{1:'9-x' "
		"2:{4:#4609434218613702656}} 1:{1:'b' 2:{7:'az'}} "
		"1:{1:'none' 2:{}}} 2:{2:{" TYPE "2:{1:1 4:[1]}}}} 2:{" TABLES "}",
		NULL);
	char *text = text_of(b);

	assert_true(
		has(text,
		    "\n _9_x=1.5 _up=true b=617a comm=app host_name=h node=h service_name=app\n"));
	assert_true(has(text, "\n 1 pid=7\n"));
	free(text);
}

/* What one profile, scope or resource says of itself is not said of the next. */
static void test_layers(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode_text("1:{1:{1:{1:'r' 2:{1:'1'}} 1:{1:'process.pid' 2:{3:7}}} "
					  "2:{1:{1:'one' 3:{1:'x' 2:{1:'y'}}} 2:{11:[1] " TYPE
					  "2:{1:1 4:[1]}} 2:{" TYPE "2:{1:1 4:[2]}}} 2:{2:{" TYPE
					  "2:{1:1 4:[3]}}}} 1:{2:{2:{" TYPE
					  "2:{1:1 4:[4]}}}} 2:{" TABLES " " ATTRS "}",
					  NULL);
	char *text = text_of(b);

	assert_int_equal(b->n_profiles, 4);
	assert_true(has(text, "\n k=v otel_scope_name=one otel_scope_x=y r=1\n 1 pid=7\n"));
	assert_true(has(text, "\n otel_scope_name=one otel_scope_x=y r=1\n 2 pid=7\n"));
	assert_true(has(text, "\n r=1\n 3 pid=7\n"));
	assert_true(has(text, "\n\n 4\n"));
	free(text);
}

/* Differences, but for the usual gauges, what counts since a start, and what 1.8 says. */
static void test_temporalities(void **state)
{
	(void)state;
	static const struct {
		const char *head;
		uint32_t want;
	} cases[] = {
		{ "1:{1:6} 4:1000", DCM_GAUGE },
		{ "1:{1:7} 4:1000", DCM_DELTA },
		{ "1:{1:7}", DCM_CUMULATIVE },
		{ "1:{1:1}", DCM_DELTA },
		{ "1:{1:1 3:2} 4:1000", DCM_CUMULATIVE },
		{ "1:{1:7 3:1}", DCM_DELTA },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf bytes = { 0 };
		char text[512];

		snprintf(text, sizeof(text),
			 "1:{2:{2:{%s 2:{1:1 2:[1]}}}} 2:{" TABLES
			 " 5:'inuse_space' 5:'alloc_space'}",
			 cases[i].head);
		pb_text__append(&bytes, text);
		CLEANUP(batch__unrefp) struct dcm_batch *b = decode(&bytes, NULL);
		if (b->types[0].temporality != cases[i].want)
			fail_msg("case %zu: %u", i, b->types[0].temporality);
		buf__fini(&bytes);
	}
}

static void test_frames(void **state)
{
	(void)state;
	/* Location 1: an aborted one; 2: a JIT frame without a name; 3: an address outside its mapping. */
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode_text(
		REQUEST(TYPE "2:{1:1 4:[1]}",
			"1:{} 1:{1:4096 2:8192 4:4 5:[3]} 2:{} 2:{2:7 4:[1]} 2:{2:9 4:[2]} 2:{1:1 "
			"2:64} 7:{} 7:{1:[1 2 3]} "
			"6:{} 6:{1:5 2:{1:'abort-marker'}} 6:{1:5 2:{1:'jvm'}} 6:{1:6 "
			"2:{1:'ABCD'}} " STRINGS " 5:'process.executable.build_id.gnu'"),
		NULL);
	char *text = text_of(b);

	assert_true(has(text, "  kind 4 addr 0:0 [truncated: error 7]@:0\n"));
	assert_true(has(text, "  kind 2 addr 3:9\n"));
	assert_true(has(text, "  kind 0 addr 1:40 in 0 f abcd\n"));
	free(text);
}

/* ---- refusals ---- */

static void test_faults(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
		int code;
	} cases[] = {
		{ REQUEST(TYPE "2:{1:2 4:[1]}", TABLES),
		  "sample 0: stack_index of a sample is entry 2 of a stack_table of 2", -EINVAL },
		{ REQUEST(TYPE "2:{1:-1 4:[1]}", TABLES), "is entry -1 of", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 2:[7] 4:[1]}", TABLES),
		  "attribute 7 of an attribute_table of 0", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 3:3 4:[1]}", TABLES " 4:{}"),
		  "link_index of a sample is entry 3", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 4:[1]}", "2:{1:5} 7:{} 7:{1:[0]} " STRINGS),
		  "mapping_index of a location is entry 5", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 4:[1]}", "2:{3:{1:5}} 7:{} 7:{1:[0]} " STRINGS),
		  "function_index of a line is entry 5", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 4:[1]}", "2:{} 7:{} 7:{1:[3]} " STRINGS),
		  "a stack's location is entry 3", -EINVAL },
		{ REQUEST("1:{1:77} 2:{1:1 4:[1]}", TABLES),
		  "sample_type is entry 77 of a string_table of 6", -EINVAL },
		{ REQUEST("2:{1:1 4:[1]}", TABLES), "it has no sample_type", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 4:[1 2]}", TABLES), "2 values for 0 timestamps", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 3:0}", TABLES), "neither values nor timestamps", -EINVAL },
		{ REQUEST(TYPE "2:{1:1 4:[1] 5:#-1}", TABLES), "beyond the year 2262", -EINVAL },
		{ REQUEST("1:{1:1} 3:#-1 2:{1:1 4:[1]}", TABLES), "its time is negative, or beyond",
		  -EINVAL },
		{ REQUEST(TYPE "2:{1:1 4:[9223372036854775807 1] 5:#1790000000000000000 "
			       "5:#1790000000000000001}",
			  TABLES),
		  "more than 2^63", -EINVAL },
		{ "1:{2:{2:{1:{} 2:{1:1 2:1 3:[1]}}}}", "OTLP 1.6", -EINVAL },
		{ "1:%7", "resource_profiles has wire type 5", -EINVAL },
		{ "1:7", "resource_profiles has wire type 0", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf bytes = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *none = NULL;

		pb_text__append(&bytes, cases[i].text);
		int r = otlp__decode(bytes.data, bytes.n, NULL, &none, &err);
		if (r != cases[i].code || !has(err.text, cases[i].says))
			fail_msg("case %zu: %d: %s", i, r, err.text);
		assert_null(none);
		buf__fini(&bytes);
	}
}

/* What is cut off anywhere is refused, or is a request by itself; neither crashes. */
static void test_cuts(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VERSIONS; i++) {
		struct buf bytes = read_file(versions[i]);

		for (size_t n = 0; n < bytes.n; n++) {
			struct dcm_error err = DCM_ERROR_INIT;
			struct dcm_batch *b = NULL;
			int r = otlp__decode(bytes.data, n, NULL, &b, &err);

			assert_true(r == 0 || (r == -EINVAL && err.text[0]));
			batch__unref(b);
		}
		buf__fini(&bytes);
	}
}

static int decode_limited(const struct buf *bytes, uint64_t max_bytes, struct dcm_error *err)
{
	const struct decode_options o = { .max_bytes = max_bytes };
	struct dcm_batch *b = NULL;
	int r = otlp__decode(bytes->data, bytes->n, &o, &b, err);

	batch__unref(b);
	return r;
}

/* Few bytes that would be much: values in values, and stacks that overlap. */
static void test_limits(void **state)
{
	(void)state;
	struct buf deep = { 0 }, wide = { 0 }, profile = { 0 }, out = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	pb_text__append(&deep, "1:'x'");
	for (int i = 0; i < 40; i++) {
		struct buf array = { 0 }, value = { 0 };
		pb__put_bytes(&array, 1, deep.data, deep.n);
		pb__put_bytes(&value, 5, array.data, array.n);
		buf__fini(&deep);
		buf__fini(&array);
		deep = value;
	}
	struct buf pair = { 0 };
	pb_text__append(&pair, "1:'k'");
	pb__put_bytes(&pair, 2, deep.data, deep.n);
	struct buf resource = { 0 }, of = { 0 };
	pb__put_bytes(&resource, 1, pair.data, pair.n);
	pb__put_bytes(&of, 1, resource.data, resource.n);
	pb__put_bytes(&out, 1, of.data, of.n);
	assert_int_equal(decode_limited(&out, 0, &err), -E2BIG);
	assert_true(has(err.text, "nested more than 16 deep"));
	assert_int_equal(decode_limited(&out, 16, &err), -E2BIG);
	assert_true(has(err.text, "more than the limit of 16"));

	/* 1.7: 4000 locations, and 2000 samples of nearly all of them. */
	pb_text__append(&profile, "1:{1:1}");
	buf__varint(&profile, 3 << 3 | 2);
	buf__varint(&profile, 4000);
	memset(buf__reserve(&profile, 4000), 0, 4000);
	profile.n += 4000;
	for (int i = 0; i < 2000; i++) {
		char text[64];
		snprintf(text, sizeof(text), "2:{1:%d 2:2000 3:[1]}", i);
		pb_text__append(&profile, text);
	}
	struct buf scope = { 0 }, scopes = { 0 };
	pb__put_bytes(&scope, 2, profile.data, profile.n);
	pb__put_bytes(&scopes, 2, scope.data, scope.n);
	pb__put_bytes(&wide, 1, scopes.data, scopes.n);
	pb_text__append(&wide, "2:{2:{} 5:'' 5:'samples' 6:{1:'k'}}");
	assert_int_equal(decode_limited(&wide, 100000, &err), -E2BIG);
	assert_true(has(err.text, "too many locations together"));
	assert_int_equal(decode_limited(&wide, 0, &err), 0);

	struct buf *all[] = { &deep, &wide, &profile, &out, &pair, &resource, &of, &scope, &scopes };
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		buf__fini(all[i]);
}

/* Entries of a table are few bytes as they are sent: of attributes fewer are taken than of strings. */
static void test_entries(void **state)
{
	(void)state;
	static const uint8_t fields[] = { 5, 6 };

	for (size_t i = 0; i < sizeof(fields); i++) {
		struct buf dictionary = { 0 }, out = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;

		for (int k = 0; k < 3000; k++)
			pb__put_bytes(&dictionary, fields[i], "", 0);
		pb__put_bytes(&out, 2, dictionary.data, dictionary.n);
		assert_int_equal(decode_limited(&out, 20000, &err), fields[i] == 5 ? 0 : -E2BIG);
		assert_true(fields[i] == 5 || has(err.text, "more entries in its tables"));
		buf__fini(&dictionary);
		buf__fini(&out);
	}
}

/* A profile that is all in its payload: pprof is read, with the labels of the resource; others are refused alone. */
static void test_payloads(void **state)
{
	(void)state;
	struct decode_notes notes = { 0 };
	const struct decode_options o = { .notes = &notes };
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = decode_text(
		"1:{1:{1:{1:'service.name' 2:{1:'s'}}} 2:{2:{9:'jfr' 10:'FLR'} 2:{9:'pprof' "
		"10:{6:'' 6:'cpu' 6:'nanoseconds' 6:'f' "
		"1:{1:1 2:2} 5:{1:1 2:3} 4:{1:1 4:{1:1}} 2:{1:[1] 2:[5]} 9:1790000000000000000 "
		"10:1000000000}} "
		"2:{" TYPE "2:{1:1 4:[8]}}}} 2:{" TABLES "}",
		&o);

	assert_int_equal(b->n_profiles, 2);
	assert_int_equal(b->n_series, 1);
	assert_true(sum_of(b) == 13);
	assert_int_equal(notes.n_refused, 1);
	assert_true(has(notes.refusal.text,
			"profile 0 has no samples but an original_payload of format \"jfr\""));
}

static void test_memory_runs_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_VERSIONS; i += 3) {
		struct buf bytes = read_file(versions[i]);
		FAILMALLOC_SWEEP (k) {
			struct dcm_error err = DCM_ERROR_INIT;
			struct dcm_batch *b = NULL;
			int r = otlp__decode(bytes.data, bytes.n, NULL, &b, &err);

			failmalloc__disarm();
			assert_true(r == 0 || r == -ENOMEM);
			assert_true(r == 0 || !b);
			batch__unref(b);
		}
		buf__fini(&bytes);
	}
}

static void test_memory_runs_out_of_json(void **state)
{
	(void)state;
	struct buf bytes = read_json("1.10");

	FAILMALLOC_SWEEP (k) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *b = NULL;
		int r = otlp__decode_json(bytes.data, bytes.n, NULL, &b, &err);

		failmalloc__disarm();
		if (r != 0 && r != -ENOMEM)
			fail_msg("%d: %s", r, err.text);
		assert_true(r == 0 || !b);
		batch__unref(b);
	}
	buf__fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_agree),
		cmocka_unit_test(test_1_4),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_told_version),
		cmocka_unit_test(test_json_agrees),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_limits),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_what_does_not_tell),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_temporalities),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_memory_runs_out),
		cmocka_unit_test(test_memory_runs_out_of_json),
	};

	return cmocka_run_group_tests_name("otlp", tests, NULL, NULL);
}
