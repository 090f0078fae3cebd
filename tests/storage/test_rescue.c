/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_rescue.c - what a damaged block still has is saved, and its file is set aside
 *
 * A byte of a sealed block is flipped on a simulated disk, and a question is said to have met it.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/batch/batch.h"
#include "plugins/storage/local/block_layout.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/inspect.h"
#include "core/disk/numbered.h"
#include "plugins/storage/local/quarantine.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { MANY = 32 };

static void restart(struct bench *b, bool power_cut)
{
	bench__restart(b, power_cut);
	assert_int_equal(b->n_complaints, 0);
}

/* Writes and, when `fresh`, remembers. */
static void write_at(struct bench *b, uint64_t seed, unsigned flags, bool fresh, int64_t time_ns)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ seed % 3 + 1, 5 },
						   b->next_sequence++, seed, flags, time_ns);

	assert_non_null(batch);
	content__write(fresh ? &b->told : NULL, b->store, &batch, 1);
	batch__unref(batch);
}

static void write_one(struct bench *b, uint64_t seed, unsigned flags, bool fresh)
{
	write_at(b, seed, flags, fresh, RANDOM_BASE_NS);
}

static void seal_block(struct bench *b)
{
	for (uint32_t i = 0; i < 20; i++)
		write_one(b, i, 0, true);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
}

static void flip(struct bench *b, uint64_t number, bool footer)
{
	char path[BLOCK_PATH_BYTES];
	size_t n;
	uint8_t *bytes = sim__peek(b->sim, commit__block_path(path, number), &n);

	assert_non_null(bytes);
	bytes[footer ? n - 9 : 100] ^= 4;
}

/*
 * So many blocks of twenty batches, in each of which a byte is flipped while the store is closed; a
 * question has told of them.
 */
static void damage_blocks(struct bench *b, size_t n_blocks, bool footer)
{
	uint64_t numbers[MANY];

	assert_true(n_blocks <= MANY);
	bench__init(b, 9);
	for (size_t i = 0; i < n_blocks; i++)
		seal_block(b);
	assert_int_equal(b->store->blocks.n, n_blocks);
	for (size_t i = 0; i < n_blocks; i++)
		numbers[i] = b->store->blocks.v[i]->entry.number;
	store__close(b->store);
	sim__restart(b->sim, false);
	for (size_t i = 0; i < n_blocks; i++)
		flip(b, numbers[i], footer);
	bench__open(b);
	for (size_t i = 0; i < n_blocks; i++)
		atomic_store(&b->store->blocks.v[i]->told, true);
}

static void damage(struct bench *b, bool footer)
{
	damage_blocks(b, 1, footer);
}

/* What can be read is read after the rescue, what cannot is lost once, and the file is kept. */
static void test_what_can_be_read_is_rescued(void **state)
{
	struct content there = { 0 };
	struct bench b;
	uint64_t first;
	(void)state;

	damage(&b, false);
	const uint64_t n = b.store->blocks.v[0]->entry.n_profiles;

	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(b.n_complaints, 1);
	assert_int_equal(b.store->blocks.n, 1);
	const struct block *block;
	assert_int_equal(stored__block(b.store->blocks.v[0], &block, NULL), 0);
	assert_int_equal(block__verify(block, NULL, NULL, &first), 0);
	const uint64_t n_left = b.store->blocks.v[0]->entry.n_profiles;
	assert_true(n_left > n / 2 && n_left < n);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 0);
	assert_int_equal(sim__n_names(b.sim, QUARANTINE_DIR), 1);

	b.n_complaints = 0;
	restart(&b, true);
	assert_int_equal(b.store->blocks.v[0]->entry.n_profiles, n_left);
	content__add_store(&there, b.store);
	assert_true(there.profiles.n == n_left);
	content__settle(&there);
	content__settle(&b.told);
	assert_true(content__differences(&there, &b.told) <= n - n_left);
	content__fini(&there);
	bench__fini(&b);
}

