/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/dir.c - could files be made in a directory, which may not be there yet?
 *
 * access(2) alone would say yes to root about /proc, where nobody makes a file. Thread-safe.
 */
#include "core/base/dir.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/error.h"

/* Of the kernel: what is in them is not made by open(2). */
static const unsigned long of_the_kernel[] = {
	PROC_SUPER_MAGIC, SYSFS_MAGIC,	 CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
	SECURITYFS_MAGIC, TRACEFS_MAGIC, BPF_FS_MAGIC,	     DEVPTS_SUPER_MAGIC,
};

/* Cuts the last part off; "/" and "." are left when there is no more. */
static void cut(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n == 0)
		path[n++] = '.';
	while (n > 1 && path[n - 1] == '/')
		n--;
	path[n] = '\0';
}

/*
 * Of a directory that is there. Taking it away from its owner, a service most of all, is no remedy
 * for root, who has no capability here.
 */
static int say_closed(const char *path, const char *use, const char *at, const struct stat *st,
		      int code, struct dcm_error *err)
{
	if (code == -EACCES && geteuid() == 0 && st->st_uid != 0)
		return error__set(
			err, code,
			"%s cannot be %s: %s belongs to uid %u, and root without capabilities, as "
			"which decima would run, may not write into it (%s); run decima as that "
			"user, as a service of its own does, or name another directory",
			path, use, at, (unsigned)st->st_uid, strerror(-code));
	return error__set(err, code,
			  "%s cannot be %s: uid %u may not write into %s (%s); give that directory "
			  "to this user, or name another",
			  path, use, (unsigned)geteuid(), at, strerror(-code));
}

/* The directory that nothing below can be seen of is the one to be said. */
static int say_hidden(const char *path, char *at, int code, struct dcm_error *err)
{
	struct stat st = { 0 };

	do
		cut(at);
	while (stat(at, &st) < 0 && strcmp(at, "/") != 0 && strcmp(at, ".") != 0);
	return say_closed(path, "used", at, &st, code, err);
}

/* The nearest that is there: `at` is cut to it. */
static int find_above(const char *path, char *at, struct stat *ret, struct dcm_error *err)
{
	while (stat(at, ret) < 0) {
		int code = -errno;
		struct stat link;

		if (lstat(at, &link) == 0 && S_ISLNK(link.st_mode))
			return error__set(err, code,
					  "%s cannot be used: the link %s leads nowhere (%s); "
					  "remove it, or name another directory",
					  path, at, strerror(-code));
		if (code == -EACCES && at[0] == '/' && at[1])
			return say_hidden(path, at, code, err);
		if ((code != -ENOENT && code != -ENOTDIR) || strcmp(at, "/") == 0 || strcmp(at, ".") == 0)
			return error__set(err, code, "%s cannot be used: %s; name another directory",
					  path, strerror(-code));
		cut(at);
	}
	return 0;
}

static bool is_of_the_kernel(const char *at)
{
	struct statfs fs;

	if (statfs(at, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(of_the_kernel) / sizeof(of_the_kernel[0]); i++)
		if ((unsigned long)fs.f_type == of_the_kernel[i])
			return true;
	return false;
}

/* File systems that count nothing have no blocks or no files at all. Some keep a rest for root. */
static bool is_full(const char *at)
{
	struct statvfs fs;
	bool is_root = geteuid() == 0;

	if (statvfs(at, &fs) < 0)
		return false;
	return (fs.f_blocks > 0 && (is_root ? fs.f_bfree : fs.f_bavail) == 0) ||
	       (fs.f_files > 0 && (is_root ? fs.f_ffree : fs.f_favail) == 0);
}

int dir__look(const char *path, struct dcm_error *err)
{
	char at[PATH_MAX];
	struct stat st;
	const char *use;
	int r;

	if (!*path || strlen(path) >= sizeof(at))
		return error__set(err, -ENAMETOOLONG,
				  "\"%.64s\" is no path of 1 to %zu bytes; name a directory", path,
				  sizeof(at) - 1);
	memcpy(at, path, strlen(path) + 1);
	r = find_above(path, at, &st, err);
	if (r < 0)
		return r;
	use = strcmp(at, path) == 0 ? "written" : "made";
	if (!S_ISDIR(st.st_mode))
		return error__set(err, -ENOTDIR,
				  "%s cannot be %s: %s is no directory; name another directory",
				  path, use, at);
	if (is_of_the_kernel(at))
		return error__set(
			err, -EROFS,
			"%s cannot be %s: %s is a file system of the kernel, which keeps no "
			"files; name a directory on a disk",
			path, use, at);
	if (access(at, W_OK | X_OK) < 0)
		return say_closed(path, use, at, &st, -errno, err);
	if (is_full(at))
		return error__set(
			err, -ENOSPC,
			"%s cannot be %s: the file system of %s is full; make room, or name "
			"another directory",
			path, use, at);
	return 0;
}
