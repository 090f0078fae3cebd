/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/lanes.c - requests that wait for a handler, and the threads that run it
 *
 * `lock` guards the queues and the slots: a slot belongs to a thread, and shows which request is
 * with its handler. Handlers run without it.
 */
#include "core/net/lanes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"

#define SECOND	 INT64_C(1000000000)
#define GRACE_NS SECOND /* for handlers to notice that they were cancelled */

struct queue {
	struct exchange *first, *last;
	uint32_t n;
	pthread_cond_t work; /* for one of the lane's threads: nobody wakes those of others */
};

struct slot {
	struct lanes *lanes;
	enum lane lane;
	pthread_t thread;
	struct exchange *x; /* with the handler; NULL: none */
	bool ended;	    /* the thread will take the lock no more */
	bool joined;
};

struct lanes {
	struct lanes_config c;
	struct slot *slots; /* [n_slots] */
	uint32_t n_slots;   /* threads that were started */

	pthread_mutex_t lock;
	pthread_cond_t idle;
	bool stopping;
	struct queue queues[N_LANES];
	uint32_t n_busy; /* waiting, or with a handler */
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

static struct exchange *take(struct queue *q)
{
	struct exchange *x = q->first;

	if (x) {
		q->first = x->next;
		q->n--;
	}
	return x;
}

static void *work(void *ctx)
{
	struct slot *slot = ctx;
	struct lanes *l = slot->lanes;
	struct queue *q = &l->queues[slot->lane];

	pthread_mutex_lock(&l->lock);
	for (;;) {
		struct exchange *x = take(q);

		if (!x && l->stopping)
			break;
		if (!x) {
			pthread_cond_wait(&q->work, &l->lock);
			continue;
		}
		slot->x = x;
		pthread_mutex_unlock(&l->lock);
		l->c.handle(l->c.ctx, x);
		pthread_mutex_lock(&l->lock);
		slot->x = NULL;
		pthread_mutex_unlock(&l->lock);
		l->c.done(l->c.ctx, x);
		pthread_mutex_lock(&l->lock);
		l->n_busy--;
		pthread_cond_broadcast(&l->idle);
	}
	slot->ended = true;
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static int start_threads(struct lanes *l, struct dcm_error *err)
{
	for (enum lane lane = 0; lane < N_LANES; lane++) {
		for (uint32_t i = 0; i < l->c.n_threads[lane]; i++) {
			struct slot *slot = &l->slots[l->n_slots];
			int r;

			*slot = (struct slot){ .lanes = l, .lane = lane };
			r = -pthread_create(&slot->thread, NULL, work, slot);
			if (r < 0)
				return error__sys(err, r, "server: cannot start a thread");
			pthread_setname_np(slot->thread, "http-worker");
			l->n_slots++;
		}
	}
	return 0;
}

static size_t count_threads(const struct lanes_config *c)
{
	size_t n = 0;

	for (size_t lane = 0; lane < N_LANES; lane++)
		n += c->n_threads[lane];
	return n;
}

int lanes__new(const struct lanes_config *config, struct lanes **ret, struct dcm_error *err)
{
	struct lanes *l = NEW(struct lanes);
	int r;

	if (!l)
		return error__nomem(err);
	l->c = *config;
	pthread_mutex_init(&l->lock, NULL);
	for (size_t i = 0; i < N_LANES; i++)
		pthread_cond_init(&l->queues[i].work, NULL);
	cond__init(&l->idle);
	l->slots = mem__zalloc(count_threads(config), sizeof(*l->slots));
	r = l->slots ? start_threads(l, err) : error__nomem(err);
	if (r < 0) {
		lanes__free(l);
		return r;
	}
	*ret = l;
	return 0;
}

bool lanes__give(struct lanes *l, enum lane lane, struct exchange *x)
{
	struct queue *q = &l->queues[lane];
	bool room;

	pthread_mutex_lock(&l->lock);
	room = q->n < l->c.max_waiting && !l->stopping;
	if (room) {
		x->carrier->hold(x);
		x->next = NULL;
		if (q->first)
			q->last->next = x;
		else
			q->first = x;
		q->last = x;
		q->n++;
		l->n_busy++;
		pthread_cond_signal(&q->work);
	}
	pthread_mutex_unlock(&l->lock);
	return room;
}

/* With the lock. */
static void cancel_all(struct lanes *l)
{
	for (size_t i = 0; i < N_LANES; i++)
		for (struct exchange *x = l->queues[i].first; x; x = x->next)
			atomic_store(&x->budget.cancelled, 1);
	for (uint32_t i = 0; i < l->n_slots; i++)
		if (l->slots[i].x)
			atomic_store(&l->slots[i].x->budget.cancelled, 1);
}

/* With the lock; until nothing is waiting or with a handler. */
static bool wait_until(struct lanes *l, int64_t until_ns)
{
	struct timespec ts = { until_ns / SECOND, until_ns % SECOND };

	while (l->n_busy > 0 && pthread_cond_timedwait(&l->idle, &l->lock, &ts) != ETIMEDOUT)
		;
	return l->n_busy == 0;
}

/*
 * Threads that have nothing to do any more, or (`all`) will have at once. The others keep their
 * slots.
 */
static void join(struct lanes *l, bool all)
{
	for (uint32_t i = 0; i < l->n_slots; i++) {
		struct slot *slot = &l->slots[i];
		bool now;

		pthread_mutex_lock(&l->lock);
		now = !slot->joined && (all || slot->ended);
		pthread_mutex_unlock(&l->lock);
		if (now)
			pthread_join(slot->thread, NULL);
		slot->joined = slot->joined || now;
	}
}

int lanes__stop(struct lanes *l, int64_t deadline_mono_ns)
{
	bool ended;

	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	for (size_t i = 0; i < N_LANES; i++)
		pthread_cond_broadcast(&l->queues[i].work);
	ended = wait_until(l, deadline_mono_ns);
	if (!ended) {
		cancel_all(l);
		ended = wait_until(l, now_ns() + GRACE_NS);
	}
	pthread_mutex_unlock(&l->lock);
	join(l, ended);
	return ended ? 0 : -ETIMEDOUT;
}

void lanes__each(struct lanes *l, void (*each)(void *ctx, const struct exchange *x), void *ctx)
{
	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->n_slots; i++)
		if (l->slots[i].x)
			each(ctx, l->slots[i].x);
	pthread_mutex_unlock(&l->lock);
}

void lanes__free(struct lanes *l)
{
	if (!l || lanes__stop(l, 0) < 0)
		return;
	pthread_mutex_destroy(&l->lock);
	for (size_t i = 0; i < N_LANES; i++)
		pthread_cond_destroy(&l->queues[i].work);
	pthread_cond_destroy(&l->idle);
	free(l->slots);
	free(l);
}
