/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_reader.c - a directory is read, and copied, beside the process that writes it
 *
 * Here that is a store of its own: what they share is the directory. Once it is a thread that
 * writes all the time; and once it does something right before the first call that the reader makes
 * to the file system, before the second, and so on, so that nothing can come at a moment that was
 * not tried.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/local/backup.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/reader.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"
#include "tests/storage/evict.h"
#include "tests/storage/store_content.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { BATCHES = 400, HOURS_APART = 6, KEEP = 150 };

struct place {
	char dir[64];
	struct vfs *vfs;	       /* the writer's */
	struct storage writer, reader; /* hosts */
	struct store *store;	       /* the writer's */
	unsigned n_complaints;
	/* Of batch i, one profile each: what the writer has told, as it told it. */
	int64_t times[BATCHES];
	_Atomic uint32_t n_acknowledged, n_removed;
	_Atomic bool over;
};

static void complain(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct place *p = ctx;

	print_message("%s\n", sentence);
	p->n_complaints += level == DCM_LOG_ERROR;
}

static struct store_options options_of(struct place *p)
{
	return (struct store_options){
		.seal_ms = 3600000,
		.head_max_bytes = 64 << 20,
		.segment_bytes = 1 << 20,
		.align = 4096,
		.report = complain,
		.report_ctx = p,
	};
}

static void place__init(struct place *p)
{
	struct store_options o = options_of(p);
	struct commit_found found;

	*p = (struct place){ .n_complaints = 0 };
	/* In memory where there is a place for it: what a sync costs is no question here. */
	snprintf(p->dir, sizeof(p->dir), "%s/decima-reader.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	storage__host(&p->writer);
	p->writer.real_ns = RANDOM_BASE_NS + INT64_C(400) * 86400 * 1000000000;
	storage__host(&p->reader);
	assert_int_equal(vfs_posix__new(p->dir, true, &p->vfs, NULL), 0);
	assert_int_equal(store__open(&p->writer.host, p->vfs, &o, &found, &p->store, NULL), 0);
}

static void remove_dir(struct vfs *v, const char *dir)
{
	backup__discard(v, dir);
	assert_int_equal(access(dir, F_OK), -1);
}

static void place__fini(struct place *p)
{
	store__close(p->store);
	remove_dir(p->vfs, p->dir);
	vfs_posix__free(p->vfs);
	assert_int_equal(p->n_complaints, 0);
}

static struct dcm_batch *make_batch(uint64_t sequence, int64_t base_ns, unsigned flags)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, sequence,
						   sequence % 50, flags, base_ns);

	assert_non_null(batch);
	return batch;
}

static void note_done(void *ctx, int status)
{
	*(int *)ctx = status;
}

static void write_batch(struct place *p, struct dcm_batch *batch)
{
	int status = -EINPROGRESS;

	assert_int_equal(store__write(p->store, &batch, 1, note_done, &status, NULL), 0);
	assert_int_equal(status, 0);
}

/*
 * What a store in that directory has, as who only reads sees it. False: who writes was always
 * faster.
 */
static bool try_to_read(struct place *p, const char *dir, struct content *ret)
{
	struct store_options o = options_of(p);
	struct store *s = NULL;
	struct vfs *v = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(vfs_posix__new(dir, true, &v, NULL), 0);
	int r = reader__open(&p->reader.host, v, &o, &s, &err);
	if (r && r != -EBUSY)
		fail_msg("%s", err.text);
	if (r == 0) {
		assert_int_equal(atomic_load(&s->n_frames_lost), 0);
		content__add_store(ret, s);
	}
	store__close(s);
	vfs_posix__free(v);
	return r == 0;
}

static void read_content(struct place *p, const char *dir, struct content *ret)
{
	assert_true(try_to_read(p, dir, ret));
}

/* By whom a copy is made. */
enum copying { COPY_BESIDE, COPY_OWN, N_COPYINGS };

static int copy_store(struct place *p, struct vfs *v, enum copying by, const char *to,
		      struct dcm_error *err)
{
	return by == COPY_OWN ? backup__make(v, p->store->commit, to, err) : reader__backup(v, to, err);
}

/* ---- while nobody writes ---- */

static int add_name(void *ctx, const char *name)
{
	uint64_t *sum = ctx;

	for (; *name; name++)
		*sum = *sum * 31 + (unsigned char)*name;
	return 0;
}

