/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/loop.c - the one thread that does everything: timers, files, answers
 *
 * Timers are a binary heap by time whose entries know their place, so that one of ten thousand can be
 * moved. poll() waits for the next of them, for watched descriptors, and for an eventfd that says that
 * something was posted.
 */
#include "plugins/input/pprof_scrape/loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/vec.h"

/* A poll is never longer: a clock that tests move has no other way to be heard of. */
#define LONGEST_NS ((int64_t)1000000000)

enum { ITEMS_A_TURN = 64 };

struct watch {
	int fd;
	short events;
	void (*fn)(void *ctx);
	void *ctx;
};

struct loop {
	const struct dcm_host *host;
	VEC(struct loop_timer *) heap; /* the earliest first */
	VEC(struct watch) watches;
	VEC(struct pollfd) polls;
	int wake;
	pthread_mutex_t lock; /* of what follows */
	struct loop_item *first, **last;
	bool ended;
};

struct loop *loop__new(const struct dcm_host *host)
{
	struct loop *l = NEW(struct loop);

	if (!l)
		return NULL;
	l->host = host;
	l->last = &l->first;
	pthread_mutex_init(&l->lock, NULL);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake >= 0)
		return l;
	loop__free(l);
	return NULL;
}

/* ---- what was posted ---- */

static void wake(struct loop *l)
{
	uint64_t one = 1;

	/* It can only be full of earlier calls, which wake it as well. */
	if (write(l->wake, &one, sizeof(one)) < 0)
		return;
}

void loop__post(struct loop *l, struct loop_item *item)
{
	item->next = NULL;
	pthread_mutex_lock(&l->lock);
	*l->last = item;
	l->last = &item->next;
	pthread_mutex_unlock(&l->lock);
	wake(l);
}

struct call {
	struct loop_item item; /* first */
	void (*fn)(void *ctx);
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool is_done;
};

static void run_call(struct loop_item *item)
{
	struct call *c = (struct call *)item;

	c->fn(c->ctx);
	/* Under the lock to its end: who waits has it all on the stack. */
	pthread_mutex_lock(&c->lock);
	c->is_done = true;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

void loop__call(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	struct call c = { .item.fn = run_call, .fn = fn, .ctx = ctx };

	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.cond, NULL);
	loop__post(l, &c.item);
	pthread_mutex_lock(&c.lock);
	while (!c.is_done)
		pthread_cond_wait(&c.cond, &c.lock);
	pthread_mutex_unlock(&c.lock);
	pthread_cond_destroy(&c.cond);
	pthread_mutex_destroy(&c.lock);
}

void loop__end(struct loop *l)
{
	pthread_mutex_lock(&l->lock);
	l->ended = true;
	pthread_mutex_unlock(&l->lock);
	wake(l);
}

static bool has_ended(struct loop *l)
{
	bool ended;

	pthread_mutex_lock(&l->lock);
	ended = l->ended;
	pthread_mutex_unlock(&l->lock);
	return ended;
}

static struct loop_item *take_item(struct loop *l)
{
	struct loop_item *item;

	pthread_mutex_lock(&l->lock);
	item = l->first;
	if (item)
		l->first = item->next;
	if (!l->first)
		l->last = &l->first;
	pthread_mutex_unlock(&l->lock);
	return item;
}

/* A number of them, so that timers have their turn; after the end none, which loop__free() has. */
static void run_items(struct loop *l)
{
	struct loop_item *item;

	for (unsigned n = 0; n < ITEMS_A_TURN && !has_ended(l) && (item = take_item(l)); n++)
		item->fn(item);
}

static bool has_items(struct loop *l)
{
	bool some;

	pthread_mutex_lock(&l->lock);
	some = l->first != NULL;
	pthread_mutex_unlock(&l->lock);
	return some;
}

/* ---- timers ---- */

static void put(struct loop *l, uint32_t i, struct loop_timer *t)
{
	l->heap.v[i] = t;
	t->place = i + 1;
}

static void sift_up(struct loop *l, uint32_t i)
{
	struct loop_timer *t = l->heap.v[i];

	for (; i > 0 && l->heap.v[(i - 1) / 2]->at_mono_ns > t->at_mono_ns; i = (i - 1) / 2)
		put(l, i, l->heap.v[(i - 1) / 2]);
	put(l, i, t);
}

