/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/worker.c - asking workers, and ending those that do not answer
 *
 * `lock` guards the table of workers and the channels to the forkers, which answer at once. A
 * question takes a worker out of the table, so that it is asked by one thread, and lets go of the
 * lock until it puts it back. While it waits, it looks at intervals: at the worker's memory, and
 * whether anybody wants the answer still.
 *
 * There are two forkers, made one after the other: one forks, the other is its spare. A forker must
 * be clean: forked while this process had one thread, no socket of a stranger and no byte of one in
 * its memory, so that a worker that hostile bytes have taken over finds nothing to steal in what it
 * inherited. This process is not clean any more when a forker dies, so it cannot make another; nor
 * may a worker. The spare waited in its one system call all the while, and is as clean as it was.
 */
#include "core/broker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/resident.h"
#include "core/broker/forker.h"

#define LOOK_NS	       INT64_C(20000000)   /* between two looks at a worker's memory */
#define FORK_WITHIN_NS INT64_C(5000000000) /* the forker is never busy */

enum { N_FORKERS = 2 };

struct forker {
	pid_t pid; /* 0: none, or reaped */
	int end;   /* open until workers__free(): workers__watch_fd() lends it */
	bool has_died;
};

/* One process. A slot without: end -1. */
struct worker {
	int end, pidfd;
	pid_t pid;
	const struct forker *of;
	bool busy;
};

struct workers {
	struct workers_config c;
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct forker forkers[N_FORKERS]; /* the first that lives forks, the others wait */
	struct worker *all;		  /* [c.n_workers] */
	struct workers_stat stat;
};

/* ------------------------------------------------------------------------------------------------
 * Life
 */

static int start_forker(struct workers *w, struct forker *f)
{
	pid_t self = getpid();
	int ends[2];
	int r = channel__pair(ends);

	if (r < 0)
		return r;
	fflush(NULL);
	f->pid = fork();
	if (f->pid == 0)
		forker__run(&w->c, ends[1], self);
	r = f->pid < 0 ? -errno : 0;
	fd__close(ends[1]);
	f->end = ends[0];
	return r;
}

int workers__new(const struct workers_config *config, struct workers **ret, struct dcm_error *err)
{
	CLEANUP(workers__freep) struct workers *w = NEW(struct workers);
	int r = 0;

	if (!w)
		return error__nomem(err);
	w->c = *config;
	for (int i = 0; i < N_FORKERS; i++)
		w->forkers[i].end = -1;
	pthread_mutex_init(&w->lock, NULL);
	cond__init(&w->freed);
	w->all = mem__zalloc(config->n_workers, sizeof(*w->all));
	if (!w->all)
		return error__nomem(err);
	for (uint32_t i = 0; i < w->c.n_workers; i++)
		w->all[i] = (struct worker){ .end = -1, .pidfd = -1 };
	for (int i = 0; i < N_FORKERS && r == 0; i++)
		r = start_forker(w, &w->forkers[i]);
	if (r < 0)
		return error__sys(err, r, "cannot fork the process that forks workers");
	*ret = take_ptr(w);
	return 0;
}

/* The one that forks, after a look at who has died; NULL: none is left. With the lock. */
static struct forker *living(struct workers *w)
{
	struct forker *first = NULL;

	for (int i = N_FORKERS - 1; i >= 0; i--) {
		struct forker *f = &w->forkers[i];
		struct pollfd hung_up = { .fd = f->end };

		if (!f->has_died && poll(&hung_up, 1, 0) > 0) {
			f->has_died = true;
			w->stat.n_forkers_died++;
		}
		if (!f->has_died)
			first = f;
		else if (f->pid > 0 && waitpid(f->pid, NULL, WNOHANG))
			f->pid = 0;
	}
	return first;
}

/* With the lock. Its user may be another: a forker, which is of that user too, kills it. */
static void end_worker(struct workers *w, struct worker *worker)
{
	const struct channel_head kill = { .what = FORKER_KILL, .n_fds = 1 };
	const struct forker *f = worker->pidfd >= 0 ? living(w) : NULL;

	if (f)
		channel__send(f->end, &kill, NULL, &worker->pidfd,
			      clock__mono(&clock__system) + FORK_WITHIN_NS);
	fd__close(worker->pidfd);
	fd__close(worker->end);
	worker->end = worker->pidfd = -1;
}