/* Changes when a file is made, removed or renamed. */
static uint64_t names_of(struct vfs *v)
{
	static const char *const dirs[] = { ".", WAL_DIR, BLOCKS_DIR, ERAS_DIR };
	uint64_t sums = 0;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		uint64_t sum = 0;

		assert_int_equal(vfs__list(v, dirs[i], add_name, &sum), 0);
		sums = sums * 1000003 + sum;
	}
	return sums;
}

static void compare(struct place *p, const char *dir, const struct content *told)
{
	struct content there = { 0 };

	read_content(p, dir, &there);
	content__compare(told, &there);
	content__fini(&there);
}

static void test_all_of_it_is_read_and_nothing_is_written(void **state)
{
	struct content told = { 0 };
	char copy[80];
	struct place p;
	(void)state;

	place__init(&p);
	snprintf(copy, sizeof(copy), "%s.copy", p.dir);
	for (uint64_t i = 0; i < 24; i++) {
		struct dcm_batch *batch = make_batch(
			i, RANDOM_BASE_NS + (int64_t)(i % 5) * 2 * 86400 * 1000000000, 0);

		write_batch(&p, batch);
		content__add_batch(&told, batch);
		batch__unref(batch);
		if (i % 7 == 6)
			assert_int_equal(upkeep__seal(p.store, NULL), 0);
		uint64_t before = names_of(p.vfs);
		compare(&p, p.dir, &told);
		assert_int_equal(names_of(p.vfs), before);
	}
	assert_true(p.store->active.n > 0 && p.store->blocks.n > 0);
	for (int i = 0; i < N_COPYINGS; i++) {
		uint64_t before = names_of(p.vfs);

		assert_int_equal(copy_store(&p, p.vfs, (enum copying)i, copy, NULL), 0);
		compare(&p, copy, &told);
		/* What is there already is nobody's to touch. */
		assert_int_equal(copy_store(&p, p.vfs, (enum copying)i, copy, NULL), -EEXIST);
		compare(&p, copy, &told);
		assert_int_equal(names_of(p.vfs), before);
		remove_dir(p.vfs, copy);
	}
	content__fini(&told);
	place__fini(&p);
}

/* What was removed while it was in the log alone; what came later stays. */
static void test_removals_are_copied(void **state)
{
	const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct content told = { 0 };
	char copy[80];
	uint64_t n = 0;
	struct place p;
	(void)state;

	place__init(&p);
	snprintf(copy, sizeof(copy), "%s.copy", p.dir);
	for (uint64_t i = 0; i < 12; i++) {
		struct dcm_batch *batch = make_batch(i, RANDOM_BASE_NS, 0);

		if (i == 6 || i == 9)
			assert_int_equal(removal__select(p.store, &all, &n, NULL), 0);
		write_batch(&p, batch);
		if (i >= 9)
			content__add_batch(&told, batch);
		batch__unref(batch);
	}
	assert_true(n > 0 && told.profiles.n > 0);
	compare(&p, p.dir, &told);
	for (int i = 0; i < N_COPYINGS; i++) {
		assert_int_equal(copy_store(&p, p.vfs, (enum copying)i, copy, NULL), 0);
		compare(&p, copy, &told);
		remove_dir(p.vfs, copy);
	}
	content__fini(&told);
	place__fini(&p);
}

/* Batches that were acknowledged before are late ones after it, wherever the copy has them. */
static void resend(struct place *p, const char *dir, uint64_t n)
{
	struct store_options o = options_of(p);
	struct commit_found found;
	struct store *s = NULL;
	struct vfs *v = NULL;

	assert_int_equal(vfs_posix__new(dir, true, &v, NULL), 0);
	assert_int_equal(store__open(&p->reader.host, v, &o, &found, &s, NULL), 0);
	assert_int_equal(found.n_missing, 0);
	assert_int_equal(found.wal.n_lost, 0);
	assert_int_equal(
		inspect__check(s, &(struct inspect_how){ .report = complain, .ctx = p }, NULL), 0);
	for (uint64_t i = 0; i < n; i++) {
		struct dcm_batch *batch = make_batch(i, RANDOM_BASE_NS, 0);
		int status = -EINPROGRESS;

		assert_int_equal(store__write(s, &batch, 1, note_done, &status, NULL), 0);
		assert_int_equal(status, 0);
		batch__unref(batch);
	}
	store__close(s);
	vfs_posix__free(v);
}

