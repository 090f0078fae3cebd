/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_local_threads.c - the local store's own thread, one that writes, some that
 * remove, and one that asks, at once
 *
 * Profiles are so old that each block is compacted as soon as it is there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/unit.h"

#define LOCAL_FILE TEST_BUILDDIR "/plugins/.libs/storage_local.so"
#define TYPE	   "x:x:x:x:x:delta"
#define BASE_NS	   INT64_C(1700000000000000000)
enum { REMOVERS = 2, RUN_SECONDS = 6, PAUSE_NS = 500000 };

DEFINE_FOLDER(dir, "threads", 0700);

struct bench {
	struct storage storage;
	_Atomic bool over;
	uint64_t n_written;
};

/* A profile that stays and one that goes. */
static struct dcm_batch *make_batch(uint64_t n)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	const int64_t one = 1;

	assert_non_null(b);
	builder__set_source(b, (struct dcm_hash){ 3, 1 }, n);
	const uint32_t x = builder__string(b, STR("x"));
	const struct dcm_type type = { x, x, x, x, x, DCM_DELTA };
	for (int stays = 0; stays < 2; stays++) {
		const struct dcm_pair pair = { builder__string(b, STR("stays")),
					       builder__string(b, stays ? STR("yes") : STR("no")) };
		const struct dcm_profile head = { .series = builder__series(b, &pair, 1),
						  .time_ns = BASE_NS + (int64_t)n * 1000000 };

		builder__profile(b, &head, &type, 1);
		builder__row(b, builder__stack(b, NULL, 0), 0, &one);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

static void *write_on(void *bench)
{
	struct bench *b = bench;

	while (!b->over) {
		struct dcm_batch *batch = make_batch(b->n_written++);
		int r;

		while ((r = b->storage.ops->write(b->storage.instance, &batch, 1, NULL, NULL, NULL)) ==
		       -EAGAIN)
			rest();
		assert_int_equal(r, 0);
		batch__unref(batch);
		rest();
	}
	return NULL;
}

static int remove_from(struct bench *b, int64_t from_ms)
{
	const struct dcm_matcher no = { .op = DCM_EQ, .name = STR("stays"), .value = STR("no") };
	const struct dcm_select sel = {
		.size = sizeof(sel), .matchers = &no, .n_matchers = 1, .from_ms = from_ms, .to_ms = INT64_MAX
	};
	uint64_t n = 0;

	return b->storage.ops->remove(b->storage.instance, &sel, &n, NULL);
}

static void *remove_on(void *bench)
{
	struct bench *b = bench;

	while (!b->over) {
		const int r = remove_from(b, BASE_NS / 1000000);

		assert_true(r == 0 || r == -EAGAIN);
		for (int i = 0; i < 40; i++)
			rest();
	}
	return NULL;
}

static int add_points(void *ctx, const struct dcm_points *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		*(int64_t *)ctx += p->value[i];
	return 0;
}

static int64_t count(struct bench *b, const char *stays)
{
	const struct dcm_matcher m = { .op = DCM_EQ, .name = STR("stays"), .value = str__of(stays) };
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = STR(TYPE),
					.matchers = &m,
					.n_matchers = 1,
					.from_ms = INT64_MIN,
					.to_ms = INT64_MAX };
	int64_t n = 0;

	assert_int_equal(b->storage.ops->time_series(b->storage.instance, &sel, 60000, NULL,
						     add_points, &n, NULL),
			 0);
	return n;
}

static void test_all_at_once(void **state)
{
	pthread_t writer, removers[REMOVERS];
	struct bench b = { .n_written = 0 };
	char yaml[128];
	(void)state;

	snprintf(yaml, sizeof(yaml), "{ path: \"%s/store\", seal_interval: 1s, retention: 0 }", dir);
	assert_true(storage__open(&b.storage, LOCAL_FILE, yaml));
	atomic_store(&b.storage.real_ns, BASE_NS + INT64_C(100) * 3600 * 1000000000);
	assert_int_equal(pthread_create(&writer, NULL, write_on, &b), 0);
	for (int i = 0; i < REMOVERS; i++)
		assert_int_equal(pthread_create(&removers[i], NULL, remove_on, &b), 0);
	int64_t before = 0;
	for (int i = 0; i < RUN_SECONDS * 10; i++) {
		const int64_t now = count(&b, "yes");

		assert_true(now >= before);
		before = now;
		/* Time passes for the upkeep, which looks at the clock of the host. */
		atomic_fetch_add(&b.storage.mono_ns, 1000000000);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	b.over = true;
	pthread_join(writer, NULL);
	for (int i = 0; i < REMOVERS; i++)
		pthread_join(removers[i], NULL);
	int r;
	while ((r = remove_from(&b, INT64_MIN)) == -EAGAIN)
		rest();
	assert_int_equal(r, 0);
	assert_int_equal(count(&b, "no"), 0);
	assert_int_equal(count(&b, "yes"), b.n_written);
	assert_true(b.n_written > 100);
	storage__close(&b.storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_at_once),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
