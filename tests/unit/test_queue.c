/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_queue.c - bytes, policies and acknowledgements of the queues, alone and under
 * threads
 *
 * Batches here are fakes of a chosen size: overlays over one sealed batch whose `bytes` the test
 * sets.
 */
#include "core/pipeline/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/batch.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static struct dcm_batch *base;

static int make_base(void **state)
{
	(void)state;
	base = random_batch__new(1, RANDOM_ONE_PROFILE);
	return base ? 0 : -1;
}

static int free_base(void **state)
{
	(void)state;
	batch__unref(base);
	return 0;
}

/* id.sequence tells them apart. */
static struct dcm_batch *sized(uint64_t bytes, uint64_t sequence)
{
	struct arena *arena;
	struct dcm_batch *b = batch__overlay(base, &arena);

	assert_non_null(b);
	b->bytes = bytes;
	b->id.sequence = sequence;
	return b;
}

static struct queue *new_queue(struct queue_pool *pool, enum queue_policy policy, uint64_t reserve,
			       uint64_t max)
{
	struct queue *q = NULL;
	struct queue_config config = {
		.name = "q", .policy = policy, .reserve_bytes = reserve, .max_bytes = max
	};

	assert_int_equal(queue__new(pool, &config, &q), 0);
	return q;
}

static int push(struct queue *q, uint64_t bytes, uint64_t sequence, struct ack *ack)
{
	struct dcm_batch *b = sized(bytes, sequence);
	int r = queue__push(q, b, ack);

	batch__unref(b);
	return r;
}

/* The sequence of the oldest, which is released; UINT64_MAX when there is none. */
static uint64_t pop(struct queue *q)
{
	struct queue_item item;
	uint64_t sequence;

	if (queue__pop(q, 0, &item) < 0)
		return UINT64_MAX;
	sequence = item.batch->id.sequence;
	queue__release(q, &item, 0);
	return sequence;
}

static struct queue_view view(struct queue *q)
{
	struct queue_view v;

	queue__view(q, &v);
	return v;
}

static void is_first_in_first_out(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *q = new_queue(pool, QUEUE_REFUSE, 100, 0);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(push(q, 10, i, NULL), 0);
	assert_int_equal(push(q, 10, 10, NULL), -EAGAIN);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(pop(q), i);
	assert_int_equal(pop(q), UINT64_MAX);
	assert_int_equal(view(q).bytes, 0);
	queue__unref(q);
	queue_pool__unref(pool);
}

static void a_full_neighbour_leaves_the_reserve(void **state)
{
	struct queue_pool *pool = queue_pool__new(50);
	struct queue *dead = new_queue(pool, QUEUE_DROP_NEWEST, 20, 0),
		     *alive = new_queue(pool, QUEUE_DROP_NEWEST, 20, 0);

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		push(dead, 10, i, NULL);
	assert_int_equal(view(dead).bytes, 70);
	assert_int_equal(view(dead).n_lost_batches, 13);
	/* Its own reserve, and no more than that. */
	push(alive, 10, 0, NULL);
	push(alive, 10, 1, NULL);
	push(alive, 10, 2, NULL);
	assert_int_equal(view(alive).bytes, 20);
	assert_int_equal(view(alive).n_lost_batches, 1);
	/* What one gives back, the other may have. */
	assert_int_equal(pop(dead), 0);
	push(alive, 10, 3, NULL);
	assert_int_equal(view(alive).bytes, 30);
	queue__unref(dead);
	for (uint64_t i = 0; i < 4; i++)
		push(alive, 10, i, NULL);
	assert_int_equal(view(alive).bytes, 70);
	queue__unref(alive);
	queue_pool__unref(pool);
}

static void drop_oldest_keeps_the_newest(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *q = new_queue(pool, QUEUE_DROP_OLDEST, 100, 0);
	struct queue_item item;

	(void)state;
	for (uint64_t i = 0; i < 15; i++)
		push(q, 10, i, NULL);
	/* One is being written and cannot be taken back. */
	assert_int_equal(queue__pop(q, 0, &item), 0);
	assert_int_equal(item.batch->id.sequence, 5);
	push(q, 30, 15, NULL);
	assert_int_equal(view(q).bytes, 100);
	push(q, 95, 16, NULL);
	/*
	 * 95 and the 10 that are being written never fit together: nothing was thrown out for it.
	 */
	assert_int_equal(view(q).bytes, 100);
	queue__release(q, &item, 0);
	assert_int_equal(pop(q), 9);
	push(q, 95, 17, NULL);
	assert_int_equal(pop(q), 17);
	assert_int_equal(view(q).n_lost_batches + view(q).n_out, view(q).n_in);
	queue__unref(q);
	queue_pool__unref(pool);
}

