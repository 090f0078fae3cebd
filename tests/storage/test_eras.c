/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_eras.c - the local store and time: dictionaries in memory, what is late, and
 * clocks that are wrong
 *
 * Batches of many eras on a simulated disk. What the store holds is compared with the batches
 * themselves while dictionaries come into memory and go, and while the clock does what it should
 * not.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <pthread.h>

#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/series_batch.h"
#include "tests/unit/unit.h"

#define DAY_NS	(INT64_C(86400) * 1000000000)
#define HOUR_NS (INT64_C(3600) * 1000000000)
#define DAY_MS	(DAY_NS / 1000000)

static struct dcm_batch *make_batch(struct bench *b, uint64_t seed, int64_t base_ns)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b->next_sequence++,
						   seed, RANDOM_ONE_PROFILE, base_ns);

	assert_non_null(batch);
	return batch;
}

static void write_at(struct bench *b, uint64_t seed, int64_t base_ns)
{
	struct dcm_batch *batch = make_batch(b, seed, base_ns);

	content__write(&b->told, b->store, &batch, 1);
	batch__unref(batch);
}

/* Which the store acknowledges, and does not keep. Returns how many profiles it has. */
static uint64_t write_in_vain(struct bench *b, uint64_t seed, int64_t base_ns)
{
	struct dcm_batch *batch = make_batch(b, seed, base_ns);
	uint64_t n = batch->profiles[0].n_types;

	content__write(NULL, b->store, &batch, 1);
	batch__unref(batch);
	return n;
}

/*
 * One block in each of n eras, of which the newest is at hand and the others are as far back as
 * they must.
 */
static void fill_eras(struct bench *b, int n)
{
	for (int i = 0; i < n; i++)
		write_at(b, (uint64_t)i, RANDOM_BASE_NS - (n - 1 - i) * 3 * DAY_NS);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
	assert_int_equal(b->store->eras.n, n);
	assert_int_equal(b->store->blocks.n, n);
}

static void look_from(struct view *v, struct store *s, const struct dcm_select *sel)
{
	view__init(v, s->host, sel, 1);
	assert_int_equal(look__take(v, s), 0);
}

static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };

static size_t n_looked_at(struct bench *b)
{
	struct view v;

	look_from(&v, b->store, &all);
	size_t n = look__of(&v)->blocks.n;
	view__fini(&v);
	return n;
}

static uint64_t loaded_bytes(const struct store *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		bytes += s->eras.v[i]->dict ? dict__bytes(s->eras.v[i]->dict) : 0;
	return bytes;
}

static size_t n_loaded(const struct store *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		n += s->eras.v[i]->dict != NULL;
	return n;
}

static size_t n_names(const struct store *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		n += s->eras.v[i]->names != NULL;
	return n;
}

/* -------------------------------------------------------------------------------------------------
 * Which are in memory
 */

/* A list of a store that writes: the whole takes the place of the names when stacks are asked for. */
static void test_lists_read_names_alone(void **state)
{
	struct bench b;
	struct view v;
	(void)state;

	bench__init(&b, 1);
	fill_eras(&b, 3);
	bench__restart(&b, false);
	assert_int_equal(kept__get(b.store).n_series, 0);
	for (int i = 0; i < 2; i++) {
		view__init(&v, b.store->host, &all, 1);
		v.names_only = true;
		assert_int_equal(look__take(&v, b.store), 0);
		assert_int_equal(look__of(&v)->blocks.n, 3);
		assert_true(v.streams.n > 0);
		assert_int_equal(n_names(b.store), 3);
		assert_true(kept__get(b.store).n_series > 0);
		b.store->options.dictionary_max_bytes = 1;
		eras__trim(b.store); /* the question has them */
		assert_int_equal(n_names(b.store), 3);
		view__fini(&v);
		if (i == 0)
			eras__trim(b.store);
		assert_int_equal(n_names(b.store), i == 0 ? 0 : 3);
		assert_int_equal(n_loaded(b.store), 0);
		b.store->options.dictionary_max_bytes = 0;
	}
	assert_int_equal(n_looked_at(&b), 3);
	assert_int_equal(n_names(b.store), 0);
	assert_int_equal(n_loaded(b.store), 3);
	bench__compare(&b);
	/* What comes late goes to a dictionary that is whole. */
	bench__restart(&b, false);
	view__init(&v, b.store->host, &all, 1);
	v.names_only = true;
	assert_int_equal(look__take(&v, b.store), 0);
	write_at(&b, 7, RANDOM_BASE_NS - 6 * DAY_NS);
	view__fini(&v);
	assert_int_equal(n_loaded(b.store), 1);
	assert_int_equal(n_names(b.store), 2);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	bench__compare(&b);
	bench__fini(&b);
}

