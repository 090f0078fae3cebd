/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/errands.c - calls on a descriptor that may never return, made by threads
 * that may hang
 *
 * There are as many threads as calls at a time; one stays for the next. They are detached, and the
 * last of them frees what they share, so that one that hangs needs nobody to wait for it. Who asks
 * hands over an errand only when a thread is free for it: none waits behind one that hangs.
 */
#include "core/base/errands.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "core/base/cond.h"
#include "core/base/fd.h"
#include "core/base/mem.h"

struct errands {
	const char *name;
	int64_t patience_ns;
	pthread_mutex_t lock;
	pthread_cond_t given, made;
	struct errand *queue; /* handed over, not taken yet: never more than idle threads */
	struct errand *stuck; /* left behind */
	uint64_t n_hung, n_refused;
	uint32_t n_threads, n_idle, n_queue, n_stuck;
	bool is_over; /* threads end */
	bool is_left; /* by the owner: the last thread frees it */
};

/* --- the calls --- */

/* At an offset, or on from where the last errand with this descriptor ended. */
static ssize_t read_all(struct errand *j, int fd, bool on)
{
	size_t have = 0;

	while (have < j->n) {
		uint8_t *to = (uint8_t *)j->data + have;
		ssize_t n = on ? read(fd, to, j->n - have)
			       : pread(fd, to, j->n - have, (off_t)(j->offset + have));

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		have += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)have;
}

