/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/no_sync.c - fdatasync(2) that does nothing to files named *.wal; to be preloaded
 *
 * What the local store is then acknowledges before its log is on the disk: tests/e2e/store_power.sh
 * has to see it lose what it acknowledged.
 */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_log(int fd)
{
	static const char end[] = ".wal";
	char link[32], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path));
	return n >= (ssize_t)strlen(end) && memcmp(path + n - strlen(end), end, strlen(end)) == 0;
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return is_log(fd) ? 0 : (int)syscall(SYS_fdatasync, fd);
}