/*
 * An error of the disk leaves something out of one answer, which is counted and told, and of no
 * more.
 */
static void test_what_could_not_be_read_is_tried_again(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	fill_eras(&b, 3);
	bench__restart(&b, false);
	assert_int_equal(n_loaded(b.store), 0);
	sim__fail(b.sim, 1, FAULT_EIO, true);
	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(n_looked_at(&b), 0);
		assert_int_equal(b.store->n_unreadable, 3 * i);
		assert_int_equal(b.n_complaints, 3); /* once for each era */
	}
	sim__fail(b.sim, 0, FAULT_NONE, false);
	assert_int_equal(n_looked_at(&b), 3);
	assert_int_equal(b.store->n_unreadable, 6);
	bench__compare(&b);
	bench__fini(&b);
}

/* So is what went away with its directory: nothing is taken for new, and written over. */
static void test_what_vanished_is_tried_again(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	fill_eras(&b, 3);
	bench__restart(&b, false);
	sim__vanish(b.sim, true);
	assert_int_equal(n_looked_at(&b), 0);
	assert_int_equal(b.store->n_unreadable, 3);
	sim__vanish(b.sim, false);
	assert_int_equal(n_looked_at(&b), 3);
	for (size_t i = 0; i < b.store->eras.n; i++)
		assert_false(b.store->eras.v[i]->damaged);
	write_at(&b, 3, RANDOM_BASE_NS - 3 * DAY_NS);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(b.store->eras.n, 3);
	bench__restart(&b, true);
	bench__compare(&b);
	bench__fini(&b);
}

/* A question without memory says so, and the next one has all. */
static void test_without_memory(void **state)
{
	(void)state;

	bool failed = true;

	for (uint64_t n = 1; failed; n += 1 + n / 32) {
		struct bench b;
		struct view v;

		bench__init(&b, 1);
		fill_eras(&b, 2);
		bench__restart(&b, false);
		view__init(&v, b.store->host, &all, 1);
		failmalloc__arm(n);
		int r = look__take(&v, b.store);
		failed = failmalloc__disarm();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		view__fini(&v);
		assert_int_equal(n_looked_at(&b), 2);
		bench__compare(&b);
		bench__fini(&b);
	}
}

/* Those that were not asked for the longest go; those that a view has stay. */
static void test_dictionaries_are_bounded(void **state)
{
	const int64_t base_ms = RANDOM_BASE_NS / 1000000;
	struct dcm_select recent = all;
	struct view v;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	fill_eras(&b, 8);
	bench__compare(&b);
	const uint64_t of_all = loaded_bytes(b.store);
	assert_int_equal(n_loaded(b.store), 8);
	eras__trim(b.store); /* without a bound */
	assert_int_equal(n_loaded(b.store), 8);

	look_from(&v, b.store, &all);
	b.store->options.dictionary_max_bytes = of_all / 2;
	eras__trim(b.store);
	assert_int_equal(n_loaded(b.store), 8);
	view__fini(&v);
	eras__trim(b.store);
	assert_true(n_loaded(b.store) > 0 && loaded_bytes(b.store) <= of_all / 2);

	/* Asked for last, stays first. */
	recent.from_ms = base_ms;
	look_from(&v, b.store, &recent);
	view__fini(&v);
	b.store->options.dictionary_max_bytes = of_all / 3;
	eras__trim(b.store);
	assert_non_null(b.store->eras.v[7]->dict);
	assert_true(n_loaded(b.store) < 8);
	bench__compare(&b);
	b.store->options.dictionary_max_bytes = 1;
	eras__trim(b.store);
	assert_int_equal(n_loaded(b.store), 0);
	assert_int_equal(n_looked_at(&b), 8);
	bench__fini(&b);
}

