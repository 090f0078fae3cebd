/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_seen.c - retries of many senders are recognised, also after a start
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "plugins/storage/local/extras.h"
#include "tests/unit/unit.h"

static struct dcm_batch_id id_of(uint64_t source, uint64_t sequence)
{
	return (struct dcm_batch_id){ .source = { source, 7 }, .sequence = sequence };
}

static bool has_all(const struct seen *s, uint64_t n_sources, uint64_t sequence)
{
	bool all = true;

	for (uint64_t i = 1; i <= n_sources; i++) {
		const struct dcm_batch_id id = id_of(i, sequence);

		all &= seen__has(s, &id);
	}
	return all;
}

/* As many as there may be send in turn: none is forgotten before it sends again. */
static void test_senders_in_turn(void **state)
{
	struct seen *s = NEW(struct seen), *back = NEW(struct seen);
	struct manifest m = { .generation = 0 };
	uint32_t next_era = 0;
	(void)state;

	assert_non_null(s);
	assert_non_null(back);
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= SEEN_SOURCES; i++) {
			const struct dcm_batch_id id = id_of(i, round);

			assert_false(seen__has(s, &id));
			seen__add(s, &id);
		}
		assert_true(has_all(s, SEEN_SOURCES, round));
	}
	assert_true(s->n >= 1000);
	assert_int_equal(extras__write(&m, s, 5), 0);
	assert_int_equal(extras__read(&m, back, &next_era, NULL), 0);
	assert_int_equal(next_era, 5);
	assert_true(has_all(back, SEEN_SOURCES, 0) && has_all(back, SEEN_SOURCES, 2));

	/* One more takes the place of the one that was quiet for longest. */
	const struct dcm_batch_id more = id_of(SEEN_SOURCES + 1, 0), first = id_of(1, 0),
				  second = id_of(2, 0);
	seen__add(back, &more);
	assert_true(seen__has(back, &more) && seen__has(back, &second));
	assert_false(seen__has(back, &first));
	manifest__fini(&m);
	free(back);
	free(s);
}

static struct dcm_batch_id once_of(uint64_t source)
{
	return (struct dcm_batch_id){ .source = { source, 9 }, .sequence = DCM_BATCH_ONCE };
}

static bool has_once(const struct seen *s, uint64_t source)
{
	const struct dcm_batch_id id = once_of(source);

	return seen__has(s, &id);
}

/* What is known by its bytes pushes out the oldest of its kind, and no sender that counts. */
static void test_batches_that_are_sources_of_their_own(void **state)
{
	struct seen *s = NEW(struct seen), *back = NEW(struct seen);
	struct manifest m = { .generation = 0 };
	const struct dcm_batch_id sender = id_of(1, 0);
	uint32_t next_era = 0;
	(void)state;

	assert_non_null(s);
	assert_non_null(back);
	seen__add(s, &sender);
	for (uint64_t i = 1; i <= SEEN_ONCE + 10; i++) {
		const struct dcm_batch_id id = once_of(i);

		assert_false(seen__has(s, &id));
		seen__add(s, &id);
		seen__add(s, &id);
	}
	assert_int_equal(extras__write(&m, s, 5), 0);
	assert_int_equal(extras__read(&m, back, &next_era, NULL), 0);
	for (const struct seen *each = s; each; each = each == s ? back : NULL) {
		assert_true(seen__has(each, &sender));
		assert_int_equal(each->n_once, SEEN_ONCE);
		for (uint64_t i = 1; i <= 10; i++)
			assert_false(has_once(each, i));
		for (uint64_t i = 11; i <= SEEN_ONCE + 10; i++)
			assert_true(has_once(each, i));
	}
	/* The oldest is still the first to go. */
	const struct dcm_batch_id more = once_of(SEEN_ONCE + 11);
	seen__add(back, &more);
	assert_false(has_once(back, 11));
	assert_true(has_once(back, 12) && has_once(back, SEEN_ONCE + 11));

	/* A list of another length is no list. */
	const struct manifest_extra *extra = manifest__extra(&m, EXTRA_ONCE);
	assert_int_equal(manifest__set_extra(&m, EXTRA_ONCE, extra->bytes, 24), 0);
	assert_int_equal(extras__read(&m, back, &next_era, NULL), -EUCLEAN);
	manifest__fini(&m);
	free(back);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_senders_in_turn),
		cmocka_unit_test(test_batches_that_are_sources_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
