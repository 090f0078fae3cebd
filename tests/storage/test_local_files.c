/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_local_files.c - the log and the commit order on a real file system, and by
 * several threads
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/storage/local/commit.h"
#include "tests/unit/unit.h"

enum { THREADS = 4, WRITES = 40 };

struct place {
	char dir[64];
	struct vfs *vfs;
	struct commit *commit;
	struct commit_found found;
	struct dcm_error err;
	uint64_t last[THREADS]; /* number replayed last, of each thread */
	uint64_t n_replayed, n_bytes;
	unsigned n_reports;
	uint64_t segment_bytes, pending_bytes;
};

static void report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)level;
	(void)sentence;
	((struct place *)ctx)->n_reports++;
}

/* A frame of 16 bytes is (thread, number); numbers of a thread come in their order, each once. */
static int replayed(void *ctx, const struct frame *f)
{
	struct place *p = ctx;
	uint64_t v[2];

	p->n_replayed++;
	p->n_bytes += f->n;
	if (f->n != sizeof(v))
		return 0;
	memcpy(v, f->payload, sizeof(v));
	assert_true(v[0] < THREADS && v[1] == p->last[v[0]] + 1);
	p->last[v[0]] = v[1];
	return 0;
}

static int start(struct place *p)
{
	struct commit_options o = {
		.wal = { .segment_bytes = p->segment_bytes,
			 .pending_max_bytes = p->pending_bytes,
			 .align = 4096,
			 .report = report,
			 .report_ctx = p },
		.each = replayed,
		.ctx = p,
	};

	memset(p->last, 0, sizeof(p->last));
	p->n_replayed = p->n_bytes = p->n_reports = 0;
	p->err = (struct dcm_error)DCM_ERROR_INIT;
	return commit__open(p->vfs, &o, &p->found, &p->commit, &p->err);
}

static void stop(struct place *p)
{
	commit__close(p->commit);
	p->commit = NULL;
}

static void place_init(struct place *p)
{
	*p = (struct place){ .segment_bytes = 64 << 10, .pending_bytes = 1 << 20, .err = DCM_ERROR_INIT };
	snprintf(p->dir, sizeof(p->dir), "/tmp/decima-files.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	assert_int_equal(vfs_posix__new(p->dir, true, &p->vfs, &p->err), 0);
	assert_int_equal(start(p), 0);
	assert_true(p->found.new_store);
}

/* A line of shell, to which $STORE is the directory. */
static void sh(const struct place *p, const char *line)
{
	assert_int_equal(setenv("STORE", p->dir, 1), 0);
	assert_int_equal(system(line), 0);
}

static void place_fini(struct place *p)
{
	stop(p);
	vfs_posix__free(p->vfs);
	sh(p, "rm -rf $STORE");
}

static void path_of(const struct place *p, const char *name, char to[static 160])
{
	snprintf(to, 160, "%s/%s", p->dir, name);
}

struct writer {
	struct place *place;
	uint64_t thread;
	atomic_int *rc;
};

static void *write_many(void *arg)
{
	struct writer *w = arg;
	struct wal *wal = commit__wal(w->place->commit);

	for (uint64_t i = 1; i <= WRITES; i++) {
		uint64_t v[2] = { w->thread, i }, lsn;
		int rc = wal__append(wal, 1, v, sizeof(v), &lsn, NULL);

		if (!rc)
			rc = wal__sync(wal, lsn, NULL);
		if (rc)
			atomic_store(w->rc, rc);
	}
	return NULL;
}

/* Writers share syncs, and a seal forgets beside them. */
static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	struct writer writers[THREADS];
	atomic_int rc = 0;
	struct wal_stat st;
	struct place p;

	(void)state;
	place_init(&p);
	for (uint64_t i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){ &p, i, &rc };
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
	}
	for (int i = 0; i < 10; i++) {
		wal__cut(commit__wal(p.commit));
		assert_int_equal(wal__forget(commit__wal(p.commit), 0, NULL), 0);
		wal__stat(commit__wal(p.commit), &st);
		assert_true(st.synced_lsn <= st.last_lsn);
	}
	for (uint64_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&rc), 0);
	wal__stat(commit__wal(p.commit), &st);
	assert_int_equal(st.last_lsn, THREADS * WRITES);
	assert_int_equal(st.synced_lsn, st.last_lsn);
	assert_true(st.n_groups <= st.last_lsn && st.n_failures == 0);
	stop(&p);
	assert_int_equal(start(&p), 0);
	assert_int_equal(p.n_replayed, THREADS * WRITES);
	assert_int_equal(p.found.wal.n_frames, THREADS * WRITES);
	assert_int_equal(p.found.wal.n_lost, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(p.last[i], WRITES);
	place_fini(&p);
}

