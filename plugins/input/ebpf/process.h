/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process.h - the processes that were sampled, and what /proc said about them
 *
 * One entry per image: a pid is reused, and exec() makes another program of a process, so an entry
 * is known by pid, start time and exec id, all of which each sample carries. What /proc says is
 * read once, at the first sample, through a descriptor of /proc/PID that cannot come to mean
 * another process; mappings are read again when an address or the kernel's count of executable
 * pages shows that they changed, never for more than a five-hundredth of the time. There is no
 * polling. Entries outlive their process by two windows.
 *
 * Everything here belongs to the reader thread. Maps are shared by reference with the windows.
 */
#ifndef DECIMA_EBPF_PROCESS_H
#define DECIMA_EBPF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/record.h"

enum { PROCESS_OLDER = 3 };

struct process {
	struct process *next;  /* in the table's bucket */
	struct dcm_process id; /* generation: the low half of exec_id */
	uint64_t start_ns, exec_id;
	/*
	 * Whose directory of /proc is asked: its own, or that of the parent whose image it shared
	 * when it ended before it could be read. The thread stands in for a leader that ended
	 * before it.
	 */
	uint64_t via_start_ns;
	uint32_t via_pid, via_tid;
	uint64_t cgroup_id; /* for which `cgroup` was read */
	bool kthread;
	int64_t ended_ns, replaced_ns;	   /* mono, of exit() and of exec(); 0: not yet */
	struct maps *maps;		   /* as last read; NULL: `why` says why */
	struct maps *older[PROCESS_OLDER]; /* newest first */
	enum dcm_unnamed why;
	/*
	 * Of the maps: mono of the last reading; waits before the next one, by reason and by cost.
	 */
	int64_t read_ns, pause_ns, rest_ns;
	char *exe, *cgroup;   /* paths; "" when not known */
	uint32_t last_window; /* that sampled it */
};

struct processes; /* the table */

/* host's mono_ns and process_event are used. NULL when memory ran out. */
struct processes *processes__new(const struct dcm_host *host, struct files *files);
void processes__free(struct processes *t);

/*
 * The image that a record is of, made and read when it is new. NULL when memory ran out or the
 * table is full (32,768).
 */
struct process *processes__of(struct processes *t, const struct sampler_sample *sample, uint32_t window);

/* exec and exit as the kernel reports them. */
void processes__event(struct processes *t, const struct sampler_event *event);

/*
 * The maps under which a sample was taken, told by the count of executable pages that it carries;
 * they are read again when none has that count, or `uncovered` says that an address lies in none
 * of the mappings, and it is not too soon. When no reading fits, the last one, and *ret_certain is
 * false: what it does not list may have been there. NULL: none was ever read. The process's own.
 */
struct maps *processes__maps(struct processes *t, struct process *p,
			     const struct sampler_sample *sample, bool uncovered, bool *ret_certain);

/* The file of a range, opened through the process when that was not done yet. NULL for memory. */
struct file *processes__file(struct processes *t, struct process *p, struct maps_range *range);

/* Closes what was kept open for the next processes__file(): to be called when a burst is over. */
void processes__rest(struct processes *t);

/* Forgets what ended two windows ago, and what has not been sampled for 30. */
void processes__sweep(struct processes *t, uint32_t window);

struct processes_stat {
	uint32_t n;
	uint64_t reads, denied; /* of maps */
};
struct processes_stat processes__stat(const struct processes *t);

#endif