static void what_never_fits_is_lost_at_once(void **state)
{
	struct stats *stats = NULL;
	struct queue_pool *pool = queue_pool__new(50);
	struct queue *q = NULL;
	struct queue_config config = { .name = "out", .policy = QUEUE_DROP_OLDEST, .reserve_bytes = 100 };

	(void)state;
	assert_int_equal(stats__new(NULL, &stats), 0);
	config.stats = stats;
	assert_int_equal(queue__new(pool, &config, &q), 0);
	push(q, 10, 1, NULL);
	push(q, 151, 2, NULL);
	assert_int_equal(pop(q), 1);
	assert_true(stats__value(stats, "decima_dropped_total",
				 STATS_LABELS({ "instance", "out" }, { "reason", "too_large" })) ==
		    (double)base->profiles[0].n_rows);
	push(q, 150, 3, NULL);
	push(q, 150, 4, NULL);
	assert_true(stats__value(stats, "decima_dropped_total",
				 STATS_LABELS({ "instance", "out" }, { "reason", "queue_full" })) ==
		    (double)base->profiles[0].n_rows);
	queue__unref(q);
	assert_true(stats__value(stats, "decima_dropped_total",
				 STATS_LABELS({ "instance", "out" }, { "reason", "shutdown" })) ==
		    (double)base->profiles[0].n_rows);
	queue_pool__unref(pool);
	stats__free(stats);
}

static void a_maximum_holds_below_the_shared_rest(void **state)
{
	struct queue_pool *pool = queue_pool__new(1000);
	struct queue *q = new_queue(pool, QUEUE_DROP_NEWEST, 10, 30);

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		push(q, 10, i, NULL);
	assert_int_equal(view(q).bytes, 30);
	queue__unref(q);
	queue_pool__unref(pool);
}

/* ---- acknowledgements ---- */

struct told {
	_Atomic int n, status;
};

static void tell(void *ctx, int status)
{
	struct told *t = ctx;

	t->status = status;
	t->n++;
}

static void the_last_one_settles_with_the_first_error(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *a = new_queue(pool, QUEUE_DROP_OLDEST, 10, 0),
		     *b = new_queue(pool, QUEUE_DROP_OLDEST, 10, 0);
	struct told told = { 0 };
	struct ack *ack = ack__new(tell, &told);
	struct queue_item item;

	(void)state;
	push(a, 10, 1, ack);
	push(b, 10, 1, ack);
	ack__unref(ack, 0);
	assert_int_equal(queue__pop(a, 0, &item), 0);
	queue__release(a, &item, 0);
	assert_int_equal(told.n, 0);
	push(b, 10, 2, NULL); /* throws out the first */
	assert_int_equal(told.n, 1);
	assert_int_equal(told.status, -ENOBUFS);
	queue__unref(a);
	queue__unref(b);
	queue_pool__unref(pool);
}

/* Too large for all, or for some while others have it: who sends may make several of it, or may not. */
static void too_large_for_some_is_told_apart(void **state)
{
	(void)state;
	for (int both = 0; both < 2; both++) {
		struct queue_pool *pool = queue_pool__new(0);
		struct queue *a = new_queue(pool, QUEUE_DROP_OLDEST, 10, 0),
			     *b = new_queue(pool, QUEUE_DROP_OLDEST, both ? 10 : 20, 0);
		struct told told = { 0 };
		struct ack *ack = ack__new(tell, &told);
		struct queue_item item;

		push(a, 15, 1, ack);
		push(b, 15, 1, ack);
		ack__unref(ack, 0);
		if (!both) {
			assert_int_equal(queue__pop(b, 0, &item), 0);
			queue__release(b, &item, 0);
		}
		assert_int_equal(told.n, 1);
		assert_int_equal(told.status, both ? -EFBIG : -EMSGSIZE);
		queue__unref(a);
		queue__unref(b);
		queue_pool__unref(pool);
	}
}

static void a_refused_push_settles_nothing(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *q = new_queue(pool, QUEUE_REFUSE, 10, 0);
	struct told told = { 0 };
	struct ack *ack = ack__new(tell, &told);

	(void)state;
	push(q, 10, 1, NULL);
	assert_int_equal(push(q, 10, 2, ack), -EAGAIN);
	queue__close(q);
	assert_int_equal(push(q, 10, 2, ack), -ESHUTDOWN);
	assert_int_equal(told.n, 0);
	ack__cancel(ack);
	assert_int_equal(pop(q), 1);
	queue__unref(q);
	queue_pool__unref(pool);
}

