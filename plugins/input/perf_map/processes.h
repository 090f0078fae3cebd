/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/processes.h - the processes that were seen, each with its perf map and its
 * jitdump
 *
 * A process is known by (pid, start, generation). Where its files lie is looked up when it is first
 * heard of; a root directory that is not ours (a container's) is held open, once for all processes
 * that share it, until `keep_ns` after the last of them ended. The files themselves are opened when
 * names are asked for, and for the last time when the process ends.
 *
 * Thread-safe. One lock for the table, one for each process's map, in that order; neither is held
 * while somebody else's function runs.
 */
#ifndef DECIMA_PERF_MAP_PROCESSES_H
#define DECIMA_PERF_MAP_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/clock.h"

enum {
	PROCESSES_MAX = 16384, /* beyond it the one that was not heard of for the longest time goes */
	PROCESSES_NOTE_BYTES = 512,
	PROCESSES_MAX_ROOTS = 256 /* held open; the maps of further containers are not read */
};

struct processes;

struct processes_config {
	const struct dcm_host *host; /* opens what we may not; NULL: nobody does */
	const char *proc;	     /* "/proc" */
	const char *root;	     /* "/": where our own files lie */
	const char *const *dirs;     /* [n_dirs], absolute */
	uint32_t n_dirs;
	uint64_t max_file_bytes, max_map_bytes, max_bytes;
	int64_t reread_ns, keep_ns;
	int64_t patience_ns; /* with a file system that does not answer (errands.h) */
	const struct clock *clock;
};

/* config is copied, not what it points to. */
int processes__new(const struct processes_config *config, struct processes **ret, struct dcm_error *err);
void processes__free(struct processes *t);

void processes__event(struct processes *t, enum dcm_process_event event, const struct dcm_process *id);

/* Answers, in memory of `arena`; [n], name.n == 0: not known. */
struct processes_answer {
	struct dcm_str name, file; /* file.n == 0: its place is not known */
	uint64_t start;
	int64_t line;
};

/*
 * Reads what is new in the process's map and looks the addresses up. 0; 1: the same, but only the
 * end of its map is read; -ENOENT: no such process, or it has no map; -EACCES: it has one that may
 * not be read, or is of a foreign owner; -ETIMEDOUT: its file system does not answer, or no thread
 * is there that could ask it, and nothing was read of it before; -ENOMEM.
 */
int processes__resolve(struct processes *t, const struct dcm_process *id, const uint64_t *addresses,
		       uint32_t n, struct arena *arena, struct processes_answer *ret);

struct processes_stat {
	uint64_t n_lines, n_skipped, n_forgotten, n_rewrites; /* count up */
	uint64_t n_cut;					      /* likewise; as dump.h has it */
	uint64_t n_unread;				      /* likewise; bytes of perf maps */
	uint64_t n_hung; /* likewise; calls that were not waited for */
	uint64_t bytes;	 /* of maps, now */
	uint32_t n_processes, n_roots;
	uint32_t n_stuck; /* of n_hung: which still hang */
};
void processes__stat(struct processes *t, struct processes_stat *ret);

/*
 * What people should know of a file, each thing once a file and a few a minute (anyone may write
 * such files): of which only the end is read, or most is not understood, or which is no regular
 * file, or whose file system does not answer. False: nothing more.
 */
bool processes__take_note(struct processes *t, char ret[static PROCESSES_NOTE_BYTES]);

#endif