static int look(struct bench *b, struct dcm_budget *budget)
{
	struct dcm_select sel = all;
	struct view v;

	sel.budget = budget;
	view__init(&v, b->store->host, &sel, 1);
	const int r = look__take(&v, b->store);
	view__fini(&v);
	return r;
}

/* Of what is read for it a question has no more than its time and memory. */
static void test_dictionaries_are_read_within_the_budget(void **state)
{
	struct dcm_budget budget = { 0 };
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	fill_eras(&b, 8);
	const uint64_t of_all = loaded_bytes(b.store);
	b.store->options.dictionary_max_bytes = 1;
	eras__trim(b.store);
	b.storage.mono_ns = 2;

	budget.deadline_mono_ns = 1;
	assert_int_equal(look(&b, &budget), -ETIMEDOUT);
	assert_int_equal(n_loaded(b.store), 0);
	budget.deadline_mono_ns = 0;
	budget.cancelled = 1;
	assert_int_equal(look(&b, &budget), -ECANCELED);
	budget.cancelled = 0;
	budget.max_bytes = of_all / 2;
	assert_int_equal(look(&b, &budget), -E2BIG);
	eras__trim(b.store);
	assert_int_equal(n_loaded(b.store), 0);
	/* What the store may have in memory is nobody's. */
	b.store->options.dictionary_max_bytes = of_all;
	assert_int_equal(look(&b, &budget), 0);
	b.store->options.dictionary_max_bytes = 1;
	budget.max_bytes = of_all;
	assert_int_equal(look(&b, &budget), 0);
	b.store->options.dictionary_max_bytes = 0;
	budget.max_bytes = 1;
	assert_int_equal(look(&b, &budget), 0);
	bench__fini(&b);
}

/* What a head needs stays, and what comes late finds the numbers that its blocks have. */
static void test_what_is_written_stays(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.store->options.dictionary_max_bytes = 1;
	fill_eras(&b, 4);
	eras__trim(b.store);
	assert_int_equal(n_loaded(b.store), 0);
	write_at(&b, 50, RANDOM_BASE_NS - 3 * DAY_NS);
	eras__trim(b.store);
	assert_int_equal(n_loaded(b.store), 1);
	assert_int_equal(b.store->eras.n, 4);
	bench__compare(&b);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	eras__trim(b.store);
	assert_int_equal(n_loaded(b.store), 0);
	bench__compare(&b);
	bench__restart(&b, true);
	bench__compare(&b);
	bench__fini(&b);
}

/* Nobody who writes waits for an old dictionary that is being read. */
static void test_a_write_waits_for_no_other_era(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	fill_eras(&b, 2);
	bench__restart(&b, false);
	struct era *old = b.store->eras.v[0];
	pthread_mutex_lock(&old->load_lock);
	write_at(&b, 60, RANDOM_BASE_NS);
	pthread_mutex_unlock(&old->load_lock);
	assert_null(old->dict);
	bench__compare(&b);
	bench__fini(&b);
}

static void test_dictionaries_that_come_and_go_change_nothing(void **state)
{
	uint64_t n_reloaded = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct random r = { seed };
		struct bench b;

		bench__init(&b, seed);
		for (int i = 0; i < 60; i++) {
			b.store->options.dictionary_max_bytes = 1 + random__below(&r, 2) * 200000;
			switch (random__below(&r, 5)) {
			case 0:
				assert_int_equal(upkeep__seal(b.store, NULL), 0);
				break;
			case 1:
				if (random__below(&r, 3) == 0)
					bench__restart(&b, random__below(&r, 2));
				break;
			default:
				write_at(&b, random__next(&r) % 1000,
					 RANDOM_BASE_NS - (int64_t)random__below(&r, 12) * DAY_NS);
			}
			eras__trim(b.store);
			n_reloaded += b.store->eras.n - n_loaded(b.store);
			bench__compare(&b);
		}
		assert_int_equal(b.n_complaints, 0);
		bench__fini(&b);
	}
	assert_true(n_reloaded > 100);
}

/* -------------------------------------------------------------------------------------------------
 * What never ends
 */

