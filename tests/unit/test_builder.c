/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_builder.c - interning, limits, what is refused and how, what is repaired, failing
 * memory
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/* A builder with one of everything, whose ids are all 0 but for the strings. */
struct kit {
	struct dcm_builder *b;
	uint32_t foo, bar, hex;
};

static void kit__fill(struct kit *k)
{
	k->foo = builder__string(k->b, STR("foo"));
	k->bar = builder__string(k->b, STR("bar"));
	k->hex = builder__string(k->b, STR("00ff"));
	builder__mapping(k->b, &(struct dcm_mapping){ .file = k->foo, .build_id = k->hex });
	builder__function(k->b, &(struct dcm_function){ .name = k->foo });
	builder__process(k->b, &(struct dcm_process){ .pid = 1 });
	builder__location(k->b,
			  &(struct dcm_location){ .process = DCM_NONE, .addr_kind = DCM_ADDR_VADDR },
			  NULL, 0);
	builder__stack(k->b, (const uint32_t[]){ 0 }, 1);
	builder__series(k->b, &(struct dcm_pair){ k->foo, k->bar }, 1);
}

static uint32_t kit__profile(struct kit *k)
{
	const struct dcm_type type = { .name = k->foo, .sample_type = k->bar };

	return builder__profile(k->b, &(struct dcm_profile){ 0 }, &type, 1);
}

static struct dcm_batch *must_seal(struct dcm_builder *b)
{
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	int r = builder__seal(b, &batch, &err);

	if (r < 0)
		fail_msg("seal: %d %s", r, err.text);
	const char *fault = batch_judge__fault(batch, false);
	if (fault)
		fail_msg("%s", fault);
	return batch;
}

static int setup(void **state)
{
	struct kit *k = calloc(1, sizeof(*k));

	k->b = builder__new(0);
	kit__fill(k);
	*state = k;
	return 0;
}

static int teardown(void **state)
{
	struct kit *k = *state;

	builder__free(k->b);
	free(k);
	return 0;
}

/*
 * After the call, the builder must refuse with this code and sentence, take nothing more, and be as
 * new once it was sealed.
 */
#define REFUSES(k, code, sentence, call)                                                           \
	do {                                                                                       \
		struct dcm_error err_ = DCM_ERROR_INIT;                                            \
		struct dcm_batch *batch_ = NULL;                                                   \
		assert_int_equal(builder__error((k)->b), 0);                                       \
		call;                                                                              \
		assert_int_equal(builder__error((k)->b), code);                                    \
		assert_int_equal(builder__string((k)->b, STR("bar")), 0);                          \
		kit__profile(k);                                                                   \
		assert_int_equal(builder__seal((k)->b, &batch_, &err_), code);                     \
		assert_null(batch_);                                                               \
		assert_string_equal(err_.text, sentence);                                          \
		kit__fill(k);                                                                      \
		kit__profile(k);                                                                   \
		batch__unref(must_seal((k)->b));                                                   \
		kit__fill(k);                                                                      \
	} while (0)

static void random_batches_are_valid(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		unsigned flags = seed < 100 ? (unsigned)(seed * 14)
					    : (unsigned)(seed * 14) | RANDOM_NASTY;
		CLEANUP(batch__unrefp) struct dcm_batch *batch = random_batch__new(seed, flags);
		assert_non_null(batch);
		const char *fault = batch_judge__fault(batch, false);
		if (fault)
			fail_msg("seed %u: %s", (unsigned)seed, fault);
		CLEANUP(batch__unrefp) struct dcm_batch *again = random_batch__new(seed, flags);
		assert_int_equal(batch->bytes, again->bytes);
		struct dcm_hash x = batch__content(batch), y = batch__content(again);
		assert_true(x.lo == y.lo && x.hi == y.hi);
	}
}

