/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/inspect.c - counts the store, looks for damage, and copies it
 */
#include "plugins/storage/local/inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/upkeep.h"

void inspect__stat(struct store *s, struct dcm_store_stat *ret)
{
	const struct kept_numbers kept = kept__get(s);
	const struct kept_amount sum = kept__sum(&kept);

	ret->n_removals = kept.n_removals;
	ret->bytes = sum.bytes;
	ret->n_series = kept.n_series;
	ret->n_stacks = kept.n_stacks;
	ret->n_locations = kept.n_locations;
	ret->n_profiles = sum.n_profiles;
	ret->n_rows = sum.n_rows;
	ret->first_ms = sum.first_ms;
	ret->last_ms = sum.last_ms;
}

/* -------------------------------------------------------------------------------------------------
 * Looking for damage
 */

struct snapshot {
	VEC(struct stored *) blocks; /* references */
};

static void snapshot__fini(struct snapshot *p)
{
	for (size_t i = 0; i < p->blocks.n; i++)
		stored__unref(p->blocks.v[i]);
	vec__fini(&p->blocks);
}

static int snapshot__take(struct snapshot *p, struct store *s)
{
	pthread_rwlock_rdlock(&s->lock);
	bool ok = vec__reserve(&p->blocks, s->blocks.n + 1);
	for (size_t i = 0; ok && i < s->blocks.n; i++)
		p->blocks.v[p->blocks.n++] = stored__ref(s->blocks.v[i]);
	pthread_rwlock_unlock(&s->lock);
	return ok ? 0 : -ENOMEM;
}

/* 1: something is wrong with it; 0: nothing is; -ENOMEM. */
static int check_block(struct store *s, struct stored *b, struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	const struct block *block;
	struct era *era = NULL;
	uint64_t first = 0;
	int r = store__era(s, b->entry.era, &era, err);
	bool damaged = r == 0 && era->damaged;

	era__unref(era);
	if (r == 0)
		r = stored__block(b, &block, err);
	if (r)
		return r == -ENOMEM ? r : 1;
	int64_t n = block__verify(block, &first);
	if (n < 0)
		return -ENOMEM;
	commit__block_path(path, b->entry.number);
	if (n > 0)
		error__set(err, -EBADMSG,
			   "%s: %" PRId64 " chunks are damaged; restore it from a backup", path, n);
	else if (damaged)
		error__set(err, -EBADMSG, "%s: names are missing from its dictionary", path);
	return n > 0 || damaged;
}

/* No damage, but worth knowing when the disk is full. */
static void report_removals(struct store *s, dcm_report_fn report, void *ctx)
{
	const uint32_t n = kept__get(s).n_removals;
	char text[160];

	if (!n)
		return;
	snprintf(text, sizeof(text),
		 "rows of %" PRIu32
		 " removals are in no answer, and go from the disk as blocks are written anew",
		 n);
	report(ctx, DCM_LOG_INFO, text);
}

int inspect__check(struct store *s, dcm_report_fn report, void *ctx)
{
	struct snapshot p = { 0 };
	int found = 0, r = snapshot__take(&p, s);

	for (size_t i = 0; r >= 0 && i < p.blocks.n; i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		r = check_block(s, p.blocks.v[i], &err);
		if (r == 1 && report)
			report(ctx, DCM_LOG_ERROR, err.text);
		found += r == 1;
	}
	snapshot__fini(&p);
	if (r >= 0 && report)
		report_removals(s, report, ctx);
	return r < 0 ? r : found;
}

/* -------------------------------------------------------------------------------------------------
 * Copying
 */

enum { COPY_BYTES = 1 << 20 };

struct copying {
	struct vfs *vfs;
	const struct manifest *manifest;
	const char *dir;
	uint8_t *buffer; /* [COPY_BYTES] */
};