static void test_a_restored_store_knows_what_it_has(void **state)
{
	char copy[80], restored[80];
	struct content told = { 0 };
	struct vfs *v = NULL;
	struct place p;
	(void)state;

	place__init(&p);
	p.reader.real_ns = p.writer.real_ns;
	snprintf(copy, sizeof(copy), "%s.copy", p.dir);
	snprintf(restored, sizeof(restored), "%s.restored", p.dir);
	for (uint64_t i = 0; i < 9; i++) {
		struct dcm_batch *batch = make_batch(i, RANDOM_BASE_NS, 0);

		write_batch(&p, batch);
		content__add_batch(&told, batch);
		batch__unref(batch);
		if (i == 2 || i == 5)
			assert_int_equal(upkeep__seal(p.store, NULL), 0);
	}
	for (int i = 0; i < N_COPYINGS; i++) {
		assert_int_equal(copy_store(&p, p.vfs, (enum copying)i, copy, NULL), 0);
		assert_int_equal(vfs_posix__new(copy, true, &v, NULL), 0);
		assert_int_equal(reader__backup(v, restored, NULL), 0);
		vfs_posix__free(v);
		resend(&p, restored, 9);
		compare(&p, restored, &told);
		remove_dir(p.vfs, restored);
		remove_dir(p.vfs, copy);
	}
	content__fini(&told);
	place__fini(&p);
}

static void test_no_store_is_no_store(void **state)
{
	struct store_options o;
	struct store *s = NULL;
	char dir[] = "/tmp/decima-reader.XXXXXX", copy[80];
	struct vfs *v;
	struct place p;
	(void)state;

	place__init(&p);
	o = options_of(&p);
	assert_non_null(mkdtemp(dir));
	snprintf(copy, sizeof(copy), "%s.copy", dir);
	assert_int_equal(vfs_posix__new(dir, true, &v, NULL), 0);
	assert_int_equal(reader__open(&p.reader.host, v, &o, &s, NULL), -ENOENT);
	assert_int_equal(reader__backup(v, copy, NULL), -ENOENT);
	assert_int_equal(access(copy, F_OK), -1);
	assert_int_equal(rmdir(dir), 0);
	vfs_posix__free(v);
	place__fini(&p);
}

static void test_a_missing_block_is_told_and_left_out(void **state)
{
	struct store_options o;
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct store *s = NULL;
	struct view v;
	char path[BLOCK_PATH_BYTES];
	struct place p;
	(void)state;

	place__init(&p);
	for (uint64_t i = 0; i < 2; i++) {
		struct dcm_batch *batch = make_batch(i, RANDOM_BASE_NS, RANDOM_ONE_PROFILE);

		write_batch(&p, batch);
		batch__unref(batch);
		assert_int_equal(upkeep__seal(p.store, NULL), 0);
	}
	assert_int_equal(p.store->blocks.n, 2);
	assert_int_equal(
		vfs__unlink(p.vfs, commit__block_path(path, p.store->blocks.v[0]->entry.number)), 0);
	o = options_of(&p);
	assert_int_equal(reader__open(&p.reader.host, p.vfs, &o, &s, NULL), 0);
	assert_int_equal(inspect__check(s, &(struct inspect_how){ .report = NULL, .ctx = NULL }, NULL), 1);
	view__init(&v, &p.reader.host, &all, 1);
	assert_int_equal(look__take(&v, s), 0);
	assert_true(v.pieces.n > 0);
	view__fini(&v);
	assert_int_equal(p.n_complaints, 1);
	p.n_complaints = 0;
	store__close(s);
	place__fini(&p);
}

static void count_manifest(void *ctx, enum dcm_log_level level, const char *sentence)
{
	*(unsigned *)ctx += level == DCM_LOG_WARNING && strstr(sentence, MANIFEST_PATH);
}

