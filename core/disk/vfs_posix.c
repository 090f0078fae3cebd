/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/vfs_posix.c - the real file system
 *
 * Every path is opened relative to a descriptor of the directory, so a store that is renamed while
 * it runs goes on. The lock around that descriptor is for revive() alone, which swaps it. Links are
 * followed nowhere below the directory (O_NOFOLLOW): nobody but the store has business there.
 * mkdir, rename and the like are single system calls; loops are vfs.c's.
 */
#include "core/disk/vfs.h"

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/dir.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"

enum { DIR_MODE = 0750, FILE_MODE = 0640 };
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct posix {
	struct vfs vfs;
	char *path;
	pthread_rwlock_t lock; /* held shared around each use of root, exclusive while it is swapped */
	int root;
	const struct dcm_host *host; /* that maps files; NULL: mmap(2) */
};

struct posix_file {
	struct vfs_file file;
	int fd;
};

static struct posix *of(struct vfs *v)
{
	return (struct posix *)v;
}

static int fd_of(const struct vfs_file *f)
{
	return ((const struct posix_file *)f)->fd;
}

/* Yields the value of a system call on the directory: what it returned, or its negative errno. */
#define AT_ROOT(v, call)                                                                           \
	({                                                                                         \
		struct posix *p_ = of(v);                                                          \
		pthread_rwlock_rdlock(&p_->lock);                                                  \
		int root = p_->root;                                                               \
		int rc_ = (call);                                                                  \
		rc_ = rc_ < 0 ? -errno : rc_;                                                      \
		pthread_rwlock_unlock(&p_->lock);                                                  \
		rc_;                                                                               \
	})

static int posix_open(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret)
{
	int how = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
		  (flags & VFS_WRITE ? O_RDWR : O_RDONLY);
	struct posix_file *f = NEW(struct posix_file);

	if (!f)
		return -ENOMEM;
	if (flags & VFS_CREATE)
		how |= O_CREAT | (flags & VFS_NEW ? O_EXCL : 0);
	f->file.vfs = v;
	f->fd = AT_ROOT(v, openat(root, path, how, FILE_MODE));
	int rc = f->fd < 0 ? f->fd : fd__check_regular(f->fd);
	if (rc) {
		fd__close(f->fd);
		free(f);
		return rc;
	}
	*ret = &f->file;
	return 0;
}

static void posix_close(struct vfs_file *f)
{
	fd__close(fd_of(f));
	free(f);
}

static int posix_pread(struct vfs_file *f, void *p, size_t n, uint64_t offset, size_t *ret_n)
{
	if (offset > INT64_MAX)
		return -EFBIG;
	ssize_t done = pread(fd_of(f), p, n, (off_t)offset);
	if (done < 0)
		return -errno;
	*ret_n = (size_t)done;
	return 0;
}

static int posix_pwrite(struct vfs_file *f, const void *p, size_t n, uint64_t offset, size_t *ret_n)
{
	if (offset > INT64_MAX)
		return -EFBIG;
	ssize_t done = pwrite(fd_of(f), p, n, (off_t)offset);
	if (done < 0)
		return -errno;
	*ret_n = (size_t)done;
	return 0;
}

static int posix_sync(struct vfs_file *f)
{
	return fdatasync(fd_of(f)) < 0 ? -errno : 0;
}

static int posix_allocate(struct vfs_file *f, uint64_t bytes)
{
	if (bytes > INT64_MAX)
		return -EFBIG;
	return fallocate(fd_of(f), 0, 0, (off_t)bytes) < 0 ? -errno : 0;
}

static int posix_truncate(struct vfs_file *f, uint64_t bytes)
{
	if (bytes > INT64_MAX)
		return -EFBIG;
	return ftruncate(fd_of(f), (off_t)bytes) < 0 ? -errno : 0;
}

