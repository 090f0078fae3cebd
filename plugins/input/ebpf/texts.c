/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/texts.c - environment and arguments of processes, read by a thread that may
 * hang
 *
 * What owner and thread share lives until the second of them lets go.
 */
#include "plugins/input/ebpf/texts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/cond.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/thread.h"

enum { WAITING_MAX = 256 };
#define PATIENCE_NS 2000000ll	 /* of who asks */
#define FAREWELL_NS 1000000000ll /* for a thread that is reading, at the end */

struct shared {
	const struct dcm_host *host; /* opens environments */
	pthread_mutex_t lock;	     /* over all below */
	pthread_cond_t changed;
	uint32_t refs;
	bool stopping, is_reading;
	/* Rings: questions from [q_first, q_first + n_q), answers likewise. */
	struct texts_question questions[WAITING_MAX];
	uint32_t q_first, n_q;
	struct texts_answer answers[WAITING_MAX];
	uint32_t a_first, n_a;
};

struct texts {
	const struct dcm_host *host;
	struct shared *shared; /* NULL until the first question */
	pthread_t thread;
};

void texts_answer__fini(struct texts_answer *a)
{
	free(a->environment);
	free(a->cmdline);
	*a = (struct texts_answer){ 0 };
}

/* With the lock, which is gone afterwards. */
static void let_go(struct shared *s)
{
	bool last = --s->refs == 0;

	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	for (; s->n_a; s->n_a--)
		texts_answer__fini(&s->answers[s->a_first++ % WAITING_MAX]);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct texts_answer read_texts(const struct dcm_host *host, const struct texts_question *q)
{
	struct texts_answer a = { .question = *q };
	int dir = procfs__open(&q->process);

	if (dir < 0)
		return a;
	if (q->with_environment)
		a.environment = procfs__environment(host, dir, &a.n_environment);
	if (q->with_cmdline)
		a.cmdline = procfs__cmdline(dir);
	fd__close(dir);
	return a;
}

/* Questions and answers together never are more than there is room for answers. */
static void *run(void *arg)
{
	struct shared *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		struct texts_question q;
		struct texts_answer a;

		if (s->n_q == 0) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		q = s->questions[s->q_first++ % WAITING_MAX];
		s->is_reading = true;
		pthread_mutex_unlock(&s->lock);
		a = read_texts(s->host, &q);
		pthread_mutex_lock(&s->lock);
		s->is_reading = false;
		s->n_q--;
		s->answers[(s->a_first + s->n_a++) % WAITING_MAX] = a;
		pthread_cond_broadcast(&s->changed);
	}
	let_go(s);
	return NULL;
}

struct texts *texts__new(const struct dcm_host *host)
{
	struct texts *t = NEW(struct texts);

	if (t)
		t->host = host;
	return t;
}

static bool start(struct texts *t)
{
	struct shared *s = NEW(struct shared);

	if (!s)
		return false;
	s->host = t->host;
	s->refs = 2;
	pthread_mutex_init(&s->lock, NULL);
	cond__init(&s->changed);
	if (thread__start(&t->thread, "ebpf-texts", run, s) < 0) {
		s->refs = 1;
		pthread_mutex_lock(&s->lock);
		let_go(s);
		return false;
	}
	t->shared = s;
	return true;
}

/* Until the thread is not reading, or the time is over. With the lock. */
static void wait_idle(struct shared *s, int64_t patience_ns)
{
	struct timespec until = thread__timespec(thread__mono_ns() + patience_ns);

	while (s->is_reading && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
		;
}

void texts__free(struct texts *t)
{
	struct shared *s = t ? t->shared : NULL;
	bool hangs;

	if (s) {
		pthread_mutex_lock(&s->lock);
		s->stopping = true;
		pthread_cond_broadcast(&s->changed);
		wait_idle(s, FAREWELL_NS);
		hangs = s->is_reading;
		let_go(s);
		if (hangs)
			pthread_detach(t->thread);
		else
			pthread_join(t->thread, NULL);
	}
	free(t);
}

static bool take(struct shared *s, struct texts_answer *ret)
{
	if (s->n_a == 0)
		return false;
	*ret = s->answers[s->a_first++ % WAITING_MAX];
	s->n_a--;
	return true;
}

bool texts__ask(struct texts *t, const struct texts_question *question, struct texts_answer *ret)
{
	struct timespec until = thread__timespec(thread__mono_ns() + PATIENCE_NS);
	bool answered = false, full, alone;
	struct shared *s;

	if (!t->shared && !start(t)) {
		t->host->drop(t->host, "process_texts_no_memory", 1);
		return false;
	}
	s = t->shared;
	pthread_mutex_lock(&s->lock);
	full = s->n_q + s->n_a >= WAITING_MAX;
	/* Behind others that are late already there is nothing to wait for. */
	alone = s->n_q == 0 && s->n_a == 0;
	if (!full) {
		s->questions[(s->q_first + s->n_q - s->is_reading) % WAITING_MAX] = *question;
		s->n_q++;
		pthread_cond_broadcast(&s->changed);
	}
	while (!full && alone && s->n_a == 0 && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
		;
	if (!full && alone)
		answered = take(s, ret);
	pthread_mutex_unlock(&s->lock);
	if (full)
		t->host->drop(t->host, "process_texts_queue_full", 1);
	return answered;
}

bool texts__late(struct texts *t, struct texts_answer *ret)
{
	bool taken;

	if (!t->shared)
		return false;
	pthread_mutex_lock(&t->shared->lock);
	taken = take(t->shared, ret);
	pthread_mutex_unlock(&t->shared->lock);
	return taken;
}