static void equal_entries_get_one_id(void **state)
{
	struct kit *k = *state;
	struct dcm_builder *b = k->b;

	assert_int_equal(builder__string(b, STR("")), 0);
	assert_int_equal(builder__string(b, (struct dcm_str){ NULL, 0 }), 0);
	assert_int_equal(builder__string(b, STR("foo")), k->foo);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t more = i ? 1 : 0;
		assert_int_equal(builder__mapping(b, &(struct dcm_mapping){ .file = k->foo,
									    .build_id = k->hex,
									    .limit = more }),
				 more);
		assert_int_equal(builder__function(b, &(struct dcm_function){ .name = k->foo,
									      .start_line = more }),
				 more);
		assert_int_equal(
			builder__process(b, &(struct dcm_process){ .pid = 1, .generation = more }), more);
		struct dcm_line line = { .function = 0, .line = 5 };
		assert_int_equal(builder__location(b,
						   &(struct dcm_location){ .process = DCM_NONE,
									   .addr_kind = DCM_ADDR_VADDR },
						   &line, more),
				 more);
		assert_int_equal(builder__stack(b, (const uint32_t[]){ 0, 0 }, 1 + more), more);
		assert_int_equal(builder__series(b, (const struct dcm_pair[]){ { k->foo, k->bar } },
						 1 - more),
				 more);
		struct dcm_label label = { .name = k->foo, .str = k->bar, .unit = DCM_NONE };
		assert_int_equal(builder__label_set(b, &label, more), more);
	}
	batch__unref(must_seal(b));
}

static void a_system_name_like_the_name_is_none(void **state)
{
	struct kit *k = *state;
	assert_int_equal(builder__function(k->b, &(struct dcm_function){ .name = k->foo,
									 .system_name = k->foo }),
			 0);
}

static void an_unnamed_location_learns_why(void **state)
{
	struct kit *k = *state;
	struct dcm_location l = { .process = DCM_NONE, .addr_kind = DCM_ADDR_VADDR, .address = 7 };

	uint32_t id = builder__location(k->b, &l, NULL, 0);
	l.unnamed = DCM_UNNAMED_STRIPPED;
	assert_int_equal(builder__location(k->b, &l, NULL, 0), id);
	l.unnamed = DCM_UNNAMED_BAD_FILE;
	assert_int_equal(builder__location(k->b, &l, NULL, 0), id);
	/* One with a name is another, and has no reason. */
	struct dcm_line line = { .function = 0 };
	uint32_t named = builder__location(k->b, &l, &line, 1);
	assert_int_not_equal(named, id);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = must_seal(k->b);
	assert_int_equal(batch->locations[id].unnamed, DCM_UNNAMED_STRIPPED);
	assert_int_equal(batch->locations[named].unnamed, 0);
}

static void labels_are_sorted_and_empty_ones_left_out(void **state)
{
	struct kit *k = *state;
	uint32_t zoo = builder__string(k->b, STR("zoo"));
	const struct dcm_pair pairs[] = { { zoo, k->foo }, { k->foo, 0 }, { k->bar, zoo } };
	const struct dcm_label labels[] = { { zoo, k->foo, 0, DCM_NONE },
					    { k->foo, 0, 0, DCM_NONE },
					    { k->bar, 0, 0, 0 } };

	uint32_t series = builder__series(k->b, pairs, 3);
	uint32_t set = builder__label_set(k->b, labels, 3);
	/* Only empty ones: that is the set without any. */
	assert_int_equal(builder__label_set(k->b, &labels[1], 1), 0);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = must_seal(k->b);
	const struct dcm_pair *p = &batch->pairs[batch->series[series].off];
	assert_int_equal(batch->series[series].n, 2);
	assert_true(p[0].name == k->bar && p[0].value == zoo && p[1].name == zoo && p[1].value == k->foo);
	/* The number 0 is a value. */
	const struct dcm_label *l = &batch->labels[batch->label_sets[set].off];
	assert_int_equal(batch->label_sets[set].n, 2);
	assert_true(l[0].name == k->bar && l[0].unit == 0 && l[1].name == zoo && l[1].str == k->foo);
}

static void broken_text_is_repaired(void **state)
{
	struct kit *k = *state;
	uint32_t latin1 = builder__string(k->b, STR("caf\xe9"));
	uint32_t cut = builder__string(k->b, STR("\xf0\x9f\x94"));
	uint32_t good = builder__string(k->b, STR("0123456789\xc3\xa9"));
	uint32_t nul = builder__string(k->b, (struct dcm_str){ "a\0b", 3 });
	/* What was repaired is found again. */
	assert_int_equal(builder__string(k->b, STR("caf\xe9")), latin1);
	assert_int_equal(builder__string(k->b, STR("caf\xef\xbf\xbd")), latin1);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = must_seal(k->b);
	assert_true(str__eq(batch->strings[latin1], STR("caf\xef\xbf\xbd")));
	assert_true(str__eq(batch->strings[cut], STR("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")));
	assert_true(str__eq(batch->strings[good], STR("0123456789\xc3\xa9")));
	assert_int_equal(batch->strings[nul].n, 3);
}

