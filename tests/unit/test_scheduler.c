/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scheduler.c - when tasks run, by a clock that the test moves; and threads that
 * end, or hang
 */
#include "core/pipeline/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define SECOND ((int64_t)1000000000)

struct counted {
	struct clock *clock;
	int64_t wait_ns;
	int64_t takes_ns;   /* the run itself moves the clock by this */
	int64_t at_ns[200]; /* [n] */
	unsigned n;
};

static int64_t count(void *ctx)
{
	struct counted *c = ctx;

	c->at_ns[c->n++] = c->clock->fake_mono_ns;
	c->clock->fake_mono_ns += c->takes_ns;
	return c->wait_ns;
}

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
	struct counted c = { .clock = &clock, .wait_ns = 10 * SECOND, .takes_ns = 3 * SECOND };
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, "task", SECOND, count, &c, &t), 0);
	assert_int_equal(scheduler__run_due(s), 0);
	while (clock.fake_mono_ns < 150 * SECOND) {
		scheduler__run_due(s);
		clock.fake_mono_ns += SECOND / 2;
	}
	/* 101, then 3 s of work and 10 s of pause each time. */
	assert_int_equal(c.n, 4);
	for (unsigned i = 0; i < c.n; i++)
		assert_int_equal(c.at_ns[i], (101 + 13 * i) * SECOND);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
}

static void a_negative_wait_ends_it(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = { .clock = &clock, .wait_ns = -1 };
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, "task", 0, count, &c, &t), 0);
	assert_int_equal(scheduler__run_due(s), 1);
	clock.fake_mono_ns += 1000 * SECOND;
	assert_int_equal(scheduler__run_due(s), 0);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
}

static void a_kick_makes_it_due(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = { .clock = &clock, .wait_ns = 1000 * SECOND };
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, "task", 1000 * SECOND, count, &c, &t), 0);
	assert_int_equal(scheduler__run_due(s), 0);
	scheduler__kick(s, t);
	assert_int_equal(scheduler__run_due(s), 1);
	assert_int_equal(scheduler__run_due(s), 0);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
}

static void nothing_runs_without_a_pause(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct scheduler *s = manual(&clock);
	struct counted c = { .clock = &clock, .wait_ns = 0 };
	struct task *t = NULL;

	(void)state;
	assert_int_equal(scheduler__add(s, "task", 0, count, &c, &t), 0);
	for (unsigned i = 0; i < 100; i++) {
		scheduler__run_due(s);
		clock.fake_mono_ns += 100000;
	}
	/* 10 ms have passed; the shortest pause is 1 ms. */
	assert_int_equal(c.n, 10);
	assert_int_equal(scheduler__remove(s, t, 0), 0);
	scheduler__free(s);
}

/* ---- with threads ---- */

struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_open;
	unsigned n_begun, n_ended;
};

static int64_t through_the_gate(void *ctx)
{
	struct gate *g = ctx;

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
	struct task *a = NULL, *b = NULL;

	(void)state;
	free_one.is_open = true;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	assert_int_equal(scheduler__add(s, "stuck", 0, through_the_gate, &stuck, &a), 0);
	wait_for(&stuck, &stuck.n_begun, 1);
	assert_int_equal(scheduler__add(s, "free", 0, through_the_gate, &free_one, &b), 0);
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
}

static void removing_wakes_one_that_sleeps(void **state)
{
	static struct gate g = GATE_INIT;
	struct scheduler *s = NULL;
	struct task *t[20];

	(void)state;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(
			scheduler__add(s, "sleeper", 3600 * SECOND, through_the_gate, &g, &t[i]), 0);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(scheduler__remove(s, t[i], in_ms(10000)), 0);
	assert_int_equal(g.n_begun, 0);
	scheduler__free(s);
}

/* It does nothing that could hang: there is no deadline for it to miss. */
static void one_that_sleeps_is_never_late(void **state)
{
	static struct gate g = GATE_INIT;
	struct scheduler *s = NULL;
	struct task *t;

	(void)state;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(scheduler__add(s, "sleeper", 3600 * SECOND, through_the_gate, &g, &t), 0);
		assert_int_equal(scheduler__remove(s, t, 0), 0);
	}
	assert_int_equal(g.n_begun, 0);
	scheduler__free(s);
}

static void random_adds_and_removes(void **state)
{
	static struct gate g = GATE_INIT;
	struct random random = { 5 };
	struct scheduler *s = NULL;
	struct task *t[8] = { NULL };

	(void)state;
	g.is_open = true;
	assert_int_equal(scheduler__new(&(struct scheduler_config){ 0 }, &s), 0);
	for (unsigned i = 0; i < 400; i++) {
		unsigned k = (unsigned)random__below(&random, 8);

		if (!t[k])
			assert_int_equal(scheduler__add(s, "t", (int64_t)random__below(&random, 100000),
							through_the_gate, &g, &t[k]),
					 0);
		else if (random__below(&random, 2))
			scheduler__kick(s, t[k]);
		else {
			assert_int_equal(scheduler__remove(s, t[k], in_ms(10000)), 0);
			t[k] = NULL;
		}
	}
	for (unsigned k = 0; k < 8; k++)
		if (t[k])
			assert_int_equal(scheduler__remove(s, t[k], in_ms(10000)), 0);
	assert_int_equal(g.n_begun, g.n_ended);
	scheduler__free(s);
}

static void every_allocation_may_fail(void **state)
{
	struct clock clock = clock__fake(SECOND, 0);
	struct counted c = { .clock = &clock };

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct scheduler *s = NULL;
		struct task *t = NULL;
		int r = scheduler__new(&(struct scheduler_config){ .clock = &clock, .manual = true }, &s);

		if (r == 0)
			r = scheduler__add(s, "task", 0, count, &c, &t);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		if (t)
			assert_int_equal(scheduler__remove(s, t, 0), 0);
		scheduler__free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_counts_from_the_end),
		cmocka_unit_test(a_negative_wait_ends_it),
		cmocka_unit_test(a_kick_makes_it_due),
		cmocka_unit_test(nothing_runs_without_a_pause),
		cmocka_unit_test(a_task_that_hangs_delays_no_other),
		cmocka_unit_test(removing_wakes_one_that_sleeps),
		cmocka_unit_test(one_that_sleeps_is_never_late),
		cmocka_unit_test(random_adds_and_removes),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
