/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pipeline.c - from emit to every destination; a hanging one hurts nobody; random
 * comings and goings
 */
#include "core/pipeline/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/unit/hopeless.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/fake_destination.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

static int64_t in_ms(int64_t ms)
{
	return clock__mono(&clock__system) + ms * 1000000;
}

struct told {
	_Atomic int n, n_errors, status; /* status: the last */
	pthread_mutex_t mutex;
	pthread_cond_t more;
};
#define TOLD_INIT                                                                                  \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER               \
	}

static void acked(void *ctx, int status)
{
	struct told *t = ctx;

	pthread_mutex_lock(&t->mutex);
	t->status = status;
	if (status < 0)
		t->n_errors++;
	t->n++;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->mutex);
}

/* Ends by the test's time limit when they do not come. */
static void wait_told(struct told *t, int n)
{
	pthread_mutex_lock(&t->mutex);
	while (t->n < n)
		pthread_cond_wait(&t->more, &t->mutex);
	pthread_mutex_unlock(&t->mutex);
}

static double count_of(struct stats *s, const char *name, const char *instance)
{
	return stats__value(s, name, STATS_LABELS({ "instance", instance }));
}

/* A batch of one profile with rows, that only its sequence tells from others. */
static struct dcm_batch *numbered(uint64_t sequence)
{
	struct arena *arena;
	struct dcm_batch *b = NULL, *o;

	for (uint64_t seed = 1; !b || b->profiles[0].n_rows == 0; seed++) {
		batch__unref(b);
		b = random_batch__new(seed, RANDOM_ONE_PROFILE);
	}
	o = batch__overlay(b, &arena);
	batch__account(o);
	o->id.sequence = sequence;
	batch__unref(b);
	return o;
}

static int emit(struct pipeline *p, uint64_t sequence, struct told *told)
{
	struct dcm_batch *b = numbered(sequence);
	int r = pipeline__emit(p, b, told ? acked : NULL, told);

	batch__unref(b);
	return r;
}

static struct destination *add(struct pipeline *p, const char *name, struct fake *f,
			       bool is_storage, enum queue_policy policy, uint64_t bytes)
{
	struct destination_config config = {
		.name = name, .handle = f, .policy = policy, .reserve_bytes = bytes, .max_bytes = bytes
	};
	struct destination *d = NULL;

	if (is_storage)
		config.storage = &fake__storage;
	else
		config.output = &fake__output;
	assert_int_equal(pipeline__add(p, &config, &d, NULL), 0);
	return d;
}

static struct pipeline *begin(struct stats *stats)
{
	struct pipeline_config config = { .stats = stats };
	struct pipeline *p = NULL;

	assert_int_equal(pipeline__new(&config, &p, NULL), 0);
	assert_int_equal(pipeline__start(p, NULL), 0);
	return p;
}

/* With one destination, whose plugin is fresh. */
static struct pipeline *begin_with(struct destination_config *config, struct stats **ret_stats,
				   struct destination **ret)
{
	struct pipeline *p;

	assert_int_equal(stats__new(NULL, ret_stats), 0);
	fake__init(config->handle);
	p = begin(*ret_stats);
	assert_int_equal(pipeline__add(p, config, ret, NULL), 0);
	return p;
}

static void end(struct pipeline *p)
{
	assert_int_equal(pipeline__stop(p, in_ms(10000)), 0);
	assert_int_equal(emit(p, 0, NULL), -ESHUTDOWN);
	pipeline__free(p);
}

static double lost(struct stats *s, const char *name, const char *reason)
{
	return stats__value(s, "decima_dropped_total",
			    STATS_LABELS({ "instance", name }, { "reason", reason }));
}