static void bad_ids_are_named(void **state)
{
	struct kit *k = *state;
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };
	const struct dcm_line line = { .function = 1 };
	const struct dcm_type type = { .name = k->foo, .sample_type = 9 };

	REFUSES(k, -EINVAL, "mapping 1: file 99 is not one of the 4 added",
		builder__mapping(k->b, &(struct dcm_mapping){ .file = 99 }));
	REFUSES(k, -EINVAL, "mapping 1: build_id 4 is not one of the 4 added",
		builder__mapping(k->b, &(struct dcm_mapping){ .build_id = 4 }));
	REFUSES(k, -EINVAL, "function 1: name 4294967295 is not one of the 4 added",
		builder__function(k->b, &(struct dcm_function){ .name = DCM_NONE }));
	REFUSES(k, -EINVAL, "function 1: system_name 5 is not one of the 4 added",
		builder__function(k->b, &(struct dcm_function){ .system_name = 5 }));
	REFUSES(k, -EINVAL, "function 1: file 5 is not one of the 4 added",
		builder__function(k->b, &(struct dcm_function){ .file = 5 }));
	l.mapping = 1;
	REFUSES(k, -EINVAL, "location 1: mapping 1 is not one of the 1 added",
		builder__location(k->b, &l, NULL, 0));
	l = (struct dcm_location){ .mapping = DCM_NONE, .process = 1, .addr_kind = DCM_ADDR_RUNTIME };
	REFUSES(k, -EINVAL, "location 1: process 1 is not one of the 1 added",
		builder__location(k->b, &l, NULL, 0));
	l.process = 0;
	REFUSES(k, -EINVAL, "location 1: line 0: function 1 is not one of the 1 added",
		builder__location(k->b, &l, &line, 1));
	REFUSES(k, -EINVAL, "stack 1: location 1 at depth 1 is not one of the 1 added",
		builder__stack(k->b, (const uint32_t[]){ 0, 1 }, 2));
	REFUSES(k, -EINVAL, "series 1: label name 4 is not one of the 4 added",
		builder__series(k->b, &(struct dcm_pair){ 4, 0 }, 1));
	REFUSES(k, -EINVAL, "series 1: label value 4 is not one of the 4 added",
		builder__series(k->b, &(struct dcm_pair){ 1, 4 }, 1));
	REFUSES(k, -EINVAL, "label set 1: label str 7 is not one of the 4 added",
		builder__label_set(k->b, &(struct dcm_label){ 1, 7, 0, DCM_NONE }, 1));
	REFUSES(k, -EINVAL, "label set 1: label unit 7 is not one of the 4 added",
		builder__label_set(k->b, &(struct dcm_label){ 1, 0, 0, 7 }, 1));
	REFUSES(k, -EINVAL, "profile 0: series 1 is not one of the 1 added",
		builder__profile(k->b, &(struct dcm_profile){ .series = 1 }, &type, 1));
	REFUSES(k, -EINVAL, "profile 0: type 0: sample_type 9 is not one of the 4 added",
		builder__profile(k->b, &(struct dcm_profile){ 0 }, &type, 1));
	REFUSES(k, -EINVAL, "row 0: there is no profile that it could belong to",
		builder__row(k->b, 0, 0, (const int64_t[]){ 1 }));
	REFUSES(k, -EINVAL, "row 0: stack 1 is not one of the 1 added",
		(kit__profile(k), builder__row(k->b, 1, 0, (const int64_t[]){ 1 })));
	REFUSES(k, -EINVAL, "row 1: label set 1 is not one of the 1 added",
		(kit__profile(k), builder__row(k->b, 0, 0, (const int64_t[]){ 1 }),
		 builder__row(k->b, 0, 1, (const int64_t[]){ 1 })));
}

