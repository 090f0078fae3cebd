/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_seen.c - retries of many senders are recognised, also after a start
 *
 * tests/golden/seen-1/MANIFEST is what version 1 of the extras was when it was settled, of few
 * senders; it is never changed. `test_seen make DIR` makes DIR/MANIFEST, the next one.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "core/disk/vfs.h"
#include "plugins/storage/local/extras.h"
#include "tests/unit/paths.h"

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

static void add(struct seen *s, struct dcm_batch_id id)
{
	assert_int_equal(seen__reserve(s, 1), 0);
	seen__add(s, &id);
}

/* Through a manifest, as a start does it. */
static void restart(const struct seen *s, struct seen *ret, struct manifest *m)
{
	struct extras_store extras;
	uint32_t next_era = 0;

	assert_int_equal(extras_store__make(&extras, s, 5), 0);
	assert_int_equal(extras_store__write(m, &extras), 0);
	extras_store__fini(&extras);
	assert_int_equal(extras__read(m, ret, &next_era, NULL), 0);
	assert_int_equal(next_era, 5);
}

/* As many as there may be send in turn: none is forgotten before it sends again, also after a start. */
static void test_senders_in_turn(void **state)
{
	struct seen s = { 0 }, back = { 0 };
	struct manifest m = { .generation = 0 };
	(void)state;

	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= SEEN_SOURCES; i++) {
			const struct dcm_batch_id id = id_of(i, round);

			assert_false(seen__has(&s, &id));
			add(&s, id);
		}
		assert_true(has_all(&s, SEEN_SOURCES, round));
	}
	restart(&s, &back, &m);
	assert_true(has_all(&back, SEEN_SOURCES, 0) && has_all(&back, SEEN_SOURCES, 2));

	/* One that was not heard of while so many others came is still known, and knows all it had. */
	for (uint64_t i = SEEN_SOURCES + 1; i < 2 * SEEN_SOURCES; i++)
		add(&back, id_of(i, 0));
	add(&back, id_of(1, 5));
	restart(&back, &s, &m);
	for (uint64_t sequence = 0; sequence < 3; sequence++) {
		const struct dcm_batch_id id = id_of(1, sequence), later = id_of(1, 5),
					  between = id_of(1, 4);

		assert_true(seen__has(&s, &id) && seen__has(&s, &later));
		assert_false(seen__has(&s, &between));
	}
	/* Who is heard of again and again is not forgotten before others are, whatever a start makes of the tables. */
	for (uint64_t i = 2 * SEEN_SOURCES; i < 3 * SEEN_SOURCES; i++) {
		add(&s, id_of(i, 0));
		if (i % 3 == 0)
			add(&s, id_of(SEEN_SOURCES / 2 + i % 1000, i));
	}
	restart(&s, &back, &m);
	for (uint64_t i = 6 * SEEN_SOURCES; i < 7 * SEEN_SOURCES - 1000; i++)
		add(&back, id_of(i, 0));
	for (uint64_t i = 3 * SEEN_SOURCES - 900; i < 3 * SEEN_SOURCES; i++) {
		const struct dcm_batch_id steady = id_of(SEEN_SOURCES / 2 + i % 1000, i);

		assert_true(i % 3 || seen__has(&back, &steady));
	}
	restart(&back, &s, &m);
	/* Memory is bounded: the ones before go in the end. */
	for (uint64_t i = 3 * SEEN_SOURCES; i < 5 * SEEN_SOURCES; i++)
		add(&s, id_of(i, 0));
	const struct dcm_batch_id first = id_of(1, 5), last = id_of(5 * SEEN_SOURCES - 1, 0);
	assert_false(seen__has(&s, &first));
	assert_true(seen__has(&s, &last));
	assert_true(s.counting[0].sources.n + s.counting[1].sources.n <= 2 * SEEN_SOURCES);
	manifest__fini(&m);
	seen__fini(&back);
	seen__fini(&s);
}