/* The other copy has all, and `check` says that there is no other one. */
static void test_half_a_manifest_is_told(void **state)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	(void)state;

	for (int damaged = 0; damaged < 2; damaged++) {
		struct dcm_batch *batch = make_batch(1, RANDOM_BASE_NS, RANDOM_ONE_PROFILE);
		struct store *s = NULL;
		struct vfs_file *f;
		unsigned n = 0;
		struct place p;
		struct view v;

		place__init(&p);
		write_batch(&p, batch);
		batch__unref(batch);
		assert_int_equal(upkeep__seal(p.store, NULL), 0);
		struct store_options o = options_of(&p);
		assert_int_equal(vfs__open(p.vfs, MANIFEST_PATH, VFS_WRITE, &f), 0);
		if (damaged)
			assert_int_equal(vfs__write(f, "\377\0\377", 3, 100), 0);
		vfs__close(f);
		assert_int_equal(reader__open(&p.reader.host, p.vfs, &o, &s, NULL), 0);
		assert_int_equal(
			inspect__check(s, &(struct inspect_how){ .report = count_manifest, .ctx = &n },
				       NULL),
			0);
		assert_int_equal(n, damaged);
		view__init(&v, &p.reader.host, &all, 1);
		assert_int_equal(look__take(&v, s), 0);
		assert_true(v.pieces.n > 0);
		view__fini(&v);
		store__close(s);
		place__fini(&p);
	}
}

static void test_without_memory(void **state)
{
	struct place p;
	(void)state;

	place__init(&p);
	for (uint64_t i = 0; i < 3; i++) {
		struct dcm_batch *batch = make_batch(i, RANDOM_BASE_NS, 0);

		write_batch(&p, batch);
		batch__unref(batch);
		if (i == 1)
			assert_int_equal(upkeep__seal(p.store, NULL), 0);
	}
	FAILMALLOC_SWEEP (i) {
		struct store_options o = options_of(&p);
		struct store *s = NULL;
		int r = reader__open(&p.reader.host, p.vfs, &o, &s, NULL);

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(r == 0, s != NULL);
		store__close(s);
	}
	place__fini(&p);
}

/* All that was acknowledged before it was read, but for what was removed. */
static void must_have(const struct place *p, const struct content *c, uint32_t n, uint32_t n_removed)
{
	for (uint32_t i = n_removed; i < n; i++) {
		bool found = false;

		for (size_t k = 0; !found && k < c->profiles.n; k++)
			found = c->profiles.v[k].time_ms == p->times[i];
		if (!found)
			fail_msg("batch %u of %u is not there", i, n);
	}
}

/* ---- dictionaries ---- */

static uint32_t n_dictionaries(const struct store *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		n += s->eras.v[i]->dict != NULL;
	return n;
}

static void write_next(struct place *p)
{
	uint32_t i = atomic_load(&p->n_acknowledged);
	struct dcm_batch *batch = make_batch(
		i, RANDOM_BASE_NS + (int64_t)i * HOURS_APART * 3600 * 1000000000, RANDOM_ONE_PROFILE);

	assert_true(i < BATCHES);
	p->times[i] = batch->profiles[0].time_ns / 1000000;
	write_batch(p, batch);
	batch__unref(batch);
	atomic_store(&p->n_acknowledged, i + 1);
}

/* When the newest profile is of the block that goes first. */
static int64_t oldest_ms(const struct store *s)
{
	int64_t ms = INT64_MAX;

	for (size_t i = 0; i < s->blocks.n; i++)
		ms = s->blocks.v[i]->entry.last_ms < ms ? s->blocks.v[i]->entry.last_ms : ms;
	return ms;
}

static void remove_to(struct place *p, uint32_t n)
{
	/* First said, then done: blocks go whole. */
	atomic_store(&p->n_removed, n);
	while (p->store->blocks.n && oldest_ms(p->store) < p->times[n])
		assert_int_equal(evict__oldest(p->store, NULL), 0);
}

/* How much is there is told alike, though the last era is the smallest by far. */
static void test_reader_tells_how_much_there_is(void **state)
{
	struct dcm_store_stat written = { .size = sizeof(written) }, seen = written;
	struct store_options o;
	struct store *s = NULL;
	struct vfs *v = NULL;
	struct place p;
	(void)state;

	place__init(&p);
	for (int i = 0; i < 13; i++)
		write_next(&p);
	assert_int_equal(upkeep__seal(p.store, NULL), 0);
	o = options_of(&p);
	assert_int_equal(vfs_posix__new(p.dir, true, &v, NULL), 0);
	assert_int_equal(reader__open(&p.reader.host, v, &o, &s, NULL), 0);
	assert_int_equal(s->eras.n, 2);
	inspect__stat(p.store, &written);
	inspect__stat(s, &seen);
	assert_true(written.n_series > 1);
	assert_int_equal(seen.n_series, written.n_series);
	assert_int_equal(seen.n_stacks, written.n_stacks);
	assert_int_equal(seen.n_locations, written.n_locations);
	store__close(s);
	vfs_posix__free(v);
	place__fini(&p);
}

