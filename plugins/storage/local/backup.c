/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/backup.c - a directory that is the store as of one moment
 *
 * Where the log ends is looked for first: that reads segments by their names, which beside the
 * process that writes go with any seal, and as long as nothing is copied beginning again costs
 * little. Then come blocks, whose names are all there is of them. The log's segments are last: they
 * are open there, and what is in them up to that end never changes.
 */
#include "plugins/storage/local/backup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/era.h"

enum { COPY_BYTES = 1 << 20 };

struct copying {
	struct vfs *vfs;
	const struct commit_moment *moment;
	const char *dir;
	uint8_t *buffer;	   /* [COPY_BYTES] */
	uint64_t *ends;		   /* of moment->log that is open, of the same moment as end_lsn */
	uint64_t end_lsn;	   /* the last frame of the copy's log; 0 without one */
	char at[BLOCK_PATH_BYTES]; /* the file at hand */
};

/* Directories of a store, itself first. */
static const char *const dirs[] = { "", WAL_DIR, ERAS_DIR, BLOCKS_DIR };
enum { N_DIRS = sizeof(dirs) / sizeof(dirs[0]) };

static int join(char to[static PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(to, PATH_MAX, "%s%s%s", dir, *name ? "/" : "", name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* The directory that has the copy. */
static int parent_of(char to[static PATH_MAX], const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	while (n > 0 && dir[n - 1] != '/')
		n--;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	if (n == 0)
		to[n++] = '.';
	else
		memcpy(to, dir, n);
	to[n] = '\0';
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Files
 */

static int make_file(struct copying *c, const char *name, struct vfs_file **ret)
{
	char path[PATH_MAX];
	int r = join(path, c->dir, name);

	return r ? r : vfs__open(c->vfs, path, VFS_WRITE | VFS_CREATE | VFS_NEW, ret);
}

static int put_file(struct copying *c, const char *name, const struct buf *b)
{
	CLEANUP(vfs__closep) struct vfs_file *to = NULL;
	int r = make_file(c, name, &to);

	if (r == 0)
		r = vfs__write(to, b->data, b->n, 0);
	return r ? r : vfs__sync(to);
}

/* The first so many bytes of an open file under the same name, or all when there are fewer. */
static int copy_bytes(struct copying *c, struct vfs_file *from, const char *name, uint64_t bytes)
{
	CLEANUP(vfs__closep) struct vfs_file *to = NULL;
	struct vfs_stat st = { .bytes = 0 };
	int r = vfs__stat(from, &st);

	if (r == 0)
		r = make_file(c, name, &to);
	bytes = bytes < st.bytes ? bytes : st.bytes;
	for (uint64_t at = 0; r == 0 && at < bytes;) {
		size_t n = bytes - at < COPY_BYTES ? (size_t)(bytes - at) : COPY_BYTES;

		r = vfs__read(from, c->buffer, n, at);
		if (r == 0)
			r = vfs__write(to, c->buffer, n, at);
		at += n;
	}
	return r ? r : vfs__sync(to);
}

static int copy_file(struct copying *c, const char *name, uint64_t bytes)
{
	CLEANUP(vfs__closep) struct vfs_file *from = NULL;
	int r = vfs__open(c->vfs, name, VFS_READ, &from);

	return r ? r : copy_bytes(c, from, name, bytes);
}

/* Up to `end` of what is read beside the process that writes. */
static int copy_segment(struct copying *c, const struct wal_extent *e, uint64_t end)
{
	const uint64_t bytes = e->file ? end : e->bytes;

	wal__path(c->at, e->number);
	if (bytes == 0) /* one that is being made has no frame yet */
		return 0;
	return e->file ? copy_bytes(c, e->file, c->at, bytes) : copy_file(c, c->at, bytes);
}

/* -------------------------------------------------------------------------------------------------
 * Where the log ends
 *
 * In a store that ended without notice nobody knows whether frames at the log's end are missing or
 * were never promised. In a copy all of them are promised: a segment without frames says so, behind
 * the others, by what its head calls synced. So what is damaged there is told, instead of taken for
 * the torn end.
 */

static int take_none(void *ctx, const struct frame *f)
{
	(void)ctx;
	(void)f;
	return 0;
}

/* Is it within what is copied? */
static bool is_copied(const struct copying *c, const struct replay *log, const struct replay_frame *f)
{
	const wal_extents *copied = &c->moment->log;

	for (size_t i = 0; i < copied->n; i++)
		if (copied->v[i].number == log->files.v[f->file].number)
			return copied->v[i].file || f->at + frames__size(f->n) <= copied->v[i].bytes;
	return false;
}

/* Of a segment of the moment; NULL: it has gone meanwhile. */
static const struct replay_file *find_file(const struct replay *log, uint64_t number)
{
	for (size_t i = 0; i < log->files.n; i++)
		if (log->files.v[i].number == number)
			return &log->files.v[i];
	return NULL;
}

/* 0 or -ESTALE. */
static int find_ends(struct copying *c, const struct replay *log, struct dcm_error *err)
{
	const wal_extents *copied = &c->moment->log;

	for (size_t i = 0; i < copied->n; i++) {
		const struct replay_file *f = find_file(log, copied->v[i].number);

		if (!f && copied->v[i].file)
			return error__set(err, -ESTALE, WAL_DIR ": changed while it was read; try again");
		c->ends[i] = f ? replay_file__extent(f) : 0;
	}
	return 0;
}

/*
 * The last frame that a replay of the copy will come to. What comes meanwhile is not copied: its
 * frames would call synced what is behind that end.
 */
static int find_log_end(struct copying *c, struct dcm_error *err)
{
	struct replay log = { .lost = NULL };
	int r = replay__scan(&log, c->vfs, err);

	if (r == 0)
		r = find_ends(c, &log, err);
	if (r == 0)
		r = replay__each(&log, c->vfs, c->moment->manifest.sealed_lsn, take_none, NULL,
				 NULL, NULL, err);
	for (size_t i = 0; r == 0 && i < log.frames.n; i++) {
		const struct replay_frame *f = &log.frames.v[i];

		if (f->lsn <= log.tail_lsn && f->lsn > c->end_lsn && is_copied(c, &log, f))
			c->end_lsn = f->lsn;
	}
	replay__fini(&log);
	return r;
}

static int put_log_end(struct copying *c, uint64_t lsn)
{
	struct frames_head head = { .kind = WAL_KIND,
				    .align = FRAME_ALIGN,
				    .synced_lsn = lsn,
				    .tail_lsn = lsn,
				    .next_lsn = lsn + 1 };
	uint8_t bytes[FRAMES_HEAD_BYTES];
	int r = c->vfs->ops->random(c->vfs, &head.salt);

	for (size_t i = 0; i < c->moment->log.n; i++)
		if (c->moment->log.v[i].number >= head.number)
			head.number = c->moment->log.v[i].number + 1;
	head.salt |= 1; /* not 0 */
	frames__put_head(bytes, &head);
	wal__path(c->at, head.number);
	struct buf b = { .data = bytes, .n = sizeof(bytes) };
	return r ? r : put_file(c, c->at, &b);
}

static int copy_log(struct copying *c)
{
	const wal_extents *log = &c->moment->log;
	int r = 0;

	for (size_t i = 0; r == 0 && i < log->n; i++)
		r = copy_segment(c, &log->v[i], c->ends[i]);
	if (r == 0 && c->end_lsn > c->moment->manifest.sealed_lsn)
		r = put_log_end(c, c->end_lsn);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Dictionaries and blocks
 */

/*
 * The log goes on in place. What it has beyond the manifest's records is of nobody whom the copy
 * has.
 */
static int copy_era(struct copying *c, const struct manifest_era *e)
{
	struct buf b = { 0 };

	era__path(c->at, e->number);
	int r = log_file__read_records(c->vfs, c->at, e->n_records, &b);
	if (r == 0)
		r = put_file(c, c->at, &b);
	buf__fini(&b);
	return r;
}

/* Blocks never change, so a second name is as good as a copy. */
static int copy_block(struct copying *c, const struct manifest_block *b)
{
	char path[PATH_MAX];

	commit__block_path(c->at, b->number);
	int r = join(path, c->dir, c->at);
	if (r == 0)
		r = vfs__link(c->vfs, c->at, path);
	return r == 0 || r == -ENAMETOOLONG || r == -ENOENT ? r : copy_file(c, c->at, UINT64_MAX);
}

static int write_manifest(struct copying *c)
{
	struct manifest m = c->moment->manifest;
	struct buf b = { 0 };

	m.log_lsn = c->end_lsn > m.log_lsn ? c->end_lsn : m.log_lsn;
	snprintf(c->at, sizeof(c->at), MANIFEST_PATH);
	manifest__encode(&m, &b);
	int r = b.error ? -ENOMEM : put_file(c, c->at, &b);
	buf__fini(&b);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * All of it
 */

static int sync_dir(const struct copying *c, const char *name)
{
	char path[PATH_MAX];
	int r = join(path, c->dir, name);

	return r ? r : vfs__sync_dir(c->vfs, path);
}

static int make_dirs(const struct copying *c)
{
	char path[PATH_MAX];
	int r = 0;

	for (size_t i = 1; r == 0 && i < N_DIRS; i++) {
		r = join(path, c->dir, dirs[i]);
		if (r == 0)
			r = c->vfs->ops->mkdir(c->vfs, path);
	}
	return r;
}

static int copy_all(struct copying *c)
{
	const struct commit_moment *m = c->moment;
	char parent[PATH_MAX];
	int r = make_dirs(c);

	for (size_t i = 0; r == 0 && i < m->manifest.blocks.n; i++)
		r = copy_block(c, &m->manifest.blocks.v[i]);
	for (size_t i = 0; r == 0 && i < m->manifest.eras.n; i++)
		r = copy_era(c, &m->manifest.eras.v[i]);
	if (r == 0)
		r = copy_log(c);
	for (size_t i = N_DIRS; r == 0 && i-- > 0;)
		r = sync_dir(c, dirs[i]);
	if (r == 0)
		r = write_manifest(c);
	if (r == 0)
		r = sync_dir(c, "");
	if (r == 0)
		r = parent_of(parent, c->dir);
	return r ? r : vfs__sync_dir(c->vfs, parent);
}

struct discarding {
	struct vfs *vfs;
	const char *dir;
};

static int discard_file(void *ctx, const char *name)
{
	const struct discarding *d = ctx;
	char path[PATH_MAX];

	if (join(path, d->dir, name) == 0)
		vfs__unlink(d->vfs, path);
	return 0;
}

void backup__discard(struct vfs *v, const char *dir)
{
	char path[PATH_MAX];

	/* First, so that nothing is ever taken for a whole store. */
	discard_file(&(struct discarding){ v, dir }, MANIFEST_PATH);
	for (size_t i = N_DIRS; i-- > 0;) {
		if (join(path, dir, dirs[i]) < 0)
			continue;
		vfs__list(v, path, discard_file, &(struct discarding){ v, path });
		v->ops->rmdir(v, path);
	}
}

int backup__copy(struct vfs *v, const struct commit_moment *m, const char *dir, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *buffer = malloc(COPY_BYTES);
	CLEANUP(mem__freep) uint64_t *ends = mem__zalloc(m->log.n + 1, sizeof(*ends));
	struct copying c = { .vfs = v, .moment = m, .dir = dir, .buffer = buffer, .ends = ends };
	int r = buffer && ends ? v->ops->mkdir(v, dir) : -ENOMEM;

	if (r == -EEXIST)
		return error__set(err, r, "backup: %s: is there already; name a directory that is not, in one that is",
				  dir);
	if (r)
		return error__sys(err, r, "backup: %s", dir);
	r = find_log_end(&c, err);
	if (r)
		error__prefix(err, "backup");
	else if ((r = copy_all(&c)) != 0)
		error__sys(err, r, "backup: %s%s%s", dir, *c.at ? ": " : "", c.at);
	if (r)
		backup__discard(v, dir);
	return r;
}

int backup__make(struct vfs *v, struct commit *c, const char *dir, struct dcm_error *err)
{
	struct commit_moment m = { .manifest = { .generation = 0 } };
	int r = commit__hold(c, &m, err);

	if (r)
		return r;
	r = backup__copy(v, &m, dir, err);
	commit__release(c, &m);
	return r;
}
