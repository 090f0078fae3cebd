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

/* Reads to the end into b (appending). -EFBIG when there are more than `max_bytes`. Works on /proc. */
int fd__read_all(int fd, size_t max_bytes, struct buf *b);
int fd__read_path(int dirfd, const char *path, size_t max_bytes, struct buf *b);

/* All n bytes or a negative errno; short writes go on, EINTR too. */
int fd__write_all(int fd, const void *p, size_t n);

/* Exactly n bytes at the offset, or -EIO when the file is shorter. */
int fd__pread_full(int fd, void *p, size_t n, uint64_t offset);

/*
 * Replaces PATH's content so that a reader sees the old or the new whole: write "PATH.tmp-XXXXXX" beside it, fsync,
 * rename, fsync the directory. On failure nothing is left behind.
 */
int fd__replace(const char *path, unsigned mode, const void *p, size_t n, struct dcm_error *err);

/* mkdir -p. 0 when it is there already. */
int fd__mkdirs(const char *path, unsigned mode);

#endif
