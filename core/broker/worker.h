/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/worker.h - processes in which hostile bytes are parsed
 *
 * A worker has no capability, opens no file, reaches no network, and may use so much memory. It is
 * asked by bytes and descriptors, and answers with bytes. One that does not answer until the
 * deadline, eats memory or dies is killed; the asker gets the reason, and the next question a fresh
 * worker. What a worker answers is as hostile as what it read: the asker checks it.
 *
 *	static int count(const struct worker_request *q, struct buf *answer) {...}
 *
 *	static const worker_fn tasks[] = { count };
 *	workers__new(&(struct workers_config){ .tasks = tasks, .n_tasks = 1, ... }, &w, &err);
 *	...
 *	r = workers__ask(w, &(struct worker_question){ .task = 0, .fds = &fd, .n_fds = 1, ... }, &answer);
 *
 * Workers are forked by a process that was itself forked while this one had one thread, and had
 * parsed nothing: they share no secret and no lock with it. That process has a spare, which takes
 * over when it dies.
 */
#ifndef DECIMA_BROKER_WORKER_H
#define DECIMA_BROKER_WORKER_H

#include <decima/plugin.h>

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/broker/channel.h"

struct worker_request {
	const uint8_t *bytes; /* [n] */
	size_t n;
	const int *fds; /* [n_fds]: the worker's own; closed when the function has returned */
	uint32_t n_fds;
};

/*
 * In a worker, one at a time. What it appends to `answer` is sent when it returns 0; a negative
 * errno is sent instead of it. It may keep nothing: the next call may be in another process.
 */
typedef int (*worker_fn)(const struct worker_request *request, struct buf *answer);

struct workers_config {
	const worker_fn *tasks; /* [n_tasks] */
	uint32_t n_tasks;
	uint32_t n_workers;    /* at most, at once; forked when they are needed */
	uint64_t memory_bytes; /* of its own that one may use; files that it maps count not */
	uint64_t file_bytes; /* how large a file may become that it is given to write; 0: none grows */
	size_t max_request_bytes, max_answer_bytes;
	/* Who they shall be, when we are root and will give that up; uid 0: who we are. */
	uid_t uid;
	gid_t gid;
};

struct workers;

/* Forks the process that will fork them, and its spare, so: one thread, and early. */
int workers__new(const struct workers_config *config, struct workers **ret, struct dcm_error *err);
/* No question is under way. Ends them all. NULL is fine. */
void workers__free(struct workers *w);
DEFINE_CLEANUP(struct workers *, workers__free);

struct worker_question {
	uint32_t task; /* index into tasks */
	const void *bytes;
	size_t n;
	const int *fds; /* [n_fds <= CHANNEL_FDS_MAX]: borrowed; it can do with them what we could */
	uint32_t n_fds;
	int64_t deadline_mono_ns; /* of waiting for a worker and for its answer */
	/* Asked at intervals while it waits, in the asking thread: true ends it. May be NULL. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};

/*
 * Appends the answer. Any thread, several at once. What the task returned, or -ETIMEDOUT (no answer
 * in time: it hung), -EBUSY (the others' questions took more than half of the time), -ECANCELED
 * (`stop` said so: the worker is killed), -ENOMEM (it ate its memory, or we have none), -EPROTO (it
 * crashed, or its answer makes no sense), -EPIPE (who forked it has died: the next question may have
 * a worker of the spare, until that has died, too), -E2BIG (the request is too large).
 */
int workers__ask(struct workers *w, const struct worker_question *q, struct buf *answer);

/* Since the start. Any thread. */
struct workers_stat {
	uint64_t n_questions, n_forked;
	uint64_t n_timed_out, n_out_of_memory, n_crashed; /* killed or dead, by reason */
	uint64_t n_forkers, n_forkers_died; /* there now; without one there are no workers any more */
};
struct workers_stat workers__stat(struct workers *w);

/* Hung up when the process that forks them has died; -1: its spare has, too. Open until the end. */
int workers__watch_fd(struct workers *w);

#endif