static int posix_stat(struct vfs_file *f, struct vfs_stat *ret)
{
	struct stat st;

	if (fstat(fd_of(f), &st) < 0)
		return -errno;
	*ret = (struct vfs_stat){ .bytes = (uint64_t)st.st_size, .n_links = st.st_nlink };
	return 0;
}

/*
 * Whether a hole is one, also over what was written a moment ago. ZFS told of some that were none
 * (https://github.com/openzfs/zfs/issues/15526): what is lost so would be lost in silence.
 */
static bool knows_holes(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	return st.f_type == EXT4_SUPER_MAGIC || st.f_type == XFS_SUPER_MAGIC ||
	       st.f_type == BTRFS_SUPER_MAGIC || st.f_type == TMPFS_MAGIC;
}

static int posix_data_end(struct vfs_file *f, uint64_t *ret)
{
	const int fd = fd_of(f);
	off_t end = 0;

	if (!knows_holes(fd))
		return -EOPNOTSUPP;
	for (;;) {
		const off_t data = lseek(fd, end, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		const off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
		if (hole <= end)
			return -EOPNOTSUPP;
		end = hole;
	}
	*ret = (uint64_t)end;
	return 0;
}

static int posix_map(struct vfs_file *f, size_t n, const uint8_t **ret)
{
	const struct dcm_host *host = of(f->vfs)->host;
	void *p;

	if (host)
		return host->map_file(host, fd_of(f), n, ret);
	p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd_of(f), 0);
	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static void posix_unmap(struct vfs *v, const uint8_t *p, size_t n)
{
	const struct dcm_host *host = of(v)->host;

	if (host)
		host->unmap_file(host, p, n);
	else
		munmap((void *)(uintptr_t)p, n);
}

static uint64_t posix_n_lost(struct vfs *v)
{
	const struct dcm_host *host = of(v)->host;

	return host ? host->n_lost_pages(host) : 0;
}

static int posix_lock(struct vfs_file *f)
{
	if (flock(fd_of(f), LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

static int posix_rename(struct vfs *v, const char *from, const char *to)
{
	return AT_ROOT(v, renameat(root, from, root, to));
}

static int posix_unlink(struct vfs *v, const char *path)
{
	return AT_ROOT(v, unlinkat(root, path, 0));
}

static int posix_link(struct vfs *v, const char *from, const char *to)
{
	return AT_ROOT(v, linkat(root, from, root, to, 0));
}

static int posix_mkdir(struct vfs *v, const char *path)
{
	return AT_ROOT(v, mkdirat(root, path, DIR_MODE));
}

static int posix_rmdir(struct vfs *v, const char *path)
{
	return AT_ROOT(v, unlinkat(root, path, AT_REMOVEDIR));
}

static int posix_list(struct vfs *v, const char *dir, vfs_name_fn each, void *ctx)
{
	int fd = AT_ROOT(v, openat(root, dir, DIR_FLAGS | O_NOFOLLOW));
	struct dirent *e;
	DIR *d;
	int rc = 0;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		rc = -errno;
		fd__close(fd);
		return rc;
	}
	while (!rc) {
		errno = 0;
		e = readdir(d);
		if (!e) {
			rc = -errno;
			break;
		}
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = each(ctx, e->d_name);
	}
	closedir(d);
	return rc;
}

static int posix_sync_dir(struct vfs *v, const char *dir)
{
	int fd = AT_ROOT(v, openat(root, dir, DIR_FLAGS | O_NOFOLLOW));
	int rc;

	if (fd < 0)
		return fd;
	/* EINVAL: a file system whose directories need no sync. */
	rc = fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
	fd__close(fd);
	return rc;
}

static int posix_random(struct vfs *v, uint64_t *ret)
{
	uint64_t value;

	(void)v;
	do {
		ssize_t n = getrandom(&value, sizeof(value), 0);

		if (n != (ssize_t)sizeof(value))
			return n < 0 ? -errno : -EIO;
	} while (value == 0);
	*ret = value;
	return 0;
}

static int posix_room(struct vfs *v, struct vfs_room *ret)
{
	struct posix *p = of(v);
	struct statvfs st;

	pthread_rwlock_rdlock(&p->lock);
	const int rc = fstatvfs(p->root, &st) < 0 ? -errno : 0;
	pthread_rwlock_unlock(&p->lock);
	if (rc)
		return rc;
	if (st.f_blocks == 0)
		return -EOPNOTSUPP;
	*ret = (struct vfs_room){ (uint64_t)st.f_blocks * st.f_frsize,
				  (uint64_t)st.f_bavail * st.f_frsize };
	return 0;
}

static int posix_revive(struct vfs *v)
{
	struct posix *p = of(v);
	struct stat st;
	int fd, rc = 0;

	pthread_rwlock_wrlock(&p->lock);
	if (fstat(p->root, &st) < 0) {
		rc = -errno;
	} else if (st.st_nlink == 0) {
		fd = open(p->path, DIR_FLAGS);
		if (fd < 0) {
			rc = -errno;
		} else {
			fd__close(p->root);
			p->root = fd;
		}
	}
	pthread_rwlock_unlock(&p->lock);
	return rc;
}

static const struct vfs_ops posix_ops = {
	.open = posix_open,
	.close = posix_close,
	.pread = posix_pread,
	.pwrite = posix_pwrite,
	.sync = posix_sync,
	.allocate = posix_allocate,
	.truncate = posix_truncate,
	.stat = posix_stat,
	.data_end = posix_data_end,
	.map = posix_map,
	.unmap = posix_unmap,
	.n_lost = posix_n_lost,
	.lock = posix_lock,
	.rename = posix_rename,
	.unlink = posix_unlink,
	.link = posix_link,
	.mkdir = posix_mkdir,
	.rmdir = posix_rmdir,
	.list = posix_list,
	.sync_dir = posix_sync_dir,
	.random = posix_random,
	.room = posix_room,
	.revive = posix_revive,
};

/* Makes the directory and its name in the one above durable. */
static int make_root(const char *path, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = -1;
	CLEANUP(fd__closep) int above = -1;
	struct stat st;
	int rc;

	if (stat(path, &st) == 0)
		return 0; /* what it is, open() will tell */
	rc = fd__mkdirs(path, DIR_MODE);
	if (rc)
		return dir__look(path, err) < 0
			       ? rc
			       : error__sys(err, rc, "%s: cannot make this directory", path);
	fd = open(path, DIR_FLAGS);
	above = fd < 0 ? -1 : openat(fd, "..", DIR_FLAGS);
	if (above < 0 || (fsync(above) < 0 && errno != EINVAL))
		return error__sys(err, -errno, "%s: cannot sync the directory above", path);
	return 0;
}

int vfs_posix__new(const char *path, bool existing, struct vfs **ret, struct dcm_error *err)
{
	struct posix *p;
	int rc = existing ? 0 : make_root(path, err);

	if (rc)
		return rc;
	p = NEW(struct posix);
	if (!p)
		return error__nomem(err);
	p->vfs.ops = &posix_ops;
	p->root = -1;
	pthread_rwlock_init(&p->lock, NULL);
	p->path = mem__dup_str(path, strlen(path));
	if (!p->path) {
		vfs_posix__free(&p->vfs);
		return error__nomem(err);
	}
	p->root = open(path, DIR_FLAGS);
	if (p->root < 0) {
		rc = error__sys(err, -errno, "%s: cannot open this directory", path);
		vfs_posix__free(&p->vfs);
		return rc;
	}
	*ret = &p->vfs;
	return 0;
}

void vfs_posix__map_by(struct vfs *v, const struct dcm_host *host)
{
	if (DCM_HAS(host, n_lost_pages) && host->n_lost_pages)
		of(v)->host = host;
}

void vfs_posix__free(struct vfs *v)
{
	if (!v)
		return;
	struct posix *p = of(v);
	fd__close(p->root);
	pthread_rwlock_destroy(&p->lock);
	free(p->path);
	free(p);
}