static void everyone_gets_everything_in_order(void **state)
{
	struct pipeline *p = begin(NULL);
	static struct fake f[3];
	struct destination *d[3];
	struct told told = TOLD_INIT;

	(void)state;
	for (int i = 0; i < 3; i++) {
		fake__init(&f[i]);
		d[i] = add(p, "d", &f[i], i == 0, QUEUE_DROP_OLDEST, 64 << 20);
	}
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(emit(p, i, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(told.n, 100);
	assert_int_equal(told.n_errors, 0);
	for (int i = 0; i < 3; i++) {
		fake__assert_taken(&f[i], 1, 100);
		assert_int_equal(pipeline__remove(p, d[i], in_ms(10000)), 0);
		fake__fini(&f[i]);
	}
	end(p);
}

/* The proof that a slow or dead output hurts neither another output nor the input. */
static void a_hanging_output_hurts_nobody(void **state)
{
	struct stats *stats = NULL;
	struct pipeline *p;
	static struct fake store, good, dead;
	struct destination *d[3];
	struct told told = TOLD_INIT;
	uint64_t one, limit;
	struct dcm_batch *b = numbered(0);

	(void)state;
	one = b->bytes;
	batch__unref(b);
	limit = 10 * one;
	fake__init(&store);
	fake__init(&good);
	fake__init(&dead);
	fake__close_gate(&dead);
	assert_int_equal(stats__new(NULL, &stats), 0);
	p = begin(stats);
	d[0] = add(p, "dead", &dead, false, QUEUE_DROP_OLDEST, limit);
	d[1] = add(p, "store", &store, true, QUEUE_DROP_OLDEST, 0);
	d[2] = add(p, "good", &good, false, QUEUE_DROP_OLDEST, 0);
	for (uint64_t i = 1; i <= 300; i++) {
		/* The intake never fills: the router does not wait for anybody. */
		assert_int_equal(emit(p, i, &told), 0);
		if (i % 50 == 0) {
			assert_true(fake__wait_taken(&good, (unsigned)i));
			assert_true(fake__wait_taken(&store, (unsigned)i));
		}
	}
	assert_true(fake__wait_inside(&dead));
	assert_int_equal(dead.n_taken, 0);
	wait_told(&told, 300);
	assert_int_equal(told.n_errors, 0);
	assert_true(lost(stats, "good", "queue_full") == 0);
	assert_true(lost(stats, "dead", "queue_full") > 0);
	assert_true(stats__value(stats, "decima_queue_bytes", STATS_LABELS({ "instance", "dead" })) <=
		    (double)limit);
	/* It can be taken away, and the others still go on. */
	assert_int_equal(pipeline__remove(p, d[0], in_ms(20)), -ETIMEDOUT);
	assert_int_equal(emit(p, 301, &told), 0);
	assert_true(fake__wait_taken(&good, 301));
	assert_int_equal(pipeline__remove(p, d[1], in_ms(10000)), 0);
	assert_int_equal(pipeline__remove(p, d[2], in_ms(10000)), 0);
	end(p);
	fake__open_gate(&dead);
	assert_true(fake__wait_taken(&dead, 1));
	stats__free(stats);
	fake__fini(&store);
	fake__fini(&good);
	/* `dead` stays: its thread may still be on its way out. */
}

static void storages_decide_when_it_is_done(void **state)
{
	struct pipeline *p = begin(NULL);
	static struct fake a, b;
	struct destination *d[2];
	struct told told = TOLD_INIT;

	(void)state;
	fake__init(&a);
	fake__init(&b);
	a.keeps_done = true;
	d[0] = add(p, "a", &a, true, QUEUE_DROP_OLDEST, 0);
	d[1] = add(p, "b", &b, true, QUEUE_DROP_OLDEST, 0);
	assert_int_equal(emit(p, 1, &told), 0);
	assert_true(fake__wait_taken(&a, 1));
	assert_true(fake__wait_taken(&b, 1));
	assert_int_equal(told.n, 0);
	fake__settle(&a, 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(pipeline__remove(p, d[0], in_ms(10000)), 0);
	assert_int_equal(pipeline__remove(p, d[1], in_ms(10000)), 0);
	end(p);
	fake__fini(&a);
	fake__fini(&b);
}

static void without_a_storage_it_is_done_when_routed(void **state)
{
	struct pipeline *p = begin(NULL);
	struct told told = TOLD_INIT;
	static struct fake f;
	struct destination_config config = { .name = "d", .handle = &f, .output = &fake__output };
	struct destination *d;

	(void)state;
	assert_int_equal(pipeline__add(p, &config, &d, NULL), 0);
	assert_int_equal(emit(p, 1, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.n_errors, 0);
	end(p);
}

/* Nobody is told yes of what nobody has. */
static void without_any_destination_it_is_lost(void **state)
{
	struct pipeline *p = begin(NULL);
	struct told told = TOLD_INIT;

	(void)state;
	assert_int_equal(emit(p, 1, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.status, -ENODEV);
	end(p);
}

/* What rules lose is told, but nothing else is hidden by it: a store that fails says more. */
static void what_rules_lose_is_told(void **state)
{
	struct pipeline *p = begin(NULL);
	static char large[65536];
	const struct dcm_label_text everywhere = { STR("env"), { large, sizeof(large) } };
	struct relabel *first = NULL;
	struct told told = TOLD_INIT;
	struct ack *ack;

	(void)state;
	memset(large, 'x', sizeof(large));
	assert_int_equal(
		relabel__new(&(struct relabel_config){ .externals = &everywhere, .n_externals = 1 },
			     &first, NULL),
		0);
	pipeline__set_relabel(p, first);
	assert_int_equal(emit(p, 1, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(told.status, -E2BIG);
	end(p);
	for (int fails = 0; fails < 2; fails++) {
		ack = ack__ref(ack__new(acked, &told));
		ack__remark(ack, -E2BIG);
		ack__unref(ack, 0);
		ack__unref(ack, fails ? -EIO : 0);
		assert_int_equal(told.status, fails ? -EIO : -E2BIG);
	}
}

static bool wants_even(void *ctx, const struct dcm_batch *b, uint32_t profile)
{
	(void)ctx;
	(void)profile;
	return b->id.sequence % 2 == 0;
}

static void routes_select_and_relabel(void **state)
{
	struct pipeline *p = begin(NULL);
	static struct fake f;
	const struct dcm_label_text everywhere = { STR("env"), STR("test") },
				    here = { STR("dest"), STR("x") };
	struct destination_config config = { .name = "d", .handle = &f, .output = &fake__output };
	struct relabel *first = NULL;
	struct destination *d = NULL;
	struct route all = { 0 };

	(void)state;
	fake__init(&f);
	assert_int_equal(
		relabel__new(&(struct relabel_config){ .externals = &everywhere, .n_externals = 1 },
			     &first, NULL),
		0);
	pipeline__set_relabel(p, first);
	config.route.wants = wants_even;
	assert_int_equal(relabel__new(&(struct relabel_config){ .externals = &here, .n_externals = 1 },
				      &config.route.relabel, NULL),
			 0);
	assert_int_equal(pipeline__add(p, &config, &d, NULL), 0);
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(emit(p, i, NULL), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(f.n_taken, 5);
	assert_true(str__eq(batch__series_label(f.last, f.last->profiles[0].series, STR("env")),
			    STR("test")));
	assert_true(str__eq(batch__series_label(f.last, f.last->profiles[0].series, STR("dest")),
			    STR("x")));
	destination__set_route(d, &all);
	assert_int_equal(emit(p, 11, NULL), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(f.n_taken, 6);
	assert_true(str__eq(batch__series_label(f.last, f.last->profiles[0].series, STR("dest")),
			    STR("")));
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	end(p);
	fake__fini(&f);
}

static void what_no_rule_can_tell_is_counted(void **state)
{
	static struct hopeless h;
	const char *source[] = { "v" };
	struct stats *stats = NULL;
	struct pipeline *p;
	struct relabel *r[2] = { NULL };

	(void)state;
	hopeless__init(&h);
	const struct dcm_label_text external = { STR("v"), str__of(h.text) };
	for (unsigned is_drop = 0; is_drop < 2; is_drop++) {
		struct dcm_relabel_rule rule = { .action = is_drop ? DCM_RELABEL_DROP : DCM_RELABEL_KEEP,
						 .regex = h.pattern,
						 .separator = ";",
						 .source_labels = { .items = source, .n = 1 } };

		assert_int_equal(relabel__new(&(struct relabel_config){ &rule, 1, &external, 1, 0 },
					      &r[is_drop], NULL),
				 0);
	}
	assert_int_equal(stats__new(NULL, &stats), 0);
	p = begin(stats);
	for (unsigned i = 0; i < 2; i++) {
		static struct fake f;
		struct destination *d;
		struct dcm_batch *b = numbered(1);
		double rows = (double)batch__n_rows(b);

		/* A rule that would keep loses it, one that would drop lets it pass. */
		fake__init(&f);
		d = add(p, "d", &f, false, QUEUE_DROP_OLDEST, 0);
		pipeline__set_relabel(p, r[i]);
		assert_int_equal(emit(p, 1, NULL), 0);
		assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
		assert_int_equal(f.n_taken, i);
		assert_true(rows > 0);
		assert_true(stats__value(stats, "decima_undecided_rows_total",
					 STATS_LABELS({ "instance", "intake" })) == (i + 1) * rows);
		assert_true(stats__value(stats, "decima_dropped_total",
					 STATS_LABELS({ "instance", "intake" },
						      { "reason", "regex_undecided" })) == rows);
		assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
		batch__unref(b);
		fake__fini(&f);
	}
	end(p);
	stats__free(stats);
}

/* By the first rules as by those of a destination. */
static void what_rules_leave_out_is_counted(void **state)
{
	const char *source[] = { "v" };
	const struct dcm_label_text external = { STR("v"), STR("x") };
	const struct dcm_relabel_rule drop = { .action = DCM_RELABEL_DROP,
					       .regex = "x",
					       .separator = ";",
					       .source_labels = { .items = source, .n = 1 } };
	const struct relabel_config config = { &drop, 1, &external, 1, 0 };
	static struct fake f;
	struct stats *stats = NULL;
	struct relabel *first = NULL;
	struct route route = { 0 };
	struct destination *d;
	struct pipeline *p;

	(void)state;
	assert_int_equal(relabel__new(&config, &first, NULL), 0);
	assert_int_equal(relabel__new(&config, &route.relabel, NULL), 0);
	assert_int_equal(stats__new(NULL, &stats), 0);
	fake__init(&f);
	p = begin(stats);
	d = add(p, "d", &f, false, QUEUE_DROP_OLDEST, 0);
	destination__set_route(d, &route);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(emit(p, i, NULL), 0);
		assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
		if (i == 1)
			pipeline__set_relabel(p, first);
	}
	assert_int_equal(f.n_taken, 0);
	assert_true(count_of(stats, "decima_filtered_profiles_total", "d") == 1);
	assert_true(count_of(stats, "decima_filtered_profiles_total", "intake") == 2);
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	end(p);
	stats__free(stats);
	fake__fini(&f);
}

static void the_intake_refuses_what_it_cannot_hold(void **state)
{
	struct dcm_batch *b = numbered(1);
	struct pipeline_config config = { .intake_bytes = 3 * b->bytes };
	struct pipeline *p = NULL;
	struct told told = TOLD_INIT;

	(void)state;
	batch__unref(b);
	assert_int_equal(pipeline__new(&config, &p, NULL), 0);
	for (uint64_t i = 1; i <= 3; i++)
		assert_int_equal(emit(p, i, &told), 0);
	assert_int_equal(emit(p, 4, &told), -EAGAIN);
	assert_int_equal(told.n, 0);
	/* Never started: stopping loses what waits, and says so. */
	assert_int_equal(pipeline__stop(p, in_ms(10)), 0);
	assert_int_equal(told.n, 3);
	assert_int_equal(told.n_errors, 3);
	pipeline__free(p);
}

static void block_waits_and_loses_nothing(void **state)
{
	struct pipeline *p = begin(NULL);
	static struct fake f;
	struct dcm_batch *b = numbered(1);
	struct destination *d;
	struct told told = TOLD_INIT;
	unsigned n = 0;

	(void)state;
	fake__init(&f);
	d = add(p, "d", &f, true, QUEUE_BLOCK, 2 * b->bytes);
	batch__unref(b);
	for (uint64_t i = 1; i <= 200; i++)
		n += emit(p, i, &told) == 0;
	assert_int_equal(pipeline__flush(p, in_ms(20000)), 0);
	assert_int_equal(f.n_taken, n);
	assert_int_equal(told.n, n);
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	end(p);
	fake__fini(&f);
}

/* ---- names ---- */

static struct {
	_Atomic unsigned n_learned, n_resolved;
} names;

static void learn(void *ctx, struct dcm_batch *batch)
{
	(void)ctx;
	assert_true(batch->n_profiles > 0);
	names.n_learned++;
}

/* Fails the first time, then gives an overlay of period 7. */
static int resolve(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct arena *arena;
	struct dcm_profile *p;

	(void)ctx;
	(void)err;
	if (names.n_resolved++ == 0)
		return -ENOMEM;
	*ret_batch = batch__overlay(batch, &arena);
	p = arena__alloc(arena, sizeof(*p));
	*p = batch->profiles[0];
	p->period = 7;
	(*ret_batch)->profiles = p;
	batch__account(*ret_batch);
	return 0;
}

static void only_who_wants_names_gets_them(void **state)
{
	struct pipeline_config config = { .learn = learn, .resolved = resolve };
	struct destination_config named = { .name = "named", .output = &fake__output, .named = true };
	static struct fake a, b;
	struct destination *d[2] = { NULL };
	struct pipeline *p = NULL;

	(void)state;
	fake__init(&a);
	fake__init(&b);
	named.handle = &a;
	/* The view is made once for all tries, but for one that could not be made. */
	a.answer = -EAGAIN;
	a.n_answers = 2;
	assert_int_equal(pipeline__new(&config, &p, NULL), 0);
	assert_int_equal(pipeline__start(p, NULL), 0);
	assert_int_equal(pipeline__add(p, &named, &d[0], NULL), 0);
	d[1] = add(p, "plain", &b, false, QUEUE_DROP_OLDEST, 0);
	assert_int_equal(emit(p, 1, NULL), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(names.n_learned, 1);
	assert_int_equal(names.n_resolved, 2);
	assert_int_equal(a.last->profiles[0].period, 7);
	assert_int_not_equal(b.last->profiles[0].period, 7);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pipeline__remove(p, d[i], in_ms(10000)), 0);
	end(p);
	fake__fini(&a);
	fake__fini(&b);
}

/* ---- destinations that come and go while threads emit ---- */

struct storm {
	struct pipeline *pipeline;
	struct told told;
	_Atomic int n_emitted, n_threads;
	_Atomic bool is_over;
};

static void *storm_emit(void *arg)
{
	struct storm *s = arg;
	uint64_t sequence = (uint64_t)(s->n_threads++) * 1000000;

	while (!s->is_over && s->n_emitted < 3000) {
		int r = emit(s->pipeline, ++sequence, &s->told);

		assert_true(r == 0 || r == -EAGAIN);
		s->n_emitted += r == 0;
	}
	return NULL;
}

static void random_comings_and_goings(void **state)
{
	static struct fake steady, passing;
	static struct storm s;
	struct random random = { 3 };
	pthread_t threads[2];
	struct destination *d, *p = NULL;
	struct told *told = &s.told;

	(void)state;
	s = (struct storm){ .told = TOLD_INIT };
	s.pipeline = begin(NULL);
	fake__init(&steady);
	fake__init(&passing);
	d = add(s.pipeline, "steady", &steady, true, QUEUE_DROP_OLDEST, (uint64_t)1 << 30);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm_emit, &s), 0);
	for (int i = 0; i < 60; i++) {
		struct route all = { 0 };
		struct relabel *r = NULL;

		if (!p)
			p = add(s.pipeline, "passing", &passing, random__below(&random, 2),
				QUEUE_DROP_NEWEST, 1 << 20);
		else if (random__below(&random, 3) == 0)
			destination__set_route(p, &all);
		else if (pipeline__remove(s.pipeline, p, in_ms(5000)) == 0)
			p = NULL;
		assert_int_equal(relabel__new(&(struct relabel_config){ 0 }, &r, NULL), 0);
		pipeline__set_relabel(s.pipeline, r);
		pipeline__watch(s.pipeline);
	}
	s.is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pipeline__flush(s.pipeline, in_ms(20000)), 0);
	if (p)
		assert_int_equal(pipeline__remove(s.pipeline, p, in_ms(10000)), 0);
	/*
	 * Whatever came and went, the one that stayed has everything, and every emitter was
	 * answered once.
	 */
	assert_int_equal(steady.n_taken, s.n_emitted);
	assert_int_equal(told->n, s.n_emitted);
	assert_int_equal(pipeline__remove(s.pipeline, d, in_ms(10000)), 0);
	end(s.pipeline);
	fake__fini(&steady);
	fake__fini(&passing);
}

static void a_drain_has_a_deadline(void **state)
{
	struct stats *stats = NULL;
	static struct fake f;
	struct pipeline *p;
	struct destination *d;
	struct told told = TOLD_INIT;

	(void)state;
	assert_int_equal(stats__new(NULL, &stats), 0);
	fake__init(&f);
	f.answer = -EAGAIN;
	p = begin(stats);
	d = add(p, "full", &f, true, QUEUE_DROP_OLDEST, 0);
	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(emit(p, i, &told), 0);
	assert_int_equal(pipeline__stop(p, in_ms(10000)), 0);
	assert_int_equal(pipeline__remove(p, d, in_ms(100)), 0);
	assert_int_equal(told.n, 5);
	assert_int_equal(told.n_errors, 5);
	assert_true(lost(stats, "full", "shutdown") > 0);
	pipeline__free(p);
	stats__free(stats);
	fake__fini(&f);
}

static void look_at_queue(void *ctx, const struct pipeline_view *v)
{
	if (strcmp(v->name, "d") == 0)
		*(struct queue_view *)ctx = *v->queue;
}

/* A plugin that went away and came back has missed nothing, under other limits and rules too. */
static void what_comes_waits_for_who_is_away(void **state)
{
	struct stats *stats = NULL;
	static struct fake f;
	struct destination_config config = {
		.name = "d", .handle = &f, .storage = &fake__storage, .is_away = true
	};
	struct destination *d = NULL;
	struct told told = TOLD_INIT;
	struct queue_view view = { 0 };
	struct pipeline *p = begin_with(&config, &stats, &d);

	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(emit(p, i, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(20)), -ETIMEDOUT);
	assert_int_equal(told.n, 0);
	assert_int_equal(destination__connect(d, &config, NULL), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	assert_int_equal(destination__disconnect(d, in_ms(10000)), 0);
	assert_int_equal(f.n_taken, 10);
	for (uint64_t i = 11; i <= 20; i++)
		assert_int_equal(emit(p, i, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(20)), -ETIMEDOUT);
	config.reserve_bytes = 8 << 20;
	config.policy = QUEUE_DROP_NEWEST;
	assert_int_equal(destination__connect(d, &config, NULL), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	/* While the router is at work. */
	for (uint64_t i = 21; i <= 220; i++) {
		assert_int_equal(emit(p, i, &told), 0);
		if (i % 20 > 0)
			continue;
		assert_int_equal(destination__disconnect(d, in_ms(10000)), 0);
		config.policy = i % 40 == 0 ? QUEUE_DROP_OLDEST : QUEUE_DROP_NEWEST;
		assert_int_equal(destination__connect(d, &config, NULL), 0);
	}
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	wait_told(&told, 220);
	assert_int_equal(told.n_errors, 0);
	fake__assert_taken(&f, 1, 220);
	/* Whoever moves to another queue comes in once. */
	pipeline__each(p, look_at_queue, &view);
	assert_int_equal(view.n_in, 220);
	assert_int_equal(view.n_out, 220);
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	end(p);
	stats__free(stats);
	fake__fini(&f);
}

/* One plugin after the other is the same instance: what it has done does not become less. */
static void counters_outlive_who_is_replaced(void **state)
{
	struct stats *stats = NULL;
	static struct fake f;
	struct destination_config config = { .name = "d", .handle = &f, .output = &fake__output };
	struct destination *d = NULL;
	struct queue_view view = { 0 };
	struct pipeline *p = begin_with(&config, &stats, &d);

	(void)state;
	for (uint64_t i = 1; i <= 10; i++) {
		pthread_mutex_lock(&f.mutex);
		f.answer = -EAGAIN;
		f.n_answers = 1;
		pthread_mutex_unlock(&f.mutex);
		assert_int_equal(emit(p, i, NULL), 0);
		assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
		for (int step = 0; step < 3; step++) {
			/* Now and then with another queue. */
			config.reserve_bytes = (8 + i / 2) << 20;
			if (step == 1)
				assert_int_equal(destination__disconnect(d, in_ms(10000)), 0);
			if (step == 2)
				assert_int_equal(destination__connect(d, &config, NULL), 0);
			assert_true(count_of(stats, "decima_written_rows_total", "d") == (double)f.n_rows);
			assert_true(count_of(stats, "decima_written_batches_total", "d") == (double)i);
			assert_true(count_of(stats, "decima_write_retries_total", "d") == (double)i);
			pipeline__each(p, look_at_queue, &view);
			assert_int_equal(view.n_in, i);
			assert_int_equal(view.n_out, i);
		}
	}
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	assert_true(count_of(stats, "decima_written_rows_total", "d") == 0);
	end(p);
	stats__free(stats);
	fake__fini(&f);
}

/* One that hangs keeps what it is writing; all that waits behind it goes on without it. */
static void what_waits_behind_one_that_hangs(void **state)
{
	struct stats *stats = NULL;
	static struct fake f, next;
	struct destination_config config = { .name = "d", .handle = &next, .output = &fake__output };
	struct dcm_batch *b = numbered(0);
	const double rows = batch__n_rows(b);
	struct destination *d;
	struct pipeline *p;

	(void)state;
	batch__unref(b);
	assert_int_equal(stats__new(NULL, &stats), 0);
	fake__init(&f);
	fake__init(&next);
	p = begin(stats);
	d = add(p, "d", &f, false, QUEUE_DROP_OLDEST, 8 << 20);
	fake__close_gate(&f);
	assert_int_equal(emit(p, 1, NULL), 0);
	assert_true(fake__wait_inside(&f));
	for (uint64_t i = 2; i <= 10; i++)
		assert_int_equal(emit(p, i, NULL), 0);
	assert_int_equal(destination__disconnect(d, in_ms(50)), -ETIMEDOUT);
	assert_int_equal(destination__connect(d, &config, NULL), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	fake__assert_taken(&next, 2, 9);
	assert_true(lost(stats, "d", "shutdown") == 0);
	/* What it has may come to be written or not: it is given up. */
	assert_true(lost(stats, "d", "abandoned") == rows);
	assert_true(count_of(stats, "decima_written_rows_total", "d") == 9 * rows);
	fake__open_gate(&f);
	assert_true(fake__wait_taken(&f, 1));
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	assert_true(lost(stats, "d", "abandoned") == rows);
	end(p);
	stats__free(stats);
	fake__fini(&f);
	fake__fini(&next);
}

/* What the one before has not answered for yet takes no room of the next one's. */
static void what_is_owed_stays_behind(void **state)
{
	static struct fake f, next;
	struct destination_config config = { .name = "d",
					     .handle = &next,
					     .storage = &fake__storage,
					     .policy = QUEUE_DROP_OLDEST,
					     .reserve_bytes = 8 << 20,
					     .max_bytes = 8 << 20 };
	struct queue_view view = { 0 };
	struct told told = TOLD_INIT;
	struct destination *d;
	struct pipeline *p = begin(NULL);

	(void)state;
	fake__init(&f);
	fake__init(&next);
	f.keeps_done = true;
	d = add(p, "d", &f, true, QUEUE_DROP_OLDEST, 8 << 20);
	assert_int_equal(emit(p, 1, &told), 0);
	assert_true(fake__wait_taken(&f, 1));
	assert_int_equal(destination__disconnect(d, in_ms(10000)), 0);
	pipeline__each(p, look_at_queue, &view);
	assert_int_equal(view.n_popped, 1);
	assert_int_equal(destination__connect(d, &config, NULL), 0);
	pipeline__each(p, look_at_queue, &view);
	assert_int_equal(view.n_popped, 0);
	assert_int_equal(view.bytes, 0);
	assert_int_equal(told.n, 0);
	fake__settle(&f, 0);
	wait_told(&told, 1);
	assert_int_equal(told.n_errors, 0);
	assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
	end(p);
	fake__fini(&f);
	fake__fini(&next);
}

static void what_nobody_waits_for_is_counted(void **state)
{
	struct dcm_batch *b = numbered(0);
	const double rows = batch__n_rows(b);
	struct stats *stats = NULL;
	static struct fake f;
	struct destination_config config = {
		.name = "d", .handle = &f, .storage = &fake__storage, .is_away = true
	};
	struct destination *d = NULL;
	struct told told = TOLD_INIT;
	struct pipeline *p = begin_with(&config, &stats, &d);

	(void)state;
	batch__unref(b);
	assert_int_equal(emit(p, 1, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(20)), -ETIMEDOUT);
	/* That one has waited already. */
	destination__keep(d, false);
	assert_int_equal(emit(p, 2, &told), 0);
	assert_int_equal(pipeline__flush(p, in_ms(10000)), 0);
	wait_told(&told, 2);
	assert_int_equal(told.n_errors, 2);
	assert_true(lost(stats, "d", "not_running") == 2 * rows);
	assert_int_equal(f.n_taken, 0);
	/* What still waits at the end. */
	destination__keep(d, true);
	assert_int_equal(emit(p, 3, &told), 0);
	/* Long enough for the router, which has nothing else to do. */
	assert_int_equal(pipeline__flush(p, in_ms(1000)), -ETIMEDOUT);
	assert_int_equal(pipeline__remove(p, d, in_ms(100)), 0);
	assert_true(lost(stats, "d", "shutdown") == rows);
	assert_int_equal(told.n_errors, 3);
	end(p);
	stats__free(stats);
	fake__fini(&f);
}

static void every_allocation_may_fail(void **state)
{
	static struct fake f;

	(void)state;
	fake__init(&f);
	FAILMALLOC_SWEEP (i) {
		struct pipeline_config config = { 0 };
		struct destination_config dc = { .name = "d", .handle = &f, .output = &fake__output };
		struct pipeline *p = NULL;
		struct destination *d = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		int r = pipeline__new(&config, &p, &err);

		if (r == 0)
			r = pipeline__add(p, &dc, &d, &err);
		failmalloc__disarm();
		if (r < 0) {
			/* glibc's pthread_create says -EAGAIN when it finds no memory. */
			assert_true(r == -ENOMEM || r == -EAGAIN);
			assert_true(err.text[0]);
		}
		if (d)
			assert_int_equal(pipeline__remove(p, d, in_ms(10000)), 0);
		if (p)
			pipeline__stop(p, 0);
		pipeline__free(p);
	}
	fake__fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everyone_gets_everything_in_order),
		cmocka_unit_test(a_hanging_output_hurts_nobody),
		cmocka_unit_test(storages_decide_when_it_is_done),
		cmocka_unit_test(without_a_storage_it_is_done_when_routed),
		cmocka_unit_test(without_any_destination_it_is_lost),
		cmocka_unit_test(what_rules_lose_is_told),
		cmocka_unit_test(routes_select_and_relabel),
		cmocka_unit_test(what_no_rule_can_tell_is_counted),
		cmocka_unit_test(what_rules_leave_out_is_counted),
		cmocka_unit_test(the_intake_refuses_what_it_cannot_hold),
		cmocka_unit_test(block_waits_and_loses_nothing),
		cmocka_unit_test(only_who_wants_names_gets_them),
		cmocka_unit_test(random_comings_and_goings),
		cmocka_unit_test(a_drain_has_a_deadline),
		cmocka_unit_test(what_comes_waits_for_who_is_away),
		cmocka_unit_test(counters_outlive_who_is_replaced),
		cmocka_unit_test(what_waits_behind_one_that_hangs),
		cmocka_unit_test(what_is_owed_stays_behind),
		cmocka_unit_test(what_nobody_waits_for_is_counted),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
