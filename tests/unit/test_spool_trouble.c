/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_spool_trouble.c - a spool whose clock is set, whose disk hangs, whose files are somebody else's or gone
 */
#include "core/pipeline/spool.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "core/disk/wal.h"
#include "tests/unit/folder.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/shell.h"
#include "tests/unit/spool_rig.h"
#include "tests/unit/unit.h"

#define YEAR (365 * 86400 * SECOND)

DEFINE_FOLDER(dir, "spool", 0700);

/* ---- clocks ---- */

/* Nobody asks for the next one while the other side is away. */
static void the_old_leave_without_a_reader(void **state)
{
	struct spool_view v;
	struct rig s;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 2);
	rig__pass(&s, 120 * SECOND);
	rig__append(&s, 3, 1);
	assert_int_equal(s.expired, rig__rows_of(1) + rig__rows_of(2));
	spool__view(s.spool, &v);
	assert_int_equal(v.n_batches, 1);
	rig__deliver(&s, 3);
	rig__assert_empty(&s);
	rig__end(&s);
}

static void assert_oldest(struct rig *s, int64_t age_ns)
{
	struct spool_view v;

	spool__view(s->spool, &v);
	assert_int_equal(v.oldest_real_ns, s->clock.fake_real_ns - age_ns);
}

/* A machine that learns what time it is, and one that was wrong for good. */
static void a_clock_that_is_set_ages_nothing(void **state)
{
	struct rig s;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	rig__pass(&s, 10 * SECOND);
	s.clock.fake_real_ns += 50 * YEAR;
	rig__append(&s, 2, 1);
	assert_oldest(&s, 10 * SECOND);
	s.clock.fake_real_ns -= 20 * YEAR;
	/* 1 is from before the others by half a century, says what is on the disk; 2 from the future. */
	rig__append(&s, 3, 1);
	rig__deliver(&s, 1);
	rig__restart(&s, false);
	assert_oldest(&s, 0);
	rig__deliver(&s, 2);
	rig__deliver(&s, 3);
	rig__assert_empty(&s);
	assert_int_equal(s.expired, 0);
	rig__end(&s);
}

static void no_batch_is_older_than_the_one_before(void **state)
{
	struct rig s;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	s.clock.fake_real_ns -= 900 * SECOND;
	rig__append(&s, 2, 1);
	s.clock.fake_real_ns += 900 * SECOND;
	rig__pass(&s, 50 * SECOND);
	rig__restart(&s, false);
	assert_oldest(&s, 50 * SECOND);
	rig__deliver(&s, 1);
	rig__deliver(&s, 2);
	rig__end(&s);
}

static void age_goes_on_over_a_restart(void **state)
{
	struct rig s;
	struct spool_item item;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	rig__pass(&s, 60 * SECOND);
	rig__restart(&s, false);
	rig__append(&s, 2, 1);
	rig__pass(&s, 60 * SECOND);
	assert_int_equal(rig__next(&s, &item), 2);
	assert_int_equal(s.expired, rig__rows_of(1));
	spool__settle(s.spool, &item, 0);
	rig__end(&s);
}

/* ---- what is set aside ---- */

static void assert_file(struct rig *s, const char *path, const char *text)
{
	size_t n;
	const uint8_t *bytes = sim__peek(s->sim, path, &n);

	assert_non_null(bytes);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(bytes, text, n);
}

static void one_that_is_refused_again_is_aside_once(void **state)
{
	static const char *const words[] = { "at first many words", "then few" };
	struct spool_item item;
	struct spool_view v;
	struct rig s;
	size_t n;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig__next(&s, &item), 1);
		spool__say(s.spool, words[i]);
		spool__settle(s.spool, &item, -EBADMSG);
		/* As if the power had gone before anybody synced it. */
		spool__close(s.spool);
		sim__restart(s.sim, true);
		sim__peek(s.sim, "position", &n)[9] ^= 1;
		rig__reopen(&s);
		assert_file(&s, "aside/00000000000000000001.txt", words[i]);
		spool__view(s.spool, &v);
		assert_int_equal(v.n_aside, 1);
	}
	sim__peek(s.sim, "aside/00000000000000000001.batch", &n);
	assert_int_equal(v.aside_bytes, n);
	rig__end(&s);
}

/* A batch of several profiles: the first that is one. */
static struct dcm_batch *several(uint64_t seed)
{
	struct dcm_batch *b;

