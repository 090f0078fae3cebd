/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/fd.h - descriptors and small files
 */
#ifndef DECIMA_BASE_FD_H
#define DECIMA_BASE_FD_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/* Closes and keeps errno; -1 is fine. For CLEANUP(fd__closep). */
void fd__close(int fd);
static inline void fd__closep(int *fd)
{
	fd__close(*fd);
}

/*
 * Reads to the end into b (appending; unchanged on failure). -EFBIG: there are more than
 * `max_bytes`. Works on /proc.
 */
int fd__read_all(int fd, size_t max_bytes, struct buf *b);
/*
 * As open(2) follows PATH: it may be a FIFO, which blocks. Paths that a stranger made are opened by
 * the caller.
 */
int fd__read_path(int dirfd, const char *path, size_t max_bytes, struct buf *b);

/*
 * A regular file, to be read, at a path that somebody else named: what else is there is not opened,
 * since opening a device or a pipe would do something. -ENOEXEC: it is none; or of open(2). Takes
 * /proc.
 */
int fd__open_regular(const char *path);
/*
 * 0 for a regular file; -EISDIR, -EMEDIUMTYPE for a pipe, a device or whatever else, which could keep
 * who reads it waiting for ever; or of fstat(2). To be opened with O_NONBLOCK and O_NOCTTY.
 */
int fd__check_regular(int fd);
/* As fd__read_path(), of such a file alone. `flags`: O_NOFOLLOW, or 0. */
int fd__read_regular(int dirfd, const char *path, int flags, size_t max_bytes, struct buf *b);
/* The same of what is behind an O_PATH descriptor, which stays the caller's. */
int fd__reopen_regular(int at);
/*
 * What lies at a path beneath a root directory, as an O_PATH descriptor: no part of the path leads
 * out of the root, links are taken as those see them who live there. Before Linux 5.6, and where a
 * sandbox refuses openat2(2), none is followed on the way (-ENOTDIR), nor is ".." (-EXDEV).
 */
int fd__open_beneath(int root, const char *path);

/* All n bytes or a negative errno; short writes go on, EINTR too. */
int fd__write_all(int fd, const void *p, size_t n);

/* The same at an offset; the file's own place stays where it is. */
int fd__pwrite_all(int fd, const void *p, size_t n, uint64_t offset);

/* A file without a name in a directory, to be read and written, of which nothing is left whatever happens; or of open(2). */
int fd__open_nameless(const char *dir);

/* Exactly n bytes at the offset, or -EIO when the file is shorter. */
int fd__pread_full(int fd, void *p, size_t n, uint64_t offset);

/*
 * Replaces PATH's content so that a reader sees the old or the new whole: write "PATH.tmp-XXXXXX"
 * beside it, fsync, rename, fsync the directory. The mode is exact, whatever the umask. On failure
 * nothing is left behind; when only the last step fails, the new content is there and may not
 * survive a power cut.
 */
int fd__replace(const char *path, unsigned mode, const void *p, size_t n, struct dcm_error *err);

/* Is something of that name in the directory? 1, 0, or a negative errno of the directory's. */
int fd__has_name(const char *dir, const char *name);

/*
 * mkdir -p. 0 when it is there already; -ENOTDIR when something else is. What lies above gets u+wx
 * as well.
 */
int fd__mkdirs(const char *path, unsigned mode);

#endif
