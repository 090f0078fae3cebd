/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/proc.h - what /proc says of one process
 *
 * Thread-safe: nothing is shared.
 */
#ifndef DECIMA_PERF_MAP_PROC_H
#define DECIMA_PERF_MAP_PROC_H

#include <stdint.h>
#include <sys/types.h>

#include <decima/plugin.h>

#include "core/base/errands.h"

enum { PROC_PATH_MAX = 4096 };

/* Where processes see the same files: a mount namespace, and a directory in it. */
struct proc_root {
	uint64_t mount_ns; /* inode of the namespace */
	uint64_t dev, ino; /* of the root directory */
};

struct proc_info {
	uint32_t ns_pid; /* in its own, innermost pid namespace: what getpid() gives it */
	uid_t uid, euid;
	uint64_t start_ns;    /* CLOCK_BOOTTIME, in steps of a clock tick */
	int64_t start_real_s; /* the same as a time of the day, by the clocks of now */
};

/* 0; -ESRCH when there is no such process; -EPROTO when /proc says something unheard of. */
int proc__info(const char *proc, uint32_t pid, struct proc_info *ret);

/* What we may not open, the host is asked for; host NULL: nobody is. */

/* 0, or a negative errno: -EACCES when the process may not be traced. */
int proc__root(const struct dcm_host *host, const char *proc, uint32_t pid, struct proc_root *ret);

/* The root directory as an O_PATH descriptor, or a negative errno. */
int proc__open_root(const struct dcm_host *host, const char *proc, uint32_t pid);

/*
 * The jitdump of a process, told by what it maps: runtimes map the first page of jit-PID.dump for
 * others to see, wherever they write it. The path is as the process sees its files. 0; -ENOENT:
 * none is mapped (or it was removed); -ETIMEDOUT, -EBUSY or -EAGAIN: the process does not let its mappings be
 * read; a negative errno. Costs a microsecond or two for each mapping. errands: NULL: who asks waits as long
 * as it takes.
 */
int proc__jitdump(const struct dcm_host *host, struct errands *errands, const char *proc,
		  uint32_t pid, char ret_path[static PROC_PATH_MAX]);

#endif
