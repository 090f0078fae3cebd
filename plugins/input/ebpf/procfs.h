/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/procfs.h - what /proc says of one process, and surely of that one
 *
 * A pid is reused, so a process is asked for by pid and start time, and everything is read through
 * one descriptor of its directory, which never comes to mean another process. Any thread.
 */
#ifndef DECIMA_EBPF_PROCFS_H
#define DECIMA_EBPF_PROCFS_H

#include <stdint.h>

#include <decima/plugin.h>

struct procfs_id {
	uint32_t pid;
	uint32_t tid; /* stands in for a leader that ended before its threads */
	uint64_t start_ns; /* CLOCK_BOOTTIME of the process; compared in ticks of 10 ms, as /proc counts */
};

/* Rounded down to the ticks of /proc/PID/stat, field 22. */
uint64_t procfs__whole_ticks(uint64_t start_ns);

/*
 * A descriptor of the directory, or -ESRCH: it has ended. One that its parent has not waited for yet
 * (a zombie) has: of its program, its mappings and its files nothing is shown any more. Another errno: it
 * may be there, and we cannot see it: -EACCES and -EPERM (hidepid), -EMFILE, -ENFILE, -ENOMEM.
 */
int procfs__open(const struct procfs_id *id);

/* When the process began that has the pid now, in whole ticks: 0, or errors as procfs__open(). */
int procfs__start(uint32_t pid, uint64_t *ret_start_ns);
/* And who forked it, or adopted it. */
int procfs__parent(uint32_t pid, uint32_t *ret_parent, uint64_t *ret_start_ns);

/*
 * Texts, the caller's to free; NULL when they cannot be read. Paths are clean UTF-8. exe: of the
 * program, opened as DCM_GUARDED_EXE_PATH (or an error); without the " (deleted)" that the kernel
 * adds when the file has no name. cgroup: the path that says most (cgroup.h); of a zombie, too.
 */
char *procfs__exe(int exe_fd);
char *procfs__cgroup(const struct procfs_id *id);

/*
 * At most 64 KiB of NAME=value texts, each with its NUL. NULL when it is empty or not to be read.
 */
char *procfs__environment(const struct dcm_host *host, int dir, uint32_t *ret_n);

/* At most 4 KiB of arguments with blanks between them, clean UTF-8. NULL when empty. */
char *procfs__cmdline(int dir);

#endif
