/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scheduler.c - when inputs collect, by a clock that the test moves; and threads that
 * end, or hang
 */
#include "core/pipeline/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/config/options.h"
#include "core/config/tree.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define SECOND ((int64_t)1000000000)

/* ---- an input that does what its test says ---- */

struct behaviour {
	int (*collect)(void *handle, struct dcm_error *err);
	int64_t (*interval_ns)(void *handle);
};

static void *next_handle;   /* what the next open() returns */
static struct stats *stats; /* where instances count; NULL: nowhere */

static int open_it(const struct dcm_host *host, const void *config, void **ret, struct dcm_error *err)
{
	(void)host, (void)config, (void)err;
	*ret = next_handle;
	return 0;
}

static int start_it(void *handle, struct dcm_error *err)
{
	(void)handle, (void)err;
	return 0;
}

static void stop_it(void *handle)
{
	(void)handle;
}

/* Opened and started; `plugin` must outlive it. */
static struct instance *input(struct plugin *plugin, const char *name, struct behaviour b, void *handle)
{
	static struct clock clock;
	static struct host_services services;
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct settings *settings = NULL;
	struct instance *i = NULL;
	struct tree *tree = NULL;

	clock = clock__fake(SECOND, SECOND);
	services = (struct host_services){ .clock = &clock, .stats = stats };
	*plugin = (struct plugin){
		.info = { .kind = DCM_INPUT, .name = "made" },
		.lifecycle = { .open = open_it, .start = start_it, .stop = stop_it },
		.input = { .collect = b.collect, .interval_ns = b.interval_ns },
	};
	assert_int_equal(tree__load_text("test", STR("{}"), &tree, NULL), 0);
	assert_int_equal(settings__new(plugin, &env, "input made", tree->root, NULL, 0, &settings), 0);
	tree__free(tree);
	problems__fini(&problems);
	assert_int_equal(instance__new(plugin, name, settings, &services, &i, NULL), 0);
	next_handle = handle;
	assert_int_equal(instance__open_and_start(i, NULL), 0);
	return i;
}

static void end(struct instance *i)
{
	instance__stop(i);
	instance__free(i);
}

struct counted {
	struct clock *clock;
	int64_t first_ns, wait_ns;
	int64_t takes_ns; /* the run itself moves the clock by this */
	int result;
	int64_t at_ns[200]; /* [n] */
	unsigned n;
};

static int count(void *handle, struct dcm_error *err)
{
	struct counted *c = handle;

	c->at_ns[c->n++] = c->clock->fake_mono_ns;
	c->clock->fake_mono_ns += c->takes_ns;
	return c->result < 0 ? error__set(err, c->result, "nothing there") : 0;
}

static int64_t count_interval(void *handle)
{
	struct counted *c = handle;

	return c->n == 0 ? c->first_ns : c->wait_ns;
}

static const struct behaviour counting = { count, count_interval };

static struct scheduler *manual(struct clock *clock)
{
	struct scheduler *s = NULL;

	assert_int_equal(
		scheduler__new(&(struct scheduler_config){ .clock = clock, .manual = true }, &s), 0);
	return s;
}

static void the_interval_counts_from_the_end(void **state)
{
	struct clock clock = clock__fake(100 * SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = {
		.clock = &clock, .first_ns = SECOND, .wait_ns = 10 * SECOND, .takes_ns = 3 * SECOND
	};
	struct plugin plugin;
	struct instance *i = input(&plugin, "task", counting, &c);
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, i, &t), 0);
	assert_int_equal(scheduler__run_due(s), 0);
	while (clock.fake_mono_ns < 150 * SECOND) {
		scheduler__run_due(s);
		clock.fake_mono_ns += SECOND / 2;
	}
	/* 101, then 3 s of work and 10 s of pause each time. */
	assert_int_equal(c.n, 4);
	for (unsigned k = 0; k < c.n; k++)
		assert_int_equal(c.at_ns[k], (101 + 13 * k) * SECOND);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
	end(i);
}

