/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/fd.c - descriptors and small files
 *
 * Thin loops over read, pread, write and rename, with every short count and EINTR handled in this
 * one place. Thread-safe: nothing is shared.
 */
#include "core/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"

enum { READ_MIN = 4096, READ_MAX = 1 << 20 };

void fd__close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd); /* never again on EINTR: Linux has released the number already */
	errno = saved;
}

int fd__reopen_regular(int at)
{
	char self[40];
	struct stat st;
	int fd;

	if (fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int fd__open_regular(const char *path)
{
	CLEANUP(fd__closep) int at = open(path, O_PATH | O_CLOEXEC);

	return at < 0 ? -errno : fd__reopen_regular(at);
}

int fd__check_regular(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : S_ISDIR(st.st_mode) ? -EISDIR : -EMEDIUMTYPE;
}

int fd__read_regular(int dirfd, const char *path, int flags, size_t max_bytes, struct buf *b)
{
	CLEANUP(fd__closep)
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	int r = fd < 0 ? -errno : fd__check_regular(fd);

	return r < 0 ? r : fd__read_all(fd, max_bytes, b);
}

/* Each part by itself, no links: an O_PATH descriptor. */
static int walk(int root, const char *path)
{
	CLEANUP(fd__closep) int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (at >= 0) {
		char part[NAME_MAX + 1];
		size_t n;
		int next;

		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 0)
			return -EISDIR;
		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(part, path, n);
		part[n] = '\0';
		path += n;
		if (strcmp(part, "..") == 0)
			return -EXDEV;
		if (*path == '\0') {
			next = openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
			return next < 0 ? -errno : next;
		}
		next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(at);
		at = next;
	}
	return -errno;
}

int fd__open_beneath(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	return errno == ENOSYS || errno == EPERM || errno == EINVAL ? walk(root, path) : -errno;
}

/* fd__read_all() without the care for the buffer on failure. */
static int read_to_end(int fd, size_t max_bytes, struct buf *b)
{
	size_t got = 0, step = READ_MIN;

	for (;;) {
		size_t want = max_bytes - got < step ? max_bytes - got + 1 : step;
		uint8_t *to = buf__reserve(b, want);
		ssize_t n;

		if (!to)
			return b->error;
		n = read(fd, to, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		got += (size_t)n;
		if (got > max_bytes)
			return -EFBIG;
		b->n += (size_t)n;
		if (step < READ_MAX)
			step *= 2;
	}
}

int fd__read_all(int fd, size_t max_bytes, struct buf *b)
{
	size_t before = b->n;
	int rc;

	if (max_bytes > SSIZE_MAX)
		max_bytes = SSIZE_MAX;
	rc = read_to_end(fd, max_bytes, b);
	if (rc)
		b->n = before;
	if (b->data)
		b->data[b->n] = '\0';
	return rc;
}

int fd__read_path(int dirfd, const char *path, size_t max_bytes, struct buf *b)
{
	CLEANUP(fd__closep) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd__read_all(fd, max_bytes, b);
}

int fd__write_all(int fd, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n > 0) {
		ssize_t done = write(fd, from, n < SSIZE_MAX ? n : SSIZE_MAX);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (done == 0)
			return -EIO;
		from += done;
		n -= (size_t)done;
	}
	return 0;
}

int fd__pwrite_all(int fd, const void *p, size_t n, uint64_t offset)
{
	const uint8_t *from = p;

	if (offset > INT64_MAX || n > INT64_MAX - offset)
		return -EINVAL;
	while (n > 0) {
		ssize_t done = pwrite(fd, from, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (done == 0)
			return -EIO;
		from += done;
		n -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

int fd__open_nameless(const char *dir)
{
	char path[PATH_MAX];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	/* Not every file system has these. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		if (snprintf(path, sizeof(path), "%s/decima-XXXXXX", dir) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	return fd < 0 ? -errno : fd;
}

int fd__pread_full(int fd, void *p, size_t n, uint64_t offset)
{
	uint8_t *to = p;

	if (offset > INT64_MAX || n > INT64_MAX - offset)
		return -EINVAL;
	while (n > 0) {
		ssize_t done = pread(fd, to, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (done == 0)
			return -EIO;
		to += done;
		n -= (size_t)done;
		offset += (uint64_t)done;
	}
	return 0;
}

/*
 * Makes a rename in the directory of PATH durable. File systems that cannot (EINVAL) are taken as
 * they are.
 */
static int sync_dir_of(const char *path)
{
	CLEANUP(fd__closep) int fd = -1;
	CLEANUP(mem__freep) char *dir = NULL;
	const char *slash = strrchr(path, '/');

	dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!dir)
		return -ENOMEM;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* Fills the fresh file and closes it: some file systems report a full quota at close only. */
static int fill(int fd, unsigned mode, const void *p, size_t n)
{
	int rc = fchmod(fd, (mode_t)mode) < 0 ? -errno : 0;

	if (!rc)
		rc = fd__write_all(fd, p, n);
	if (!rc && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && !rc && errno != EINTR)
		rc = -errno;
	return rc;
}

int fd__replace(const char *path, unsigned mode, const void *p, size_t n, struct dcm_error *err)
{
	size_t n_tmp = strlen(path) + sizeof(".tmp-XXXXXX");
	CLEANUP(mem__freep) char *tmp = malloc(n_tmp);
	int fd, rc;

	if (!tmp)
		return error__nomem(err);
	snprintf(tmp, n_tmp, "%s.tmp-XXXXXX", path);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return error__sys(err, -errno, "%s: cannot make a file beside it", path);
	rc = fill(fd, mode, p, n);
	if (rc) {
		unlink(tmp);
		return error__sys(err, rc, "%s: cannot write", path);
	}
	if (rename(tmp, path) < 0) {
		rc = -errno;
		unlink(tmp);
		return error__sys(err, rc, "%s: cannot replace", path);
	}
	rc = sync_dir_of(path);
	return rc ? error__sys(err, rc, "%s: written, but its directory cannot be synced", path) : 0;
}

/* One level of fd__mkdirs(). What is there already is fine when it is a directory. */
static int make_dir(const char *path, unsigned mode)
{
	struct stat st;
	int rc;

	if (mkdir(path, (mode_t)mode) == 0)
		return 0;
	rc = -errno;
	if (stat(path, &st) < 0)
		return rc;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int fd__has_name(const char *dir, const char *name)
{
	CLEANUP(fd__closep) int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

int fd__mkdirs(const char *path, unsigned mode)
{
	size_t n = strlen(path);
	char part[PATH_MAX];
	int rc;

	if (n == 0)
		return -ENOENT;
	if (n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i < n; i++) {
		if (part[i] != '/' || part[i - 1] == '/')
			continue;
		part[i] = '\0';
		/* As mkdir -p: what lies above must let us in, whatever the last mode. */
		rc = make_dir(part, mode | S_IWUSR | S_IXUSR);
		if (rc)
			return rc;
		part[i] = '/';
	}
	return make_dir(part, mode);
}