void workers__free(struct workers *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; w->all && i < w->c.n_workers; i++)
		end_worker(w, &w->all[i]);
	for (int i = 0; i < N_FORKERS; i++) {
		fd__close(w->forkers[i].end);
		/* One that was given up may be stopped: nobody waits for it. */
		if (w->forkers[i].pid > 0)
			waitpid(w->forkers[i].pid, NULL, w->forkers[i].has_died ? WNOHANG : 0);
	}
	pthread_cond_destroy(&w->freed);
	pthread_mutex_destroy(&w->lock);
	free(w->all);
	free(w);
}

int workers__watch_fd(struct workers *w)
{
	const struct forker *f;

	pthread_mutex_lock(&w->lock);
	f = living(w);
	pthread_mutex_unlock(&w->lock);
	return f ? f->end : -1;
}

struct workers_stat workers__stat(struct workers *w)
{
	struct workers_stat stat;

	pthread_mutex_lock(&w->lock);
	living(w);
	stat = w->stat;
	pthread_mutex_unlock(&w->lock);
	stat.n_forkers = N_FORKERS - stat.n_forkers_died;
	return stat;
}

/* ------------------------------------------------------------------------------------------------
 * The table
 */

/* -EPIPE: there is no answer, and there will be none. */
static int ask_forker(const struct forker *f, struct channel_message *ret)
{
	const struct channel_head ask = { .what = FORKER_FORK };
	int64_t deadline = clock__mono(&clock__system) + FORK_WITHIN_NS;
	int r = channel__send(f->end, &ask, NULL, NULL, deadline);

	if (r == 0)
		r = channel__receive(f->end, 0, deadline, ret);
	if (r == 0)
		return 0;
	/* What one that was stopped says later would be taken for the next one's answer. */
	shutdown(f->end, SHUT_RDWR);
	return -EPIPE;
}

/* Fills an empty slot; with the lock. */
static int fork_into(struct workers *w, struct worker *worker)
{
	struct channel_message m = { 0 };
	const struct forker *f;
	int r = -EPIPE;

	while (r == -EPIPE && (f = living(w)))
		r = ask_forker(f, &m);
	if (r < 0)
		return r;
	r = m.head.status;
	if (r == 0 && m.head.n_fds != FORKER_FDS)
		r = -EPROTO;
	if (r == 0) {
		worker->end = take_fd(m.fds[0]);
		worker->pidfd = take_fd(m.fds[1]);
		worker->pid = (pid_t)m.head.what;
		worker->of = f;
		w->stat.n_forked++;
	}
	channel_message__fini(&m);
	return r;
}

/* One that is there and idle, else an empty slot, else NULL. */
static struct worker *find_idle(struct workers *w)
{
	struct worker *empty = NULL;

	for (uint32_t i = 0; i < w->c.n_workers; i++) {
		struct worker *worker = &w->all[i];

		if (!worker->busy && worker->end >= 0)
			return worker;
		if (!worker->busy && !empty)
			empty = worker;
	}
	return empty;
}

/* When to look again: at the deadline at the latest. */
static int64_t next_look(const struct worker_question *q)
{
	int64_t look = clock__mono(&clock__system) + LOOK_NS;

	return look < q->deadline_mono_ns ? look : q->deadline_mono_ns;
}

/* Why nobody waits for the answer any more; 0: somebody does. */
static int why_over(const struct worker_question *q)
{
	if (q->stop && q->stop(q->stop_ctx))
		return -ECANCELED;
	return clock__mono(&clock__system) >= q->deadline_mono_ns ? -ETIMEDOUT : 0;
}

