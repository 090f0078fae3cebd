/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_wire.c - a batch's own encoding: there and back, overlays, damage, hostile bytes
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/wire.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { HEADER_BYTES = 24 };

/* The length and the sum in the header fit what follows again. */
static void repair_header(struct buf *b)
{
	uint64_t n = b->n - HEADER_BYTES, sum = hash__bytes(b->data + HEADER_BYTES, n, 0);

	memcpy(b->data + 8, &n, sizeof(n));
	memcpy(b->data + 16, &sum, sizeof(sum));
}

static struct dcm_batch *must_decode(const struct buf *bytes)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;

	if (wire__decode(bytes->data, bytes->n, &batch, &err) < 0)
		fail_msg("%s", err.text);
	const char *fault = batch_judge__fault(batch, false);
	if (fault)
		fail_msg("%s", fault);
	return batch;
}

static void assert_same_content(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct dcm_hash x = batch__content(a), y = batch__content(b);

	assert_true(x.lo == y.lo && x.hi == y.hi);
}

static void batches_come_back_as_they_were(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct dcm_batch *batch = random_batch__new(
			seed, RANDOM_STAND_INS | (seed % 2 ? RANDOM_NASTY : 0));
		struct buf bytes = { 0 }, again = { 0 };
		assert_int_equal(wire__encode(batch, &bytes), 0);
		struct dcm_batch *back = must_decode(&bytes);
		assert_same_content(batch, back);
		/* All that was written is there, in its order: it is written the same way again. */
		assert_int_equal(wire__encode(back, &again), 0);
		assert_int_equal(again.n, bytes.n);
		assert_memory_equal(again.data, bytes.data, bytes.n);
		/* What was not written has been computed. */
		assert_int_equal(back->n_stacks, batch->n_stacks);
		for (uint32_t i = 0; i < batch->n_stacks; i++)
			assert_true(batch_judge__same_stack(back, i, batch, i));
		assert_memory_equal(back->location_hashes, batch->location_hashes,
				    batch->n_locations * sizeof(struct dcm_hash));
		assert_memory_equal(back->series_hashes, batch->series_hashes,
				    batch->n_series * sizeof(struct dcm_hash));
		assert_memory_equal(&back->id, &batch->id, sizeof(batch->id));
		batch__unref(batch);
		batch__unref(back);
		buf__fini(&bytes);
		buf__fini(&again);
	}
}

static void an_empty_batch_comes_back(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	struct buf bytes = { 0 };

	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	assert_int_equal(wire__encode(batch, &bytes), 0);
	CLEANUP(batch__unrefp) struct dcm_batch *back = must_decode(&bytes);
	assert_int_equal(back->n_profiles, 0);
	assert_int_equal(back->n_label_sets, 1);
	buf__fini(&bytes);
}

/*
 * An overlay as relabelling makes it, worse: spans in reverse order, equal series, profiles left
 * out.
 */
static void overlays_come_back_as_they_are_seen(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct dcm_batch *batch = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
		struct arena *arena;
		struct dcm_batch *overlay = batch__overlay(batch, &arena);
		/* The same stacks, from a table in which they lie the other way round. */
		uint32_t *flat = arena__zalloc(arena, batch->n_stack_locations, sizeof(*flat));
		struct dcm_span *stacks = arena__zalloc(arena, batch->n_stacks, sizeof(*stacks));
		uint32_t at = 0;
		for (uint32_t i = batch->n_stacks; i-- > 0;) {
			stacks[i] = (struct dcm_span){ at, batch->stacks[i].n };
			for (uint32_t k = 0; k < stacks[i].n; k++)
				flat[at++] = batch->stack_locations[batch->stacks[i].off + k];
		}
		overlay->stacks = stacks;
		overlay->stack_locations = flat;
		/* Every series is the first one; the first profile is gone. */
		struct dcm_span *series = arena__zalloc(arena, batch->n_series, sizeof(*series));
		for (uint32_t i = 0; i < batch->n_series; i++)
			series[i] = batch->series[0];
		overlay->series = series;
		if (overlay->n_profiles) {
			overlay->profiles++;
			overlay->n_profiles--;
		}
		batch__account(overlay);

		struct buf bytes = { 0 };
		assert_int_equal(wire__encode(overlay, &bytes), 0);
		struct dcm_batch *back = must_decode(&bytes);
		assert_same_content(overlay, back);
		assert_int_equal(back->n_series, 1);
		buf__fini(&bytes);
		batch__unref(back);
		batch__unref(overlay);
		batch__unref(batch);
	}
}