static void test_limits(void **state)
{
	char *big = calloc(1, FRAME_MAX_BYTES);
	struct wal_stat st;
	struct place p;
	uint64_t lsn = 0;

	(void)state;
	assert_non_null(big);
	place_init(&p);
	struct wal *w = commit__wal(p.commit);
	assert_int_equal(wal__append(w, 1, "", 0, &lsn, &p.err), -EINVAL);
	assert_int_equal(wal__append(w, 1, big, (size_t)FRAME_MAX_BYTES + 1, &lsn, &p.err), -EINVAL);
	/*
	 * One frame may be larger than a segment, and than what may wait; a second one has to wait
	 * for it.
	 */
	assert_int_equal(wal__append(w, 1, big, 3 << 20, &lsn, &p.err), 0);
	assert_int_equal(wal__append(w, 1, "x", 1, &lsn, &p.err), -EAGAIN);
	assert_int_equal(lsn, 1);
	assert_int_equal(wal__sync(w, UINT64_MAX, NULL), 0);
	assert_int_equal(wal__append(w, 1, "x", 1, &lsn, &p.err), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	wal__stat(w, &st);
	assert_true(st.n_files == 2 && st.pending_bytes == 0 && st.n_groups == 2);
	stop(&p);
	assert_int_equal(start(&p), 0);
	assert_int_equal(p.n_bytes, (3 << 20) + 1);
	place_fini(&p);
	free(big);
}

static int write_hello(void *ctx, struct vfs_file *f, struct manifest_block *entry, struct dcm_error *err)
{
	(void)ctx;
	(void)err;
	entry->bytes = 5;
	return vfs__write(f, "hello", 5, 0);
}

/* A block, its removal, and the segments that a seal makes superfluous, as files. */
static void test_commit(void **state)
{
	char path[160], name[BLOCK_PATH_BYTES];
	struct manifest_block entry;
	struct wal_stat st;
	struct place p;
	uint64_t lsn;

	(void)state;
	place_init(&p);
	assert_int_equal(wal__append(commit__wal(p.commit), 1, "x", 1, &lsn, NULL), 0);
	assert_int_equal(wal__sync(commit__wal(p.commit), lsn, NULL), 0);
	lsn = wal__cut(commit__wal(p.commit));
	assert_int_equal(commit__write_block(p.commit, write_hello, NULL, &entry, &p.err), 0);
	assert_int_equal(
		commit__apply(p.commit,
			      &(struct commit_change){ .add = &entry, .n_add = 1, .sealed_lsn = lsn },
			      &p.err),
		0);
	assert_int_equal(commit__settle(p.commit, &p.err), 0);
	wal__stat(commit__wal(p.commit), &st);
	assert_int_equal(st.n_files, 0);
	path_of(&p, commit__block_path(name, entry.number), path);
	assert_int_equal(access(path, R_OK), 0);

	stop(&p);
	assert_int_equal(start(&p), 0);
	assert_int_equal(p.n_replayed, 0);
	assert_int_equal(commit__manifest(p.commit)->blocks.n, 1);
	assert_int_equal(commit__manifest(p.commit)->sealed_lsn, lsn);
	assert_int_equal(
		commit__apply(p.commit,
			      &(struct commit_change){ .remove = (uint64_t[]){ 99 }, .n_remove = 1 },
			      &p.err),
		-ENOENT);
	assert_int_equal(commit__apply(p.commit,
				       &(struct commit_change){ .remove = &entry.number, .n_remove = 1 },
				       &p.err),
			 0);
	assert_int_equal(access(path, R_OK), -1);
	place_fini(&p);
}

static void test_second_process(void **state)
{
	struct commit_options o = {
		.wal = { .segment_bytes = 65536, .pending_max_bytes = 1 << 20, .align = 4096 }, .each = replayed
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct commit_found found;
	struct commit *second = NULL;
	char pid[32];
	pid_t child;
	int status = -1;
	struct place p;

	(void)state;
	place_init(&p);
	assert_int_equal(commit__open(p.vfs, &o, &found, &second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another storage of this decima"));
	assert_null(second);
	/* Another process is told by its number. */
	snprintf(pid, sizeof(pid), "process %ld ", (long)getpid());
	child = fork();
	if (child == 0)
		_exit(commit__open(p.vfs, &o, &found, &second, &err) != -EBUSY || !strstr(err.text, pid));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	place_fini(&p);
}

/*
 * What people do to files: a damaged copy is healed, a missing block told, a missing manifest
 * refused.
 */
static void test_damage(void **state)
{
	char path[160], name[BLOCK_PATH_BYTES];
	struct manifest_block entry;
	struct place p;
	int fd;

	(void)state;
	place_init(&p);
	assert_int_equal(commit__write_block(p.commit, write_hello, NULL, &entry, &p.err), 0);
	assert_int_equal(
		commit__apply(p.commit, &(struct commit_change){ .add = &entry, .n_add = 1 }, &p.err), 0);
	stop(&p);

	path_of(&p, MANIFEST_PATH, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "XXXX", 4, 40), 4);
	close(fd);
	assert_int_equal(start(&p), 0);
	assert_true(p.found.manifest_healed && p.n_reports == 1);
	stop(&p);
	assert_int_equal(start(&p), 0);
	assert_true(!p.found.manifest_healed && p.n_reports == 0);
	stop(&p);

	/* A block that nobody lists, and one that is listed and gone. */
	path_of(&p, "blocks/00000000000000000777.blk", path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	char gone[160];
	path_of(&p, commit__block_path(name, entry.number), gone);
	assert_int_equal(unlink(gone), 0);
	assert_int_equal(start(&p), 0);
	assert_true(p.found.n_missing == 1 && p.found.n_removed == 1 && p.n_reports == 1);
	assert_int_equal(access(path, R_OK), -1);
	assert_int_equal(wal__append(commit__wal(p.commit), 1, "x", 1, &(uint64_t){ 0 }, NULL), 0);
	assert_int_equal(wal__sync(commit__wal(p.commit), UINT64_MAX, NULL), 0);
	stop(&p);

	path_of(&p, MANIFEST_PATH, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(start(&p), -EUCLEAN);
	assert_non_null(strstr(p.err.text, "restore"));
	assert_null(p.commit);
	place_fini(&p);
}

/* Whoever reads the sentence knows what to do. */
static void test_a_manifest_that_cannot_be_read_has_its_remedy(void **state)
{
	char path[160], aside[160];
	struct place p;

	(void)state;
	place_init(&p);
	stop(&p);
	path_of(&p, MANIFEST_PATH, path);
	path_of(&p, "aside", aside);
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(start(&p), -EISDIR);
	assert_non_null(strstr(p.err.text, "restore the store from a backup"));
	assert_non_null(strstr(p.err.text, "s a directory"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("aside", path), 0);
	assert_int_equal(start(&p), -ELOOP);
	assert_non_null(strstr(p.err.text, "symbolic link; "));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(aside, path), 0);
	assert_int_equal(start(&p), 0);
	place_fini(&p);
}

/* The directory is removed, and brought back from a copy. */
static void test_vanished(void **state)
{
	uint64_t lsn;
	struct place p;

	(void)state;
	place_init(&p);
	struct wal *w = commit__wal(p.commit);
	assert_int_equal(wal__append(w, 1, "x", 1, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	sh(&p, "cp -a $STORE $STORE.copy && rm -rf $STORE");
	assert_int_equal(wal__append(w, 1, "y", 1, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, &p.err), -ENOENT);
	assert_int_equal(wal__append(w, 1, "z", 1, &lsn, NULL), -ENOENT);
	assert_int_equal(commit__probe(p.commit, &p.err), -ENOENT);
	assert_non_null(strstr(p.err.text, "bring it back"));
	/* An empty one in its place is not this store. */
	sh(&p, "mkdir $STORE");
	assert_true(commit__probe(p.commit, &p.err) != 0);
	sh(&p, "rm -rf $STORE && mv $STORE.copy $STORE");
	assert_int_equal(commit__probe(p.commit, &p.err), 0);
	assert_int_equal(wal__append(w, 1, "zz", 2, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	stop(&p);
	assert_int_equal(start(&p), 0);
	assert_int_equal(p.n_replayed, 3);
	assert_int_equal(p.n_bytes, 4);
	place_fini(&p);
}

/* In the place of the directory comes an older copy: it is left as it is, whatever is asked for. */
static void test_another_in_its_place(void **state)
{
	struct manifest_block entry;
	struct place p;
	uint64_t lsn;

	(void)state;
	place_init(&p);
	struct wal *w = commit__wal(p.commit);
	sh(&p, "cp -a $STORE $STORE.copy");
	assert_int_equal(wal__append(w, 1, "x", 1, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	assert_int_equal(commit__apply(p.commit, &(struct commit_change){ .sealed_lsn = lsn }, NULL), 0);
	sh(&p, "rm -rf $STORE && cp -a $STORE.copy $STORE");
	assert_int_equal(wal__append(w, 1, "y", 1, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, &p.err), -ENOENT);
	assert_int_equal(commit__probe(p.commit, &p.err), -ESTALE);
	assert_int_equal(commit__write_block(p.commit, NULL, NULL, &entry, &p.err), -ESTALE);
	assert_int_equal(commit__settle(p.commit, &p.err), -ESTALE);
	assert_int_equal(commit__apply(p.commit, &(struct commit_change){ .sealed_lsn = lsn }, &p.err),
			 -ESTALE);
	assert_non_null(strstr(p.err.text, "restart"));
	sh(&p, "diff -r $STORE $STORE.copy && rm -rf $STORE.copy");
	place_fini(&p);
}

/* The same while a block is written, whose number the other has too. */
static int lose_the_place(void *place, struct vfs_file *f, struct manifest_block *entry,
			  struct dcm_error *err)
{
	struct place *p = place;

	(void)f;
	(void)err;
	sh(p, "rm -rf $STORE && cp -a $STORE.copy $STORE");
	assert_int_equal(commit__probe(p->commit, NULL), -ESTALE);
	entry->n_chunks = 1;
	return 0;
}

static void test_another_in_its_place_meanwhile(void **state)
{
	char command[200], path[BLOCK_PATH_BYTES];
	struct manifest_block entry;
	struct place p;

	(void)state;
	place_init(&p);
	/* What the next block is called: all that there may be. */
	for (uint64_t number = 0; number < 4; number++) {
		snprintf(command, sizeof(command), "echo other >$STORE/%s",
			 commit__block_path(path, number));
		sh(&p, command);
	}
	sh(&p, "cp -a $STORE $STORE.copy");
	assert_int_equal(commit__apply(p.commit, &(struct commit_change){ .n_add = 0 }, NULL), 0);
	assert_int_equal(commit__write_block(p.commit, lose_the_place, &p, &entry, &p.err), -ESTALE);
	commit__discard_block(p.commit, &(struct manifest_block){ .number = 1 });
	sh(&p, "diff -r $STORE $STORE.copy && rm -rf $STORE.copy");
	place_fini(&p);
}

/* The members of the table that nothing above calls. */
static void test_vfs(void **state)
{
	const uint8_t *mapped;
	struct vfs_file *f;
	struct vfs_stat st;
	struct place p;

	(void)state;
	place_init(&p);
	assert_int_equal(vfs__open(p.vfs, "one", VFS_WRITE | VFS_CREATE | VFS_NEW, &f), 0);
	assert_int_equal(vfs__write(f, "123456", 6, 0), 0);
	assert_int_equal(p.vfs->ops->link(p.vfs, "one", "two"), 0);
	assert_int_equal(vfs__stat(f, &st), 0);
	assert_true(st.bytes == 6 && st.n_links == 2);
	assert_int_equal(p.vfs->ops->map(f, 6, &mapped), 0);
	vfs__close(f);
	assert_memory_equal(mapped, "123456", 6);
	p.vfs->ops->unmap(p.vfs, mapped, 6);
	assert_int_equal(vfs__open(p.vfs, "one", VFS_WRITE | VFS_CREATE | VFS_NEW, &f), -EEXIST);
	assert_int_equal(vfs__open(p.vfs, "none", VFS_READ, &f), -ENOENT);
	/* Nobody writes to the pipe: who opened it to read would wait. */
	sh(&p, "mkfifo $STORE/pipe");
	alarm(20);
	assert_int_equal(vfs__open(p.vfs, "pipe", VFS_READ, &f), -EMEDIUMTYPE);
	assert_int_equal(vfs__open(p.vfs, "pipe", VFS_WRITE, &f), -EMEDIUMTYPE);
	assert_int_equal(vfs__open(p.vfs, ERAS_DIR, VFS_READ, &f), -EISDIR);
	alarm(0);
	assert_int_equal(p.vfs->ops->rmdir(p.vfs, ERAS_DIR), 0);
	assert_int_equal(p.vfs->ops->rmdir(p.vfs, ERAS_DIR), -ENOENT);
	struct buf b = { .n = 0 };
	assert_int_equal(vfs__read_file(p.vfs, "two", 5, &b), -EFBIG);
	assert_int_equal(vfs__read_file(p.vfs, "two", 6, &b), 0);
	assert_memory_equal(b.data, "123456", 7);
	buf__fini(&b);
	place_fini(&p);
}

/* What was allocated and never written is not read: it is zeroes. */
static void test_what_was_never_written_is_not_read(void **state)
{
	enum { BYTES = 1 << 20, WRITTEN = 100000 };
	uint8_t *text = mem__zalloc(1, WRITTEN);
	struct buf all = { .n = 0 }, written = { .n = 0 };
	uint64_t bytes = 0, end = 0;
	struct vfs_file *f;
	struct place p;

	(void)state;
	place_init(&p);
	assert_non_null(text);
	memset(text, 'x', WRITTEN / 2);
	assert_int_equal(vfs__open(p.vfs, "one", VFS_WRITE | VFS_CREATE | VFS_NEW, &f), 0);
	assert_int_equal(vfs__allocate(f, BYTES), 0);
	/* Where the file system is not one of those that are known to tell, all is read. */
	const bool tells = p.vfs->ops->data_end(f, &end) == 0;
	assert_int_equal(end, 0);
	assert_int_equal(vfs__write(f, text, WRITTEN, 4096), 0);
	/* First: who reads zeroes has them in memory, and then they are as good as written. */
	assert_int_equal(vfs__read_written(p.vfs, "one", BYTES, &written, &bytes), 0);
	assert_int_equal(vfs__read_file(p.vfs, "one", BYTES, &all), 0);
	assert_int_equal(bytes, BYTES);
	if (tells)
		assert_in_range(written.n, 4096 + WRITTEN, BYTES / 2);
	else
		assert_int_equal(written.n, BYTES);
	assert_memory_equal(written.data, all.data, written.n);
	assert_int_equal(vfs__read_written(p.vfs, "one", BYTES - 1, &written, &bytes), -EFBIG);
	vfs__close(f);
	buf__fini(&all);
	buf__fini(&written);
	free(text);
	place_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_commit),
		cmocka_unit_test(test_second_process),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_a_manifest_that_cannot_be_read_has_its_remedy),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_another_in_its_place),
		cmocka_unit_test(test_another_in_its_place_meanwhile),
		cmocka_unit_test(test_vfs),
		cmocka_unit_test(test_what_was_never_written_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
