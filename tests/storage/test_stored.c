/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_stored.c - several threads at one block of the list
 *
 * A question, a check and an upkeep may look at a block for the first time at once, and one may take it
 * off the list, and its file away, meanwhile. Two threads open one block a few hundred times, with and without
 * that.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/stored.h"
#include "tests/storage/block_rows.h"
#include "tests/unit/unit.h"

enum { READERS = 2, ROUNDS = 200 };

/* Counts, and lets the other one come. */
static const struct vfs_ops *real_ops;
static _Atomic int n_maps, n_unmaps;

static int map(struct vfs_file *f, size_t n, const uint8_t **ret)
{
	atomic_fetch_add(&n_maps, 1);
	sched_yield();
	return real_ops->map(f, n, ret);
}

static void unmap(struct vfs *v, const uint8_t *p, size_t n)
{
	atomic_fetch_add(&n_unmaps, 1);
	real_ops->unmap(v, p, n);
}

struct place {
	char dir[64];
	struct vfs *vfs;
	struct vfs_ops ops;
	struct random_block block;
	struct manifest_block entry;
	char path[BLOCK_PATH_BYTES];
	struct era *era;
};

/* A directory with the file of one block, "kept", of which each round has a link. */
static void place__init(struct place *p)
{
	static const struct random_block_shape shape = { .first_ms = 1700000000000,
							 .span_ms = 7200000,
							 .n_series = 4,
							 .max_profiles = 9,
							 .max_rows = 80 };
	struct random r = { 5 };
	struct vfs_file *f;

	*p = (struct place){ .entry = { .number = 1 } };
	snprintf(p->dir, sizeof(p->dir), "%s/decima-stored.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	assert_int_equal(vfs_posix__new(p->dir, true, &p->vfs, NULL), 0);
	random_block__init(&p->block, &r, &shape);
	block_file__describe(&p->block.block.info, &p->entry);
	commit__block_path(p->path, 1);
	assert_int_equal(vfs__mkdir(p->vfs, BLOCKS_DIR), 0);
	assert_int_equal(vfs__open(p->vfs, "kept", VFS_WRITE | VFS_CREATE | VFS_NEW, &f), 0);
	assert_int_equal(vfs__write(f, p->block.bytes.data, p->block.bytes.n, 0), 0);
	vfs__close(f);
	p->era = era__new(p->entry.era, 0, 0);
	assert_non_null(p->era);
	real_ops = p->vfs->ops;
	p->ops = *real_ops;
	p->ops.map = map;
	p->ops.unmap = unmap;
	p->vfs->ops = &p->ops;
	atomic_store(&n_maps, 0);
	atomic_store(&n_unmaps, 0);
}

static void place__fini(struct place *p)
{
	p->vfs->ops = real_ops;
	era__unref(p->era);
	random_block__fini(&p->block);
	vfs__unlink(p->vfs, p->path);
	assert_int_equal(vfs__unlink(p->vfs, "kept"), 0);
	assert_int_equal(p->vfs->ops->rmdir(p->vfs, BLOCKS_DIR), 0);
	vfs_posix__free(p->vfs);
	assert_int_equal(rmdir(p->dir), 0);
}

struct reader {
	pthread_barrier_t *start;
	struct stored *stored; /* a reference of its own */
	int result;
	bool whole;
};

static void *read_block(void *ctx)
{
	struct reader *r = ctx;
	const struct block *block;
	uint64_t first;

	pthread_barrier_wait(r->start);
	r->result = stored__block(r->stored, &block, NULL);
	r->whole = r->result == 0 && block__verify(block, NULL, NULL, &first) == 0;
	stored__unref(r->stored);
	return NULL;
}

/* One round; `goes`: off the list, and its file away. */
static void read_at_once(struct place *p, bool goes, struct reader ret[static READERS])
{
	struct stored *listed = stored__new(p->vfs, p->era, &p->entry);
	pthread_t threads[READERS];
	pthread_barrier_t start;

	assert_non_null(listed);
	assert_int_equal(vfs__link(p->vfs, "kept", p->path), 0);
	assert_int_equal(pthread_barrier_init(&start, NULL, READERS + 1), 0);
	for (int i = 0; i < READERS; i++) {
		ret[i] = (struct reader){ .start = &start, .stored = stored__ref(listed) };
		assert_int_equal(pthread_create(&threads[i], NULL, read_block, &ret[i]), 0);
	}
	pthread_barrier_wait(&start);
	if (goes)
		assert_int_equal(vfs__unlink(p->vfs, p->path), 0);
	stored__unref(listed);
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&start);
}

static void test_a_block_is_mapped_once(void **state)
{
	struct reader readers[READERS];
	struct place p;
	(void)state;

	place__init(&p);
	for (int i = 1; i <= ROUNDS; i++) {
		read_at_once(&p, false, readers);
		for (int k = 0; k < READERS; k++)
			assert_true(readers[k].result == 0 && readers[k].whole);
		assert_int_equal(n_maps, i);
		assert_int_equal(n_unmaps, i);
	}
	place__fini(&p);
}

/* Whoever had it opened reads to the end; the others are told that it is not there. */
static void test_a_block_goes_meanwhile(void **state)
{
	struct reader readers[READERS];
	struct place p;
	(void)state;

	place__init(&p);
	for (int i = 0; i < ROUNDS; i++) {
		read_at_once(&p, true, readers);
		for (int k = 0; k < READERS; k++) {
			assert_true(readers[k].result == 0 || readers[k].result == -ENOENT);
			assert_int_equal(readers[k].result == 0, readers[k].whole);
		}
		assert_int_equal(n_maps, n_unmaps);
	}
	place__fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_is_mapped_once),
		cmocka_unit_test(test_a_block_goes_meanwhile),
	};

	return cmocka_run_group_tests_name("stored", tests, NULL, NULL);
}