static void a_negative_wait_ends_it(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = { .clock = &clock, .wait_ns = -1 };
	struct plugin plugin;
	struct instance *i = input(&plugin, "task", counting, &c);
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, i, &t), 0);
	assert_int_equal(scheduler__run_due(s), 1);
	clock.fake_mono_ns += 1000 * SECOND;
	assert_int_equal(scheduler__run_due(s), 0);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
	end(i);
}

static void nothing_runs_without_a_pause(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = { .clock = &clock, .wait_ns = 0 };
	struct plugin plugin;
	struct instance *i = input(&plugin, "task", counting, &c);
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, i, &t), 0);
	for (unsigned k = 0; k < 100; k++) {
		scheduler__run_due(s);
		clock.fake_mono_ns += 100000;
	}
	/* 10 ms have passed; the shortest pause is 1 ms. */
	assert_int_equal(c.n, 10);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
	end(i);
}

static void an_error_is_counted_and_the_round_goes_on(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = { .clock = &clock, .wait_ns = SECOND, .result = -EIO };
	struct plugin plugin, same;
	struct instance *i, *next;
	struct task *t = NULL;

	(void)state;
	assert_int_equal(stats__new(NULL, &stats), 0);
	i = input(&plugin, "task", counting, &c);
	assert_int_equal(scheduler__add(s, i, &t), 0);
	for (unsigned k = 0; k < 3; k++) {
		assert_int_equal(scheduler__run_due(s), 1);
		clock.fake_mono_ns += SECOND;
	}
	c.result = 0;
	assert_int_equal(scheduler__run_due(s), 1);
	assert_true(stats__value(stats, "decima_collect_errors_total",
				 STATS_LABELS({ "instance", "task" })) == 3);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	/* As a reload does that restarts it. */
	next = input(&same, "task", counting, &c);
	c.result = -EIO;
	assert_int_equal(scheduler__add(s, next, &t), 0);
	end(i);
	clock.fake_mono_ns += SECOND;
	assert_int_equal(scheduler__run_due(s), 1);
	assert_true(stats__value(stats, "decima_collect_errors_total",
				 STATS_LABELS({ "instance", "task" })) == 4);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
	end(next);
	stats__free(stats);
	stats = NULL;
}

/* ---- with threads ---- */

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_open;
	unsigned n_begun, n_ended;
	int64_t wait_ns;
};

static int through_the_gate(void *handle, struct dcm_error *err)
{
	struct gate *g = handle;

	(void)err;
	pthread_mutex_lock(&g->mutex);
	g->n_begun++;
	pthread_cond_broadcast(&g->changed);
	while (!g->is_open)
		pthread_cond_wait(&g->changed, &g->mutex);
	g->n_ended++;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->mutex);
	return 0;
}

static int64_t gate_interval(void *handle)
{
	struct gate *g = handle;
	int64_t wait;

	pthread_mutex_lock(&g->mutex);
	wait = g->wait_ns;
	pthread_mutex_unlock(&g->mutex);
	return wait;
}

static const struct behaviour gated = { through_the_gate, gate_interval };

/* Ends by the test's time limit when it does not come. */
static void wait_for(struct gate *g, const unsigned *what, unsigned n)
{
	pthread_mutex_lock(&g->mutex);
	while (*what < n)
		pthread_cond_wait(&g->changed, &g->mutex);
	pthread_mutex_unlock(&g->mutex);
}

#define GATE_INIT                                                                                  \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER            \
	}

static int64_t in_ms(int64_t ms)
{
	return clock__mono(&clock__system) + ms * 1000000;
}