static ssize_t call(struct errand *j, int fd)
{
	switch (j->kind) {
	case ERRAND_STAT:
		return fstat(fd, &j->st) < 0 ? -errno : 0;
	case ERRAND_READ:
		return read_all(j, fd, false);
	case ERRAND_TEXT:
		return read_all(j, fd, true);
	case ERRAND_CLOSE:
		break;
	}
	fd__close(fd);
	return 0;
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static ssize_t make(struct errand *j, int fd)
{
	int64_t before = cpu_ns();
	ssize_t result = call(j, fd);

	j->cpu_ns = cpu_ns() - before;
	return result;
}

/* Of the file system, without asking it. */
static uint64_t device_of(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return 0;
	return makedev(st.stx_dev_major, st.stx_dev_minor);
}

/* --- threads --- */

static void fini(struct errands *e)
{
	pthread_cond_destroy(&e->given);
	pthread_cond_destroy(&e->made);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* Without the lock: each may hang as the first one did. */
static void close_all(struct errand *list)
{
	while (list) {
		struct errand *next = list->next;

		fd__close(list->fd);
		free(list);
		list = next;
	}
}

/* One that was left behind has come back. With the lock, which is let go meanwhile. */
static void come_back(struct errands *e, struct errand *j)
{
	struct errand **at = &e->stuck;

	/* It stays on the list, and holds others off, while its descriptors are closed. */
	pthread_mutex_unlock(&e->lock);
	if (j->kind != ERRAND_CLOSE)
		fd__close(j->fd);
	pthread_mutex_lock(&e->lock);
	while (j->closes) {
		struct errand *list = j->closes;

		j->closes = NULL;
		pthread_mutex_unlock(&e->lock);
		close_all(list);
		pthread_mutex_lock(&e->lock);
	}
	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	e->n_stuck--;
	free(j);
}

static struct errand *take(struct errands *e)
{
	struct errand *j = e->queue;

	e->queue = j->next;
	e->n_queue--;
	j->next = NULL;
	j->is_taken = true;
	return j;
}

static void *run(void *arg)
{
	struct errands *e = arg;
	bool last;

	pthread_mutex_lock(&e->lock);
	/* It counts as idle from before it began. */
	for (;;) {
		struct errand *j;

		while (!e->queue && !e->is_over && e->n_idle == 1)
			pthread_cond_wait(&e->given, &e->lock);
		e->n_idle--;
		if (!e->queue)
			break;
		j = take(e);
		pthread_mutex_unlock(&e->lock);
		j->result = make(j, j->fd);
		pthread_mutex_lock(&e->lock);
		j->is_done = true;
		if (j->is_left)
			come_back(e, j);
		else
			pthread_cond_broadcast(&e->made);
		e->n_idle++;
	}
	last = --e->n_threads == 0 && e->is_left;
	pthread_cond_broadcast(&e->made);
	pthread_mutex_unlock(&e->lock);
	if (last)
		fini(e);
	return NULL;
}

/* With the lock. 0 or a negative errno. */
static int start_thread(struct errands *e)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	if (e->n_threads == ERRANDS_THREADS_MAX)
		return -EAGAIN;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, run, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return -EAGAIN;
	pthread_setname_np(thread, e->name);
	pthread_detach(thread);
	e->n_threads++;
	e->n_idle++;
	return 0;
}

/* --- whoever asks --- */

struct errands *errands__new(const char *name, int64_t patience_ns)
{
	struct errands *e = NEW(struct errands);

	if (!e)
		return NULL;
	e->name = name;
	e->patience_ns = patience_ns;
	pthread_mutex_init(&e->lock, NULL);
	cond__init(&e->given);
	cond__init(&e->made);
	return e;
}

void errands__free(struct errands *e)
{
	bool last;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->is_over = true;
	pthread_cond_broadcast(&e->given);
	while (e->n_threads > e->n_stuck)
		pthread_cond_wait(&e->made, &e->lock);
	e->is_left = true;
	last = e->n_threads == 0;
	pthread_mutex_unlock(&e->lock);
	if (last)
		fini(e);
}

struct errand *errand__new(size_t room)
{
	return mem__zalloc(1, sizeof(struct errand) + room);
}

/* The one that hangs there, or NULL. With the lock. */
static struct errand *stuck_at(const struct errands *e, uint64_t dev)
{
	struct errand *j = e->stuck;

	while (j && j->dev != dev)
		j = j->next;
	return j;
}

/* Hands it to a thread that is free for it. With the lock. */
static int hand_over(struct errands *e, struct errand *j)
{
	int rc = 0;

	if (e->n_stuck >= ERRANDS_STUCK_MAX || stuck_at(e, j->dev))
		return -EBUSY;
	if (e->n_idle <= e->n_queue)
		rc = start_thread(e);
	if (rc)
		return rc;
	j->next = e->queue;
	e->queue = j;
	e->n_queue++;
	/* Each: one that finds nothing sleeps again, or ends. */
	pthread_cond_broadcast(&e->given);
	return 0;
}

/* Takes back what no thread has come to. With the lock. */
static void take_back(struct errands *e, struct errand *j)
{
	struct errand **at = &e->queue;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	e->n_queue--;
}

/* Until it is made, or the patience is over: then it is theirs. With the lock. */
static int wait_for(struct errands *e, struct errand *j)
{
	const struct timespec until = cond__after(e->patience_ns);

	while (!j->is_done)
		if (pthread_cond_timedwait(&e->made, &e->lock, &until) == ETIMEDOUT)
			break;
	if (j->is_done)
		return 0;
	if (!j->is_taken) {
		take_back(e, j);
		return -EAGAIN;
	}
	j->is_left = true;
	j->next = e->stuck;
	e->stuck = j;
	e->n_stuck++;
	e->n_hung++;
	return -ETIMEDOUT;
}

ssize_t errands__make(struct errands *e, struct errand **errand, int *fd)
{
	struct errand *j = *errand;
	int rc;

	if (!e)
		return make(j, *fd);
	j->fd = *fd;
	j->dev = j->place ? j->place : device_of(*fd);
	j->is_taken = j->is_done = false;
	pthread_mutex_lock(&e->lock);
	rc = hand_over(e, j);
	if (!rc)
		rc = wait_for(e, j);
	e->n_refused += (rc == -EBUSY || rc == -EAGAIN) && j->kind != ERRAND_CLOSE;
	if (rc == -ETIMEDOUT) {
		*errand = NULL;
		*fd = -1;
	}
	pthread_mutex_unlock(&e->lock);
	return rc ? rc : j->result;
}

/* Behind the one that hangs there. False: none does any more. */
static bool close_later(struct errands *e, struct errand *j)
{
	struct errand *before;

	pthread_mutex_lock(&e->lock);
	before = stuck_at(e, j->dev);
	before = before ? before : e->stuck;
	if (before) {
		j->next = before->closes;
		before->closes = j;
	}
	pthread_mutex_unlock(&e->lock);
	return before != NULL;
}

int errands__close(struct errands *e, int fd)
{
	struct errand *j;
	ssize_t rc;

	if (!e || fd < 0) {
		fd__close(fd);
		return 0;
	}
	j = errand__new(0);
	if (!j) {
		/* Else it stays open: that is less harm than waiting for ever. */
		if (!errands__is_stuck_at(e, device_of(fd)))
			fd__close(fd);
		return 0;
	}
	j->kind = ERRAND_CLOSE;
	rc = errands__make(e, &j, &fd);
	if (rc == -ETIMEDOUT || (rc == -EBUSY && close_later(e, j)))
		return -ETIMEDOUT;
	if (rc == -EBUSY || rc == -EAGAIN)
		fd__close(fd); /* none hangs any more, or there is no thread that could */
	free(j);
	return 0;
}

bool errands__is_stuck_at(struct errands *e, uint64_t dev)
{
	bool is;

	if (!e)
		return false;
	pthread_mutex_lock(&e->lock);
	is = stuck_at(e, dev) != NULL;
	pthread_mutex_unlock(&e->lock);
	return is;
}

struct errands_stat errands__stat(struct errands *e)
{
	struct errands_stat ret;

	pthread_mutex_lock(&e->lock);
	ret = (struct errands_stat){ .n_hung = e->n_hung, .n_refused = e->n_refused, .n_stuck = e->n_stuck };
	pthread_mutex_unlock(&e->lock);
	return ret;
}