/* A worker of one's own, before half of the time is over: with less it may not be able to answer. */
static int take(struct workers *w, const struct worker_question *q, struct worker **ret)
{
	const int64_t began_ns = clock__mono(&clock__system);
	const int64_t half_ns = began_ns + (q->deadline_mono_ns - began_ns) / 2;
	bool waited = false;
	struct worker *worker;
	int r = 0;

	pthread_mutex_lock(&w->lock);
	w->stat.n_questions++;
	while (!(worker = find_idle(w)) && r == 0) {
		int64_t look = next_look(q);
		const struct timespec until = { look / 1000000000, look % 1000000000 };

		waited = true;
		if (pthread_cond_timedwait(&w->freed, &w->lock, &until) == ETIMEDOUT)
			r = why_over(q);
	}
	/* What an idle one has to say can only be that it died. */
	if (worker && worker->end >= 0 && channel__wait(worker->end, 0) == 0)
		end_worker(w, worker);
	if (r == -ETIMEDOUT || (r == 0 && waited && clock__mono(&clock__system) > half_ns))
		r = -EBUSY;
	if (r < 0)
		pthread_cond_signal(&w->freed); /* for somebody else, if it was for us */
	if (r == 0 && worker->end < 0)
		r = fork_into(w, worker);
	if (r == 0) {
		worker->busy = true;
		*ret = worker;
	}
	pthread_mutex_unlock(&w->lock);
	return r;
}

/*
 * Puts it back; one that is not fit for another question is ended and counted by its reason, which
 * is returned: one that its forker took along (-EPIPE) did not die of what it was asked.
 */
static int put(struct workers *w, struct worker *worker, int reason)
{
	pthread_mutex_lock(&w->lock);
	if (reason == -EPROTO && (living(w), worker->of->has_died))
		reason = -EPIPE;
	if (reason < 0)
		end_worker(w, worker);
	if (reason == -ETIMEDOUT)
		w->stat.n_timed_out++;
	else if (reason == -ENOMEM)
		w->stat.n_out_of_memory++;
	else if (reason < 0 && reason != -ECANCELED && reason != -EPIPE)
		w->stat.n_crashed++;
	worker->busy = false;
	pthread_cond_signal(&w->freed);
	pthread_mutex_unlock(&w->lock);
	return reason;
}

/* ------------------------------------------------------------------------------------------------
 * Asking
 */

static int wait_for_answer(const struct workers *w, const struct worker *worker,
			   const struct worker_question *q)
{
	for (;;) {
		int r = channel__wait(worker->end, next_look(q));

		if (r != -ETIMEDOUT)
			return r;
		if (resident__private(worker->pid) > w->c.memory_bytes)
			return -ENOMEM;
		r = why_over(q);
		if (r < 0)
			return r;
	}
}

/*
 * 0: it answered, which *ret_status says. Another: why it must end. A worker that is gone crashed;
 * one whose answer is too long, or comes with descriptors, is not ours any more.
 */
static int exchange(const struct workers *w, const struct worker *worker,
		    const struct worker_question *q, struct channel_message *ret)
{
	const struct channel_head head = { .what = q->task, .n_bytes = (uint32_t)q->n, .n_fds = q->n_fds };
	int r = channel__send(worker->end, &head, q->bytes, q->fds, q->deadline_mono_ns);

	if (r == 0)
		r = wait_for_answer(w, worker, q);
	if (r == 0)
		r = channel__receive(worker->end, w->c.max_answer_bytes, q->deadline_mono_ns, ret);
	if (r == 0 && (ret->head.n_fds || ret->head.status > 0))
		r = -EPROTO;
	return r == 0 || r == -ETIMEDOUT || r == -ENOMEM || r == -ECANCELED ? r : -EPROTO;
}

int workers__ask(struct workers *w, const struct worker_question *q, struct buf *answer)
{
	struct channel_message m = { 0 };
	struct worker *worker = NULL;
	int r;

	if (q->n > w->c.max_request_bytes || q->n_fds > CHANNEL_FDS_MAX)
		return -E2BIG;
	r = take(w, q, &worker);
	if (r < 0)
		return r;
	r = exchange(w, worker, q, &m);
	r = put(w, worker, r);
	if (r == 0)
		r = m.head.status;
	if (r == 0) {
		buf__append(answer, m.bytes.data, m.bytes.n);
		r = answer->error;
	}
	channel_message__fini(&m);
	return r;
}