static void a_task_that_hangs_delays_no_other(void **state)
{
	static struct gate stuck = GATE_INIT, free_one = GATE_INIT;
	struct scheduler *s = NULL;
	struct plugin plugins[2];
	struct instance *one = input(&plugins[0], "stuck", gated, &stuck);
	struct instance *other = input(&plugins[1], "free", gated, &free_one);
	struct task *a = NULL, *b = NULL;

	(void)state;
	free_one.is_open = true;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	assert_int_equal(scheduler__add(s, one, &a), 0);
	wait_for(&stuck, &stuck.n_begun, 1);
	assert_int_equal(scheduler__add(s, other, &b), 0);
	wait_for(&free_one, &free_one.n_ended, 5);
	assert_int_equal(scheduler__remove(s, b, in_ms(10000)), 0);
	assert_int_equal(scheduler__remove(s, a, in_ms(20)), -ETIMEDOUT);
	scheduler__free(s);
	/* It comes back when nobody is there any more. */
	pthread_mutex_lock(&stuck.mutex);
	stuck.is_open = true;
	pthread_cond_broadcast(&stuck.changed);
	pthread_mutex_unlock(&stuck.mutex);
	wait_for(&stuck, &stuck.n_ended, 1);
	assert_int_equal(stuck.n_begun, 1);
	end(one);
	end(other);
}

static void removing_wakes_one_that_sleeps(void **state)
{
	static struct gate g = GATE_INIT;
	struct scheduler *s = NULL;
	struct plugin plugin;
	struct instance *sleeper = input(&plugin, "sleeper", gated, &g);
	struct task *t[20];

	(void)state;
	g.wait_ns = 3600 * SECOND;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(scheduler__add(s, sleeper, &t[i]), 0);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(scheduler__remove(s, t[i], in_ms(10000)), 0);
	assert_int_equal(g.n_begun, 0);
	scheduler__free(s);
	end(sleeper);
}

/* It does nothing that could hang: there is no deadline for it to miss. */
static void one_that_sleeps_is_never_late(void **state)
{
	static struct gate g = GATE_INIT;
	struct scheduler *s = NULL;
	struct plugin plugin;
	struct instance *sleeper = input(&plugin, "sleeper", gated, &g);
	struct task *t;

	(void)state;
	g.wait_ns = 3600 * SECOND;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(scheduler__add(s, sleeper, &t), 0);
		assert_int_equal(scheduler__remove(s, t, 0), 0);
	}
	assert_int_equal(g.n_begun, 0);
	scheduler__free(s);
	end(sleeper);
}

static void random_adds_and_removes(void **state)
{
	static struct gate g = GATE_INIT;
	struct random random = { 5 };
	struct scheduler *s = NULL;
	struct plugin plugin;
	struct instance *i = input(&plugin, "t", gated, &g);
	struct task *t[8] = { NULL };

	(void)state;
	g.is_open = true;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	for (unsigned n = 0; n < 400; n++) {
		unsigned k = (unsigned)random__below(&random, 8);

		if (!t[k]) {
			pthread_mutex_lock(&g.mutex);
			g.wait_ns = (int64_t)random__below(&random, 100000);
			pthread_mutex_unlock(&g.mutex);
			assert_int_equal(scheduler__add(s, i, &t[k]), 0);
		} else {
			assert_int_equal(scheduler__remove(s, t[k], in_ms(10000)), 0);
			t[k] = NULL;
		}
	}
	for (unsigned k = 0; k < 8; k++)
		if (t[k])
			assert_int_equal(scheduler__remove(s, t[k], in_ms(10000)), 0);
	assert_int_equal(g.n_begun, g.n_ended);
	scheduler__free(s);
	end(i);
}

static void every_allocation_may_fail(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct counted c = { .clock = &clock };
	struct plugin plugin;
	struct instance *one = input(&plugin, "task", counting, &c);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct scheduler *s = NULL;
		struct task *t = NULL;
		int r = scheduler__new(&(struct scheduler_config){ .clock = &clock, .manual = true }, &s);

		if (r == 0)
			r = scheduler__add(s, one, &t);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		if (t)
			assert_int_equal(scheduler__remove(s, t, 0), 0);
		scheduler__free(s);
	}
	end(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_counts_from_the_end),
		cmocka_unit_test(a_negative_wait_ends_it),
		cmocka_unit_test(nothing_runs_without_a_pause),
		cmocka_unit_test(an_error_is_counted_and_the_round_goes_on),
		cmocka_unit_test(a_task_that_hangs_delays_no_other),
		cmocka_unit_test(removing_wakes_one_that_sleeps),
		cmocka_unit_test(one_that_sleeps_is_never_late),
		cmocka_unit_test(random_adds_and_removes),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
