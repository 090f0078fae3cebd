/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cache.c - unwind tables on disk, by build id
 */
#include "plugins/input/ebpf/unwind/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/unwind/cache_file.h"

#define SUFFIX	   ".unwind"
#define UNFINISHED ".new"

enum {
	NAME = CACHE_BUILD_ID + sizeof(SUFFIX) + sizeof(UNFINISHED),
	SPARE = 8, /* of max_bytes, that a file which finds no room leaves free: one part in so many */
};

/* ------------------------------------------------------------------------------------------------
 * Names
 */

static bool file_name(const char *build_id, char ret[static NAME])
{
	size_t sign = build_id[0] == '~', n = strspn(build_id + sign, "0123456789abcdef");

	if (n < 2 || sign + n > CACHE_BUILD_ID || build_id[sign + n])
		return false;
	snprintf(ret, NAME, "%s" SUFFIX, build_id);
	return true;
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), n_with = strlen(with);

	return n > n_with && !strcmp(name + n - n_with, with);
}

/* ------------------------------------------------------------------------------------------------
 * The folder
 */

struct entry {
	char name[NAME];
	uint64_t bytes;
	struct timespec used;
};

struct entries {
	struct entry *v;
	size_t n, cap;
};

static int by_age(const void *a, const void *b)
{
	const struct timespec x = ((const struct entry *)a)->used, y = ((const struct entry *)b)->used;

	if (x.tv_sec != y.tv_sec)
		return x.tv_sec < y.tv_sec ? -1 : 1;
	return (x.tv_nsec > y.tv_nsec) - (x.tv_nsec < y.tv_nsec);
}

/*
 * All tables of the folder, the one used longest ago first. What is neither table nor ours stays.
 */
static int list(const struct unwind_cache *c, struct entries *ret)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		rc = -errno;
		fd__close(fd);
		return rc;
	}
	while (!rc && (e = readdir(dir))) {
		struct entry entry = { .bytes = 0 };
		struct stat st;

		if (!ends(e->d_name, SUFFIX) || strlen(e->d_name) >= NAME ||
		    fstatat(c->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		memcpy(entry.name, e->d_name, strlen(e->d_name) + 1);
		entry.bytes = (uint64_t)st.st_size;
		entry.used = st.st_mtim;
		rc = vec__push(ret, entry) ? 0 : -ENOMEM;
	}
	closedir(dir);
	if (!rc && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_age);
	return rc;
}

static struct timespec mtime(const struct unwind_cache *c)
{
	struct stat st;

	return fstat(c->dir, &st) ? (struct timespec){ 0 } : st.st_mtim;
}

/* Counts the files, which another process may have changed too. */
static int count(struct unwind_cache *c, struct entries *ret)
{
	struct timespec changed = mtime(c);
	int rc = list(c, ret);

	if (rc)
		return rc;
	c->stat.bytes = 0;
	for (size_t i = 0; i < ret->n; i++)
		c->stat.bytes += ret->v[i].bytes;
	c->changed = changed;
	return 0;
}

/* Makes room for n more bytes. */
static int evict(struct unwind_cache *c, uint64_t n)
{
	uint64_t bytes_left = n < c->max_bytes ? c->max_bytes - n : 0;
	struct timespec now = mtime(c);
	struct entries all = { 0 };
	int rc;

	if (c->stat.bytes <= bytes_left && now.tv_sec == c->changed.tv_sec &&
	    now.tv_nsec == c->changed.tv_nsec)
		return 0;
	rc = count(c, &all);
	if (c->stat.bytes > bytes_left)
		bytes_left -= bytes_left / SPARE;
	for (size_t i = 0; i < all.n && !rc && c->stat.bytes > bytes_left; i++) {
		if (unlinkat(c->dir, all.v[i].name, 0) && errno != ENOENT)
			rc = -errno;
		c->stat.bytes -= rc ? 0 : all.v[i].bytes;
		c->stat.n_evicted += rc ? 0 : 1;
	}
	vec__fini(&all);
	return rc;
}

/* A file that is being written is locked; one that is not was left by a process that is no more. */
static bool is_left_over(const struct unwind_cache *c, const char *name)
{
	CLEANUP(fd__closep)
	int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_unfinished(const struct unwind_cache *c)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd__close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (ends(e->d_name, SUFFIX UNFINISHED) && is_left_over(c, e->d_name))
			unlinkat(c->dir, e->d_name, 0);
	closedir(dir);
}

int unwind_cache__open(struct unwind_cache *c, const char *path, uint64_t max_bytes, struct dcm_error *err)
{
	struct entries all = { 0 };
	struct stat st;
	int rc;

	*c = (struct unwind_cache){ .max_bytes = max_bytes };
	c->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->dir < 0)
		return error__sys(err, -errno, "%s: cannot open the folder of unwind tables", path);
	if (fstat(c->dir, &st))
		rc = error__sys(err, -errno, "%s", path);
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		rc = error__set(err, -EPERM,
				"%s: belongs to another user; remove it, it is made anew", path);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		rc = error__set(err, -EPERM, "%s: others may write there; make it mode 0700", path);
	else
		rc = 0;
	if (!rc) {
		remove_unfinished(c);
		rc = count(c, &all);
		vec__fini(&all);
		if (rc)
			error__sys(err, rc, "%s: cannot list the folder of unwind tables", path);
	}
	if (rc)
		unwind_cache__close(c);
	return rc;
}