/* They come into memory when they are asked for, whatever has become of their logs, and leave it again. */
static void test_dictionaries_come_and_go(void **state)
{
	struct content told = { 0 }, there = { 0 };
	char first_log[sizeof(((struct place *)NULL)->dir) + ERA_PATH_BYTES], path[ERA_PATH_BYTES];
	struct store_options o;
	struct store *s = NULL;
	struct vfs *v = NULL;
	struct place p;
	(void)state;

	place__init(&p);
	for (int i = 0; i < 48; i++)
		write_next(&p);
	assert_int_equal(upkeep__seal(p.store, NULL), 0);
	read_content(&p, p.dir, &told);
	o = options_of(&p);
	o.dictionary_max_bytes = 1;
	assert_int_equal(vfs_posix__new(p.dir, true, &v, NULL), 0);
	assert_int_equal(reader__open(&p.reader.host, v, &o, &s, NULL), 0);
	assert_in_range(s->eras.n, 4, 6);
	assert_int_equal(n_dictionaries(s), 0);
	snprintf(first_log, sizeof(first_log), "%s/%s", p.dir, era__path(path, s->eras.v[0]->number));
	assert_int_equal(access(first_log, F_OK), 0);
	remove_to(&p, 47);
	assert_int_equal(access(first_log, F_OK), -1);
	for (int again = 0; again < 2; again++) {
		content__add_store(&there, s);
		content__compare(&told, &there);
		content__fini(&there);
		assert_int_equal(n_dictionaries(s), s->eras.n);
		eras__trim(s);
		assert_int_equal(n_dictionaries(s), 0);
	}
	content__fini(&told);
	store__close(s);
	vfs_posix__free(v);
	place__fini(&p);
}

/* ---- while somebody meddles at each moment ---- */

enum meddling { SEAL, COMPACT, REMOVE, N_MEDDLINGS };

/* The reader's file system: the writer's, but something happens before one of its calls. */
struct meddled {
	struct vfs vfs;
	struct vfs_ops ops;
	struct vfs *inner;
	struct place *place;
	enum meddling how;
	unsigned n_calls, at; /* before which call; counted from 1 */
};

static void meddle(struct place *p, enum meddling how)
{
	uint32_t n = atomic_load(&p->n_acknowledged);

	if (how == SEAL) {
		write_next(p);
		assert_int_equal(upkeep__seal(p->store, NULL), 0);
	} else if (how == COMPACT) {
		for (int more = 1; more > 0;) {
			more = rework__compact(p->store, NULL, NULL);
			assert_true(more >= 0);
		}
	} else if (n > 20) {
		remove_to(p, n - 8);
	}
}

static struct vfs *inner_of(struct vfs *v)
{
	struct meddled *m = (struct meddled *)v;

	if (++m->n_calls == m->at)
		meddle(m->place, m->how);
	return m->inner;
}

static int meddled_open(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->open(inner, path, flags, ret);
}

static int meddled_list(struct vfs *v, const char *dir, vfs_name_fn each, void *ctx)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->list(inner, dir, each, ctx);
}

static int meddled_link(struct vfs *v, const char *from, const char *to)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->link(inner, from, to);
}

static int meddled_mkdir(struct vfs *v, const char *path)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->mkdir(inner, path);
}

static int meddled_rmdir(struct vfs *v, const char *path)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->rmdir(inner, path);
}

static int meddled_unlink(struct vfs *v, const char *path)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->unlink(inner, path);
}

static int meddled_sync_dir(struct vfs *v, const char *dir)
{
	struct vfs *inner = inner_of(v);

	return inner->ops->sync_dir(inner, dir);
}

static void meddled_unmap(struct vfs *v, const uint8_t *p, size_t n)
{
	struct vfs *inner = ((struct meddled *)v)->inner;

	inner->ops->unmap(inner, p, n);
}

