/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_check.c - a check says how far it is, ends when it is told to, and keeps no memory
 *
 * What a check finds is where damage is tested: test_rescue, test_lacks, test_gaps, test_reader.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <string.h>

#include "core/batch/batch.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { DAYS = 8 };
#define DAY_NS (INT64_C(86400) * 1000000000)

/* A block a day. */
static void begin(struct bench *b)
{
	bench__prepare(b, 3, SIM_PREFIX);
	b->storage.real_ns = RANDOM_BASE_NS + DAYS * DAY_NS;
	bench__open(b);
	for (int day = 0; day < DAYS; day++) {
		struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 },
							   b->next_sequence++, 7, RANDOM_ONE_PROFILE,
							   RANDOM_BASE_NS + day * DAY_NS);

		assert_non_null(batch);
		content__write(NULL, b->store, &batch, 1);
		batch__unref(batch);
		assert_int_equal(upkeep__seal(b->store, NULL), 0);
	}
	assert_int_equal(b->store->blocks.n, DAYS);
	assert_int_equal(b->store->eras.n, 3);
}

static uint64_t bytes_of_files(const struct bench *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->store->blocks.n; i++)
		sum += b->store->blocks.v[i]->entry.bytes;
	for (size_t i = 0; i < b->store->eras.n; i++) {
		char path[ERA_PATH_BYTES];
		uint64_t bytes;

		era__path(path, b->store->eras.v[i]->number);
		assert_int_equal(vfs__size(sim__vfs(b->sim), path, &bytes), 0);
		sum += bytes;
	}
	return sum;
}

static void test_how_far_it_is(void **state)
{
	struct dcm_budget budget = { .cancelled = 0 };
	const struct inspect_how how = { .budget = &budget };
	struct bench b;
	(void)state;

	begin(&b);
	assert_int_equal(inspect__check(b.store, &how, NULL), 0);
	assert_int_equal(budget.total, bytes_of_files(&b));
	assert_int_equal(budget.done, budget.total);
	bench__fini(&b);
}

/* What is read of dictionaries goes again, when it is more than there may be. */
static void test_dictionaries_do_not_stay(void **state)
{
	const struct inspect_how how = { .budget = NULL };
	struct bench b;
	(void)state;

	begin(&b);
	b.options.dictionary_max_bytes = 1;
	bench__restart(&b, false);
	assert_int_equal(inspect__check(b.store, &how, NULL), 0);
	for (size_t i = 0; i < b.store->eras.n; i++)
		assert_null(b.store->eras.v[i]->dict);
	bench__fini(&b);
}

static void check_end(struct bench *b, const struct inspect_how *how, int as, const char *sentence)
{
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(inspect__check(b->store, how, &err), as);
	assert_string_equal(err.text, sentence);
}

static void cancel(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct dcm_budget *budget = ctx;

	print_message("%s\n", sentence);
	budget->cancelled = level == DCM_LOG_ERROR;
}

static void test_it_ends_when_it_is_told_to(void **state)
{
	struct dcm_budget budget = { .cancelled = 1 };
	const struct inspect_how how = { .budget = &budget, .report = cancel, .ctx = &budget };
	char path[BLOCK_PATH_BYTES];
	struct bench b;
	size_t n;
	(void)state;

	begin(&b);
	check_end(&b, &how, -ECANCELED,
		  "it was ended when 0 of 3 dictionaries and 0 of 8 blocks had been looked at, of "
		  "which 0 are "
		  "damaged");
	budget = (struct dcm_budget){ .deadline_mono_ns = 1 };
	b.storage.mono_ns = 2;
	check_end(&b, &how, -ETIMEDOUT,
		  "the time was over when 0 of 3 dictionaries and 0 of 8 blocks had been looked "
		  "at, of which 0 "
		  "are damaged");
	/* In the middle: who hears of the first damage has seen enough. */
	budget = (struct dcm_budget){ .deadline_mono_ns = 0 };
	sim__peek(b.sim, commit__block_path(path, b.store->blocks.v[1]->entry.number), &n)[100] ^= 4;
	check_end(&b, &how, -ECANCELED,
		  "it was ended when 3 of 3 dictionaries and 2 of 8 blocks had been looked at, of "
		  "which 1 are "
		  "damaged");
	assert_true(budget.done < budget.total);
	bench__fini(&b);
}

static const struct vfs_ops *real_ops;
static struct store *expiring; /* when the first block is opened; NULL: that was before */

static int open_after_all(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	if (expiring && strncmp(path, BLOCKS_DIR "/", sizeof(BLOCKS_DIR)) == 0) {
		struct store *s = expiring;

		expiring = NULL;
		assert_int_equal(expire__whole(s, NULL), 0);
	}
	return real_ops->open(v, path, flags, ret);
}

/* A block that was listed when the check began, and goes before it is opened, is no damage. */
static void test_a_block_that_goes_meanwhile_is_not_missing(void **state)
{
	const struct inspect_how how = { .budget = NULL };
	struct vfs_ops ops;
	struct bench b;
	struct vfs *v;
	(void)state;

	begin(&b);
	b.options.retention_ms = 2 * (DAY_NS / 1000000);
	bench__restart(&b, false);
	v = sim__vfs(b.sim);
	real_ops = v->ops;
	ops = *real_ops;
	ops.open = open_after_all;
	expiring = b.store;
	v->ops = &ops;
	assert_int_equal(inspect__check(b.store, &how, NULL), 0);
	v->ops = real_ops;
	assert_null(expiring);
	assert_true(b.store->blocks.n < DAYS && b.store->blocks.n > 0);
	/* One that is listed is. */
	char path[BLOCK_PATH_BYTES];
	assert_int_equal(vfs__unlink(v, commit__block_path(path, b.store->blocks.v[0]->entry.number)), 0);
	assert_int_equal(inspect__check(b.store, &how, NULL), 1);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_far_it_is),
		cmocka_unit_test(test_dictionaries_do_not_stay),
		cmocka_unit_test(test_it_ends_when_it_is_told_to),
		cmocka_unit_test(test_a_block_that_goes_meanwhile_is_not_missing),
	};

	return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