static void sift_down(struct loop *l, uint32_t i)
{
	struct loop_timer *t = l->heap.v[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= l->heap.n)
			break;
		if (child + 1 < l->heap.n && l->heap.v[child + 1]->at_mono_ns < l->heap.v[child]->at_mono_ns)
			child++;
		if (l->heap.v[child]->at_mono_ns >= t->at_mono_ns)
			break;
		put(l, i, l->heap.v[child]);
		i = child;
	}
	put(l, i, t);
}

int loop__set(struct loop *l, struct loop_timer *t, int64_t at_mono_ns)
{
	loop__cancel(l, t);
	t->at_mono_ns = at_mono_ns;
	if (!vec__push(&l->heap, t))
		return -ENOMEM;
	sift_up(l, (uint32_t)l->heap.n - 1);
	return 0;
}

void loop__cancel(struct loop *l, struct loop_timer *t)
{
	uint32_t i = t->place - 1;
	struct loop_timer *moved;

	if (!t->place)
		return;
	t->place = 0;
	moved = l->heap.v[--l->heap.n];
	if (moved == t)
		return;
	put(l, i, moved);
	sift_down(l, i);
	sift_up(l, moved->place - 1);
}

/* Those that are due at the moment of asking, each once: descriptors and items have their turn, too. */
static void run_timers(struct loop *l)
{
	int64_t now = l->host->mono_ns(l->host);

	for (size_t n = l->heap.n; n > 0 && l->heap.n && l->heap.v[0]->at_mono_ns <= now; n--) {
		struct loop_timer *t = l->heap.v[0];

		loop__cancel(l, t);
		t->fn(t->ctx);
	}
}

/* ---- descriptors ---- */

int loop__watch(struct loop *l, int fd, void (*fn)(void *ctx), void *ctx)
{
	return loop__watch_events(l, fd, POLLIN, fn, ctx);
}

int loop__watch_events(struct loop *l, int fd, short events, void (*fn)(void *ctx), void *ctx)
{
	return vec__push(&l->watches, (struct watch){ fd, events, fn, ctx }) ? 0 : -ENOMEM;
}

void loop__unwatch(struct loop *l, int fd)
{
	for (size_t i = 0; i < l->watches.n; i++)
		if (l->watches.v[i].fd == fd)
			l->watches.v[i--] = l->watches.v[--l->watches.n];
}

/* A callback may take watches away: each is looked up anew. */
static void run_watches(struct loop *l)
{
	for (size_t i = 1; i < l->polls.n; i++)
		for (size_t k = 0; l->polls.v[i].revents && k < l->watches.n; k++)
			if (l->watches.v[k].fd == l->polls.v[i].fd) {
				l->watches.v[k].fn(l->watches.v[k].ctx);
				break;
			}
}

/* ---- the loop ---- */

static int wait_ms(struct loop *l)
{
	int64_t left = LONGEST_NS;

	if (l->heap.n)
		left = l->heap.v[0]->at_mono_ns - l->host->mono_ns(l->host);
	if (left > LONGEST_NS)
		left = LONGEST_NS;
	if (has_items(l))
		left = 0;
	return left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

static void wait_for_something(struct loop *l)
{
	uint64_t n;

	l->polls.n = 0;
	if (!vec__reserve(&l->polls, l->watches.n + 1)) {
		/* Without memory for the list, those that can wait do. */
		poll(&(struct pollfd){ .fd = l->wake, .events = POLLIN }, 1, wait_ms(l));
	} else {
		l->polls.v[l->polls.n++] = (struct pollfd){ .fd = l->wake, .events = POLLIN };
		for (size_t i = 0; i < l->watches.n; i++)
			l->polls.v[l->polls.n++] = (struct pollfd){ .fd = l->watches.v[i].fd,
								    .events = l->watches.v[i].events };
		if (poll(l->polls.v, l->polls.n, wait_ms(l)) <= 0)
			l->polls.n = 0;
	}
	while (read(l->wake, &n, sizeof(n)) > 0)
		;
}

void loop__run(struct loop *l)
{
	while (!has_ended(l)) {
		wait_for_something(l);
		run_watches(l);
		run_items(l);
		run_timers(l);
	}
}

void loop__run_posted(struct loop *l)
{
	struct loop_item *item;

	while ((item = take_item(l)))
		item->fn(item);
}

void loop__free(struct loop *l)
{
	if (!l)
		return;
	loop__run_posted(l);
	vec__fini(&l->heap);
	vec__fini(&l->watches);
	vec__fini(&l->polls);
	if (l->wake >= 0)
		close(l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