static void values_of_a_common_factor_are_small(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	uint32_t name = builder__string(b, STR("cpu"));
	const struct dcm_type type = { .name = name, .sample_type = name };
	struct dcm_batch *batch = NULL;
	struct buf bytes = { 0 };

	uint32_t stack = builder__stack(b, NULL, 0);
	builder__series(b, NULL, 0);
	builder__profile(b, &(struct dcm_profile){ 0 }, &type, 1);
	for (int64_t i = 0; i < 1000; i++)
		builder__row(b, stack, 0, &(int64_t){ (i % 60 - 30) * 52631578 });
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	assert_int_equal(wire__encode(batch, &bytes), 0);
	/* A byte each for the stack, the labels and the value. */
	assert_in_range(bytes.n, 3000, 3100);
	struct dcm_batch *back = must_decode(&bytes);
	assert_memory_equal(back->values, batch->values, 1000 * sizeof(int64_t));
	batch__unref(back);
	batch__unref(batch);
	buf__fini(&bytes);
}

static struct buf some_bytes(uint64_t seed)
{
	struct buf bytes = { 0 };
	struct dcm_batch *batch = random_batch__new(seed, RANDOM_ONE_PROFILE);

	assert_int_equal(wire__encode(batch, &bytes), 0);
	batch__unref(batch);
	return bytes;
}

static void damage_is_noticed(void **state)
{
	(void)state;
	struct buf bytes = some_bytes(1);
	struct dcm_batch *batch = NULL;

	for (size_t n = 0; n < bytes.n; n++)
		assert_int_equal(wire__decode(bytes.data, n, &batch, NULL), -EBADMSG);
	for (size_t i = 0; i < bytes.n; i++) {
		bytes.data[i] ^= (uint8_t)(1u << (i % 8));
		int r = wire__decode(bytes.data, bytes.n, &batch, NULL);
		assert_int_equal(r, i >= 4 && i < 8 ? -EPROTONOSUPPORT : -EBADMSG);
		bytes.data[i] ^= (uint8_t)(1u << (i % 8));
	}
	assert_null(batch);
	buf__fini(&bytes);
}

static void faults_of_the_header_are_told(void **state)
{
	(void)state;
	struct buf bytes = some_bytes(1);
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(wire__decode("PK\3\4", 4, &batch, &err), -EBADMSG);
	assert_string_equal(err.text, "batch format: it does not begin with the mark of a batch");
	bytes.data[4] = 2;
	assert_int_equal(wire__decode(bytes.data, bytes.n, &batch, &err), -EPROTONOSUPPORT);
	assert_string_equal(err.text,
			    "batch format: version 2 with flags 0; this program reads version 1");
	bytes.data[4] = 1;
	assert_int_equal(wire__decode(bytes.data, HEADER_BYTES + 5, &batch, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "batch format: 5 bytes where "));
	bytes.data[bytes.n - 1] ^= 1;
	assert_int_equal(wire__decode(bytes.data, bytes.n, &batch, &err), -EBADMSG);
	assert_string_equal(err.text, "batch format: damaged: the checksum does not fit");
	buf__fini(&bytes);
}

/* A header, an id of zeros, and then these bytes; the rest of the tables is empty. */
static void assert_body_refused(const char *body, size_t n, int code, const char *sentence)
{
	struct buf bytes = { 0 };
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	uint8_t head[HEADER_BYTES + 17] = { 'D', 'C', 'M', 'B', 1 };

	buf__append(&bytes, head, sizeof(head));
	buf__append(&bytes, body, n);
	repair_header(&bytes);
	assert_int_equal(wire__decode(bytes.data, bytes.n, &batch, &err), code);
	assert_string_equal(err.text, sentence);
	assert_null(batch);
	buf__fini(&bytes);
}
#define BODY_REFUSED(body, code, sentence)                                                         \
	assert_body_refused(body, sizeof(body) - 1, code, sentence)