static uint64_t calls_of_rescue(size_t n_blocks)
{
	struct bench b;

	damage_blocks(&b, n_blocks, true);
	const uint64_t before = sim__n_calls(b.sim);
	for (size_t i = 0; i < n_blocks; i++)
		assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	const uint64_t n = sim__n_calls(b.sim) - before;
	assert_int_equal(b.store->blocks.n, 0);
	assert_int_equal(sim__n_names(b.sim, QUARANTINE_DIR), n_blocks);
	assert_int_equal(atomic_load(&b.store->n_aside), n_blocks);
	bench__fini(&b);
	return n;
}

/* Of each as many calls of the disk, however many there are. */
static void test_many_damaged_blocks_take_their_time_and_no_more(void **state)
{
	(void)state;
	const uint64_t n_few = calls_of_rescue(MANY / 4), n_many = calls_of_rescue(MANY);

	assert_in_range(n_many, 1, 4 * n_few);
}

static void test_a_block_that_cannot_be_opened_is_set_aside(void **state)
{
	struct bench b;
	(void)state;

	damage(&b, true);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(b.n_complaints, 1);
	assert_int_equal(b.store->blocks.n, 0);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 0);
	assert_int_equal(sim__n_names(b.sim, QUARANTINE_DIR), 1);
	b.n_complaints = 0;
	restart(&b, true);
	assert_int_equal(b.store->blocks.n, 0);
	bench__fini(&b);
}

static uint64_t number_at(const struct bench *b, size_t i)
{
	return b->store->blocks.v[i]->entry.number;
}

/* One a call, the oldest first, in whichever order they were met; what nothing told of stays. */
static void test_the_oldest_is_rescued_first(void **state)
{
	enum { N = 5, UNTOLD = 1 };
	uint64_t numbers[N];
	struct bench b;
	(void)state;

	damage_blocks(&b, N, true);
	for (size_t i = 0; i < N; i++)
		numbers[i] = number_at(&b, i);
	atomic_store(&b.store->blocks.v[UNTOLD]->told, false);
	for (size_t i = 0; i < N - 1; i++) {
		const size_t next = i < UNTOLD ? i : i + 1; /* of the N, which goes now */

		assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
		assert_int_equal(b.store->blocks.n, N - 1 - i);
		for (size_t k = 0, left = 0; k < N; k++)
			if (k == UNTOLD || k > next)
				assert_int_equal(number_at(&b, left++), numbers[k]);
	}
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 0);
	assert_int_equal(number_at(&b, 0), numbers[UNTOLD]);
	bench__fini(&b);
}

/*
 * What is to be written anew for a removal has its turn there, in its order, and its damage is found then; but one that
 * cannot be opened would never be written anew, so it is rescued before older ones.
 */
static void test_what_a_removal_writes_anew_waits_for_it(void **state)
{
	const struct dcm_select all = { .size = sizeof(all),
					.from_ms = INT64_MIN,
					.to_ms = RANDOM_BASE_NS / 1000000 + 60000 };
	uint64_t n = 0, numbers[2];
	struct bench b;
	(void)state;

	damage_blocks(&b, 2, false);
	numbers[0] = number_at(&b, 0);
	numbers[1] = number_at(&b, 1);
	assert_int_equal(removal__select(b.store, &all, &n, NULL), 0);
	store__close(b.store);
	flip(&b, numbers[1], true); /* of this one nothing can be read any more */
	bench__open(&b);
	for (size_t i = 0; i < 2; i++)
		atomic_store(&b.store->blocks.v[i]->told, true);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(b.store->blocks.n, 1);
	assert_int_equal(number_at(&b, 0), numbers[0]);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 0);
	assert_int_equal(removal__drain(b.store, NULL), 0);
	for (size_t i = 0; i < b.store->blocks.n; i++)
		assert_true(number_at(&b, i) != numbers[0]);
	bench__fini(&b);
}