static int join(char to[static PATH_MAX], const struct copying *c, const char *name)
{
	int n = snprintf(to, PATH_MAX, "%s/%s", c->dir, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int copy_bytes(const struct copying *c, struct vfs_file *from, struct vfs_file *to)
{
	struct vfs_stat st;
	int r = vfs__stat(from, &st);

	for (uint64_t at = 0; r == 0 && at < st.bytes;) {
		uint64_t left = st.bytes - at;
		size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;

		r = vfs__read(from, c->buffer, n, at);
		if (r == 0)
			r = vfs__write(to, c->buffer, n, at);
		at += n;
	}
	return r ? r : vfs__sync(to);
}

static int copy_file(const struct copying *c, const char *name)
{
	CLEANUP(vfs__closep) struct vfs_file *from = NULL;
	CLEANUP(vfs__closep) struct vfs_file *to = NULL;
	char path[PATH_MAX];
	int r = join(path, c, name);

	if (r == 0)
		r = vfs__open(c->vfs, name, VFS_READ, &from);
	if (r == 0)
		r = vfs__open(c->vfs, path, VFS_WRITE | VFS_CREATE | VFS_NEW, &to);
	return r ? r : copy_bytes(c, from, to);
}

/* Blocks never change, so a second name is as good as a copy. */
static int link_or_copy(const struct copying *c, const char *name)
{
	char path[PATH_MAX];
	int r = join(path, c, name);

	if (r == 0)
		r = vfs__link(c->vfs, name, path);
	return r == 0 || r == -ENAMETOOLONG ? r : copy_file(c, name);
}

static int make_dir(const struct copying *c, const char *name)
{
	char path[PATH_MAX];
	int r = join(path, c, name);

	return r ? r : c->vfs->ops->mkdir(c->vfs, path);
}

static int sync_dir(const struct copying *c, const char *name)
{
	char path[PATH_MAX];
	int r = join(path, c, name);

	return r ? r : vfs__sync_dir(c->vfs, path);
}

static int write_manifest(const struct copying *c)
{
	CLEANUP(vfs__closep) struct vfs_file *to = NULL;
	struct buf b = { 0 };
	char path[PATH_MAX];
	int r = join(path, c, MANIFEST_PATH);

	manifest__encode(c->manifest, &b);
	if (r == 0)
		r = b.error ? -ENOMEM : vfs__open(c->vfs, path, VFS_WRITE | VFS_CREATE | VFS_NEW, &to);
	if (r == 0)
		r = vfs__write(to, b.data, b.n, 0);
	if (r == 0)
		r = vfs__sync(to);
	buf__fini(&b);
	return r;
}

static const char *const dirs[] = { "", WAL_DIR, BLOCKS_DIR, ERAS_DIR };
enum { N_DIRS = sizeof(dirs) / sizeof(dirs[0]) };

/* The manifest comes last. Logs of eras only grow. */
static int copy_all(const struct copying *c)
{
	const struct manifest *m = c->manifest;
	char block[BLOCK_PATH_BYTES], era[ERA_PATH_BYTES];
	int r = 0;

	for (size_t i = 1; r == 0 && i < N_DIRS; i++)
		r = make_dir(c, dirs[i]);
	for (size_t i = 0; r == 0 && i < m->eras.n; i++)
		r = copy_file(c, era__path(era, m->eras.v[i].number));
	for (size_t i = 0; r == 0 && i < m->blocks.n; i++)
		r = link_or_copy(c, commit__block_path(block, m->blocks.v[i].number));
	for (size_t i = 1; r == 0 && i < N_DIRS; i++)
		r = sync_dir(c, dirs[i]);
	if (r == 0)
		r = write_manifest(c);
	return r ? r : sync_dir(c, "");
}

struct discarding {
	const struct copying *copy;
	const char *in;
};

static int discard_file(void *ctx, const char *name)
{
	const struct discarding *d = ctx;
	char file[PATH_MAX], path[PATH_MAX];
	int n = snprintf(file, sizeof(file), "%s%s%s", d->in, *d->in ? "/" : "", name);

	if (n < (int)sizeof(file) && join(path, d->copy, file) == 0)
		vfs__unlink(d->copy->vfs, path);
	return 0;
}

void inspect__discard_copy(struct vfs *v, const char *dir)
{
	const struct copying c = { .vfs = v, .dir = dir };
	char path[PATH_MAX];

	for (size_t i = N_DIRS; i-- > 0;) {
		if (join(path, &c, dirs[i]) < 0)
			continue;
		vfs__list(v, path, discard_file, &(struct discarding){ &c, dirs[i] });
		v->ops->rmdir(v, path);
	}
}

int inspect__copy(struct vfs *v, const struct manifest *m, const char *dir, struct dcm_error *err)
{
	CLEANUP(mem__freep) uint8_t *buffer = malloc(COPY_BYTES);
	const struct copying c = { v, m, dir, buffer };
	int r = buffer ? make_dir(&c, "") : -ENOMEM;

	if (r == 0) {
		r = copy_all(&c);
		if (r)
			inspect__discard_copy(v, dir);
	}
	return r ? error__sys(err, r, "backup: %s", dir) : 0;
}

int inspect__backup(struct store *s, const char *dir, struct dcm_error *err)
{
	int r = upkeep__seal(s, err);

	if (r)
		return r;
	/* With `work` nothing that the manifest lists goes meanwhile. */
	pthread_mutex_lock(&s->work);
	r = inspect__copy(s->vfs, commit__manifest(s->commit), dir, err);
	pthread_mutex_unlock(&s->work);
	return r;
}