/* What an older version wrote: a few sources, in no order. */
static void test_few_sources_stand_where_they_always_did(void **state)
{
	struct seen s = { 0 };
	struct manifest m = { .generation = 0 };
	(void)state;

	for (uint64_t i = 1; i <= 1024; i++)
		add(&s, id_of(i, i));
	restart(&s, &s, &m);
	assert_null(manifest__extra(&m, EXTRA_EARLIER));
	assert_null(manifest__extra(&m, EXTRA_ONCE));
	assert_int_equal(manifest__extra(&m, EXTRA_STORE)->n, 8 + 1024 * 48);
	add(&s, id_of(1025, 1));
	restart(&s, &s, &m);
	assert_int_equal(manifest__extra(&m, EXTRA_EARLIER)->n, 48);
	assert_int_equal(manifest__extra(&m, EXTRA_STORE)->n, 8 + 1024 * 48);
	manifest__fini(&m);
	seen__fini(&s);
}

/* Every second batch went elsewhere, and all that can be sent together comes again, whatever came before: also after a start. */
static void test_a_group_with_gaps_comes_again(void **state)
{
	struct seen s = { 0 }, back = { 0 };
	struct manifest m = { .generation = 0 };
	(void)state;

	for (uint64_t i = 0; i < 4 * (uint64_t)DCM_GROUP_MAX; i++)
		add(&s, id_of(1, 2 * i));
	restart(&s, &back, &m);
	for (uint64_t i = 3 * (uint64_t)DCM_GROUP_MAX; i < 4 * (uint64_t)DCM_GROUP_MAX; i++) {
		const struct dcm_batch_id stored = id_of(1, 2 * i), gap = id_of(1, 2 * i + 1);

		assert_true(seen__has(&s, &stored) && seen__has(&back, &stored));
		assert_false(seen__has(&s, &gap) || seen__has(&back, &gap));
	}
	manifest__fini(&m);
	seen__fini(&back);
	seen__fini(&s);
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
	struct seen s = { 0 }, back = { 0 };
	struct manifest m = { .generation = 0 };
	const struct dcm_batch_id sender = id_of(1, 0);
	uint32_t next_era = 0;
	(void)state;

	add(&s, sender);
	for (uint64_t i = 1; i <= 3 * SEEN_ONCE; i++) {
		assert_false(has_once(&s, i));
		add(&s, once_of(i));
		add(&s, once_of(i));
		/* Whatever came since the last so many is known. */
		assert_true(i < SEEN_ONCE || has_once(&s, i - SEEN_ONCE + 1));
	}
	restart(&s, &back, &m);
	for (const struct seen *each = &s; each; each = each == &s ? &back : NULL) {
		assert_true(seen__has(each, &sender));
		assert_true(each->once[0].sources.n + each->once[1].sources.n <= 2 * SEEN_ONCE);
		assert_false(has_once(each, SEEN_ONCE));
		for (uint64_t i = 2 * SEEN_ONCE + 1; i <= 3 * SEEN_ONCE; i++)
			assert_true(has_once(each, i));
	}
	/* The oldest are still the first to go. */
	add(&back, once_of(3 * SEEN_ONCE + 1));
	assert_true(has_once(&back, 2 * SEEN_ONCE + 2) && has_once(&back, 3 * SEEN_ONCE + 1));

	/* A list of another length is no list. */
	const struct manifest_extra *extra = manifest__extra(&m, EXTRA_ONCE);
	assert_int_equal(manifest__set_extra(&m, EXTRA_ONCE, extra->bytes, 24), 0);
	assert_int_equal(extras__read(&m, &back, &next_era, NULL), -EUCLEAN);
	manifest__fini(&m);
	seen__fini(&back);
	seen__fini(&s);
}

/* Many at once, as a frame of the log has them. */
static void test_many_at_once(void **state)
{
	struct seen s = { 0 };
	const size_t n = 2 * SEEN_ONCE + SEEN_ONCE / 2;
	(void)state;

	assert_int_equal(seen__reserve(&s, n), 0);
	for (uint64_t i = 1; i <= n; i++) {
		const struct dcm_batch_id once = once_of(i), counts = id_of(i, 1);

		seen__add(&s, &once);
		seen__add(&s, &counts);
	}
	assert_true(has_once(&s, n) && has_once(&s, n - SEEN_ONCE + 1));
	seen__fini(&s);
}

/* -------------------------------------------------------------------------------------------------
 * Files that are kept
 */

