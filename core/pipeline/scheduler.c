/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/scheduler.c - inputs' collect(), which comes round
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
	struct task *next;	  /* of the scheduler's list */
	struct dcm_input_ops ops; /* a copy: the plugin's description may go before a task that is left */
	void *handle;
	char name[65];
	pthread_t thread;
	char logged[sizeof(((struct dcm_error *)0)->text)]; /* last sentence; "" when all went well */
	int64_t logged_ns;

	pthread_mutex_t mutex;
	pthread_cond_t wake; /* due changed, or it ended */
	uint32_t refs;
	int64_t due_ns;
	bool is_over;	 /* asked to end, or said itself "never again" */
	bool is_running; /* inside the plugin: the one place that may not come back */
	bool has_ended;	 /* the thread is done with the plugin for good */
	/* What belongs to others, and goes when the task is left behind; each may be NULL. */
	const struct log *log;
	const struct dcm_host *host;
	struct dcm_metric *errors;
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

static void forget_others(struct task *t)
{
	pthread_mutex_lock(&t->mutex);
	t->errors = NULL;
	t->log = NULL;
	pthread_mutex_unlock(&t->mutex);
}

static void unref(struct task *t)
{
	uint32_t left;

	pthread_mutex_lock(&t->mutex);
	left = --t->refs;
	pthread_mutex_unlock(&t->mutex);
	if (left > 0)
		return;
	forget_others(t);
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

/* A sentence that comes again and again is written once a minute. */
static void report(struct task *t, const char *sentence)
{
	int64_t now = now_ns();
	bool is_new = strcmp(t->logged, sentence) != 0 || now - t->logged_ns >= LOG_AGAIN_NS;

	if (is_new) {
		snprintf(t->logged, sizeof(t->logged), "%s", sentence);
		t->logged_ns = now;
	}
	pthread_mutex_lock(&t->mutex);
	if (t->errors)
		t->host->metric_add(t->errors, 1);
	if (is_new && t->log)
		log__line(t->log, DCM_LOG_WARNING, t->name, "%s", sentence);
	pthread_mutex_unlock(&t->mutex);
}

static int64_t collect(struct task *t)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = t->ops.collect(t->handle, &err);

	if (r == 0) {
		t->logged[0] = '\0';
	} else {
		if (!err.text[0])
			error__sys(&err, r < 0 ? r : -EIO, "collect failed");
		report(t, err.text);
	}
	return t->ops.interval_ns(t->handle);
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
	wait = collect(t);
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
	char name[16]; /* what a thread's may have */
	int r;

	t->refs = 2;
	r = pthread_create(&t->thread, NULL, run, t);
	if (r > 0) {
		t->refs = 1;
		return -r;
	}
	snprintf(name, sizeof(name), "%.15s", t->name);
	pthread_setname_np(t->thread, name);
	return 0;
}

int scheduler__add(struct scheduler *s, struct instance *input, struct task **ret)
{
	struct task *t = NEW(struct task);
	int64_t first;
	int r;

	if (!t)
		return -ENOMEM;
	t->ops = instance__plugin(input)->input;
	t->handle = instance__handle(input);
	snprintf(t->name, sizeof(t->name), "%s", instance__name(input));
	t->refs = 1;
	init_sync(t);
	t->log = s->config.log;
	/* The instance's, as those of the plugin are: who takes its place has it, too, and it goes on. */
	t->host = instance__host(input);
	t->errors = t->host->metric(t->host, DCM_COUNTER, "collect_errors_total",
				    "Rounds of an input that ended with an error.");
	first = t->ops.interval_ns(t->handle);
	t->due_ns = clock__mono(s->config.clock) + (first > 0 ? first : 0);
	r = s->config.manual ? 0 : start_thread(t);
	if (r < 0) {
		unref(t);
		return r;
	}
	pthread_mutex_lock(&s->mutex);
	t->next = s->tasks;
	s->tasks = t;
	pthread_mutex_unlock(&s->mutex);
	*ret = t;
	return 0;
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

/* A thread that sleeps ends when it is told to; only inside the plugin it may be late. With the mutex. */
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
		forget_others(t);
	} else if (!s->config.manual) {
		pthread_join(t->thread, NULL);
	}
	unref(t);
	return has_ended ? 0 : -ETIMEDOUT;
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
