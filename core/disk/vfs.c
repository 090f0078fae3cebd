/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/vfs.c - calls to a file system that go on after -EINTR and short counts
 *
 * Interruptions are borne a number of times and then reported: a call that is always interrupted
 * must end. No state; as thread-safe as the table underneath.
 */
#include "core/disk/vfs.h"

#include <errno.h>

enum { INTERRUPTS_MAX = 100 };

/* Runs the call again while it says -EINTR, and yields its last answer. */
#define UNINTERRUPTED(call)                                                                        \
	({                                                                                         \
		int rc_ = -EINTR;                                                                  \
		for (int i_ = 0; i_ < INTERRUPTS_MAX && rc_ == -EINTR; i_++)                       \
			rc_ = (call);                                                              \
		rc_;                                                                               \
	})

int vfs__open(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	return UNINTERRUPTED(v->ops->open(v, path, flags, ret));
}

void vfs__close(struct vfs_file *f)
{
	if (f)
		f->vfs->ops->close(f);
}

int vfs__write(struct vfs_file *f, const void *p, size_t n, uint64_t offset)
{
	const uint8_t *from = p;

	while (n > 0) {
		size_t done = 0;
		int rc = UNINTERRUPTED(f->vfs->ops->pwrite(f, from, n, offset, &done));

		if (rc)
			return rc;
		if (done == 0 || done > n)
			return -EIO;
		from += done;
		n -= done;
		offset += done;
	}
	return 0;
}

int vfs__read(struct vfs_file *f, void *p, size_t n, uint64_t offset)
{
	uint8_t *to = p;

	while (n > 0) {
		size_t done = 0;
		int rc = UNINTERRUPTED(f->vfs->ops->pread(f, to, n, offset, &done));

		if (rc)
			return rc;
		if (done == 0 || done > n)
			return -EIO;
		to += done;
		n -= done;
		offset += done;
	}
	return 0;
}

/* The first n bytes. */
static int read_first(struct vfs_file *f, size_t n, struct buf *b)
{
	uint8_t *to = buf__reserve(b, n);

	if (!to)
		return b->error;
	int rc = vfs__read(f, to, n, 0);
	if (!rc)
		b->n += n;
	b->data[b->n] = '\0';
	return rc;
}

int vfs__read_all(struct vfs_file *f, size_t max_bytes, struct buf *b)
{
	struct vfs_stat st;
	int rc = vfs__stat(f, &st);

	if (rc)
		return rc;
	return st.bytes > max_bytes ? -EFBIG : read_first(f, (size_t)st.bytes, b);
}

int vfs__read_file(struct vfs *v, const char *path, size_t max_bytes, struct buf *b)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	int rc = vfs__open(v, path, VFS_READ, &f);

	return rc ? rc : vfs__read_all(f, max_bytes, b);
}

/* The whole file where nobody can tell. */
static int data_end(struct vfs_file *f, uint64_t bytes, uint64_t *ret)
{
	int rc = f->vfs->ops->data_end ? UNINTERRUPTED(f->vfs->ops->data_end(f, ret)) : -EOPNOTSUPP;

	if (rc == -EOPNOTSUPP || (rc == 0 && *ret > bytes)) {
		*ret = bytes;
		return 0;
	}
	return rc;
}

int vfs__read_written(struct vfs *v, const char *path, size_t max_bytes, struct buf *b, uint64_t *ret_bytes)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	struct vfs_stat st;
	uint64_t end;
	int rc = vfs__open(v, path, VFS_READ, &f);

	if (!rc)
		rc = vfs__stat(f, &st);
	if (!rc && st.bytes > max_bytes)
		rc = -EFBIG;
	if (!rc)
		rc = data_end(f, st.bytes, &end);
	if (!rc)
		rc = read_first(f, (size_t)end, b);
	if (!rc)
		*ret_bytes = st.bytes;
	return rc;
}

int vfs__map(struct vfs *v, const char *path, uint64_t max_bytes, struct vfs_map *ret)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	struct vfs_map m = { .vfs = v };
	struct vfs_stat st;
	int rc = vfs__open(v, path, VFS_READ, &f);

	if (!rc)
		rc = vfs__stat(f, &st);
	if (!rc && st.bytes > max_bytes)
		rc = -EFBIG;
	if (!rc && st.bytes > 0)
		rc = v->ops->map(f, (size_t)st.bytes, &m.p);
	if (rc)
		return rc;
	m.n = (size_t)st.bytes;
	*ret = m;
	return 0;
}

void vfs_map__fini(struct vfs_map *m)
{
	if (m->n)
		m->vfs->ops->unmap(m->vfs, m->p, m->n);
	*m = (struct vfs_map){ .vfs = NULL };
}

int vfs__size(struct vfs *v, const char *path, uint64_t *ret_bytes)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	struct vfs_stat st;
	int rc = vfs__open(v, path, VFS_READ, &f);

	if (!rc)
		rc = vfs__stat(f, &st);
	if (!rc)
		*ret_bytes = st.bytes;
	return rc;
}

const char *vfs__remedy(int code)
{
	return code == -EACCES || code == -EPERM
		       ? "let the user that runs decima read it"
		       : "look at the disk, or restore the store from a backup";
}

const char *vfs__write_remedy(int code)
{
	switch (code) {
	case -ENOSPC:
	case -EDQUOT:
		return "; make room on its file system";
	case -EROFS:
		return "; look at its disk, and mount it for writing";
	}
	return "";
}

int vfs__sync(struct vfs_file *f)
{
	return f->vfs->ops->sync(f);
}

int vfs__sync_dir(struct vfs *v, const char *dir)
{
	return v->ops->sync_dir(v, dir);
}

int vfs__allocate(struct vfs_file *f, uint64_t bytes)
{
	return UNINTERRUPTED(f->vfs->ops->allocate(f, bytes));
}

int vfs__truncate(struct vfs_file *f, uint64_t bytes)
{
	return UNINTERRUPTED(f->vfs->ops->truncate(f, bytes));
}

int vfs__stat(struct vfs_file *f, struct vfs_stat *ret)
{
	return UNINTERRUPTED(f->vfs->ops->stat(f, ret));
}

int vfs__rename(struct vfs *v, const char *from, const char *to)
{
	return UNINTERRUPTED(v->ops->rename(v, from, to));
}

int vfs__unlink(struct vfs *v, const char *path)
{
	return UNINTERRUPTED(v->ops->unlink(v, path));
}

int vfs__link(struct vfs *v, const char *from, const char *to)
{
	int rc = UNINTERRUPTED(v->ops->link(v, from, to));

	return rc == -EEXIST ? 0 : rc;
}

int vfs__mkdir(struct vfs *v, const char *path)
{
	int rc = UNINTERRUPTED(v->ops->mkdir(v, path));

	return rc == -EEXIST ? 0 : rc;
}

int vfs__list(struct vfs *v, const char *dir, vfs_name_fn each, void *ctx)
{
	/* No second walk: the first one may have named some already. */
	return v->ops->list(v, dir, each, ctx);
}

int vfs__room(struct vfs *v, struct vfs_room *ret)
{
	return UNINTERRUPTED(v->ops->room(v, ret));
}

uint64_t vfs__n_lost(struct vfs *v)
{
	return v->ops->n_lost ? v->ops->n_lost(v) : 0;
}