void unwind_cache__close(struct unwind_cache *c)
{
	fd__close(c->dir);
	c->dir = -1;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

/* The file's content (caller frees): 0 or a negative errno. */
static int read_file(int fd, uint8_t **ret, size_t *ret_n)
{
	CLEANUP(mem__freep) uint8_t *p = NULL;
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > CACHE_FILE_BYTES_MAX)
		return -EBADMSG;
	p = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!p)
		return -ENOMEM;
	rc = fd__pread_full(fd, p, (size_t)st.st_size, 0);
	if (rc)
		return rc;
	*ret_n = (size_t)st.st_size;
	*ret = take_ptr(p);
	return 0;
}

static int failed(struct unwind_cache *c, int error)
{
	c->stat.n_failures++;
	c->stat.last_failure = error;
	return error;
}

/* The file goes; it counts as not there. */
static int forget(struct unwind_cache *c, const char *name, size_t n, uint64_t *n_such)
{
	++*n_such;
	if (unlinkat(c->dir, name, 0))
		return failed(c, -errno);
	c->stat.bytes -= n < c->stat.bytes ? n : c->stat.bytes;
	c->changed = mtime(c);
	return -ENOENT;
}

int unwind_cache__load(struct unwind_cache *c, const char *build_id, struct unwind_rows **ret_rows)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	CLEANUP(fd__closep) int fd = -1;
	char name[NAME];
	size_t n = 0;
	int rc;

	c->stat.n_misses++;
	if (!file_name(build_id, name))
		return -ENOENT;
	fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : failed(c, -errno);
	rc = read_file(fd, &data, &n);
	if (!rc)
		rc = cache_file__decode(data, n, ret_rows);
	if (rc == -EBADMSG)
		return forget(c, name, n, &c->stat.n_damaged);
	if (rc == -ESTALE)
		return forget(c, name, n, &c->stat.n_outdated);
	if (rc)
		return failed(c, rc);
	c->stat.n_misses--;
	c->stat.n_hits++;
	futimens(fd, NULL);
	return 0;
}

/* Writes a file beside and renames it. */
static int replace(const struct unwind_cache *c, const char *name, const struct buf *b)
{
	CLEANUP(fd__closep) int fd = -1;
	char unfinished[NAME + 16];
	int rc;

	snprintf(unfinished, sizeof(unfinished), "%s.%d" SUFFIX UNFINISHED, name, (int)getpid());
	fd = openat(c->dir, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	flock(fd, LOCK_EX | LOCK_NB);
	rc = fd__write_all(fd, b->data, b->n);
	if (!rc && renameat(c->dir, unfinished, c->dir, name))
		rc = -errno;
	if (rc)
		unlinkat(c->dir, unfinished, 0);
	return rc;
}

int unwind_cache__store(struct unwind_cache *c, const char *build_id, const struct unwind_rows *rows)
{
	struct buf b = { .limit = c->max_bytes < CACHE_FILE_BYTES_MAX ? c->max_bytes
								      : CACHE_FILE_BYTES_MAX };
	struct stat st;
	char name[NAME];
	uint64_t before;
	int rc;

	if (!file_name(build_id, name))
		return -EINVAL;
	cache_file__encode(rows, &b);
	before = fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (uint64_t)st.st_size;
	rc = b.error;
	if (!rc)
		rc = evict(c, b.n > before ? b.n - before : 0);
	if (!rc)
		rc = replace(c, name, &b);
	if (!rc) {
		c->stat.bytes += b.n;
		c->stat.bytes -= before < c->stat.bytes ? before : c->stat.bytes;
		c->stat.n_stored++;
		c->changed = mtime(c);
	}
	buf__fini(&b);
	return rc == 0 || rc == -EFBIG ? rc : failed(c, rc);
}