	do {
		b = random_batch__new(seed++, 0);
		if (b->n_profiles > 1)
			return b;
		batch__unref(b);
	} while (true);
}

static void one_profile_is_set_aside(void **state)
{
	struct dcm_batch *b = several(1), *kept = NULL;
	struct spool_item item;
	struct spool_view v;
	const uint8_t *bytes;
	struct rig s;
	size_t n;

	(void)state;
	rig__begin(&s);
	assert_int_equal(spool__append(s.spool, b, &b, 1, NULL), 0);
	assert_int_equal(spool__next(s.spool, &item), 0);
	spool__say(s.spool, "not this one");
	spool__set_aside(s.spool, item.batch, 1);
	batch__unref(item.batch);
	spool__settle(s.spool, &item, 0);
	rig__assert_empty(&s);
	rig__restart(&s, true);
	assert_file(&s, "aside/00000000000000000001-1.txt", "not this one");
	bytes = sim__peek(s.sim, "aside/00000000000000000001-1.batch", &n);
	spool__view(s.spool, &v);
	assert_int_equal(v.n_aside, 1);
	assert_int_equal(v.aside_bytes, n);
	assert_int_equal(wire__decode(bytes, n, &kept, NULL), 0);
	assert_int_equal(kept->n_profiles, 1);
	assert_int_equal(kept->profiles[0].n_rows, b->profiles[1].n_rows);
	assert_int_equal(kept->profiles[0].time_ns, b->profiles[1].time_ns);
	batch__unref(kept);
	batch__unref(b);
	rig__end(&s);
}

/* ---- what left the disk while somebody had it ---- */

static void what_nobody_puts_back_is_lost(void **state)
{
	struct spool *held;
	struct spool_item item;
	struct rig s;

	(void)state;
	rig__begin_at(&s, 1);
	s.config.max_bytes = 1;
	rig__reopen(&s);
	rig__append(&s, 1, 1);
	assert_int_equal(rig__next(&s, &item), 1);
	rig__append(&s, 2, 1);
	assert_int_equal(s.full, 0);
	held = spool__ref(s.spool);
	rig__restart(&s, false);
	assert_int_equal(s.full, rig__rows_of(1));
	spool__settle(held, &item, -ECANCELED);
	spool__unref(held);
	assert_int_equal(s.full, rig__rows_of(1));
	rig__deliver(&s, 2);
	rig__end(&s);
}

/* ---- files ---- */

static void the_position_has_its_room_from_the_beginning(void **state)
{
	struct rig s;
	size_t n = 0;

	(void)state;
	rig__begin(&s);
	assert_non_null(sim__peek(s.sim, "position", &n));
	assert_int_equal(n, 24);
	rig__end(&s);
}

static int take_nothing(void *ctx, const struct frame *f)
{
	(void)ctx;
	(void)f;
	return 0;
}