static void bad_fields_are_named(void **state)
{
	struct kit *k = *state;
	char above_last_unnamed[80];
	snprintf(above_last_unnamed, sizeof(above_last_unnamed),
		 "location 1: unnamed is %d, above the last known one, %d", DCM_UNNAMED_N,
		 DCM_UNNAMED_N - 1);
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .addr_kind = 4 };

	REFUSES(k, -EINVAL, "mapping 1: start is above limit",
		builder__mapping(k->b, &(struct dcm_mapping){ .start = 2, .limit = 1 }));
	REFUSES(k, -EINVAL, "mapping 1: kind is 5, above the last known one, 4",
		builder__mapping(k->b, &(struct dcm_mapping){ .kind = 5 }));
	REFUSES(k, -EINVAL, "mapping 1: build_id is not lower-case hex",
		builder__mapping(k->b, &(struct dcm_mapping){ .build_id = k->foo }));
	REFUSES(k, -EINVAL, "mapping 1: build_id is not lower-case hex",
		builder__mapping(k->b,
				 &(struct dcm_mapping){ .build_id = builder__string(
								k->b, STR("~0123456789abcde")) }));
	REFUSES(k, -EINVAL, "mapping 1: build_id is not lower-case hex",
		builder__mapping(k->b,
				 &(struct dcm_mapping){ .build_id = builder__string(
								k->b, STR("../../../0123abcd")) }));
	REFUSES(k, -EINVAL, "location 1: addr_kind is 4, above the last known one, 3",
		builder__location(k->b, &l, NULL, 0));
	l.addr_kind = DCM_ADDR_NONE;
	l.kind = 5;
	REFUSES(k, -EINVAL, "location 1: kind is 5, above the last known one, 4",
		builder__location(k->b, &l, NULL, 0));
	l.kind = 0;
	l.unnamed = DCM_UNNAMED_N;
	REFUSES(k, -EINVAL, above_last_unnamed, builder__location(k->b, &l, NULL, 0));
	l.unnamed = 0;
	l.reserved = 1;
	REFUSES(k, -EINVAL, "location 1: reserved is not 0", builder__location(k->b, &l, NULL, 0));
	l.reserved = 0;
	l.process = 0;
	REFUSES(k, -EINVAL, "location 1: process is set, but addr_kind is not runtime",
		builder__location(k->b, &l, NULL, 0));
	l.process = DCM_NONE;
	l.address = 1;
	REFUSES(k, -EINVAL, "location 1: address is set, but addr_kind is none",
		builder__location(k->b, &l, NULL, 0));
	REFUSES(k, -EINVAL, "label set 1: a label has a unit, so it is a number, but str is set",
		builder__label_set(k->b, &(struct dcm_label){ 1, 1, 0, 0 }, 1));
	REFUSES(k, -EINVAL, "label set 1: a label has no unit, so it is a string, but num is set",
		builder__label_set(k->b, &(struct dcm_label){ 1, 0, 1, DCM_NONE }, 1));
}

static void bad_label_names_are_named(void **state)
{
	struct kit *k = *state;
	const struct dcm_pair twice[] = { { k->foo, k->bar }, { k->bar, k->bar }, { k->foo, k->foo } };
	const struct dcm_label both[] = { { k->foo, 0, 1, 0 }, { k->foo, k->bar, 0, DCM_NONE } };

	REFUSES(k, -EINVAL, "series 1: label \"foo\" comes twice", builder__series(k->b, twice, 3));
	REFUSES(k, -EINVAL, "series 1: a label has no name",
		builder__series(k->b, &(struct dcm_pair){ 0, k->bar }, 1));
	REFUSES(k, -EINVAL, "label set 1: label \"foo\" comes twice", builder__label_set(k->b, both, 2));
	REFUSES(k, -EINVAL, "label set 1: a label has no name",
		builder__label_set(k->b, &(struct dcm_label){ 0, k->bar, 0, DCM_NONE }, 1));
	REFUSES(k, -EINVAL, "series 1: label name \"a?b\" has a control character",
		builder__series(k->b,
				&(struct dcm_pair){ builder__string(k->b, STR("a\nb")), k->bar }, 1));
}

