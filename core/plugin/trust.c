/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/trust.c - walks from "/" to a plugin and asks each step who may change it
 *
 * O_PATH descriptors hold the place while it is looked at; openat() with O_NOFOLLOW goes one step
 * further. A rename during the walk therefore leads to the file that was checked, or to an error,
 * never to another file. Access control lists need no look of their own: their mask shows as the
 * group bits of the mode (acl(5)). Sources: openat(2), capabilities(7), proc(5), bpftune's
 * trusted_plugin_path().
 */
#include "core/plugin/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"

/* A "CapXxx:\t0000003fffffffff" line of /proc/PID/status; `otherwise` when it is not there. */
static uint64_t capability_line(const char *status, const char *name, uint64_t otherwise)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : otherwise;
}

bool trust__is_privileged(void)
{
	struct buf status = { 0 };
	uint64_t caps = UINT64_MAX;

	if (geteuid() == 0)
		return true;
	if (fd__read_path(AT_FDCWD, "/proc/thread-self/status", 64 * 1024, &status) == 0 && status.data)
		caps = capability_line((const char *)status.data, "\nCapEff:", UINT64_MAX) |
		       capability_line((const char *)status.data, "\nCapPrm:", UINT64_MAX);
	buf__fini(&status);
	return caps != 0;
}

/* One component, open as `fd`: does it obey the rules? `path` is for the sentence. */
static int check_step(int fd, const char *path, struct dcm_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error__sys(err, -errno, "%s: cannot be looked at", path);
	if (st.st_uid != 0)
		return error__set(err, -EPERM,
				  "%s: belongs to uid %u, and code for a privileged process must "
				  "belong to root; chown root %s",
				  path, st.st_uid, path);
	if (!(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	if (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX))
		return 0;
	return error__set(
		err, -EPERM,
		"%s: is writable by %s, who could put other code there for a privileged process; "
		"chmod go-w %s",
		path, st.st_mode & S_IWOTH ? "everybody" : "its group", path);
}

/* The directory `dir` (absolute, without links), each step of it checked. */
static int walk(const char *dir, int *ret_fd, struct dcm_error *err)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	CLEANUP(fd__closep) int fd = open("/", flags);
	char seen[PATH_MAX + 1] = "/", name[NAME_MAX + 1];
	size_t n_seen = 0;
	int r, next;

	if (fd < 0)
		return error__sys(err, -errno, "/: cannot be opened");
	r = check_step(fd, "/", err);
	for (const char *at = dir + strspn(dir, "/"); r == 0 && *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/");

		if (n > NAME_MAX || n_seen + n + 1 > PATH_MAX)
			return error__set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
		memcpy(name, at, n);
		name[n] = '\0';
		seen[n_seen] = '/';
		memcpy(seen + n_seen + 1, name, n + 1);
		n_seen += n + 1;
		at += n;
		next = openat(fd, name, flags);
		if (next < 0)
			return error__sys(err, -errno, "%s: cannot be opened", seen);
		fd__close(fd);
		fd = next;
		r = check_step(fd, seen, err);
	}
	if (r == 0)
		*ret_fd = take_fd(fd);
	return r;
}

/* The directory as a descriptor, and its name without links in `real`. */
static int open_dir(const char *dir, bool strict, char real[static PATH_MAX], int *ret_fd,
		    struct dcm_error *err)
{
	int fd;

	if (!realpath(dir, real))
		return error__sys(err, -errno, "plugin directory %s", dir);
	if (strict)
		return walk(real, ret_fd, err);
	fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error__sys(err, -errno, "plugin directory %s", real);
	*ret_fd = fd;
	return 0;
}

int trust__open(const char *dir, const char *file, bool strict, int *ret_fd, struct dcm_error *err)
{
	char real[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	CLEANUP(fd__closep) int dirfd = -1;
	CLEANUP(fd__closep) int fd = -1;
	struct stat st;
	int r;

	if (!*file || strchr(file, '/'))
		return error__set(err, -EINVAL, "plugin \"%s\": a file's name cannot have \"/\"", file);
	r = open_dir(dir, strict, real, &dirfd, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", strcmp(real, "/") == 0 ? "" : real, file);
	/*
	 * O_NONBLOCK: a FIFO of that name must not hold us up before fstat() has told what it is.
	 */
	fd = openat(dirfd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ELOOP)
		return error__set(err, -EPERM, "%s: is a symbolic link; put the file itself there", path);
	if (fd < 0)
		return error__sys(err, -errno, "%s: cannot be opened", path);
	if (fstat(fd, &st) < 0)
		return error__sys(err, -errno, "%s: cannot be looked at", path);
	if (!S_ISREG(st.st_mode))
		return error__set(err, -EPERM,
				  "%s: is not a regular file; a plugin is a shared object", path);
	if (strict && (r = check_step(fd, path, err)) < 0)
		return r;
	*ret_fd = take_fd(fd);
	return 0;
}