static void check_aside(struct bench *b, unsigned n)
{
	assert_int_equal(atomic_load(&b->store->n_aside), n);
	quarantine__count(b->store); /* as the directory has it */
	assert_int_equal(atomic_load(&b->store->n_aside), n);
	assert_int_equal(atomic_load(&b->store->aside_bytes) > 0, n > 0);
}

/* Sums are as the later version left them. */
static void make_newer(struct bench *b, uint64_t number)
{
	char path[BLOCK_PATH_BYTES];
	size_t n;
	struct block_header *h = (void *)sim__peek(b->sim, commit__block_path(path, number), &n);

	assert_non_null(h);
	h->major = BLOCK_MAJOR + 1;
	h->sum = hash__bytes(h, offsetof(struct block_header, sum), BLOCK_SEED);
}

static void note_sentence(void *ctx, enum dcm_log_level level, const char *sentence)
{
	if (level == DCM_LOG_ERROR)
		snprintf(ctx, sizeof(struct dcm_error), "%s", sentence);
}

/* Whatever looks at it, the block of a later version stays for the program that can read it. */
static void test_a_block_of_a_later_version_stays(void **state)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	char sentence[sizeof(struct dcm_error)] = "";
	const struct block *block;
	struct bench b;
	uint64_t n = 0;
	(void)state;

	damage(&b, false);
	store__close(b.store);
	flip(&b, 1, false); /* back */
	make_newer(&b, 1);
	bench__open(&b);
	struct stored *s = b.store->blocks.v[0];

	for (int i = 0; i < 2; i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		assert_int_equal(stored__block(s, &block, &err), -EPROTONOSUPPORT);
		assert_non_null(strstr(err.text, "version 2.0"));
	}
	atomic_store(&s->told, true);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 0);
	assert_int_equal(removal__select(b.store, &all, &n, NULL), 0);
	assert_int_equal(removal__drain(b.store, NULL), -EPROTONOSUPPORT);
	assert_int_equal(rework__compact(b.store, NULL, NULL), 0);
	assert_true(b.store->blocks.n == 1 && b.store->blocks.v[0] == s);
	assert_int_equal(b.store->lost.n, 0);
	check_aside(&b, 0);
	assert_int_equal(b.n_complaints, 0);
	assert_int_equal(
		inspect__check(b.store,
			       &(struct inspect_how){ .report = note_sentence, .ctx = sentence }, NULL),
		1);
	assert_non_null(strstr(sentence, "version 2.0"));
	bench__fini(&b);
}

/*
 * The first of two cannot be set aside; the second one is rescued by the same call. How many calls
 * are made until then nobody knows, so each one fails in turn.
 */
static void test_a_rescue_that_fails_keeps_no_other_waiting(void **state)
{
	unsigned n_refused = 0;
	bool failed = true;
	(void)state;

	for (uint64_t i = 1; failed; i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct bench b;

		damage_blocks(&b, 2, false);
		const uint64_t first = b.store->blocks.v[0]->entry.number;
		sim__fail(b.sim, i, FAULT_EIO, false);
		assert_int_equal(rework__rescue(b.store, NULL, &err), 1);
		failed = sim__failed(b.sim);
		if (strncmp(sim__failed_path(b.sim), QUARANTINE_DIR, strlen(QUARANTINE_DIR)) == 0 &&
		    b.store->blocks.v[0]->entry.number == first) {
			n_refused++;
			assert_false(b.store->blocks.v[0]->rescued);
			assert_int_equal(b.n_complaints, 1);
			check_aside(&b, 1);
			assert_int_equal(rework__rescue(b.store, NULL, &err), 1);
			assert_int_equal(b.n_complaints, 2);
		}
		sim__fail(b.sim, 0, FAULT_NONE, false);
		bench__fini(&b);
	}
	assert_true(n_refused > 0);
}

static void rescue(struct bench *b)
{
	damage(b, false);
	assert_int_equal(rework__rescue(b->store, NULL, NULL), 1);
	assert_int_equal(b->n_complaints, 1);
	b->n_complaints = 0;
	assert_int_equal(atomic_load(&b->store->n_aside), 1);
	assert_true(atomic_load(&b->store->aside_bytes) > 0);
}