static void bad_profiles_are_named(void **state)
{
	struct kit *k = *state;
	struct dcm_type types[17] = { { .name = k->foo, .sample_type = k->bar } };

	REFUSES(k, -EINVAL, "profile 1: duration_ns is negative",
		(kit__profile(k),
		 builder__profile(k->b, &(struct dcm_profile){ .duration_ns = -1 }, types, 1)));
	REFUSES(k, -EINVAL, "profile 0: time_ns is negative",
		builder__profile(k->b, &(struct dcm_profile){ .time_ns = -1 }, types, 1));
	REFUSES(k, -EINVAL, "profile 0: period is negative",
		builder__profile(k->b, &(struct dcm_profile){ .period = -1 }, types, 1));
	REFUSES(k, -EINVAL, "profile 0: time_ns and duration_ns add up to more than 63 bits hold",
		builder__profile(k->b, &(struct dcm_profile){ .time_ns = INT64_MAX, .duration_ns = 1 },
				 types, 1));
	REFUSES(k, -EINVAL, "profile 0: it has no types",
		builder__profile(k->b, &(struct dcm_profile){ 0 }, types, 0));
	REFUSES(k, -E2BIG, "profile 0: 17 types, more than the limit of 16",
		builder__profile(k->b, &(struct dcm_profile){ 0 }, types, 17));
	types[0].name = 0;
	REFUSES(k, -EINVAL, "profile 0: type 0: name is empty",
		builder__profile(k->b, &(struct dcm_profile){ 0 }, types, 1));
	types[0].name = k->foo;
	types[0].temporality = 3;
	REFUSES(k, -EINVAL, "profile 0: temporality is 3, above the last known one, 2",
		builder__profile(k->b, &(struct dcm_profile){ 0 }, types, 1));
	types[0].temporality = 0;
	REFUSES(k, -EINVAL,
		"profile 0: type 0: period_unit \"a:b\" is too long, or has a character outside "
		"A-Z a-z 0-9 and "
		"_.-/+@",
		(types[0].period_unit = builder__string(k->b, STR("a:b")),
		 builder__profile(k->b, &(struct dcm_profile){ 0 }, types, 1)));
}

static void sizes_have_limits(void **state)
{
	struct kit *k = *state;
	uint32_t *many = calloc(5000, sizeof(*many));
	struct dcm_line *lines = calloc(1025, sizeof(*lines));
	struct dcm_label *labels = calloc(257, sizeof(*labels));
	char *text = malloc((1 << 20) + 1);
	memset(text, 'f', (1 << 20) + 1);

	/* At the limit, all is well. */
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };
	assert_int_equal(builder__stack(k->b, many, 4096), 1);
	assert_int_equal(builder__location(k->b, &l, lines, 1024), 1);
	assert_int_not_equal(builder__string(k->b, (struct dcm_str){ text, 1 << 20 }), 0);
	assert_int_not_equal(
		builder__mapping(
			k->b, &(struct dcm_mapping){ .build_id = builder__string(
							     k->b, (struct dcm_str){ text, 128 }) }),
		0);
	batch__unref(must_seal(k->b));
	kit__fill(k);

	REFUSES(k, -E2BIG, "stack 1: 4097 locations, more than the limit of 4096",
		builder__stack(k->b, many, 4097));
	REFUSES(k, -E2BIG, "location 1: 1025 lines, more than the limit of 1024",
		builder__location(k->b, &l, lines, 1025));
	REFUSES(k, -E2BIG, "label set 1: 257 labels, more than the limit of 256",
		builder__label_set(k->b, labels, 257));
	REFUSES(k, -E2BIG, "series 1: 257 labels, more than the limit of 256",
		builder__series(k->b, (const struct dcm_pair *)many, 257));
	REFUSES(k, -E2BIG, "string 4: 1048577 bytes, more than the limit of 1048576",
		builder__string(k->b, (struct dcm_str){ text, (1 << 20) + 1 }));
	REFUSES(k, -E2BIG, "mapping 1: 129 characters in build_id, more than the limit of 128",
		builder__mapping(
			k->b, &(struct dcm_mapping){ .build_id = builder__string(
							     k->b, (struct dcm_str){ text, 129 }) }));
	free(many);
	free(lines);
	free(labels);
	free(text);
}