/* The dictionary that is written, and the one before it until it is sealed. */
static void test_a_full_dictionary_is_followed_by_another(void **state)
{
	enum { MAX_BYTES = 300000, BATCH_BYTES = 250000 };
	uint64_t n_full = 0;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.options.dictionary_max_bytes = b.options.era_max_bytes = MAX_BYTES;
	bench__restart(&b, false);
	for (uint64_t i = 0; i < 60; i++) {
		write_at(&b, i, RANDOM_BASE_NS);
		if (upkeep__wants_seal(b.store))
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		eras__trim(b.store);
		assert_true(loaded_bytes(b.store) <= MAX_BYTES + BATCH_BYTES);
		if (i % 20 == 19) {
			bench__compare(&b);
			n_full += b.store->n_full;
			assert_non_null(strstr(b.store->full_growth, "series"));
			bench__restart(&b, i % 40 == 19);
		}
	}
	bench__compare(&b);
	assert_true(b.store->eras.n >= 4);
	assert_true(n_full > 0);
	assert_int_equal(b.n_complaints, 0);
	bench__fini(&b);
}

/* What no era is left for goes on into the last one. */
static void test_dictionaries_do_not_become_too_many(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.store->options.era_max_bytes = 1;
	for (uint32_t i = 0; i < STORE_MANY_ERAS + 20; i++) {
		struct dcm_batch *batch = series_batch__new(RANDOM_BASE_NS / 1000000 + i,
							    i % SERIES_BATCH_MAX, false);

		content__write(&b.told, b.store, &batch, 1);
		batch__unref(batch);
	}
	assert_int_equal(b.store->eras.n, STORE_MANY_ERAS);
	bench__compare(&b);
	bench__fini(&b);
}

static void write_series(struct bench *b, struct series_room *room, uint32_t i, uint32_t n, bool is_gauge)
{
	const int64_t time_ms = RANDOM_BASE_NS / 1000000 + i;
	struct dcm_batch *batch = series_batch__new(time_ms, n, is_gauge);
	struct dcm_batch *expected = series_batch__expect(room, time_ms, n, is_gauge);

	content__write(NULL, b->store, &batch, 1);
	if (expected) {
		content__add_batch(&b->told, expected);
		batch__unref(expected);
	}
	batch__unref(batch);
}

/* Also when it was closed, or killed, between: what came first is what it has. */
static void test_series_beyond_the_bound_are_one(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct series_room room = { .max = 8 };
		uint64_t folded = 0, refused = 0;
		struct random r = { seed };
		struct bench b;

		bench__init(&b, seed);
		b.options.max_series = 8;
		bench__restart(&b, false);
		for (uint32_t i = 0; i < 100; i++) {
			write_series(&b, &room, i, (uint32_t)random__below(&r, SERIES_BATCH_MAX),
				     random__below(&r, 4) == 0);
			if (random__below(&r, 20) == 0)
				assert_int_equal(upkeep__seal(b.store, NULL), 0);
			if (random__below(&r, 20))
				continue;
			bench__compare(&b);
			folded += b.store->rows_folded;
			refused += b.store->rows_refused;
			/* What the log has does not ask what the option says now. */
			b.options.max_series = (uint32_t)random__below(&r, 20);
			bench__restart(&b, random__below(&r, 2));
			bench__compare(&b);
			assert_int_equal(b.store->rows_folded, 0);
			b.options.max_series = b.store->options.max_series = 8;
		}
		bench__compare(&b);
		assert_int_equal(folded + b.store->rows_folded, room.n_folded);
		assert_int_equal(refused + b.store->rows_refused, room.n_refused);
		assert_true(room.n_folded && room.n_refused);
		bench__fini(&b);
	}
}

/* -------------------------------------------------------------------------------------------------
 * What comes late
 */

static void compact_all(struct bench *b)
{
	int r;

	while ((r = rework__compact(b->store, NULL, NULL)) > 0)
		;
	assert_int_equal(r, 0);
}

static const struct manifest_block *find_block(const struct store *s, uint64_t number)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (s->blocks.v[i]->entry.number == number)
			return &s->blocks.v[i]->entry;
	return NULL;
}

/*
 * A seal makes a block for each two hours, and a few late rows do not make a day's block be written
 * anew.
 */