/*
 * It is kept for people as long as its time is kept, and it is not too much, and nobody removed it.
 */
static void test_what_is_set_aside_goes(void **state)
{
	struct dcm_select sel = { .size = sizeof(sel), .from_ms = INT64_MIN };
	struct bench b;
	uint64_t n;
	(void)state;

	rescue(&b);
	assert_int_equal(quarantine__trim(b.store, NULL, NULL), 0);
	restart(&b, true);
	check_aside(&b, 1);
	sel.to_ms = b.store->lost.v[0].first_ms; /* what is before it */
	assert_int_equal(removal__select(b.store, &sel, &n, NULL), 0);
	check_aside(&b, 1);
	sel.to_ms++;
	assert_int_equal(removal__select(b.store, &sel, &n, NULL), 0);
	check_aside(&b, 0);
	restart(&b, true);
	check_aside(&b, 0);
	bench__fini(&b);

	rescue(&b);
	b.store->options.max_bytes = QUARANTINE_PART * atomic_load(&b.store->aside_bytes);
	assert_int_equal(quarantine__trim(b.store, NULL, NULL), 0);
	check_aside(&b, 1);
	b.store->options.max_bytes -= QUARANTINE_PART;
	assert_int_equal(quarantine__trim(b.store, NULL, NULL), 0);
	check_aside(&b, 1);
	bench__fini(&b);

	rescue(&b);
	losses__remove(&b.store->lost, INT64_MIN, INT64_MAX);
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	check_aside(&b, 0);
	bench__fini(&b);
}

/*
 * The removal is durable, and what is set aside cannot go: an error says so, and the same removal
 * once more takes it.
 */
static void test_what_is_set_aside_goes_with_the_next_removal(void **state)
{
	unsigned n_refused = 0;
	bool failed = true;
	(void)state;

	for (uint64_t i = 1; failed; i++) {
		struct dcm_select sel = { .size = sizeof(sel), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
		struct dcm_error err = DCM_ERROR_INIT;
		struct bench b;
		uint64_t n = 0;

		rescue(&b);
		sim__fail(b.sim, i, FAULT_EIO, false);
		const int r = removal__select(b.store, &sel, &n, &err);
		failed = sim__failed(b.sim);
		if (strncmp(sim__failed_path(b.sim), QUARANTINE_DIR, strlen(QUARANTINE_DIR)) == 0) {
			n_refused++;
			assert_int_equal(r, -EIO);
			assert_non_null(strstr(err.text, "remove it again"));
			assert_int_equal(filters__n(b.store->filters), 1);
			assert_true(n > 0);
		}
		sim__fail(b.sim, 0, FAULT_NONE, false);
		assert_int_equal(removal__select(b.store, &sel, &n, NULL), 0);
		check_aside(&b, 0);
		bench__fini(&b);
	}
	assert_true(n_refused > 0);
}

/* Of two that are too much the older one goes, and the newer one never does. */
static void test_the_newest_that_is_set_aside_stays(void **state)
{
	char path[sizeof(QUARANTINE_DIR) + 26];
	struct bench b;
	size_t n;
	(void)state;

	damage_blocks(&b, 2, true);
	numbered__path(path, sizeof(path), QUARANTINE_DIR, b.store->blocks.v[1]->entry.number, ".blk");

	b.store->options.max_bytes = 1;
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	check_aside(&b, 1);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	check_aside(&b, 1);
	assert_non_null(sim__peek(b.sim, path, &n));
	assert_int_equal(b.n_complaints, 2);
	bench__fini(&b);
}

/* What was to be removed of a block that nobody can read may be anywhere in it. */
static void test_what_was_removed_is_not_set_aside(void **state)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct bench b;
	uint64_t n = 0;
	(void)state;

	damage(&b, true);
	assert_int_equal(removal__select(b.store, &all, &n, NULL), 0);
	assert_int_equal(filters__n(b.store->filters), 1);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(b.store->blocks.n, 0);
	assert_int_equal(b.store->lost.n, 1);
	check_aside(&b, 0);
	bench__fini(&b);
}