/* Fills until it fails. Whatever is added, the builder stays within its limit. */
static void fill_up(struct dcm_builder *b, int what)
{
	struct kit k = { .b = b };

	kit__fill(&k);
	kit__profile(&k);
	for (uint32_t i = 0; i < 1000000 && !builder__error(b); i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "name %u", i);
		uint32_t text = what < 2 ? builder__string(b, (struct dcm_str){ name, (uint32_t)n }) : 0;
		struct dcm_location l = {
			.mapping = DCM_NONE, .process = DCM_NONE, .address = i, .addr_kind = DCM_ADDR_VADDR
		};
		if (what == 1)
			builder__function(b, &(struct dcm_function){ .name = text });
		if (what == 2)
			builder__location(b, &l, NULL, 0);
		if (what == 3)
			builder__row(b, 0, 0, (const int64_t[]){ i });
		if (what == 4)
			builder__stacks(b, (const uint32_t[]){ 0, 0, 0 },
					(const uint32_t[]){ i % 3, 3 - i % 3 }, 2);
		if (what == 5)
			builder__process(b, &(struct dcm_process){ .pid = i });
		assert_true(builder__bytes(b) <= 1000000 || builder__error(b));
	}
	assert_int_equal(builder__error(b), -E2BIG);
	/* Strings grow in chunks, so the last one may go over by that much. */
	assert_in_range(builder__bytes(b), 500000, 1000000 + (what < 2 ? 600000 : 0));
}

/* Wherever in a stack it stands, and however far beyond the last one it is. */
static void stacks_have_known_locations(void **state)
{
	static const uint32_t bad[] = { 1, 2, 0x7fffffff, 0x80000000, 0x80000001, UINT32_MAX };
	struct kit *k = *state;

	for (uint32_t i = 0; i < 20 * sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t ids[20] = { 0 }, at = i % 20;
		char want[80];
		ids[at] = bad[i / 20];
		snprintf(want, sizeof(want),
			 "stack 1: location %u at depth %u is not one of the 1 added", ids[at], at);
		REFUSES(k, -EINVAL, want, builder__stack(k->b, ids, 20));
	}
}

/* Many at once are appended as they are; whatever fails, nothing is half there. */
static void stacks_are_appended(void **state)
{
	static const uint32_t locations[] = { 0, 1, 1, 0, 1, 0, 1 }, lengths[] = { 2, 0, 2, 3 };
	struct kit *k = *state;
	const struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .line_off = 0 };

	REFUSES(k, -EINVAL, "stack 2: location 1 at depth 1 is not one of the 1 added",
		builder__stacks(k->b, (const uint32_t[]){ 0, 0, 1 }, (const uint32_t[]){ 1, 2 }, 2));
	assert_int_equal(builder__location(k->b, &l, NULL, 0), 1);
	assert_int_equal(builder__stacks(k->b, locations, lengths, 4), 1);
	assert_int_equal(builder__stacks(k->b, NULL, NULL, 0), 5);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = must_seal(k->b);
	assert_int_equal(batch->n_stacks, 5);
	for (uint32_t i = 0, at = 0; i < 4; at += lengths[i++]) {
		assert_int_equal(batch->stacks[1 + i].n, lengths[i]);
		assert_memory_equal(batch->stack_locations + batch->stacks[1 + i].off,
				    locations + at, lengths[i] * sizeof(locations[0]));
	}
	assert_null(batch_judge__fault(batch, false));
}

/* What is told to come changes nothing but when memory is taken, and never breaks the limit. */
static void expectations_are_hints(void **state)
{
	static const uint64_t expected[] = { 0, 10, 5000, UINT32_MAX, UINT64_MAX / 100 };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		CLEANUP(builder__freep) struct dcm_builder *b = builder__new((uint64_t)16 << 20);
		uint64_t n = expected[i];
		builder__expect(b, &(struct builder_sizes){ n, n, n, n, n, n, n });
		assert_true(builder__bytes(b) <= (uint64_t)16 << 20);
		struct kit k = { .b = b };
		kit__fill(&k);
		uint32_t location = 0, two[] = { 0, 0 };
		assert_int_equal(builder__stack(b, &location, 1), 0);
		assert_int_equal(builder__stack(b, two, 2), 1);
		/* Also in the middle, and when there is no memory for it. */
		failmalloc__arm(1);
		const struct builder_sizes many = { 9000, 9000, 9000, 9000, 9000, 9000, 9000 };
		builder__expect(b, &many);
		failmalloc__disarm();
		builder__expect(b, &many);
		assert_int_equal(builder__stack(b, &location, 1), 0);
		batch__unref(must_seal(b));
	}
}

