/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/vfs.h - every call to a file system by those whose files outlive a power cut, as one table
 *
 * The local store and the spools reach their files through here alone, so that a simulated disk can stand under it: one
 * that loses what was not synced, and fails the call that a test wants. vfs_posix.c is the real
 * one, tests/storage/sim_disk.c the other.
 *
 * A `struct vfs` is one directory. Paths are relative to it ("wal/7.wal"); "." is itself. A path
 * that begins with '/' is taken as it is (where a backup goes).
 *
 * Contract of every member: 0 or a negative errno; outputs change only on success; -EINTR may come
 * from any of them, and reads and writes may be short. Any thread, several at once; what one file's
 * calls may do at once is said by pread(2) and pwrite(2). Who uses the table calls the vfs__
 * functions at the end, which go on after -EINTR and short counts where that is safe.
 *
 * What the store believes of a disk, and the simulated one does its worst to keep no more than:
 *  - What was written is there after a power cut only when sync() of the file returned 0
 *    afterwards. Until then each sector of 512 bytes has its old bytes or its new ones,
 *    independently, and the size is any in between.
 *  - A name made, moved or removed is so after a power cut only when sync_dir() of its directory
 *    returned 0.
 *  - After sync() failed, what was written before is lost or not, and no later sync() of that file
 *    tells. So a file whose sync failed is never synced again; its bytes are written to another.
 */
#ifndef DECIMA_DISK_VFS_H
#define DECIMA_DISK_VFS_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"

struct vfs {
	const struct vfs_ops *ops;
};

/* An open file; implementations put theirs behind it. */
struct vfs_file {
	struct vfs *vfs;
};

enum {
	VFS_READ = 0,
	VFS_WRITE = 1,	/* for writing, and reading too */
	VFS_CREATE = 2, /* with WRITE: make it where it is missing, mode 0640 */
	VFS_NEW = 4,	/* with CREATE: -EEXIST where it is there */
};

struct vfs_stat {
	uint64_t bytes;
	uint64_t n_links; /* 0: its name has been removed, and nobody will find what is written */
};

/* Of a file system, in bytes. */
struct vfs_room {
	uint64_t bytes, free_bytes; /* all; that the store may write */
};

/*
 * For each name in a directory, in no order; "." and ".." are left out. Another value than 0 ends
 * the walk.
 */
typedef int (*vfs_name_fn)(void *ctx, const char *name);

struct vfs_ops {
	/* Of what is no file -EISDIR or -EMEDIUMTYPE, at once. */
	int (*open)(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret);
	void (*close)(struct vfs_file *f);
	/* *ret_n is 0 at the end of the file only. */
	int (*pread)(struct vfs_file *f, void *p, size_t n, uint64_t offset, size_t *ret_n);
	int (*pwrite)(struct vfs_file *f, const void *p, size_t n, uint64_t offset, size_t *ret_n);
	/* The file's bytes and size, as fdatasync(2). */
	int (*sync)(struct vfs_file *f);
	/*
	 * Room for the first `bytes` bytes, which become the file's size: -ENOSPC now and not
	 * later. -EOPNOTSUPP.
	 */
	int (*allocate)(struct vfs_file *f, uint64_t bytes);
	int (*truncate)(struct vfs_file *f, uint64_t bytes);
	int (*stat)(struct vfs_file *f, struct vfs_stat *ret);
	/* What is behind it in the file reads as zeroes. NULL, or -EOPNOTSUPP: nobody can tell. */
	int (*data_end)(struct vfs_file *f, uint64_t *ret);
	/*
	 * The first n bytes (n > 0, at most the size), read-only, until unmap(), also when the file
	 * has been closed.
	 */
	int (*map)(struct vfs_file *f, size_t n, const uint8_t **ret);
	void (*unmap)(struct vfs *v, const uint8_t *p, size_t n);
	/*
	 * Rises when a part of what is mapped was lost, and reads as zeroes since. NULL: that
	 * cannot happen.
	 */
	uint64_t (*n_lost)(struct vfs *v);
	/*
	 * Held by this open file until it is closed or the process ends; -EBUSY when another has
	 * it.
	 */
	int (*lock)(struct vfs_file *f);