/* What cannot be read keeps nothing else from being removed. */
static void test_a_removal_goes_on_behind_a_damaged_block(void **state)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	uint64_t n = 0, damaged;
	struct bench b;
	(void)state;

	damage(&b, true);
	damaged = b.store->blocks.v[0]->entry.number;
	for (int i = 0; i < 2; i++) {
		write_one(&b, 50, RANDOM_ONE_PROFILE, false);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	assert_int_equal(b.store->blocks.n, 3);
	assert_int_equal(removal__select(b.store, &all, &n, NULL), 0);
	assert_true(n > 0);
	assert_int_equal(removal__drain(b.store, NULL), -EBADMSG);
	assert_int_equal(b.store->blocks.n, 1);
	assert_int_equal(b.store->blocks.v[0]->entry.number, damaged);
	bench__fini(&b);
}

/* Nor does one without its dictionary. */
static void test_a_removal_goes_on_behind_a_lost_dictionary(void **state)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	char path[ERA_PATH_BYTES];
	uint64_t n = 0, left;
	struct bench b;
	size_t bytes;
	(void)state;

	damage(&b, false);
	b.storage.real_ns += ERA_MS * 1000000;
	write_at(&b, 50, RANDOM_ONE_PROFILE, false, RANDOM_BASE_NS + ERA_MS * 1000000);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(b.store->blocks.n, 2);
	left = b.store->blocks.v[0]->entry.number;
	assert_true(b.store->blocks.v[0]->entry.era != b.store->blocks.v[1]->entry.era);
	store__close(b.store);
	sim__peek(b.sim, era__path(path, 1), &bytes)[0] ^= 1;
	bench__open(&b);

	assert_int_equal(removal__select(b.store, &all, &n, NULL), 0);
	assert_true(n > 0);
	assert_int_equal(removal__drain(b.store, NULL), -EUCLEAN);
	assert_int_equal(b.store->blocks.n, 1);
	assert_int_equal(b.store->blocks.v[0]->entry.number, left);
	bench__fini(&b);
}

/* A question may have met something else: the block stays what it is. */
static void test_a_sound_block_is_left_alone(void **state)
{
	struct bench b;
	(void)state;

	damage(&b, false);
	store__close(b.store);
	size_t n;
	sim__peek(b.sim, "blocks/00000000000000000001.blk", &n)[100] ^= 4;
	bench__open(&b);
	const uint64_t number = b.store->blocks.v[0]->entry.number;

	atomic_store(&b.store->blocks.v[0]->told, true);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 1);
	assert_int_equal(rework__rescue(b.store, NULL, NULL), 0);
	assert_true(b.store->blocks.v[0]->entry.number == number && b.n_complaints == 0);
	bench__compare(&b);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_can_be_read_is_rescued),
		cmocka_unit_test(test_many_damaged_blocks_take_their_time_and_no_more),
		cmocka_unit_test(test_a_block_that_cannot_be_opened_is_set_aside),
		cmocka_unit_test(test_the_oldest_is_rescued_first),
		cmocka_unit_test(test_what_a_removal_writes_anew_waits_for_it),
		cmocka_unit_test(test_a_block_of_a_later_version_stays),
		cmocka_unit_test(test_a_rescue_that_fails_keeps_no_other_waiting),
		cmocka_unit_test(test_what_is_set_aside_goes),
		cmocka_unit_test(test_what_is_set_aside_goes_with_the_next_removal),
		cmocka_unit_test(test_the_newest_that_is_set_aside_stays),
		cmocka_unit_test(test_what_was_removed_is_not_set_aside),
		cmocka_unit_test(test_a_removal_goes_on_behind_a_damaged_block),
		cmocka_unit_test(test_a_removal_goes_on_behind_a_lost_dictionary),
		cmocka_unit_test(test_a_sound_block_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
