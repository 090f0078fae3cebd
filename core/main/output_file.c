/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/output_file.c - what stands at a path decides how it is written
 *
 * Thread-safe: the umask is read from /proc/self/status (proc(5), Linux 4.7), because umask(2) can
 * only be asked by setting it, for the whole process.
 */
#include "core/main/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"

enum { STATUS_MAX_BYTES = 1 << 16, USUAL_UMASK = 022 };

static int write_through(int fd, const char *name, const struct buf *out, struct dcm_error *err)
{
	int r = fd__write_all(fd, out->data, out->n);

	return r < 0 && r != -EPIPE ? error__sys(err, r, "%s: cannot be written", name) : 0;
}

static int open_and_write(const char *path, int flags, const struct buf *out, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);

	if (fd < 0)
		return error__sys(err, -errno, "%s: cannot be opened", path);
	return write_through(fd, path, out, err);
}

static unsigned current_umask(void)
{
	struct buf status = { 0 };
	unsigned mask = USUAL_UMASK;
	const char *line;

	if (fd__read_path(AT_FDCWD, "/proc/self/status", STATUS_MAX_BYTES, &status) == 0) {
		buf__byte(&status, '\0');
		line = status.error ? NULL : strstr((const char *)status.data, "\nUmask:");
		if (line)
			mask = (unsigned)strtoul(line + sizeof("\nUmask:") - 1, NULL, 8) & 0777;
	}
	buf__fini(&status);
	return mask;
}

/* The directory of a file that is to be made; NULL: no memory. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mem__dup_str(path, slash == path ? 1 : (size_t)(slash - path))
		     : mem__dup_str(".", 1);
}

static int check_directory(const char *path, struct dcm_error *err)
{
	CLEANUP(mem__freep) char *dir = directory_of(path);

	if (!dir)
		return error__nomem(err);
	if (access(dir, F_OK) < 0 && errno == ENOENT)
		return error__set(err, -ENOENT,
				  "%s: there is no directory %s; make it, or name another", path, dir);
	if (access(dir, W_OK | X_OK) < 0)
		return error__sys(err, -errno, "%s: no file can be made in %s", path, dir);
	return 0;
}

int output_file__write(const char *path, const struct buf *out, struct dcm_error *err)
{
	struct stat st;
	bool exists, is_link;

	if (strcmp(path, "-") == 0)
		return write_through(STDOUT_FILENO, "standard output", out, err);
	is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
	exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode))
		return open_and_write(path, 0, out, err);
	/* It points to what is not there yet. */
	if (is_link && !exists)
		return open_and_write(path, O_CREAT, out, err);
	if (!exists) {
		int r = check_directory(path, err);

		return r < 0 ? r : fd__replace(path, 0666 & ~current_umask(), out->data, out->n, err);
	}
	CLEANUP(mem__freep) char *real = is_link ? realpath(path, NULL) : NULL;
	return fd__replace(real ? real : path, st.st_mode & 0777, out->data, out->n, err);
}

int output_file__check(const char *path, struct dcm_error *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return error__set(err, -EISDIR, "%s: is a directory; name a file in it", path);
	/* What is no regular file, or a link to what is not there yet, is written in place. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return 0;
	return check_directory(path, err);
}
