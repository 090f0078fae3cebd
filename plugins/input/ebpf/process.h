/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process.h - the processes that were sampled, and what /proc said about them
 *
 * One entry per image: a pid is reused, and exec() makes another program of a process, so an entry
 * is known by pid, start time and exec id, all of which each sample carries. Its mappings at the
 * moment of a sample come from what the kernel told meanwhile (trail.h): from the exec on when that
 * was heard, else from /proc/PID/maps and what was told since. That holds after the process has
 * ended, and tells apart two libraries that took turns at one address. The kernel does not tell of
 * munmap(2) and mremap(2): when an address or its count of executable pages shows that something
 * changed unheard, /proc is read again, never for more than a five-hundredth of the time. There is
 * no polling. Entries outlive their process by two windows; by less when the table is full.
 *
 * Everything here belongs to the reader thread. Maps are shared by reference with the windows. /proc/PID/maps
 * is read by threads that may hang: a process may hold the lock of its mappings, and the reader waits a second
 * for it, once.
 */
#ifndef DECIMA_EBPF_PROCESS_H
#define DECIMA_EBPF_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/identity.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/procfs.h"
#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/trail.h"

enum { PROCESS_OLDER = 3 };

/* Mappings, and from when on they were these. */
struct process_state {
	struct maps *maps;
	int64_t since_ns; /* mono */
};

struct process {
	struct process *next;  /* in the table's bucket */
	struct dcm_process id; /* generation: the low half of exec_id */
	uint64_t start_ns, exec_id;
	/*
	 * Whose directory of /proc is asked: its own, or that of the parent whose image it shared
	 * when it ended before it could be read.
	 */
	struct procfs_id via;
	uint64_t cgroup_id; /* for which identity.cgroup was found */
	bool kthread;
	bool is_filtered; /* in none of the control groups that the configuration names */
	bool is_told;	  /* to the symbol sources */
	int64_t ended_ns, replaced_ns; /* mono, of exit() and of exec(); 0: not yet */
	/*
	 * When it was not there any more to be asked (mono): the record of its end may have come before its first
	 * sample, to nobody, or is to come. 0: it was there.
	 */
	int64_t missing_ns;

	struct maps *maps; /* the newest state's; NULL: `why` says why */
	int64_t since_ns;
	struct process_state older[PROCESS_OLDER]; /* newest first */
	/* The judge of what windows have instead of states that they have no room for; NULL: they have none. */
	struct maps *few;
	int64_t known_ns; /* what the kernel told until then is in `maps` */
	bool has_missed;  /* but for some, since /proc was read */
	enum dcm_unnamed why;
	/*
	 * Of readings of /proc/PID/maps: when the last one began and ended, and the waits before
	 * the next one, by reason and by cost. The same for laying news over many mappings.
	 */
	int64_t read_ns, read_end_ns, pause_ns, rest_ns;
	int64_t applied_ns, apply_rest_ns;
	/* When whoever opens files for us did not answer about its program (mono); 0: it did. */
	int64_t unanswered_ns;
	struct identity identity; /* its paths, and the labels they make */
	uint32_t last_window;	  /* that sampled it */
	uint32_t held_window;	  /* that has an image of it: aggregate.h */
};

struct processes; /* the table */

/*
 * host's mono_ns and process_event are used. trail: kept up to date by the caller, who outlives the
 * table; NULL: the kernel tells nothing. NULL when memory ran out.
 */
struct processes *processes__new(const struct dcm_host *host, struct files *files,
				 struct identities *identities, const struct trail *trail);
void processes__free(struct processes *t);

/*
 * Only processes in these control groups (const char *) and below are wanted from now on; empty:
 * all. The list is copied. 0 or -ENOMEM. Before the first sample.
 */
int processes__only(struct processes *t, const struct dcm_list *cgroups);

/*
 * The image that a record is of, made and read when it is new: then others that have ended may be gone. NULL when
 * memory ran out or the table is full.
 */
struct process *processes__of(struct processes *t, const struct sampler_sample *sample, uint32_t window);

/* There is no room for another image: 32,768 are known, and none of them has ended. */
bool processes__full(const struct processes *t);

/*
 * Tells the symbol sources of a process, once: a sample ran code that is in no file. Those that
 * have such code mapped are told of by themselves. Nobody can be asked about the others, and
 * finding out what a source wants to know costs more than all that is read here of a process that
 * ends at once.
 */
void processes__tell(struct processes *t, struct process *p);

/* exec and exit as the kernel reports them. */
void processes__event(struct processes *t, const struct sampler_event *event);

/*
 * The maps under which a sample was taken: the state of that time that has the count of executable
 * pages that it carries. They are read again when none has that count, or `uncovered` says that an
 * address lies in none of the mappings, and it is not too soon. When nothing fits, the last state,
 * and *ret_certain is false: what it does not list may have been there. NULL: none is known, or it
 * would be the wrong one. The process's own.
 */
struct maps *processes__maps(struct processes *t, struct process *p,
			     const struct sampler_sample *sample, bool uncovered, bool *ret_certain);

/*
 * The file of a range, opened through the process when that was not done yet, or in vain. NULL for
 * memory.
 */
struct file *processes__file(struct processes *t, struct process *p, struct maps_range *range);

/* Makes identity.series, .sample and .service, where they are not there or old. 0 or -ENOMEM. */
int processes__tag(struct processes *t, struct process *p);

/* Closes what was kept open for the next processes__file(): to be called when a burst is over. */
void processes__rest(struct processes *t);

/* Forgets what ended two windows ago, and what has not been sampled for 30. */
void processes__sweep(struct processes *t, uint32_t window);

struct processes_stat {
	uint32_t n;
	uint64_t reads, denied; /* of maps */
	/* Of maps, by threads that may hang (core/base/errands.h): not waited for any longer; not begun. */
	uint64_t hung, refused;
	uint64_t read_cpu_ns; /* of the threads that read them for us */
	uint64_t applied;     /* states made of what the kernel told */
	uint64_t replayed;    /* images that needed no reading at all */
};
struct processes_stat processes__stat(const struct processes *t);

#endif
