/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/trail.h - what processes have done lately: exec, fork, executable mappings
 *
 * Side-band records (perf_record.h) of all processes, kept by pid and in the order of time, so that
 * the mappings of a process at the moment of a sample can be told afterwards: when it has ended, or
 * has exec'ed since, or has unmapped one library and mapped another at the same place. Nothing is
 * worked out before somebody asks.
 *
 * Kept of a process: its last 3,072 mappings at least, from its start until 2 s after its end: two libraries
 * that take turns every millisecond, for as long as the reader may sleep. Of all together
 * 131,072 steps, beyond which the processes that did nothing for longest are forgotten. An answer
 * says when something is missing: then /proc must be read.
 *
 * All of it belongs to the reader thread.
 */
#ifndef DECIMA_EBPF_TRAIL_H
#define DECIMA_EBPF_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/perf_record.h"

enum { TRAIL_MAPPINGS = 4096 /* of one process */ };

struct trail;

struct trail *trail__new(void); /* NULL when memory ran out */
void trail__free(struct trail *t);
DEFINE_CLEANUP(struct trail *, trail__free);

/* Notes a record. What finds no memory counts as lost. */
void trail__add(struct trail *t, const struct perf_record *record);

/* How the image began that a process ran at some moment. */
enum trail_kind {
	TRAIL_UNKNOWN, /* before we listened, or forgotten */
	TRAIL_EXEC,    /* without a mapping */
	TRAIL_FORK,    /* with the mappings of its parent */
};
struct trail_origin {
	enum trail_kind kind;
	int64_t time_ns; /* mono */
	uint32_t ppid;	 /* of TRAIL_FORK */
};
struct trail_origin trail__origin(const struct trail *t, uint32_t pid, int64_t time_ns);

/* True when the pid has exec'ed, or was given to another process, after that moment. */
bool trail__replaced(const struct trail *t, uint32_t pid, int64_t time_ns);

/* Mappings, oldest first; their names hold until the next trail__add(). */
struct trail_mappings {
	uint32_t n;
	int64_t last_ns; /* when the last one was made; 0: none */
	struct maps_range v[TRAIL_MAPPINGS];
};

/* Those made in (after_ns, until_ns]. 0, or -ENODATA when some are missing. */
int trail__mappings(const struct trail *t, uint32_t pid, int64_t after_ns, int64_t until_ns,
		    struct trail_mappings *ret);

/* As many of the last of those as are remembered; nothing says whether some are missing. */
void trail__latest(const struct trail *t, uint32_t pid, int64_t after_ns, int64_t until_ns,
		   struct trail_mappings *ret);

/* Forgets processes that ended 2 s before. */
void trail__sweep(struct trail *t, int64_t now_ns);

struct trail_stat {
	uint32_t n_pids, n_steps;
	uint64_t n_forgotten; /* steps given up for want of room, while somebody might have asked */
};
struct trail_stat trail__stat(const struct trail *t);

#endif