static void test_what_is_late_has_blocks_of_its_own(void **state)
{
	const int64_t day_ns = RANDOM_BASE_NS - RANDOM_BASE_NS % DAY_NS - DAY_NS;
	const int64_t window_ms = 2 * HOUR_NS / 1000000;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	for (uint64_t i = 0; i < 240; i++) /* one each six minutes, of five at most */
		write_at(&b, i, day_ns + (int64_t)i * (HOUR_NS / 10));
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(b.store->blocks.n, 12);
	for (size_t i = 0; i < b.store->blocks.n; i++) {
		const struct manifest_block *e = &b.store->blocks.v[i]->entry;

		assert_true(e->first_ms / window_ms == e->last_ms / window_ms);
	}
	bench__compare(&b);
	b.storage.real_ns += 2 * DAY_NS;
	compact_all(&b);
	assert_int_equal(b.store->blocks.n, 1);
	const uint64_t of_day = b.store->blocks.v[0]->entry.number;
	for (uint64_t i = 0; i < 12; i++) {
		write_at(&b, 300 + i, day_ns + (int64_t)(i % 6) * 4 * HOUR_NS);
		write_at(&b, 400 + i, b.storage.real_ns);
		if (i % 3 == 2)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		compact_all(&b);
		bench__compare(&b);
		assert_non_null(find_block(b.store, of_day));
	}
	assert_true(b.store->blocks.n < 12);
	bench__restart(&b, true);
	bench__compare(&b);
	bench__fini(&b);
}

/* -------------------------------------------------------------------------------------------------
 * Clocks
 */

/* Data of a clock that is far ahead is refused and counted, and takes no era from what is right. */
static void test_what_is_of_a_time_to_come_is_refused(void **state)
{
	struct bench b;
	uint64_t n = 0;
	(void)state;

	bench__init(&b, 1);
	for (int i = 1; i <= STORE_MAX_ERAS + 10; i++)
		n += write_in_vain(&b, (uint64_t)i % 50, b.storage.real_ns + (2 + 3 * i) * DAY_NS);
	assert_true(n > STORE_MAX_ERAS);
	assert_int_equal(b.store->n_too_new, n);
	assert_int_equal(b.store->eras.n, 0);
	write_at(&b, 1, b.storage.real_ns + DAY_NS - HOUR_NS);
	write_at(&b, 2, b.storage.real_ns);
	bench__compare(&b);
	bench__restart(&b, true);
	bench__compare(&b);
	assert_int_equal(b.store->n_too_new, 0);
	bench__fini(&b);
}

/* The log has the whole batch, and a start takes of it what the write took. */
static void test_a_start_brings_nothing_back(void **state)
{
	struct dcm_builder *builder = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.store->options.retention_ms = 5 * DAY_MS;
	write_at(&b, 1, RANDOM_BASE_NS);
	assert_non_null(builder);
	builder__set_source(builder, (struct dcm_hash){ 1, 5 }, b.next_sequence++);
	random_batch__fill(builder, 7, RANDOM_ONE_PROFILE, RANDOM_BASE_NS - 8 * DAY_NS);
	random_batch__fill(builder, 2, RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
	random_batch__fill(builder, 8, RANDOM_ONE_PROFILE, RANDOM_BASE_NS + 8 * DAY_NS);
	assert_int_equal(builder__seal(builder, &batch, NULL), 0);
	builder__free(builder);
	assert_int_equal(batch->n_profiles, 3);
	content__write(NULL, b.store, &batch, 1);
	assert_int_equal(b.store->n_too_old, batch->profiles[0].n_types);
	assert_int_equal(b.store->n_too_new, batch->profiles[2].n_types);
	batch__unref(batch);
	batch = make_batch(&b, 2, RANDOM_BASE_NS);
	content__add_batch(&b.told, batch);
	batch__unref(batch);
	assert_int_equal(b.store->eras.n, 1);
	bench__compare(&b);
	bench__restart(&b, true);
	assert_int_equal(b.store->eras.n, 1);
	bench__compare(&b);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	bench__restart(&b, true);
	bench__compare(&b);
	assert_int_equal(b.n_complaints, 0);
	bench__fini(&b);
}

static size_t n_blocks_after_expiry(struct bench *b)
{
	b->store->options.retention_ms = 15 * DAY_MS - DAY_MS / 4;
	assert_int_equal(expire__now(b->store, NULL, NULL), 0);
	return b->store->blocks.n;
}

/* Twenty days' data in two blocks a day, of which five days' are too old. */
static void fill_days(struct bench *b)
{
	for (int i = 39; i >= 0; i--) {
		write_at(b, (uint64_t)i, RANDOM_BASE_NS - i * (DAY_NS / 2));
		assert_int_equal(upkeep__seal(b->store, NULL), 0);
	}
	b->storage.mono_ns = HOUR_NS;
	assert_int_equal(n_blocks_after_expiry(b), 30);
	assert_int_equal(n_blocks_after_expiry(b), 30);
}

/*
 * For an hour the clock is a year ahead: that costs no more than the oldest two days, also over a
 * start.
 */
static void test_a_clock_that_was_ahead(void **state)
{
	struct bench b;
	(void)state;

	for (int with_start = 0; with_start < 2; with_start++) {
		bench__init(&b, 1);
		fill_days(&b);
		b.storage.real_ns += 365 * DAY_NS;
		assert_int_equal(n_blocks_after_expiry(&b), 30);
		write_at(&b, 100, b.storage.real_ns);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		assert_int_equal(n_blocks_after_expiry(&b), 31 - 2);
		if (with_start) {
			bench__restart(&b, true);
			assert_int_equal(n_blocks_after_expiry(&b), 31 - 2);
		}
		b.storage.mono_ns += HOUR_NS;
		assert_int_equal(n_blocks_after_expiry(&b), 31 - 4);
		b.storage.real_ns -= 365 * DAY_NS;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(n_blocks_after_expiry(&b), 31 - 4);
			b.storage.mono_ns += HOUR_NS;
		}
		write_at(&b, 101, b.storage.real_ns);
		assert_int_equal(b.store->n_too_old + b.store->n_too_new, 0);
		bench__fini(&b);
	}
}