/* The n locations are `first` and then `others`. */
static uint32_t end_stack(struct dcm_builder *b, uint32_t n, uint32_t first, uint32_t others)
{
	uint32_t *room = builder__stack_begin(b, n + 1);

	assert_non_null(room);
	for (uint32_t i = 0; i < n; i++)
		room[i] = i ? others : first;
	return builder__stack_end(b, n);
}

/* Known ones leave no gap, wherever they come; what was not ended leaves nothing. */
static void stacks_are_unpacked_in_place(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct kit k = { .b = b };
	kit__fill(&k);
	uint32_t a = builder__location(
		b, &(struct dcm_location){ .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_NOTE },
		NULL, 0);
	uint32_t known = builder__stack(b, (const uint32_t[]){ a, 0, 0 }, 3);
	const uint32_t deep = known + 1, empty = known + 2, last = known + 3;
	const struct {
		uint32_t n, first, others, stack;
	} ends[] = {
		{ 3, a, 0, known },   { 2000, a, a, deep }, { 3, a, 0, known },
		{ 2000, a, a, deep }, { 0, a, a, empty },   { 2000, a, a, deep },
		{ 0, a, a, empty },   { 3, a, 0, known },   { 2000, a, a, deep },
		{ 5, 0, a, last },
	};
	enum { N = sizeof(ends) / sizeof(ends[0]) };

	assert_int_equal(builder__stack_last(b), DCM_NONE);
	for (uint32_t i = 0; i < N; i++) {
		builder__stack_begin(b, 5)[0] = 1000000;
		assert_int_equal(end_stack(b, ends[i].n, ends[i].first, ends[i].others),
				 i < BUILDER_STACKS_AHEAD ? DCM_NONE
							  : ends[i - BUILDER_STACKS_AHEAD].stack);
	}
	for (uint32_t i = N - BUILDER_STACKS_AHEAD; i < N; i++)
		assert_int_equal(builder__stack_last(b), ends[i].stack);
	assert_int_equal(builder__stack_last(b), DCM_NONE);
	assert_int_equal(builder__stack(b, (const uint32_t[]){ 0, a, a, a, a }, 5), last);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = must_seal(b);
	assert_int_equal(batch->n_stacks, last + 1);
	assert_int_equal(batch->stacks[last].off + 5, batch->n_stack_locations);
	for (uint32_t i = 0; i < 2000; i++)
		assert_int_equal(batch->stack_locations[batch->stacks[deep].off + i], a);
}

/* In two steps an entry is the same one as in one; a failed builder takes neither. */
static void entries_are_added_in_two_steps(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	const struct dcm_str text = STR("main");
	uint64_t h = builder__fetch_string(b, text);
	uint32_t name = builder__string_fetched(b, text, h);
	assert_int_equal(builder__string(b, text), name);
	assert_int_equal(builder__string_fetched(b, STR(""), builder__fetch_string(b, STR(""))), 0);

	const struct dcm_function plain = { .name = name }, same = { .name = name, .system_name = name };
	h = builder__fetch_function(b, &same);
	uint32_t function = builder__function(b, &plain);
	assert_int_equal(builder__function_fetched(b, &same, h), function);

	const struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };
	const struct dcm_line line = { .function = function, .line = 7 };
	h = builder__fetch_location(b, &l, &line, 1);
	uint32_t location = builder__location_fetched(b, &l, &line, 1, h);
	assert_int_equal(builder__location(b, &l, &line, 1), location);
	assert_int_not_equal(builder__location(b, &l, NULL, 0), location);

	builder__fail(b, -EINVAL, "a fault");
	assert_int_equal(builder__fetch_string(b, text), 0);
	assert_int_equal(builder__string_fetched(b, STR("other"), 0), 0);
	builder__reset(b);
	batch__unref(must_seal(b));
}

