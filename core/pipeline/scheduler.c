/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/scheduler.c - work that comes round
 *
 * A task belongs to its thread and to whoever removes it; the last of the two frees it, so that one
 * that hangs can be left behind. With `manual` the list of tasks is walked instead.
 */
#include "core/pipeline/scheduler.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"

/* Nothing comes round faster. */
#define SHORTEST_NS ((int64_t)1000000)
/* A run that is under way when its task is to end gets this much, however late it is. */
#define GRACE_NS ((int64_t)500 * 1000000)
/* A sentence that repeats is logged again after so long. */
#define LOG_AGAIN_NS ((int64_t)60 * 1000000000)

struct task {
	struct task *next; /* of the scheduler's list */
	char name[16];
	task_fn fn;
	void *ctx;
	void (*ctx_free)(void *ctx);   /* may be NULL, as the next */
	void (*ctx_orphan)(void *ctx); /* the task is left behind: it must need nothing of others */
	pthread_t thread;

	pthread_mutex_t mutex;
	pthread_cond_t wake; /* due changed, or it ended */
	uint32_t refs;
	int64_t due_ns;
	bool is_over;	 /* asked to end, or said itself "never again" */
	bool is_running; /* inside fn: the one place that may not come back */
	bool has_ended;	 /* the thread is done with fn for good */
};

struct scheduler {
	struct scheduler_config config;
	pthread_mutex_t mutex; /* of the list */
	struct task *tasks;
};

int scheduler__new(const struct scheduler_config *config, struct scheduler **ret)
{
	struct scheduler *s = NEW(struct scheduler);

	if (!s)
		return -ENOMEM;
	s->config = *config;
	if (!s->config.clock)
		s->config.clock = &clock__system;
	pthread_mutex_init(&s->mutex, NULL);
	*ret = s;
	return 0;
}

void scheduler__free(struct scheduler *s)
{
	if (!s)
		return;
	assert(!s->tasks);
	pthread_mutex_destroy(&s->mutex);
	free(s);
}

/* ---- a task ---- */

static void unref(struct task *t)
{
	uint32_t left;

	pthread_mutex_lock(&t->mutex);
	left = --t->refs;
	pthread_mutex_unlock(&t->mutex);
	if (left > 0)
		return;
	if (t->ctx_free)
		t->ctx_free(t->ctx);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

static void wait_until(struct task *t, int64_t at_ns)
{
	struct timespec ts = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };

	pthread_cond_timedwait(&t->wake, &t->mutex, &ts);
}

/*
 * Runs once and sets the next time, counted from the end. With the mutex, which is let go
 * meanwhile.
 */
static void run_once(struct task *t, int64_t (*clock_now)(void *), void *clock)
{
	int64_t wait;

	t->is_running = true;
	pthread_mutex_unlock(&t->mutex);
	wait = t->fn(t->ctx);
	pthread_mutex_lock(&t->mutex);
	t->is_running = false;
	if (wait < 0)
		t->is_over = true;
	t->due_ns = clock_now(clock) + (wait > SHORTEST_NS ? wait : SHORTEST_NS);
	pthread_cond_broadcast(&t->wake);
}

static int64_t system_now(void *unused)
{
	(void)unused;
	return now_ns();
}

static void *run(void *arg)
{
	struct task *t = arg;

	pthread_mutex_lock(&t->mutex);
	while (!t->is_over) {
		if (now_ns() < t->due_ns)
			wait_until(t, t->due_ns);
		else
			run_once(t, system_now, NULL);
	}
	t->has_ended = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->mutex);
	unref(t);
	return NULL;
}

static void init_sync(struct task *t)
{
	cond__init(&t->wake);
	pthread_mutex_init(&t->mutex, NULL);
}

static int start_thread(struct task *t)
{
	int r;

	t->refs = 2;
	r = pthread_create(&t->thread, NULL, run, t);
	if (r > 0) {
		t->refs = 1;
		return -r;
	}
	pthread_setname_np(t->thread, t->name);
	return 0;
}

/* Takes ctx when it worked. */
static int add(struct scheduler *s, const char *name, int64_t first_ns, const struct task *like,
	       struct task **ret)
{
	struct task *t = NEW(struct task);
	int r;

	if (!t)
		return -ENOMEM;
	t->fn = like->fn;
	t->ctx = like->ctx;
	t->refs = 1;
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->due_ns = clock__mono(s->config.clock) + first_ns;
	init_sync(t);
	r = s->config.manual ? 0 : start_thread(t);
	if (r < 0) {
		unref(t);
		return r;
	}
	t->ctx_free = like->ctx_free;
	t->ctx_orphan = like->ctx_orphan;
	pthread_mutex_lock(&s->mutex);
	t->next = s->tasks;
	s->tasks = t;
	pthread_mutex_unlock(&s->mutex);
	*ret = t;
	return 0;
}

int scheduler__add(struct scheduler *s, const char *name, int64_t first_ns, task_fn fn, void *ctx,
		   struct task **ret)
{
	return add(s, name, first_ns, &(struct task){ .fn = fn, .ctx = ctx }, ret);
}