/* Before it was set it was two years behind, for a few minutes: nothing goes then, and when it is right what is too old goes. */
static void test_a_clock_that_was_behind(void **state)
{
	struct bench b;
	(void)state;

	for (int with_start = 0; with_start < 2; with_start++) {
		bench__init(&b, 1);
		fill_days(&b);
		b.storage.real_ns -= 700 * DAY_NS;
		b.storage.mono_ns += HOUR_NS / 20;
		assert_int_equal(n_blocks_after_expiry(&b), 30);
		write_at(&b, 100, b.storage.real_ns);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		assert_int_equal(n_blocks_after_expiry(&b), 31);
		if (with_start)
			bench__restart(&b, true);
		b.storage.real_ns += 701 * DAY_NS;
		b.storage.mono_ns += HOUR_NS / 20;
		write_at(&b, 101, b.storage.real_ns);
		/* That of the wrong time, and the two of the day that has gone by since. */
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		assert_int_equal(n_blocks_after_expiry(&b), 32 - 1 - 2);
		bench__fini(&b);
	}
}

/*
 * A dictionary is full by what it takes in memory, and its log is read as a whole, up to twice as much as the largest may
 * take: it has to be smaller.
 */
static void test_a_log_is_smaller_than_its_dictionary(void **state)
{
	char path[ERA_PATH_BYTES];
	struct bench b;
	size_t n_log;
	(void)state;

	bench__init(&b, 1);
	for (uint64_t i = 0; i < 300; i++)
		write_at(&b, i, RANDOM_BASE_NS);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(b.store->eras.n, 1);
	sim__peek(b.sim, era__path(path, b.store->eras.v[0]->number), &n_log);
	assert_true(n_log > 100000);
	assert_true(dict__bytes(b.store->eras.v[0]->dict) > n_log);
	bench__fini(&b);
}

/* A machine that was off for a year: all that is too old goes, if not at once. */
static void test_a_machine_that_was_off(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	fill_days(&b);
	b.storage.real_ns += 365 * DAY_NS;
	bench__restart(&b, false);
	write_at(&b, 100, b.storage.real_ns);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	for (size_t hour = 0; hour < 15; hour++) {
		assert_int_equal(n_blocks_after_expiry(&b), 31 - 2 - 2 * hour);
		b.storage.mono_ns += HOUR_NS;
	}
	assert_int_equal(n_blocks_after_expiry(&b), 1);
	bench__fini(&b);
}

