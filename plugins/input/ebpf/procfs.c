/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/procfs.c - what /proc says of one process, and surely of that one
 *
 * Source: proc(5). Field 22 of /proc/PID/stat is the start time in ticks of 10 ms, which is how
 * `struct dcm_process` counts it, so the nanoseconds of the records are rounded down to that.
 */
#include "plugins/input/ebpf/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/cgroup.h"
#include "plugins/input/ebpf/guarded.h"
#include "plugins/input/ebpf/labels.h"

enum {
	TEXT_BYTES_MAX = 64 * 1024, /* of cgroup, stat and environ */
	CMDLINE_BYTES_MAX = 4096,
};
#define TICK_NS 10000000ull /* of USER_HZ, 100 on every architecture that we know */

uint64_t procfs__whole_ticks(uint64_t start_ns)
{
	return start_ns / TICK_NS * TICK_NS;
}

/* Fields 3, 4 and 22 of /proc/PID/stat. */
struct stat_text {
	char state;
	uint32_t parent;
	uint64_t ticks;
};

/* The name in field 2 may hold anything, ')' too. */
static bool parse_stat(struct dcm_str stat, struct stat_text *ret)
{
	const char *at = stat.n ? memrchr(stat.p, ')', stat.n) : NULL;
	unsigned long long ticks;

	if (!at || sscanf(at, ") %c %10u", &ret->state, &ret->parent) != 2)
		return false;
	at++;
	for (int field = 3; field <= 22; field++) {
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	if (sscanf(at, "%20llu", &ticks) != 1)
		return false;
	ret->ticks = ticks;
	return true;
}

/* Only what is not there has ended. */
static int error_of(int error)
{
	return error == -ENOENT ? -ESRCH : error;
}

static int open_proc(uint32_t pid)
{
	char path[32];
	int dir;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? error_of(-errno) : dir;
}

/*
 * The directory of another thread, for a leader that ended before its threads: it shows nothing any
 * more. /proc/TID is not listed, but holds what /proc/PID does.
 */
static int open_thread(int leader, uint32_t tid)
{
	CLEANUP(fd__closep) int dir = open_proc(tid);
	char task[32];

	snprintf(task, sizeof(task), "task/%u", tid);
	if (dir < 0)
		return dir;
	if (faccessat(leader, task, F_OK, 0) < 0)
		return error_of(-errno);
	return take_fd(dir);
}

static int read_stat(int dir, struct stat_text *ret)
{
	struct buf text = { 0 };
	int r = error_of(fd__read_path(dir, "stat", TEXT_BYTES_MAX, &text));

	if (r == 0 && !parse_stat(buf__view(&text), ret))
		r = -ESRCH;
	buf__fini(&text);
	return r;
}

int procfs__parent(uint32_t pid, uint32_t *ret_parent, uint64_t *ret_start_ns)
{
	CLEANUP(fd__closep) int dir = open_proc(pid);
	struct stat_text stat;
	int r = dir < 0 ? dir : read_stat(dir, &stat);

	if (r < 0)
		return r;
	*ret_parent = stat.parent;
	*ret_start_ns = stat.ticks * TICK_NS;
	return 0;
}

int procfs__start(uint32_t pid, uint64_t *ret_start_ns)
{
	uint32_t parent;

	return procfs__parent(pid, &parent, ret_start_ns);
}

/* *ret_state: 'Z' for a leader whose directory shows nothing of its program any more. */
static int open_leader(const struct procfs_id *id, char *ret_state)
{
	CLEANUP(fd__closep) int dir = open_proc(id->pid);
	struct stat_text stat;
	int r = dir < 0 ? dir : read_stat(dir, &stat);

	*ret_state = 0;
	if (r < 0)
		return r;
	if (stat.ticks != id->start_ns / TICK_NS)
		return -ESRCH;
	*ret_state = stat.state;
	return take_fd(dir);
}

int procfs__open(const struct procfs_id *id)
{
	char state;
	CLEANUP(fd__closep) int dir = open_leader(id, &state);

	if (dir >= 0 && state == 'Z')
		return id->tid != id->pid ? open_thread(dir, id->tid) : -ESRCH;
	return dir < 0 ? dir : take_fd(dir);
}

char *procfs__exe(int exe_fd)
{
	char self[40], link[4096];
	struct dcm_str path;
	struct stat st;
	ssize_t n;

	if (exe_fd < 0)
		return NULL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", exe_fd);
	n = readlink(self, link, sizeof(link));
	if (n <= 0)
		return NULL;
	path = (struct dcm_str){ link, (uint32_t)n };
	if (fstat(exe_fd, &st) == 0 && st.st_nlink == 0)
		path = labels__without_deleted(path);
	str__clean(link, path.n);
	return mem__dup_str(path.p, path.n);
}

char *procfs__cgroup(const struct procfs_id *id)
{
	struct buf text = { 0 };
	struct dcm_str path;
	char *copy = NULL, state;
	CLEANUP(fd__closep) int dir = open_leader(id, &state);

	if (dir >= 0 && fd__read_path(dir, "cgroup", TEXT_BYTES_MAX, &text) == 0) {
		path = cgroup__path(buf__view(&text));
		copy = mem__dup_str(path.p, path.n);
		if (copy)
			str__clean(copy, path.n);
	}
	buf__fini(&text);
	return copy;
}

/*
 * The first bytes of a text, and a NUL behind them; NULL when there are none. Takes the descriptor.
 */
static char *beginning(int text_fd, size_t max_bytes, size_t *ret_n)
{
	CLEANUP(fd__closep) int fd = text_fd;
	CLEANUP(mem__freep) char *text = fd < 0 ? NULL : mem__zalloc(max_bytes + 1, 1);
	size_t n = 0;

	while (text && n < max_bytes) {
		ssize_t got = read(fd, text + n, max_bytes - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	*ret_n = n;
	return n ? take_ptr(text) : NULL;
}

char *procfs__environment(const struct dcm_host *host, int dir, uint32_t *ret_n)
{
	size_t n;
	char *text = beginning(guarded__open(host, dir, DCM_GUARDED_ENVIRON), TEXT_BYTES_MAX, &n);

	*ret_n = (uint32_t)n;
	return text;
}

char *procfs__cmdline(int dir)
{
	size_t n;
	char *text = beginning(openat(dir, "cmdline", O_RDONLY | O_CLOEXEC), CMDLINE_BYTES_MAX, &n);

	if (!text)
		return NULL;
	while (n > 0 && text[n - 1] == 0)
		n--;
	for (size_t i = 0; i < n; i++)
		if (text[i] == 0)
			text[i] = ' ';
	str__clean(text, n);
	return text;
}