static uint64_t meddled_n_lost(struct vfs *v)
{
	struct vfs *inner = ((struct meddled *)v)->inner;

	return inner->ops->n_lost(inner);
}

/* Before which call, and how, is the caller's to say; without that nobody meddles. */
static void meddled_init(struct meddled *m, struct place *p)
{
	*m = (struct meddled){ .vfs = { &m->ops }, .inner = p->vfs, .place = p };
	m->ops = *p->vfs->ops; /* of files, which are the inner one's */
	m->ops.open = meddled_open;
	m->ops.list = meddled_list;
	m->ops.link = meddled_link;
	m->ops.mkdir = meddled_mkdir;
	m->ops.rmdir = meddled_rmdir;
	m->ops.unlink = meddled_unlink;
	m->ops.sync_dir = meddled_sync_dir;
	m->ops.unmap = meddled_unmap;
	m->ops.n_lost = meddled_n_lost;
}

/* True when the moment came. */
static bool read_meddled(struct place *p, enum meddling how, unsigned at, enum copying by)
{
	const bool copied = by != N_COPYINGS;
	struct meddled m;
	struct store_options o = options_of(p);
	uint32_t n = atomic_load(&p->n_acknowledged);
	uint32_t n_removed = atomic_load(&p->n_removed);
	struct content there = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct store *s = NULL;
	char copy[80];

	meddled_init(&m, p);
	m.how = how;
	m.at = at;
	snprintf(copy, sizeof(copy), "%s.copy", p->dir);
	int r = copied ? copy_store(p, &m.vfs, by, copy, &err)
		       : reader__open(&p->reader.host, &m.vfs, &o, &s, &err);
	if (r)
		fail_msg("%s", err.text);
	bool came = m.n_calls >= at;
	/* The store's own copy is of the moment when it began. */
	if (by != COPY_OWN)
		n_removed = atomic_load(&p->n_removed);
	/* Of the directory nothing is needed any more. */
	meddle(p, COMPACT);
	meddle(p, REMOVE);
	if (copied)
		read_content(p, copy, &there);
	else
		content__add_store(&there, s);
	must_have(p, &there, n, n_removed);
	if (copied)
		remove_dir(p->vfs, copy);
	content__fini(&there);
	store__close(s);
	return came;
}

static void test_at_each_moment(void **state)
{
	(void)state;
	for (unsigned k = 0; k < (N_COPYINGS + 1) * N_MEDDLINGS; k++) {
		bool came = true;
		struct place p;

		place__init(&p);
		for (int i = 0; i < 30; i++) {
			write_next(&p);
			if (i % 3 == 2)
				assert_int_equal(upkeep__seal(p.store, NULL), 0);
		}
		unsigned at = 0;
		while (came) {
			/* Something is always in the log, and in blocks that are young and old. */
			write_next(&p);
			if (at % 3 == 2)
				assert_int_equal(upkeep__seal(p.store, NULL), 0);
			came = read_meddled(&p, (enum meddling)(k / (N_COPYINGS + 1)), ++at,
					    (enum copying)(k % (N_COPYINGS + 1)));
		}
		print_message("%u moments\n", at - 1);
		assert_true(at > 8);
		place__fini(&p);
	}
}

/* ---- while somebody seals during each block's copy ---- */

/* On another file system: blocks are copied, which takes long enough for a seal. */
static int sealed_link(struct vfs *v, const char *from, const char *to)
{
	struct meddled *m = (struct meddled *)v;
	(void)from;
	(void)to;

	m->n_calls++;
	meddle(m->place, SEAL);
	return -EXDEV;
}

/* What a segment has is copied when its name has gone, and nothing twice. */
static void test_seals_during_the_copy_do_not_begin_it_again(void **state)
{
	struct content there = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct meddled m;
	char copy[80];
	struct place p;
	(void)state;

	place__init(&p);
	for (int i = 0; i < 7; i++) {
		write_next(&p);
		if (i % 2)
			assert_int_equal(upkeep__seal(p.store, NULL), 0);
	}
	const uint32_t n = atomic_load(&p.n_acknowledged);
	const size_t n_blocks = p.store->blocks.n;
	meddled_init(&m, &p);
	m.ops.link = sealed_link;
	snprintf(copy, sizeof(copy), "%s.copy", p.dir);
	if (reader__backup(&m.vfs, copy, &err))
		fail_msg("%s", err.text);
	assert_true(n_blocks >= 2);
	assert_int_equal(atomic_load(&p.n_acknowledged), n + n_blocks);
	read_content(&p, copy, &there);
	must_have(&p, &there, n, 0);
	content__fini(&there);
	remove_dir(p.vfs, copy);
	place__fini(&p);
}