/* The era of a dictionary whose log has more than the manifest promises, as it was loaded; NULL: there is none. */
static const struct era *find_unpromised(const struct store *s)
{
	for (size_t i = 0; i < s->eras.n; i++)
		if (s->eras.v[i]->dict && s->eras.v[i]->loaded_lsn > s->eras.v[i]->n_records)
			return s->eras.v[i];
	return NULL;
}

/*
 * The process dies at each moment of a seal. A power cut may yet take the records that no manifest promises: nothing new is
 * numbered by them, but goes to another era of the same time.
 */
static void test_records_that_nobody_promises_get_no_more(void **state)
{
	unsigned n_met = 0;
	bool cut = true;
	(void)state;

	for (uint64_t n = 1; cut; n++) {
		struct bench b;
		const struct era *old;

		bench__init(&b, 1);
		write_at(&b, 1, RANDOM_BASE_NS);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		write_at(&b, 2, RANDOM_BASE_NS);
		sim__cut_at(b.sim, n);
		upkeep__seal(b.store, NULL);
		cut = sim__is_cut(b.sim);
		bench__restart(&b, false);
		write_at(&b, 3, RANDOM_BASE_NS);
		old = find_unpromised(b.store);
		if (old) {
			n_met++;
			assert_true(b.store->eras.n >= 2);
			assert_ptr_not_equal(b.store->eras.v[b.store->eras.n - 1], old);
		}
		/* And a power cut takes none of it. */
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		bench__restart(&b, true);
		bench__compare(&b);
		bench__fini(&b);
	}
	assert_in_range(n_met, 1, 1000);
}

/* All of it is refused where there is no room for its series. */
static struct dcm_batch *make_gauges(struct bench *b, uint64_t seed)
{
	struct dcm_batch *batch = make_batch(b, seed, RANDOM_BASE_NS);
	struct dcm_type *types = (struct dcm_type *)batch->types;

	for (uint32_t i = 0; i < batch->n_types; i++)
		types[i].temporality = DCM_GAUGE;
	return batch;
}

/*
 * A frame of which no row was kept has brought stacks along. A seal that has nothing of its era removes the frame, and records
 * nothing: the same stacks must not be thought to be in the log.
 */
static void test_what_a_removed_frame_had_is_written_again(void **state)
{
	struct series_room room = { .max = 1 };
	struct dcm_batch *batch;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.options.max_series = 1;
	bench__restart(&b, false);
	write_series(&b, &room, 0, 0, false);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	batch = make_gauges(&b, 7);
	content__write(NULL, b.store, &batch, 1);
	batch__unref(batch);
	assert_true(b.store->rows_refused > 0);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	batch = make_batch(&b, 7, RANDOM_BASE_NS);
	content__write(NULL, b.store, &batch, 1);
	batch__unref(batch);
	bench__restart(&b, true);
	assert_int_equal(b.n_complaints, 0);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists_read_names_alone),
		cmocka_unit_test(test_what_could_not_be_read_is_tried_again),
		cmocka_unit_test(test_what_vanished_is_tried_again),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_dictionaries_are_bounded),
		cmocka_unit_test(test_dictionaries_are_read_within_the_budget),
		cmocka_unit_test(test_what_is_written_stays),
		cmocka_unit_test(test_a_write_waits_for_no_other_era),
		cmocka_unit_test(test_dictionaries_that_come_and_go_change_nothing),
		cmocka_unit_test(test_a_full_dictionary_is_followed_by_another),
		cmocka_unit_test(test_dictionaries_do_not_become_too_many),
		cmocka_unit_test(test_series_beyond_the_bound_are_one),
		cmocka_unit_test(test_what_is_late_has_blocks_of_its_own),
		cmocka_unit_test(test_what_is_of_a_time_to_come_is_refused),
		cmocka_unit_test(test_a_start_brings_nothing_back),
		cmocka_unit_test(test_a_log_is_smaller_than_its_dictionary),
		cmocka_unit_test(test_a_clock_that_was_ahead),
		cmocka_unit_test(test_a_clock_that_was_behind),
		cmocka_unit_test(test_a_machine_that_was_off),
		cmocka_unit_test(test_records_that_nobody_promises_get_no_more),
		cmocka_unit_test(test_what_a_removed_frame_had_is_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