static void hostile_bodies_get_a_sentence(void **state)
{
	(void)state;
	BODY_REFUSED("", -EBADMSG, "batch format: strings: the bytes end too early");
	BODY_REFUSED("\xff\xff\xff\xff\x0f", -EBADMSG,
		     "batch format: strings: more entries than there are bytes for");
	BODY_REFUSED("\xff\xff\xff\xff\x1f", -EBADMSG,
		     "batch format: strings: a number has more than 32 bits");
	BODY_REFUSED("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", -EBADMSG,
		     "batch format: strings: a number has more than 64 bits");
	BODY_REFUSED("\x01\x09xyz", -EBADMSG, "batch format: strings: the bytes end too early");
	BODY_REFUSED("\x00\x02\x00\x00\x00\x00\x00", -EBADMSG,
		     "batch format: mappings: more entries than there are bytes for");
	/* One mapping whose file is string 7. */
	BODY_REFUSED("\x00\x01\x00\x00\x00\x07\x00\x00", -EINVAL,
		     "batch format: mappings: string 7 is not one of the 1");
	BODY_REFUSED("\x00\x01\x00\x00\x00\x00\x00\x05", -EINVAL,
		     "batch format: mapping 0: kind is 5, above the last known one, 4");
	/* A location with 2^32 - 1 lines; one with a process; one of kind 256. */
	BODY_REFUSED("\0\0\0\0\x01\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x0f", -EBADMSG,
		     "batch format: lines: more entries than there are bytes for");
	BODY_REFUSED("\0\0\0\0\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", -EINVAL,
		     "batch format: locations: process 0 is not one of the 0");
	BODY_REFUSED("\0\0\0\0\x01\x00\x00\x00\x00\x80\x02\x00\x00", -EBADMSG,
		     "batch format: locations: a number has more than 8 bits");
	/* A stack of 2^32 - 1 locations; one of a location that is not there. */
	BODY_REFUSED("\0\0\0\0\0\x01\xff\xff\xff\xff\x0f", -EBADMSG,
		     "batch format: stacks: more entries than there are bytes for");
	BODY_REFUSED("\0\0\0\0\0\x01\x01\x00", -EINVAL,
		     "batch format: stacks: location 0 is not one of the 0");
	BODY_REFUSED("\0\0\0\0\0\0\0\0\0\x01\0\0\x01\0\0\0\0", -EBADMSG,
		     "batch format: profiles: its types are not in the table of types");
	BODY_REFUSED("\0\0\0\0\0\0\0\0\0\0!", -EBADMSG,
		     "batch format: end: bytes follow that belong to nothing");
}

static void a_stack_too_deep_is_refused(void **state)
{
	(void)state;
	char body[4200] = { 0 };

	/* One location; one stack of 4,097 times that location. */
	memcpy(body, "\0\0\0\0\x01\0\0\0\0\0\0\0\x01\x81\x20", 15);
	assert_body_refused(body, sizeof(body), -E2BIG,
			    "batch format: stack 0: 4097 locations, more than the limit of 4096");
}

/* A series, a stack, a type a:a; one profile; rows as given. */
#define WITH_ROWS(rows)                                                                            \
	"\x01\x01"                                                                                 \
	"a"                                                                                        \
	"\0\0\0\0"                                                                                 \
	"\x01\0"                                                                                   \
	"\x01\0"                                                                                   \
	"\x01\0"                                                                                   \
	"\x01\x01\x01\0\0\0\0"                                                                     \
	"\x01\0\0\x01\0\0\0" rows

