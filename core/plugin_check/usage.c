/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/usage.c - counts what is in use, and tells what was left
 *
 * Source: proc(5), /proc/PID/fd and /proc/PID/task.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/plugin_check/alloc.h"
#include "core/plugin_check/usage.h"

static int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void take_fds(struct usage *u)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	FD_ZERO(&u->fds);
	u->n_fds = 0;
	while (d && (e = readdir(d))) {
		char *end;
		unsigned long fd = strtoul(e->d_name, &end, 10);

		if (*end || end == e->d_name || (int)fd == dirfd(d))
			continue;
		u->n_fds++;
		if (fd < FD_SETSIZE)
			FD_SET((int)fd, &u->fds);
	}
	if (d)
		closedir(d);
}

void usage__take(struct usage *ret)
{
	ret->n_blocks = alloc__outstanding();
	ret->n_threads = count_threads();
	take_fds(ret);
}

/*
 * The kernel takes a thread that was joined out of /proc a moment later; there is nothing to wait
 * on.
 */
static void await_threads(int expected)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (unsigned i = 0; count_threads() > expected && i < 500; i++)
		nanosleep(&ms, NULL);
}

/* "7 is /dev/null, 9 is socket:[4711]": those that were not open before. */
static void name_fds(const struct usage *before, const struct usage *after, struct buf *b)
{
	for (int fd = 0; fd < FD_SETSIZE; fd++) {
		char path[32], to[PATH_MAX];
		ssize_t n;

		if (!FD_ISSET(fd, &after->fds) || FD_ISSET(fd, &before->fds))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to));
		buf__printf(b, "%s%d is %.*s", b->n ? ", " : "", fd, n > 0 ? (int)n : 1,
			    n > 0 ? to : "?");
	}
	buf__byte(b, '\0');
}

void usage__compare(const struct check *c, const struct usage *before, unsigned n_rounds)
{
	struct usage after;
	struct buf names = { 0 };

	await_threads(before->n_threads);
	usage__take(&after);
	if (after.n_threads > before->n_threads)
		verdict__fail(c, "%d threads were left behind by %u rounds",
			      after.n_threads - before->n_threads, n_rounds);
	name_fds(before, &after, &names);
	if (after.n_fds > before->n_fds)
		verdict__fail(c, "%d descriptors were left open by %u rounds: %s",
			      after.n_fds - before->n_fds, n_rounds,
			      names.error ? "?" : (const char *)names.data);
	buf__fini(&names);
	if (after.n_blocks >= before->n_blocks + (int64_t)n_rounds)
		verdict__fail(c, "%" PRId64 " blocks of memory were not freed by %u rounds",
			      after.n_blocks - before->n_blocks, n_rounds);
}