static int no_segment(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	if (flags == VFS_READ && strncmp(path, WAL_DIR "/", sizeof(WAL_DIR)) == 0)
		return -EIO;
	return meddled_open(v, path, flags, ret);
}

static void test_a_log_that_cannot_be_read_is_named(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct meddled m;
	char copy[80];
	struct place p;
	(void)state;

	place__init(&p);
	write_next(&p);
	meddled_init(&m, &p);
	m.ops.open = no_segment;
	snprintf(copy, sizeof(copy), "%s.copy", p.dir);
	assert_int_equal(copy_store(&p, &m.vfs, COPY_OWN, copy, &err), -EIO);
	if (strncmp(err.text, "backup: " WAL_DIR "/", 12) != 0 ||
	    !strstr(err.text, "repair the disk"))
		fail_msg("%s", err.text);
	assert_int_equal(access(copy, F_OK), -1);
	place__fini(&p);
}

/* ---- while somebody does ---- */

static void *write_all(void *ctx)
{
	struct place *p = ctx;

	for (uint32_t i = 0; i < BATCHES; i++) {
		write_next(p);
		if (i % 3 == 2)
			assert_int_equal(upkeep__seal(p->store, NULL), 0);
		if (i % 5 == 4)
			assert_true(rework__compact(p->store, NULL, NULL) >= 0);
		if (i % 11 == 10 && i > KEEP)
			remove_to(p, i - KEEP);
	}
	atomic_store(&p->over, true);
	return NULL;
}

/* The same of a copy; the store's own always succeeds. */
static bool try_to_copy(struct place *p, enum copying by, struct content *ret)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char copy[80];

	snprintf(copy, sizeof(copy), "%s.copy", p->dir);
	int r = copy_store(p, p->vfs, by, copy, &err);
	if (r && (r != -EBUSY || by == COPY_OWN))
		fail_msg("%s", err.text);
	if (r)
		return false;
	read_content(p, copy, ret);
	remove_dir(p->vfs, copy);
	return true;
}

/* A writer that is always faster may keep readers out, and none does when it is over. */
static void test_beside_a_writer(void **state)
{
	unsigned n_tries = 0, n_done[N_COPYINGS + 1] = { 0 };
	pthread_t thread;
	struct place p;
	bool over;
	(void)state;

	place__init(&p);
	assert_int_equal(pthread_create(&thread, NULL, write_all, &p), 0);
	do {
		struct content there = { 0 };
		over = atomic_load(&p.over);
		uint32_t n = atomic_load(&p.n_acknowledged);
		enum copying by = n_tries++ % (N_COPYINGS + 1);
		bool done = by < N_COPYINGS ? try_to_copy(&p, by, &there)
					    : try_to_read(&p, p.dir, &there);

		if (done)
			must_have(&p, &there, n, atomic_load(&p.n_removed));
		n_done[by] += done;
		content__fini(&there);
	} while (!over || n_done[COPY_BESIDE] == 0 || n_done[COPY_OWN] == 0 || n_done[N_COPYINGS] == 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	print_message("%u times read, %u times copied, %u times by itself, of %u\n",
		      n_done[N_COPYINGS], n_done[COPY_BESIDE], n_done[COPY_OWN], n_tries);
	place__fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it_is_read_and_nothing_is_written),
		cmocka_unit_test(test_removals_are_copied),
		cmocka_unit_test(test_a_restored_store_knows_what_it_has),
		cmocka_unit_test(test_no_store_is_no_store),
		cmocka_unit_test(test_a_missing_block_is_told_and_left_out),
		cmocka_unit_test(test_half_a_manifest_is_told),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_reader_tells_how_much_there_is),
		cmocka_unit_test(test_dictionaries_come_and_go),
		cmocka_unit_test(test_at_each_moment),
		cmocka_unit_test(test_seals_during_the_copy_do_not_begin_it_again),
		cmocka_unit_test(test_a_log_that_cannot_be_read_is_named),
		cmocka_unit_test(test_beside_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