static void unlink_task(struct scheduler *s, struct task *t)
{
	struct task **at;

	pthread_mutex_lock(&s->mutex);
	for (at = &s->tasks; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	pthread_mutex_unlock(&s->mutex);
}

/* A thread that sleeps ends when it is told to; only inside fn it may be late. With the mutex. */
static void wait_for_end(struct task *t, int64_t deadline_ns)
{
	int64_t soonest = now_ns() + GRACE_NS;

	if (deadline_ns < soonest)
		deadline_ns = soonest;
	while (!t->has_ended && !(t->is_running && now_ns() >= deadline_ns)) {
		if (t->is_running)
			wait_until(t, deadline_ns);
		else
			pthread_cond_wait(&t->wake, &t->mutex);
	}
}

int scheduler__remove(struct scheduler *s, struct task *t, int64_t deadline_mono_ns)
{
	bool has_ended;

	unlink_task(s, t);
	pthread_mutex_lock(&t->mutex);
	t->is_over = true;
	pthread_cond_broadcast(&t->wake);
	if (!s->config.manual)
		wait_for_end(t, deadline_mono_ns);
	has_ended = s->config.manual || t->has_ended;
	pthread_mutex_unlock(&t->mutex);
	if (!has_ended) {
		pthread_detach(t->thread);
		if (t->ctx_orphan)
			t->ctx_orphan(t->ctx);
	} else if (!s->config.manual) {
		pthread_join(t->thread, NULL);
	}
	unref(t);
	return has_ended ? 0 : -ETIMEDOUT;
}

void scheduler__kick(struct scheduler *s, struct task *t)
{
	pthread_mutex_lock(&t->mutex);
	t->due_ns = clock__mono(s->config.clock);
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->mutex);
}

/* ---- manual ---- */

static int64_t manual_now(void *scheduler)
{
	return clock__mono(((struct scheduler *)scheduler)->config.clock);
}

unsigned scheduler__run_due(struct scheduler *s)
{
	int64_t now = clock__mono(s->config.clock);
	unsigned n = 0;

	assert(s->config.manual);
	for (struct task *t = s->tasks, *next; t; t = next) {
		next = t->next;
		pthread_mutex_lock(&t->mutex);
		if (!t->is_over && t->due_ns <= now) {
			run_once(t, manual_now, s);
			n++;
		}
		pthread_mutex_unlock(&t->mutex);
	}
	return n;
}

/* ---- inputs ---- */

struct collector {
	struct dcm_input_ops ops; /* a copy: the plugin's description may go before a task that is left */
	void *handle;
	char name[65];
	char logged[sizeof(((struct dcm_error *)0)->text)]; /* last sentence; "" when all went well */
	int64_t logged_ns;

	pthread_mutex_t mutex; /* of what belongs to others, and goes when the task is left behind */
	const struct log *log;
	struct stats *stats;
	struct stats_metric *errors;
};

/* A sentence that comes again and again is written once a minute. */
static void report(struct collector *c, const char *sentence)
{
	int64_t now = now_ns();
	bool is_new = strcmp(c->logged, sentence) != 0 || now - c->logged_ns >= LOG_AGAIN_NS;

	if (is_new) {
		snprintf(c->logged, sizeof(c->logged), "%s", sentence);
		c->logged_ns = now;
	}
	pthread_mutex_lock(&c->mutex);
	stats__counter_add(c->errors, 1);
	if (is_new && c->log)
		log__line(c->log, DCM_LOG_WARNING, c->name, "%s", sentence);
	pthread_mutex_unlock(&c->mutex);
}

static int64_t collect(void *ctx)
{
	struct collector *c = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	int r = c->ops.collect(c->handle, &err);

	if (r == 0) {
		c->logged[0] = '\0';
	} else {
		if (!err.text[0])
			error__sys(&err, r < 0 ? r : -EIO, "collect failed");
		report(c, err.text);
	}
	return c->ops.interval_ns(c->handle);
}

static void orphan_collector(void *ctx)
{
	struct collector *c = ctx;

	pthread_mutex_lock(&c->mutex);
	if (c->stats)
		stats__unregister(c->stats, c->errors);
	c->stats = NULL;
	c->errors = NULL;
	c->log = NULL;
	pthread_mutex_unlock(&c->mutex);
}

static void free_collector(void *ctx)
{
	struct collector *c = ctx;

	orphan_collector(c);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

int scheduler__add_input(struct scheduler *s, struct instance *input, struct task **ret)
{
	struct collector *c = NEW(struct collector);
	struct task like = {
		.fn = collect, .ctx = c, .ctx_free = free_collector, .ctx_orphan = orphan_collector
	};
	int64_t first;
	int r;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->mutex, NULL);
	c->ops = instance__plugin(input)->input;
	c->handle = instance__handle(input);
	snprintf(c->name, sizeof(c->name), "%s", instance__name(input));
	c->log = s->config.log;
	c->stats = s->config.stats;
	if (c->stats)
		c->errors = stats__counter(c->stats, "decima_collect_errors_total",
					   "Rounds of an input that ended with an error.",
					   STATS_LABELS({ "instance", c->name }));
	first = c->ops.interval_ns(c->handle);
	r = add(s, c->name, first > 0 ? first : 0, &like, ret);
	if (r < 0)
		free_collector(c);
	return r;
}
