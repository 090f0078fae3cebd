/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_rework.c - while blocks are written anew the store goes on: what others change
 * meanwhile counts
 *
 * Each case does something between two chunks of a compaction, where no lock is held. Power cuts
 * there are test_store.c's.
 */
#include <errno.h>
#include <string.h>

#include "core/batch/batch.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/evict.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

#define HOUR_MS	   INT64_C(3600000)
#define DAYS_10_MS (240 * HOUR_MS)
enum { BLOCKS = 3, BATCHES = 20 /* a block */ };

static void write_some(struct bench *b)
{
	for (unsigned i = 0; i < BATCHES; i++) {
		struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 },
							   b->next_sequence, b->next_sequence,
							   RANDOM_ONE_PROFILE, RANDOM_BASE_NS);

		assert_non_null(batch);
		b->next_sequence++;
		content__write(&b->told, b->store, &batch, 1);
		batch__unref(batch);
	}
}

/* Blocks whose compaction is long due. */
static void begin(struct bench *b)
{
	bench__init(b, 1);
	b->storage.real_ns = RANDOM_BASE_NS + INT64_C(100) * 3600 * 1000000000;
	for (unsigned i = 0; i < BLOCKS; i++) {
		write_some(b);
		assert_int_equal(upkeep__seal(b->store, NULL), 0);
	}
	assert_true(b->store->blocks.n >= BLOCKS);
}

/* What was thrown away is on no disk. */
static void expect_no_other_files(struct bench *b)
{
	assert_int_equal(sim__n_names(b->sim, BLOCKS_DIR), b->store->blocks.n);
}

struct meanwhile {
	struct bench *b;
	void (*what)(struct bench *b);
	unsigned n_calls, at; /* it happens in the at-th */
};

static bool run_meanwhile(void *ctx)
{
	struct meanwhile *m = ctx;

	if (m->n_calls++ == m->at)
		m->what(m->b);
	return false;
}

/* True: it happened. */
static bool compact_while(struct bench *b, unsigned at, void (*what)(struct bench *b))
{
	struct meanwhile m = { b, what, 0, at };
	const struct rework_yield yield = { run_meanwhile, &m };

	assert_int_equal(rework__compact(b->store, &yield, NULL), 1);
	return m.n_calls > at;
}

static void write_and_seal(struct bench *b)
{
	write_some(b);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
}

static void test_seals_have_their_turn(void **state)
{
	unsigned at = 0;
	bool happened;
	(void)state;

	do {
		struct bench b;

		begin(&b);
		const size_t n_before = b.store->blocks.n;
		happened = compact_while(&b, at, write_and_seal);
		/* It was not for nothing: some blocks became one. */
		assert_true(b.store->blocks.n < n_before + happened * BLOCKS);
		bench__compare(&b);
		expect_no_other_files(&b);
		bench__restart(&b, true);
		bench__compare(&b);
		bench__fini(&b);
		at += at < 8 ? 1 : 7; /* each place in the first chunks, some of the others */
	} while (happened);
	assert_true(at > 3);
}

static void forget_told(struct bench *b)
{
	content__fini(&b->told);
	b->told = (struct content){ 0 };
}

static void remove_all(struct bench *b)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	uint64_t n = 0;

	assert_int_equal(removal__select(b->store, &all, &n, NULL), 0);
	assert_true(n > 0);
	forget_told(b);
}

static void retire_all(struct bench *b)
{
	while (b->store->blocks.n)
		assert_int_equal(evict__oldest(b->store, NULL), 0);
	forget_told(b);
}

/* Somebody else was faster. */
static void compact_all(struct bench *b)
{
	int r;

	do
		r = rework__compact(b->store, NULL, NULL);
	while (r > 0);
	assert_int_equal(r, 0);
}

static void go_on(struct bench *b)
{
	assert_int_equal(removal__drain(b->store, NULL), 0); /* what is compared knows no filters */
	bench__compare(b);
	write_and_seal(b);
	compact_all(b);
	bench__compare(b);
	expect_no_other_files(b);
	bench__restart(b, true);
	bench__compare(b);
}

static void test_what_others_take_does_not_come_back(void **state)
{
	static void (*const takes[])(struct bench *) = { remove_all, retire_all, compact_all };
	(void)state;

	for (size_t i = 0; i < sizeof(takes) / sizeof(takes[0]); i++) {
		for (unsigned at = 0;; at += at < 8 ? 1 : 7) {
			struct bench b;

			begin(&b);
			const bool happened = compact_while(&b, at, takes[i]);
			if (happened)
				go_on(&b);
			bench__fini(&b);
			if (!happened)
				break;
			assert_true(at < 1000);
		}
	}
}

static const struct dcm_select others = { .size = sizeof(others),
					  .from_ms = (RANDOM_BASE_NS / 1000000) - DAYS_10_MS - HOUR_MS,
					  .to_ms = (RANDOM_BASE_NS / 1000000) - DAYS_10_MS + HOUR_MS };

static void remove_others(struct bench *b)
{
	uint64_t n = 0;

	assert_int_equal(removal__select(b->store, &others, &n, NULL), 0);
	assert_true(n > 0);
}

/* Who removes rows of other blocks again and again keeps nothing from being written anew. */
static void test_removals_of_others_are_no_hindrance(void **state)
{
	struct bench b;
	(void)state;

	begin(&b);
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b.next_sequence++, 99,
						   RANDOM_ONE_PROFILE | RANDOM_DELTA_ONLY,
						   RANDOM_BASE_NS - DAYS_10_MS * 1000000);
	content__write(NULL, b.store, &batch, 1);
	batch__unref(batch);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	const size_t n_before = b.store->blocks.n;
	assert_true(compact_while(&b, 1, remove_others));
	assert_true(b.store->blocks.n < n_before);
	assert_int_equal(removal__drain(b.store, NULL), 0);
	bench__compare(&b);
	expect_no_other_files(&b);
	bench__fini(&b);
}

static void expire_without_room(struct bench *b)
{
	sim__set_room(b->sim, 20000, 0);
	assert_int_equal(expire__whole(b->store, NULL), 0);
	assert_int_equal(b->store->rows_evicted, 0);
}

/* Nothing goes for the room that a block takes while it is written anew. */
static void test_its_room_comes_back(void **state)
{
	struct bench b;
	(void)state;

	begin(&b);
	b.store->options.report = NULL;
	assert_true(compact_while(&b, 1, expire_without_room));
	bench__compare(&b);
	bench__fini(&b);
}

static bool give_up(void *ctx)
{
	return ++*(unsigned *)ctx == 2;
}

static void test_is_given_up(void **state)
{
	unsigned n = 0;
	const struct rework_yield yield = { give_up, &n };
	struct bench b;
	(void)state;

	begin(&b);
	const size_t n_blocks = b.store->blocks.n;
	assert_int_equal(rework__compact(b.store, &yield, NULL), -ECANCELED);
	assert_int_equal(n, 2);
	assert_int_equal(b.store->blocks.n, n_blocks);
	expect_no_other_files(&b);
	bench__compare(&b);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seals_have_their_turn),
		cmocka_unit_test(test_what_others_take_does_not_come_back),
		cmocka_unit_test(test_removals_of_others_are_no_hindrance),
		cmocka_unit_test(test_its_room_comes_back),
		cmocka_unit_test(test_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