static void memory_has_a_limit(void **state)
{
	(void)state;
	for (int what = 0; what < 6; what++) {
		CLEANUP(builder__freep) struct dcm_builder *b = builder__new(1000000);
		struct dcm_batch *batch = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		fill_up(b, what);
		assert_int_equal(builder__seal(b, &batch, &err), -E2BIG);
		assert_string_equal(
			err.text, "batch: it needs more than its limit of 1000000 bytes; seal more "
				  "often, or allow more");
		/* Reusable, and just as large again. */
		fill_up(b, what);
		builder__reset(b);
		assert_int_equal(builder__error(b), 0);
		batch__unref(must_seal(b));
	}
}

static void a_builder_can_be_used_again(void **state)
{
	struct kit *k = *state;
	builder__set_source(k->b, (struct dcm_hash){ 1, 2 }, 10);
	kit__profile(k);
	struct dcm_batch *first = must_seal(k->b);
	struct dcm_batch *empty = must_seal(k->b);
	kit__fill(k);
	kit__profile(k);
	struct dcm_batch *second = must_seal(k->b);

	assert_int_equal(first->id.sequence, 10);
	assert_int_equal(empty->id.sequence, 11);
	assert_int_equal(second->id.sequence, 12);
	assert_true(second->id.source.lo == 1 && second->id.source.hi == 2);
	assert_int_equal(empty->n_profiles, 0);
	assert_int_equal(empty->n_strings, 1);
	assert_int_equal(empty->n_label_sets, 1);
	struct dcm_hash x = batch__content(first), y = batch__content(second);
	assert_true(x.lo == y.lo && x.hi == y.hi);
	assert_int_equal(first->bytes, second->bytes);
	batch__unref(first);
	batch__unref(empty);
	batch__unref(second);
}

static void the_first_failure_is_told(void **state)
{
	struct kit *k = *state;
	REFUSES(k, -ENOTSUP, "mine",
		(builder__fail(k->b, -ENOTSUP, "%s", "mine"),
		 builder__fail(k->b, -EINVAL, "another"), builder__stack(k->b, NULL, 5000)));
}

static void failing_memory_is_survived(void **state)
{
	(void)state;
	struct dcm_batch *expected = random_batch__new(3, RANDOM_NASTY);
	struct dcm_hash want = batch__content(expected);
	batch__unref(expected);

	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *batch = random_batch__new(3, RANDOM_NASTY);
		failmalloc__disarm();
		if (!batch) {
			assert_true(failmalloc__failed());
			continue;
		}
		struct dcm_hash got = batch__content(batch);
		assert_true(got.lo == want.lo && got.hi == want.hi);
		batch__unref(batch);
	}
}

/* One allocation fails, the later ones succeed: the builder says so once, and then works again. */
static void a_builder_recovers_from_failing_memory(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	bool failed = true;

	for (uint64_t i = 1; failed; i++) {
		struct dcm_batch *batch = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		failmalloc__arm_once(i);
		random_batch__fill(b, 4, 0, 0);
		int r = builder__seal(b, &batch, &err);
		failed = failmalloc__disarm();
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			assert_non_null(strstr(err.text, "memory"));
		}
		batch__unref(batch);
		/*
		 * It may have failed while it made itself empty: then this seal tells, and the next
		 * is well.
		 */
		batch = NULL;
		r = builder__seal(b, &batch, &err);
		assert_true(r == 0 || r == -ENOMEM);
		batch__unref(batch);
		batch__unref(must_seal(b));
		assert_true(i < 10000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_batches_are_valid),
		cmocka_unit_test_setup_teardown(equal_entries_get_one_id, setup, teardown),
		cmocka_unit_test_setup_teardown(a_system_name_like_the_name_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unnamed_location_learns_why, setup, teardown),
		cmocka_unit_test_setup_teardown(labels_are_sorted_and_empty_ones_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(broken_text_is_repaired, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_ids_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_fields_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_label_names_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_profiles_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes_have_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_have_known_locations, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_are_appended, setup, teardown),
		cmocka_unit_test(expectations_are_hints),
		cmocka_unit_test(stacks_are_unpacked_in_place),
		cmocka_unit_test(entries_are_added_in_two_steps),
		cmocka_unit_test(memory_has_a_limit),
		cmocka_unit_test_setup_teardown(a_builder_can_be_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_failure_is_told, setup, teardown),
		cmocka_unit_test(failing_memory_is_survived),
		cmocka_unit_test(a_builder_recovers_from_failing_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
