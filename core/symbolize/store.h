/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/store.h - the symbol store's state, which symbols.c (offers, worker), reading.c
 * kept.c and upload.c (files) and resolve.c and fill.c (lookups, overlays) share; private to this folder
 *
 * Two locks, never held together (fetcher, keeper and scribe have their own, taken inside; uploads
 * one, taken outside): `lock`
 * guards the files and the queue and is never held while a file is read or a batch is walked;
 * `learned_lock` guards the remembered names, for one location at a time.
 */
#ifndef DECIMA_SYMBOLIZE_STORE_H
#define DECIMA_SYMBOLIZE_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/symbolize/depot.h"
#include "core/symbolize/fetch.h"
#include "core/symbolize/file_table.h"
#include "core/symbolize/keeper.h"
#include "core/symbolize/kernel.h"
#include "core/symbolize/later.h"
#include "core/symbolize/offered.h"
#include "core/symbolize/learned.h"
#include "core/symbolize/scribe.h"
#include "core/symbolize/symbols.h"

#define STORE_LOOK_EVERY_NS INT64_C(60000000000)   /* for debuginfo that was not there */
#define STORE_NOTE_EVERY_NS INT64_C(3600000000000) /* that what is kept is in use */

/* Work for the worker: a file to read, or a batch to learn. */
struct job {
	struct job *next;
	struct file_entry *file; /* queued: it stays until it was read */
	bool is_rival;		 /* another file of a build id that has a table */
	int fd;			 /* -1: the one that is kept on disk */
	char *path;		 /* of the file, as its process sees it; or NULL */
	struct dcm_batch *batch;
};

struct symbols {
	struct symbols_config config;
	pthread_t worker;
	struct fetcher *fetcher; /* or NULL */
	struct depot *depot;	 /* or NULL: nothing is kept on disk */
	struct keeper *keeper;	 /* or NULL: nothing new is kept */
	struct scribe *scribe;	 /* likewise: what was resolved is not written down */
	const char **debug_dirs; /* [n_debug_dirs] of the configuration, and the fetcher's behind them */
	uint32_t n_debug_dirs;

	pthread_mutex_t lock;
	pthread_cond_t work; /* for the worker; on CLOCK_MONOTONIC */
	pthread_cond_t done; /* a file was read; on CLOCK_MONOTONIC */
	struct file_table files;
	struct later later;
	struct job *first, **last;
	uint32_t n_jobs, n_fds;
	uint64_t queue_bytes; /* of batches */
	bool stop;
	struct symbols_stat counts; /* those about files and batches */

	struct offered *offered;   /* files that may be sent on */
	pthread_mutex_t providing; /* held while a file is reduced for that */

	pthread_mutex_t uploading; /* held for all of an upload; the others are taken inside */

	pthread_mutex_t learned_lock;
	struct learned_names learned;

	struct kernel_names kernel;
	_Atomic uint64_t hits, misses, learned_hits, waits_timed_out;
	_Atomic uint64_t frames_asked, frames_given_up;
};

/*
 * What came of a fetch: 0 (the file is read again), -ENOENT (no server has it), or why they could
 * not be asked; again: they will be, later. The fetcher's thread.
 */
void store__fetched(struct symbols *s, struct dcm_str build_id, struct dcm_str path, int fd, int rc,
		    bool again);

/* Queues a job for the worker, which takes it. Under the lock. */
void store__push(struct symbols *s, struct job *job);

/* Looks up every location of the batch that has no name, so that it is remembered. Worker only. */
void resolve__learn(struct symbols *s, struct dcm_batch *batch);

#endif
