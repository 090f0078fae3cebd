/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/depot_copy.c - a depot's directory once more, for a backup
 *
 * Files never change, so they are linked where they can be; logs of names are appended to, so they
 * are copied, and end within a frame at worst. What is removed meanwhile is left out, and what is
 * listed twice, as a directory may do that is renamed into meanwhile, is taken once: the folders are
 * made here, so that nothing else can be there already. The lock, by which others know the
 * directory, comes last.
 * Threads: any; nothing is locked. Limits: those of the depot.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/symbolize/depot.h"

enum { AT_ONCE = 256 << 10 };

static int copy_content(int from, int to)
{
	CLEANUP(mem__freep) uint8_t *data = malloc(AT_ONCE);
	int rc = data ? 0 : -ENOMEM;

	while (!rc) {
		ssize_t n = read(from, data, AT_ONCE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			break;
		rc = n < 0 ? -errno : fd__write_all(to, data, (size_t)n);
	}
	return !rc && fsync(to) < 0 ? -errno : rc;
}

static int copy_file(int from_dir, int to_dir, const char *name)
{
	CLEANUP(fd__closep)
	int from = openat(from_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (from < 0)
		return errno == ENOENT ? 0 : -errno;
	CLEANUP(fd__closep)
	int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return errno == EEXIST ? 0 : -errno;
	return copy_content(from, to);
}

static int take_file(int from_dir, int to_dir, const char *name)
{
	struct stat st;

	if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) ||
	    (!depot__is_log(name) && linkat(from_dir, name, to_dir, name, 0) == 0))
		return 0;
	return copy_file(from_dir, to_dir, name);
}

/* What is in one folder, into one that is made. -EEXIST: there is one. */
static int take_folder(const char *from, const char *to)
{
	DIR *dir = opendir(from);
	struct dirent *e;
	int rc;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	rc = mkdir(to, 0700) < 0 ? -errno : 0;
	CLEANUP(fd__closep) int to_dir = rc ? -1 : open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!rc && to_dir < 0)
		rc = -errno;
	while (!rc && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			rc = take_file(dirfd(dir), to_dir, e->d_name);
	if (!rc && fsync(to_dir) < 0)
		rc = -errno;
	closedir(dir);
	return rc;
}

static int make_lock(const char *to)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/LOCK", to) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	CLEANUP(fd__closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : 0;
}

/* The directory itself, what is above it, and the folder of the folders. */
static int sync_above(const char *to)
{
	static const char *const parts[] = { "/.build-id", "", "/.." };
	char path[PATH_MAX];
	int rc = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !rc; i++) {
		if (snprintf(path, sizeof(path), "%s%s", to, parts[i]) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		rc = depot__sync_folder(path);
	}
	return rc;
}

int depot__copy(const struct depot *d, const char *to, struct dcm_error *err)
{
	char from_folder[PATH_MAX], to_folder[PATH_MAX];
	int rc = -ENAMETOOLONG;

	if (snprintf(to_folder, sizeof(to_folder), "%s/.build-id", to) < (int)sizeof(to_folder))
		rc = fd__mkdirs(to_folder, 0700);
	for (unsigned i = 0; i < 256 && !rc; i++) {
		if (snprintf(from_folder, sizeof(from_folder), "%s/.build-id/%02x", depot__dir(d),
			     i) >= (int)sizeof(from_folder) ||
		    snprintf(to_folder, sizeof(to_folder), "%s/.build-id/%02x", to, i) >=
			    (int)sizeof(to_folder))
			rc = -ENAMETOOLONG;
		else
			rc = take_folder(from_folder, to_folder);
	}
	if (!rc)
		rc = make_lock(to);
	if (!rc)
		rc = sync_above(to);
	return rc ? error__sys(err, rc, "%s: what names the profiles cannot be copied", to) : 0;
}
