/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/child.c - what a test does in a process of its own: as another user, or on a disk of its own
 */
#include "tests/unit/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "tests/unit/unit.h"

int child__status(int (*work)(void))
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(work());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && fd__write_all(fd, line, strlen(line)) == 0;

	fd__close(fd);
	return ok;
}

/* Gives this process mounts of its own: as root, or as the root of a user namespace. */
static bool own_mounts(void)
{
	char uid[32], gid[32];

	snprintf(uid, sizeof(uid), "0 %u 1", getuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getgid());
	if (unshare(CLONE_NEWNS) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return false;
		if (!write_line("/proc/self/setgroups", "deny") ||
		    !write_line("/proc/self/uid_map", uid) || !write_line("/proc/self/gid_map", gid))
			return false;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

bool child__disk(const char *path, const char *size)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%s", size);
	return own_mounts() && (mkdir(path, 0700) == 0 || errno == EEXIST) &&
	       mount("tmpfs", path, "tmpfs", 0, options) == 0;
}