static void hostile_rows_get_a_sentence(void **state)
{
	(void)state;
	BODY_REFUSED(WITH_ROWS("\x02"
			       "\0\0\0\0"),
		     -EBADMSG, "batch format: rows: more entries than there are bytes for");
	BODY_REFUSED(WITH_ROWS("\x01"
			       "\x02\0\x01\0"),
		     -EINVAL, "batch format: rows: stack 1 is not one of the 1");
	BODY_REFUSED(WITH_ROWS("\x01"
			       "\x01\0\x01\0"),
		     -EINVAL, "batch format: rows: stack 4294967295 is not one of the 1");
	BODY_REFUSED(WITH_ROWS("\x01"
			       "\0\x02\x01\0"),
		     -EINVAL, "batch format: rows: label set 1 is not one of the 1");
	BODY_REFUSED(WITH_ROWS("\x01"
			       "\0\0\0\0"),
		     -EBADMSG, "batch format: rows: the common factor of a column's values is not a positive number");
	BODY_REFUSED(WITH_ROWS("\x01"
			       "\0\0\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		     -EBADMSG, "batch format: rows: a value has more than 64 bits");
}

/* Bytes changed at random, with a sum that fits: refused, or a batch that keeps every rule. */
static void changed_bytes_do_no_harm(void **state)
{
	(void)state;
	struct random r = { 11 };
	unsigned n_taken = 0;

	for (uint64_t seed = 0; seed < 8; seed++) {
		struct buf bytes = some_bytes(seed);
		for (int turn = 0; turn < 500; turn++) {
			struct buf changed = { 0 };
			struct dcm_batch *batch = NULL;
			buf__append(&changed, bytes.data, bytes.n - random__below(&r, 2));
			for (uint64_t k = 1 + random__below(&r, 4); k > 0; k--) {
				size_t at = HEADER_BYTES + random__below(&r, changed.n - HEADER_BYTES);
				changed.data[at] = (uint8_t)random__next(&r);
			}
			repair_header(&changed);
			if (wire__decode(changed.data, changed.n, &batch, NULL) == 0) {
				const char *fault = batch_judge__fault(batch, false);
				if (fault)
					fail_msg("%s", fault);
				n_taken++;
			}
			batch__unref(batch);
			buf__fini(&changed);
		}
		buf__fini(&bytes);
	}
	assert_in_range(n_taken, 100, 3900); /* or this would try only one of the two */
}

static void a_full_buffer_keeps_what_it_held(void **state)
{
	(void)state;
	struct dcm_batch *batch = random_batch__new(1, RANDOM_ONE_PROFILE);
	struct buf out = { .limit = 1000 };

	buf__text(&out, "before");
	assert_int_equal(wire__encode(batch, &out), -EFBIG);
	assert_int_equal(out.n, 6);
	assert_memory_equal(out.data, "before", 6);
	/* And where there is room, it comes behind. */
	out.limit = 0;
	out.error = 0;
	assert_int_equal(wire__encode(batch, &out), 0);
	struct dcm_batch *back = NULL;
	assert_int_equal(wire__decode(out.data + 6, out.n - 6, &back, NULL), 0);
	assert_same_content(batch, back);
	batch__unref(back);
	batch__unref(batch);
	buf__fini(&out);
}

static void failing_memory_is_survived(void **state)
{
	(void)state;
	struct dcm_batch *batch = random_batch__new(2, RANDOM_ONE_PROFILE | RANDOM_NASTY);
	struct buf bytes = { 0 };

	assert_int_equal(wire__encode(batch, &bytes), 0);
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };
		int r = wire__encode(batch, &out);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(out.n, r == 0 ? bytes.n : 0);
		buf__fini(&out);
	}
	FAILMALLOC_SWEEP (i) {
		struct dcm_batch *back = NULL;
		int r = wire__decode(bytes.data, bytes.n, &back, NULL);
		failmalloc__disarm();
		assert_true(r == 0 ? back != NULL : (r == -ENOMEM && !back));
		batch__unref(back);
	}
	buf__fini(&bytes);
	batch__unref(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_come_back_as_they_were),
		cmocka_unit_test(an_empty_batch_comes_back),
		cmocka_unit_test(overlays_come_back_as_they_are_seen),
		cmocka_unit_test(values_of_a_common_factor_are_small),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(faults_of_the_header_are_told),
		cmocka_unit_test(hostile_bodies_get_a_sentence),
		cmocka_unit_test(a_stack_too_deep_is_refused),
		cmocka_unit_test(hostile_rows_get_a_sentence),
		cmocka_unit_test(changed_bytes_do_no_harm),
		cmocka_unit_test(a_full_buffer_keeps_what_it_held),
		cmocka_unit_test(failing_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