/* The log of a store is made of the same segments, and what a spool does not know it would remove. */
static void a_log_of_somebody_else_is_left_alone(void **state)
{
	const struct wal_options o = {
		.segment_bytes = 1 << 20, .pending_max_bytes = 1 << 20, .first_number = 1, .align = 4096
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct wal_found found;
	struct spool *spool = NULL;
	struct wal *w = NULL;
	struct rig s;
	uint64_t lsn;
	size_t n;

	(void)state;
	rig__begin_at(&s, 1);
	assert_int_equal(vfs__mkdir(sim__vfs(s.sim), WAL_DIR), 0);
	assert_int_equal(wal__open(sim__vfs(s.sim), &o, 0, take_nothing, NULL, &found, &w, NULL), 0);
	assert_int_equal(wal__append(w, 7, "rows", 4, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	wal__close(w);
	assert_int_equal(spool__open(sim__vfs(s.sim), &s.config, &spool, &err), -EUCLEAN);
	assert_non_null(strstr(err.text, "spool_path"));
	assert_non_null(sim__peek(s.sim, "wal/00000000000000000001.wal", &n));
	assert_null(sim__peek(s.sim, "position", &n));
	rig__end(&s);
}

/* Whoever cleaned up: once the directory is there again, it takes batches, and keeps them. */
static void a_directory_that_was_removed_is_taken_again(void **state)
{
	struct vfs *v = NULL;
	struct rig s;

	(void)state;
	rig__begin_at(&s, 1);
	assert_int_equal(vfs_posix__new(dir, true, &v, NULL), 0);
	assert_int_equal(spool__open(v, &s.config, &s.spool, NULL), 0);
	rig__append(&s, 1, 1);
	rig__deliver(&s, 1);
	assert_int_equal(shell("rm -r '%s'", dir), 0);
	assert_int_equal(rig__try_append(&s, 2, 1), -ENOENT);
	assert_int_equal(rig__try_append(&s, 2, 1), -ENOENT);
	assert_int_equal(shell("mkdir '%s'", dir), 0);
	rig__append(&s, 2, 1);
	rig__append(&s, 3, 1);
	rig__deliver(&s, 2);
	spool__close(s.spool);
	s.spool = NULL;
	assert_int_equal(spool__open(v, &s.config, &s.spool, NULL), 0);
	rig__deliver(&s, 3);
	rig__assert_empty(&s);
	rig__end(&s);
	vfs_posix__free(v);
}

/* ---- a disk that hangs ---- */

/* The disk as it is; each call is also the moment at which somebody looks at the spool. */
static struct {
	const struct vfs_ops *ops;
	struct spool *spool; /* NULL: nobody looks */
	unsigned n_looks, n_waits;
} looked_at;

static void *look(void *arg)
{
	struct spool_view v;

	spool__view(arg, &v);
	spool__say(arg, "words");
	return NULL;
}

static void look_now(void)
{
	struct timespec until;
	pthread_t thread;

	if (!looked_at.spool || looked_at.n_waits > 0)
		return;
	looked_at.n_looks++;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	assert_int_equal(pthread_create(&thread, NULL, look, looked_at.spool), 0);
	if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
		looked_at.n_waits++;
		pthread_detach(thread);
	}
}

static int sync_looked_at(struct vfs_file *f)
{
	look_now();
	return looked_at.ops->sync(f);
}

static int write_looked_at(struct vfs_file *f, const void *p, size_t n, uint64_t offset, size_t *ret_n)
{
	look_now();
	return looked_at.ops->pwrite(f, p, n, offset, ret_n);
}

static int read_looked_at(struct vfs_file *f, void *p, size_t n, uint64_t offset, size_t *ret_n)
{
	look_now();
	return looked_at.ops->pread(f, p, n, offset, ret_n);
}

static int unlink_looked_at(struct vfs *v, const char *path)
{
	look_now();
	return looked_at.ops->unlink(v, path);
}

static void who_looks_waits_for_no_disk(void **state)
{
	struct spool_item item;
	struct vfs_ops ops;
	struct rig s;

	(void)state;
	rig__begin_at(&s, 1);
	looked_at.ops = sim__vfs(s.sim)->ops;
	ops = *looked_at.ops;
	ops.sync = sync_looked_at;
	ops.pwrite = write_looked_at;
	ops.pread = read_looked_at;
	ops.unlink = unlink_looked_at;
	sim__vfs(s.sim)->ops = &ops;
	s.config.max_bytes = 1 << 20;
	rig__reopen(&s);
	for (uint64_t i = 0; i < 100; i++)
		rig__append(&s, i, 1);
	rig__restart(&s, false);
	looked_at.spool = s.spool;
	/* More than it may have, what is read back, what is refused, and segments that go. */
	for (uint64_t i = 100; i < 120; i++)
		rig__append(&s, i, 1);
	for (int i = 0; rig__next(&s, &item) >= 0; i++)
		spool__settle(s.spool, &item, i % 10 == 9 ? -EBADMSG : 0);
	assert_true(looked_at.n_looks > 100);
	assert_int_equal(looked_at.n_waits, 0);
	looked_at.spool = NULL;
	rig__end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_old_leave_without_a_reader),
		cmocka_unit_test(a_clock_that_is_set_ages_nothing),
		cmocka_unit_test(no_batch_is_older_than_the_one_before),
		cmocka_unit_test(age_goes_on_over_a_restart),
		cmocka_unit_test(one_that_is_refused_again_is_aside_once),
		cmocka_unit_test(one_profile_is_set_aside),
		cmocka_unit_test(what_nobody_puts_back_is_lost),
		cmocka_unit_test(the_position_has_its_room_from_the_beginning),
		cmocka_unit_test(a_log_of_somebody_else_is_left_alone),
		cmocka_unit_test(a_directory_that_was_removed_is_taken_again),
		cmocka_unit_test(who_looks_waits_for_no_disk),
	};

	return cmocka_run_group_tests_name("spool_trouble", tests, make_dir, remove_dir);
}
