/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process_table.h - the table of process images, for those who make it
 *
 * process.c keeps it, history.c what an image had mapped and when, process_image.c what an image began with; nobody else
 * includes this. The reader thread's.
 */
#ifndef DECIMA_EBPF_PROCESS_TABLE_H
#define DECIMA_EBPF_PROCESS_TABLE_H

#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/process.h"

enum { PROCESS_BUCKETS = 4096 };
#define ASK_AGAIN_NS 1000000000ll /* whoever did not answer */

struct processes {
	const struct dcm_host *host;
	struct files *files;
	struct identities *identities;
	const struct trail *trail;
	struct cgroups *cgroups;
	struct errands *errands; /* reads what a process may keep locked */
	struct arena texts;
	VEC(struct dcm_str) only;   /* control groups that are wanted; empty: all */
	struct trail_mappings told; /* the answer to the last question to the trail */
	struct process *buckets[PROCESS_BUCKETS];
	struct processes_stat stat;
	uint64_t page_bytes;
	uint32_t window;
	int64_t room_again_ns; /* a full table looks for room again */
	int dir; /* of /proc that was opened last, kept for the files that are asked for next */
	const struct process *dir_of;
};

static inline int64_t process_table__now_ns(const struct processes *t)
{
	return t->host->mono_ns(t->host);
}

static inline struct process **process_table__bucket(struct processes *t, uint32_t pid)
{
	return &t->buckets[hash__mix(0, pid) % PROCESS_BUCKETS];
}

/* The image of a process, or NULL. */
static inline struct process *process_table__find(struct processes *t, uint32_t pid,
						  uint64_t start_ns, uint64_t exec_id)
{
	struct process *p;

	for (p = *process_table__bucket(t, pid); p; p = p->next)
		if (p->id.pid == pid && p->start_ns == start_ns && p->exec_id == exec_id)
			break;
	return p;
}

static inline char *process_table__copy(const char *text)
{
	return text ? mem__dup_str(text, strlen(text)) : NULL;
}

/* A new entry of the table; NULL when memory ran out, or it is full of processes that are there. */
struct process *process_table__add(struct processes *t, const struct sampler_sample *sample);

/* Whoever opens files for us has not answered about this process. */
void process_table__tell_silence(struct processes *t, const struct process *p);

#endif
