/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_copy.c - copying and merging: parts make the whole, overlays are resolved, memory
 * may fail
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static void assert_same_content(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct dcm_hash x = batch__content(a), y = batch__content(b);

	assert_true(x.lo == y.lo && x.hi == y.hi);
}

static void assert_valid(const struct dcm_batch *b)
{
	const char *fault = batch_judge__fault(b, false);

	if (fault)
		fail_msg("%s", fault);
}

/* One profile of the batch alone. */
static struct dcm_batch *part_of(const struct dcm_batch *src, uint32_t profile)
{
	struct dcm_batch *part = NULL;

	assert_int_equal(batch__one(src, profile, &part, NULL), 0);
	assert_int_equal(part->n_profiles, 1);
	assert_int_equal(part->n_rows, src->profiles[profile].n_rows);
	return part;
}

static void merged_parts_make_the_whole(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);

	for (uint64_t seed = 0; seed < 100; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *whole = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
		struct dcm_batch *parts[8], *merged = NULL;
		uint32_t n = whole->n_profiles;
		/* Last first: the order does not matter. */
		for (uint32_t i = 0; i < n; i++)
			parts[n - 1 - i] = part_of(whole, i);
		assert_int_equal(batch__merge(parts, n, b, &merged, NULL), 0);
		assert_valid(merged);
		assert_same_content(whole, merged);
		for (uint32_t i = 0; i < n; i++)
			batch__unref(parts[i]);
		batch__unref(merged);
	}
}

/* A part is known again, and is not the whole, nor another part; without an id, it has none. */
static void parts_have_ids_of_their_own(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *whole = random_batch__new(3, 0);
	CLEANUP(batch__unrefp)
	struct dcm_batch *a = part_of(whole, 0), *again = part_of(whole, 0), *b = NULL, *none = NULL;
	struct dcm_batch unnamed = *whole;

	assert_true(whole->n_profiles > 1 && whole->id.source.lo);
	b = part_of(whole, 1);
	unnamed.id = (struct dcm_batch_id){ .sequence = 7 };
	none = part_of(&unnamed, 0);
	assert_int_equal(a->id.sequence, DCM_BATCH_ONCE);
	assert_memory_equal(&a->id, &again->id, sizeof(a->id));
	assert_memory_not_equal(&a->id.source, &b->id.source, sizeof(a->id.source));
	assert_memory_not_equal(&a->id.source, &whole->id.source, sizeof(a->id.source));
	assert_true(none->id.source.lo == 0 && none->id.source.hi == 0);
}

static void merging_shares_entries(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *one = random_batch__new(5, RANDOM_ONE_PROFILE);
	CLEANUP(batch__unrefp) struct dcm_batch *once = NULL;
	CLEANUP(batch__unrefp) struct dcm_batch *thrice = NULL;
	struct dcm_batch *batches[] = { one, one, one };

	assert_int_equal(batch__merge(batches, 1, b, &once, NULL), 0);
	assert_int_equal(batch__merge(batches, 3, b, &thrice, NULL), 0);
	assert_int_equal(thrice->n_profiles, 3);
	assert_int_equal(thrice->n_rows, 3 * once->n_rows);
	assert_int_equal(thrice->n_strings, once->n_strings);
	assert_int_equal(thrice->n_locations, once->n_locations);
	assert_int_equal(thrice->n_stacks, once->n_stacks);
	assert_int_equal(thrice->n_series, once->n_series);
	assert_int_equal(thrice->n_types, once->n_types);
	/* The same content has the same hashes wherever it stands. */
	for (uint32_t i = 0; i < once->n_stacks; i++)
		assert_true(batch_judge__same_stack(once, i, thrice, i));
}

static void only_what_is_used_is_copied(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *src = random_batch__new(6, RANDOM_ONE_PROFILE);
	CLEANUP(batch__unrefp) struct dcm_batch *copy = NULL;
	CLEANUP(copier__freep) struct copier *c = copier__new(src, b);

	uint32_t stack = copier__stack(c, 3);
	assert_int_equal(copier__stack(c, 3), stack);
	assert_int_equal(builder__seal(b, &copy, NULL), 0);
	assert_int_equal(copy->n_stacks, 1);
	assert_int_equal(copy->n_series, 0);
	assert_true(batch_judge__same_stack(copy, stack, src, 3));
}

/* Two series become one when an overlay drops what told them apart; a copy has it once. */
static void overlays_are_copied_by_text(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *src = NULL;
	CLEANUP(batch__unrefp) struct dcm_batch *copy = NULL;
	uint32_t name = builder__string(b, STR("cpu"));
	const struct dcm_type type = { .name = name, .sample_type = name };

	for (int i = 0; i < 2; i++) {
		uint32_t value = builder__string(b, i ? STR("1") : STR("0"));
		uint32_t series = builder__series(b, &(struct dcm_pair){ name, value }, 1);
		builder__profile(b, &(struct dcm_profile){ .series = series }, &type, 1);
	}
	assert_int_equal(builder__seal(b, &src, NULL), 0);

	struct arena *arena;
	CLEANUP(batch__unrefp) struct dcm_batch *overlay = batch__overlay(src, &arena);
	struct dcm_span *series = arena__zalloc(arena, 2, sizeof(*series));
	overlay->series = series;
	batch__account(overlay);
	assert_int_equal(batch__merge(&overlay, 1, b, &copy, NULL), 0);
	assert_valid(copy);
	assert_int_equal(copy->n_series, 1);
	assert_int_equal(copy->n_profiles, 2);
	assert_same_content(overlay, copy);
}

static void too_large_overlays_are_refused(void **state)
{
	(void)state;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(batch__unrefp) struct dcm_batch *src = random_batch__new(7, RANDOM_ONE_PROFILE);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *copy = NULL;
	struct arena *arena;

	CLEANUP(batch__unrefp) struct dcm_batch *overlay = batch__overlay(src, &arena);
	struct dcm_span *series = arena__zalloc(arena, src->n_series, sizeof(*series));
	for (uint32_t i = 0; i < src->n_series; i++)
		series[i].n = 257;
	overlay->series = series;
	overlay->pairs = arena__zalloc(arena, 257, sizeof(struct dcm_pair));
	assert_int_equal(batch__merge(&overlay, 1, b, &copy, &err), -E2BIG);
	assert_non_null(strstr(err.text, "257 entries, more than the limit of 256"));
	assert_null(copy);
	/* The builder is as new. */
	assert_int_equal(batch__merge(&src, 1, b, &copy, &err), 0);
	assert_same_content(src, copy);
	batch__unref(copy);
}

static void failing_memory_is_survived(void **state)
{
	(void)state;
	CLEANUP(batch__unrefp) struct dcm_batch *a = random_batch__new(8, RANDOM_ONE_PROFILE);
	CLEANUP(batch__unrefp) struct dcm_batch *z = random_batch__new(9, RANDOM_ONE_PROFILE);
	struct dcm_batch *batches[] = { a, z };

	FAILMALLOC_SWEEP (i) {
		CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *merged = NULL;
		int r = b ? batch__merge(batches, 2, b, &merged, &err) : -ENOMEM;
		failmalloc__disarm();
		assert_true(r == 0 ? merged != NULL : (r == -ENOMEM && !merged));
		batch__unref(merged);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_parts_make_the_whole),
		cmocka_unit_test(parts_have_ids_of_their_own),
		cmocka_unit_test(merging_shares_entries),
		cmocka_unit_test(only_what_is_used_is_copied),
		cmocka_unit_test(overlays_are_copied_by_text),
		cmocka_unit_test(too_large_overlays_are_refused),
		cmocka_unit_test(failing_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