	int (*rename)(struct vfs *v, const char *from, const char *to); /* replaces `to` in one step */
	int (*unlink)(struct vfs *v, const char *path);
	int (*link)(struct vfs *v, const char *from, const char *to); /* a second name of the same file */
	int (*mkdir)(struct vfs *v, const char *path);		      /* -EEXIST */
	int (*rmdir)(struct vfs *v, const char *path);		      /* of an empty one */
	int (*list)(struct vfs *v, const char *dir, vfs_name_fn each, void *ctx);
	int (*sync_dir)(struct vfs *v, const char *dir);
	int (*random)(struct vfs *v, uint64_t *ret); /* never 0 */
	/* Of the file system that the directory is on; -EOPNOTSUPP where nobody can tell. */
	int (*room)(struct vfs *v, struct vfs_room *ret);
	/*
	 * When the directory itself was removed and its path names one again: takes that one. 0
	 * when all is well.
	 */
	int (*revive)(struct vfs *v);
};

/*
 * The directory at `path`, made where it is missing (mode 0750; its parents too) unless `existing`,
 * and its name synced. free(NULL) works. Open files of it are closed first.
 */
int vfs_posix__new(const char *path, bool existing, struct vfs **ret, struct dcm_error *err);
/*
 * From now on files are mapped by the host, where it can, so that a bad sector or a file that is
 * cut off ends no process. Nothing is mapped yet. The host outlives the vfs.
 */
void vfs_posix__map_by(struct vfs *v, const struct dcm_host *host);
void vfs_posix__free(struct vfs *v);

int vfs__open(struct vfs *v, const char *path, unsigned flags, struct vfs_file **ret);
/* NULL is fine. What was not synced is not safe, and closing tells of no error. */
void vfs__close(struct vfs_file *f);
DEFINE_CLEANUP(struct vfs_file *, vfs__close);

/* All n bytes, or a negative errno and any part of them. */
int vfs__write(struct vfs_file *f, const void *p, size_t n, uint64_t offset);
/* Exactly n bytes; -EIO when the file is shorter. */
int vfs__read(struct vfs_file *f, void *p, size_t n, uint64_t offset);
/* Appends the whole file to b; -EFBIG when it has more than max_bytes. Unchanged on failure. */
int vfs__read_all(struct vfs_file *f, size_t max_bytes, struct buf *b);
int vfs__read_file(struct vfs *v, const char *path, size_t max_bytes, struct buf *b);
/* The same without zeroes at its end that need no reading; the file's size, them included, to *ret_bytes. */
int vfs__read_written(struct vfs *v, const char *path, size_t max_bytes, struct buf *b,
		      uint64_t *ret_bytes);
/*
 * A file as it is at one moment, for who only reads: what is appended afterwards, and whether the name stays, does
 * not matter.
 */
struct vfs_map {
	struct vfs *vfs;  /* NULL: there is none */
	const uint8_t *p; /* [n]; NULL when it is empty */
	size_t n;
};
/* 0; -EFBIG when it has more than max_bytes; -ENOENT, or the file system's. */
int vfs__map(struct vfs *v, const char *path, uint64_t max_bytes, struct vfs_map *ret);
void vfs_map__fini(struct vfs_map *m); /* a zeroed one too */
/* How long the file is that the path names. */
int vfs__size(struct vfs *v, const char *path, uint64_t *ret_bytes);
/* What to do when a file cannot be read for that errno, the end of a sentence; static. */
const char *vfs__remedy(int code);
/* Likewise when nothing can be written: "; " and what to do, or "" where the errno is not of a full or read-only disk. */
const char *vfs__write_remedy(int code);

/* As the members; -EINTR of a sync is a failure like any other, since what it did is not known. */
int vfs__sync(struct vfs_file *f);
int vfs__sync_dir(struct vfs *v, const char *dir);
int vfs__allocate(struct vfs_file *f, uint64_t bytes);
int vfs__truncate(struct vfs_file *f, uint64_t bytes);
int vfs__stat(struct vfs_file *f, struct vfs_stat *ret);
uint64_t vfs__n_lost(struct vfs *v);
int vfs__rename(struct vfs *v, const char *from, const char *to);
int vfs__unlink(struct vfs *v, const char *path);
int vfs__link(struct vfs *v, const char *from, const char *to); /* 0 when `to` is there already */
int vfs__mkdir(struct vfs *v, const char *path);		/* 0 when it is there already */
int vfs__room(struct vfs *v, struct vfs_room *ret);
int vfs__list(struct vfs *v, const char *dir, vfs_name_fn each, void *ctx);

#endif