enum { SOURCES = 3, ONCE = 4, NEXT_ERA = 7 };

/* Two intervals of each of some, and some that have one batch each. */
static void know(struct seen *s, uint64_t from)
{
	for (uint64_t i = from; i < from + SOURCES; i++) {
		add(s, id_of(i, i));
		add(s, id_of(i, i + 1));
		add(s, id_of(i, 2 * i + 10));
	}
	for (uint64_t i = from; i < from + ONCE; i++)
		add(s, once_of(i));
}

static void must_know(const struct seen *s, uint64_t from)
{
	for (uint64_t i = from; i < from + SOURCES; i++) {
		const struct dcm_batch_id ids[] = { id_of(i, i), id_of(i, i + 1), id_of(i, 2 * i + 10) },
					  between = id_of(i, i + 2);

		for (unsigned k = 0; k < 3; k++)
			assert_true(seen__has(s, &ids[k]));
		assert_false(seen__has(s, &between));
	}
	for (uint64_t i = from; i < from + ONCE; i++) {
		const struct dcm_batch_id id = once_of(i);

		assert_true(seen__has(s, &id));
	}
	const struct dcm_batch_id other = once_of(from + ONCE);
	assert_false(seen__has(s, &other));
}

/* All four extras; the earlier ones as if there had been no more room in the others. */
static void make_manifest(struct manifest *m)
{
	struct seen earlier = { 0 }, last = { 0 };
	struct extras_store before, e;

	know(&earlier, 1);
	know(&last, 11);
	assert_int_equal(extras_store__make(&before, &earlier, 1), 0);
	assert_int_equal(extras_store__make(&e, &last, NEXT_ERA), 0);
	buf__append(&e.earlier, before.last.data + 8, before.last.n - 8);
	buf__append(&e.earlier_once, before.once.data, before.once.n);
	assert_int_equal(extras_store__write(m, &e), 0);
	extras_store__fini(&before);
	extras_store__fini(&e);
	seen__fini(&earlier);
	seen__fini(&last);
}

static void must_have_all(const struct manifest *m)
{
	struct seen s = { 0 };
	uint32_t next_era = 0;

	assert_true(manifest__extra(m, EXTRA_STORE) && manifest__extra(m, EXTRA_ONCE));
	assert_true(manifest__extra(m, EXTRA_EARLIER) && manifest__extra(m, EXTRA_EARLIER_ONCE));
	assert_int_equal(extras__read(m, &s, &next_era, NULL), 0);
	assert_int_equal(next_era, NEXT_ERA);
	must_know(&s, 1);
	must_know(&s, 11);
	seen__fini(&s);
}

static void test_version_1_is_read(void **state)
{
	struct manifest m = { .generation = 0 };
	struct vfs *v;
	bool damaged;
	(void)state;

	assert_int_equal(vfs_posix__new(TEST_SRCDIR "/tests/golden/seen-1", true, &v, NULL), 0);
	assert_int_equal(manifest__read(&m, v, &damaged, NULL), 0);
	assert_false(damaged);
	must_have_all(&m);
	manifest__fini(&m);
	vfs_posix__free(v);
}

/* So that the next one that is kept will be read. */
static void test_what_is_made_today_is_read(void **state)
{
	struct manifest m = { .generation = 1 };
	(void)state;

	make_manifest(&m);
	must_have_all(&m);
	manifest__fini(&m);
}

static int make(const char *dir)
{
	struct manifest m = { .store_hi = 1, .store_lo = 2, .generation = 1, .next_block = 1 };
	bool replaced;
	struct vfs *v;

	make_manifest(&m);
	int r = vfs_posix__new(dir, false, &v, NULL);
	if (r == 0) {
		r = manifest__write(&m, v, &replaced, NULL);
		vfs_posix__free(v);
	}
	manifest__fini(&m);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_senders_in_turn),
		cmocka_unit_test(test_a_group_with_gaps_comes_again),
		cmocka_unit_test(test_few_sources_stand_where_they_always_did),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_batches_that_are_sources_of_their_own),
		cmocka_unit_test(test_version_1_is_read),
		cmocka_unit_test(test_what_is_made_today_is_read),
	};

	if (argc == 3 && strcmp(argv[1], "make") == 0)
		return make(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