/* ---- waiting ---- */

static int64_t in_ms(int64_t ms)
{
	return clock__mono(&clock__system) + ms * 1000000;
}

static void *pop_later(void *arg)
{
	struct queue_item item;

	/* Long enough for the pusher to be waiting, most of the time; right either way. */
	queue__pause(arg, in_ms(20));
	if (queue__pop(arg, in_ms(5000), &item) == 0)
		queue__release(arg, &item, 0);
	return NULL;
}

static void block_waits_for_room(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *q = new_queue(pool, QUEUE_BLOCK, 10, 0);
	pthread_t thread;

	(void)state;
	push(q, 10, 1, NULL);
	assert_int_equal(pthread_create(&thread, NULL, pop_later, q), 0);
	assert_int_equal(push(q, 10, 2, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(view(q).n_lost_batches, 0);
	assert_int_equal(pop(q), 2);
	queue__unref(q);
	queue_pool__unref(pool);
}

static void *close_later(void *arg)
{
	queue__pause(arg, in_ms(20));
	queue__close(arg);
	return NULL;
}

static void closing_frees_who_waits(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *q = new_queue(pool, QUEUE_BLOCK, 10, 0);
	struct queue_item item;
	pthread_t thread;

	(void)state;
	push(q, 10, 1, NULL);
	assert_int_equal(pthread_create(&thread, NULL, close_later, q), 0);
	assert_int_equal(push(q, 10, 2, NULL), -ESHUTDOWN);
	pthread_join(thread, NULL);
	assert_int_equal(pop(q), 1);
	assert_int_equal(queue__pop(q, in_ms(10000), &item), -ESHUTDOWN);
	queue__unref(q);
	queue_pool__unref(pool);
}

static void flush_waits_for_what_was_there(void **state)
{
	struct queue_pool *pool = queue_pool__new(0);
	struct queue *q = new_queue(pool, QUEUE_REFUSE, 100, 0);
	struct queue_item item;

	(void)state;
	assert_int_equal(queue__flush(q, 0), 0);
	push(q, 10, 1, NULL);
	assert_int_equal(queue__flush(q, 1), -ETIMEDOUT);
	assert_int_equal(queue__pop(q, 0, &item), 0);
	assert_int_equal(queue__flush(q, 1), -ETIMEDOUT);
	queue__release(q, &item, 0);
	assert_int_equal(queue__flush(q, 1), 0);
	queue__unref(q);
	queue_pool__unref(pool);
}

/* ---- many threads, random steps: nothing is lost without being counted ---- */

enum { N_QUEUES = 3, N_PUSHERS = 3, N_STEPS = 3000 };

struct storm {
	struct queue *queues[N_QUEUES];
	struct told told;
	_Atomic int n_refused, n_seed;
};

static void *storm_push(void *arg)
{
	struct storm *s = arg;
	struct random random = { (uint64_t)s->n_seed++ };

	for (int i = 0; i < N_STEPS; i++) {
		struct queue *q = s->queues[random__below(&random, N_QUEUES)];
		struct ack *ack = ack__new(tell, &s->told);
		struct dcm_batch *b = sized(1 + random__below(&random, 60), (uint64_t)i);

		if (queue__push(q, b, ack) < 0) {
			s->n_refused++;
			ack__cancel(ack);
		} else {
			ack__unref(ack, 0);
		}
		batch__unref(b);
	}
	return NULL;
}

static void *storm_pop(void *arg)
{
	struct queue *q = arg;
	struct random random = { (uint64_t)(uintptr_t)q };
	struct queue_item item;

	while (queue__pop(q, INT64_MAX, &item) == 0) {
		if (random__below(&random, 10) == 0)
			queue__lose(q, &item, "rejected", -EINVAL);
		else
			queue__release(q, &item, 0);
		if (random__below(&random, 100) == 0)
			queue__discard(q, "test");
	}
	return NULL;
}

static void a_storm_adds_up(void **state)
{
	static const enum queue_policy policies[N_QUEUES] = { QUEUE_REFUSE, QUEUE_DROP_OLDEST,
							      QUEUE_DROP_NEWEST };
	struct queue_pool *pool = queue_pool__new(150);
	struct storm s = { 0 };
	pthread_t pushers[N_PUSHERS], poppers[N_QUEUES];
	uint64_t n_in = 0, n_gone = 0;

	(void)state;
	for (int i = 0; i < N_QUEUES; i++) {
		s.queues[i] = new_queue(pool, policies[i], 60, 0);
		assert_int_equal(pthread_create(&poppers[i], NULL, storm_pop, s.queues[i]), 0);
	}
	for (int i = 0; i < N_PUSHERS; i++)
		assert_int_equal(pthread_create(&pushers[i], NULL, storm_push, &s), 0);
	for (int i = 0; i < N_PUSHERS; i++)
		pthread_join(pushers[i], NULL);
	for (int i = 0; i < N_QUEUES; i++) {
		queue__close(s.queues[i]);
		pthread_join(poppers[i], NULL);
		n_in += view(s.queues[i]).n_in;
		n_gone += view(s.queues[i]).n_out + view(s.queues[i]).n_lost_batches;
		assert_int_equal(view(s.queues[i]).bytes, 0);
		queue__unref(s.queues[i]);
	}
	assert_int_equal(n_in, n_gone);
	assert_int_equal(n_in + (uint64_t)s.n_refused, N_PUSHERS * N_STEPS);
	assert_int_equal(s.told.n, n_in);
	queue_pool__unref(pool);
}

/* An exact model of the byte rules, stepped beside the real thing. */
static void random_steps_equal_a_model(void **state)
{
	struct random random = { 7 };
	struct queue_pool *pool = queue_pool__new(100);
	struct queue *q[2] = { new_queue(pool, QUEUE_DROP_NEWEST, 50, 0),
			       new_queue(pool, QUEUE_DROP_NEWEST, 30, 90) };
	const uint64_t reserve[2] = { 50, 30 }, max[2] = { UINT64_MAX, 90 };
	uint64_t held[2][1024], n[2] = { 0 }, sum[2] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		unsigned k = (unsigned)random__below(&random, 2);

		if (random__below(&random, 2)) {
			uint64_t bytes = 1 + random__below(&random, 40), all = 0;
			uint64_t want[2] = { sum[0], sum[1] };

			want[k] += bytes;
			for (unsigned j = 0; j < 2; j++)
				all += want[j] > reserve[j] ? want[j] - reserve[j] : 0;
			push(q[k], bytes, 0, NULL);
			if (all <= 100 && want[k] <= max[k]) {
				held[k][n[k]++] = bytes;
				sum[k] += bytes;
			}
		} else if (n[k] > 0) {
			assert_int_equal(pop(q[k]), 0);
			sum[k] -= held[k][0];
			memmove(held[k], held[k] + 1, --n[k] * sizeof(held[k][0]));
		}
		assert_int_equal(view(q[k]).bytes, sum[k]);
		assert_int_equal(view(q[k]).n_batches, n[k]);
	}
	queue__unref(q[0]);
	queue__unref(q[1]);
	queue_pool__unref(pool);
}

static void every_allocation_may_fail(void **state)
{
	struct told told = { 0 };
	struct dcm_batch *b = sized(10, 1);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct queue_pool *pool = queue_pool__new(100);
		struct queue *q = NULL;
		struct queue_config config = { .name = "q", .policy = QUEUE_DROP_OLDEST };
		int r = pool ? queue__new(pool, &config, &q) : -ENOMEM;
		struct ack *ack = ack__new(tell, &told);

		if (r == 0)
			r = queue__push(q, b, ack);
		failmalloc__disarm();
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		if (r < 0)
			ack__cancel(ack);
		else
			ack__unref(ack, 0);
		queue__unref(q);
		queue_pool__unref(pool);
	}
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_first_in_first_out),
		cmocka_unit_test(a_full_neighbour_leaves_the_reserve),
		cmocka_unit_test(drop_oldest_keeps_the_newest),
		cmocka_unit_test(what_never_fits_is_lost_at_once),
		cmocka_unit_test(a_maximum_holds_below_the_shared_rest),
		cmocka_unit_test(the_last_one_settles_with_the_first_error),
		cmocka_unit_test(too_large_for_some_is_told_apart),
		cmocka_unit_test(a_refused_push_settles_nothing),
		cmocka_unit_test(block_waits_for_room),
		cmocka_unit_test(closing_frees_who_waits),
		cmocka_unit_test(flush_waits_for_what_was_there),
		cmocka_unit_test(a_storm_adds_up),
		cmocka_unit_test(random_steps_equal_a_model),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("queue", tests, make_base, free_base);
}
