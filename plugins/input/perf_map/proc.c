/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/proc.c - what /proc says of one process
 *
 * Source: proc(5): /proc/PID/status (NSpid, Uid), /proc/PID/stat (field 22), /proc/PID/root,
 * /proc/PID/ns/mnt, /proc/PID/maps.
 */
#include "plugins/input/perf_map/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"

enum { PROC_FILE_MAX = 64 << 10, BLOCK_BYTES = 16 << 10 };
static const uint64_t SECOND_NS = 1000000000;

static int read_proc(const char *proc, uint32_t pid, const char *name, struct buf *ret)
{
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", proc, pid, name);
	rc = fd__read_path(AT_FDCWD, path, PROC_FILE_MAX, ret);
	return rc == -ENOENT ? -ESRCH : rc;
}

/* The text behind "\nKEY:", or NULL. The buffer ends in NUL. */
static const char *field(const struct buf *b, const char *key)
{
	const char *at = b->data ? strstr((const char *)b->data, key) : NULL;

	return at ? at + strlen(key) : NULL;
}

static int read_status(const char *proc, uint32_t pid, struct proc_info *ret)
{
	struct buf b = { 0 };
	const char *uid, *ns;
	unsigned real = 0, effective = 0;
	int rc = read_proc(proc, pid, "status", &b);

	if (rc)
		goto out;
	uid = field(&b, "\nUid:");
	rc = uid && sscanf(uid, "%u %u", &real, &effective) == 2 ? 0 : -EPROTO;
	ret->uid = real;
	ret->euid = effective;
	ret->ns_pid = pid;
	/*
	 * A number for each namespace the process is in, the innermost last; absent before Linux
	 * 4.1.
	 */
	ns = field(&b, "\nNSpid:");
	while (ns && *ns && *ns != '\n') {
		char *end;
		unsigned long v = strtoul(ns, &end, 10);

		if (end == ns)
			break;
		ret->ns_pid = (uint32_t)v;
		ns = end + strspn(end, " \t");
	}
out:
	buf__fini(&b);
	return rc;
}

/* Field 22, counted behind the name, which may hold anything but ends at the last ')'. */
static int read_start(const char *proc, uint32_t pid, uint64_t *ret_ns)
{
	struct buf b = { 0 };
	uint64_t ticks = 0;
	const char *at;
	long hz = sysconf(_SC_CLK_TCK);
	int rc = read_proc(proc, pid, "stat", &b);

	if (rc)
		goto out;
	rc = -EPROTO;
	at = b.data ? strrchr((const char *)b.data, ')') : NULL;
	for (unsigned i = 2; at && i < 22; i++)
		at = strchr(at + 1, ' ');
	if (at && hz > 0 && sscanf(at, " %" SCNu64, &ticks) == 1) {
		*ret_ns = ticks / (uint64_t)hz * SECOND_NS +
			  ticks % (uint64_t)hz * SECOND_NS / (uint64_t)hz;
		rc = 0;
	}
out:
	buf__fini(&b);
	return rc;
}

int proc__info(const char *proc, uint32_t pid, struct proc_info *ret)
{
	struct proc_info info = { 0 };
	struct timespec boot, real;
	int rc = read_status(proc, pid, &info);

	if (!rc)
		rc = read_start(proc, pid, &info.start_ns);
	if (rc)
		return rc;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &real);
	info.start_real_s = real.tv_sec - boot.tv_sec + (int64_t)(info.start_ns / SECOND_NS);
	*ret = info;
	return 0;
}

/* By ourselves when we may, else by the host. */
static int open_of(const struct dcm_host *host, const char *proc, uint32_t pid, enum dcm_guarded_kind what)
{
	static const struct {
		const char *name;
		int flags;
	} files[] = {
		[DCM_GUARDED_MAPS] = { "maps", O_RDONLY },
		[DCM_GUARDED_ROOT] = { "root", O_PATH | O_DIRECTORY },
		[DCM_GUARDED_MOUNTS] = { "ns/mnt", O_PATH },
	};
	struct dcm_guarded g = { .size = sizeof(g), .what = what };
	CLEANUP(fd__closep) int dir = -1;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%" PRIu32, proc, pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = openat(dir, files[what].name, files[what].flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (!host || (errno != EACCES && errno != EPERM))
		return -errno;
	g.dir = dir;
	return host->open_guarded(host, &g);
}

/* Not fstat(2): a root on a network or FUSE file system must not be asked, it might not answer. */
static int identity(int opened, uint64_t *ret_dev, uint64_t *ret_ino)
{
	CLEANUP(fd__closep) int fd = opened;
	struct statx st;

	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return -errno;
	*ret_dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	*ret_ino = st.stx_ino;
	return 0;
}

int proc__root(const struct dcm_host *host, const char *proc, uint32_t pid, struct proc_root *ret)
{
	struct proc_root root;
	uint64_t dev;
	int rc = identity(open_of(host, proc, pid, DCM_GUARDED_ROOT), &root.dev, &root.ino);

	if (!rc)
		rc = identity(open_of(host, proc, pid, DCM_GUARDED_MOUNTS), &dev, &root.mount_ns);
	if (!rc)
		*ret = root;
	return rc;
}

int proc__open_root(const struct dcm_host *host, const char *proc, uint32_t pid)
{
	return open_of(host, proc, pid, DCM_GUARDED_ROOT);
}

/* jit-DIGITS.dump */
static bool is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	if (!name || strncmp(name, "/jit-", 5) != 0)
		return false;
	digits = strspn(name + 5, "0123456789");
	return digits && strcmp(name + 5 + digits, ".dump") == 0;
}

/* What of the text was read, cut into lines. */
struct lines {
	char line[PROC_PATH_MAX + 128];
	size_t n; /* of the line that has not ended */
};

/* True with the path when a line of the text names a jitdump. What is longer than a path is none. */
static bool find_jitdump(struct lines *l, const char *text, size_t n, char ret_path[static PROC_PATH_MAX])
{
	for (size_t i = 0; i < n; i++) {
		const char *at = NULL;

		if (text[i] != '\n') {
			l->n += l->n < sizeof(l->line);
			l->line[l->n - 1] = text[i];
			continue;
		}
		if (l->n < sizeof(l->line)) {
			l->line[l->n] = 0;
			at = strchr(l->line, '/');
		}
		l->n = 0;
		if (at && is_jitdump(at) && strlen(at) < PROC_PATH_MAX) {
			memcpy(ret_path, at, strlen(at) + 1);
			return true;
		}
	}
	return false;
}

int proc__jitdump(const struct dcm_host *host, struct errands *errands, const char *proc,
		  uint32_t pid, char ret_path[static PROC_PATH_MAX])
{
	CLEANUP(mem__freep) struct errand *errand = errand__new(BLOCK_BYTES);
	CLEANUP(fd__closep) int fd = open_of(host, proc, pid, DCM_GUARDED_MAPS);
	struct lines lines = { .n = 0 };
	ssize_t n;

	if (fd < 0 || !errand)
		return fd < 0 ? fd : -ENOMEM;
	errand->kind = ERRAND_TEXT;
	errand->place = errand__process(pid);
	errand->n = BLOCK_BYTES;
	do {
		n = errands__make(errands, &errand, &fd);
		if (n < 0)
			return (int)n;
		if (find_jitdump(&lines, errand->data, (size_t)n, ret_path))
			return 0;
	} while (n == BLOCK_BYTES);
	return -ENOENT;
}
