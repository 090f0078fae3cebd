/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_engine.c - turns, budgets, naming and errors, over a store that does as it is
 * told
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/engine.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/hopeless.h"

#define CPU  "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define HEAP "memory:inuse_space:bytes:space:bytes"

/* -------------------------------------------------------------------------------------------------
 * The store and the host
 */

struct fake {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hold;	   /* merges wait until this ends */
	uint32_t n_inside; /* merges that wait */
	int fail;	   /* what merges return */
	struct dcm_select sel[2];
	uint32_t n_sel;
	char labels[64]; /* grouped by */
	_Atomic int64_t mono_ns;
	uint32_t n_named;
	int name_fails;
	struct dcm_str text; /* a label that regexes are asked about, and the name of a function */
	_Atomic uint32_t n_calls; /* as the engine counts them */
	bool tells_no_sides;	  /* as a store that is older than that */
};
static struct fake fake = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void fake__reset(void)
{
	fake.hold = fake.tells_no_sides = false;
	fake.n_inside = fake.n_sel = fake.n_named = 0;
	fake.fail = fake.name_fails = 0;
	fake.labels[0] = '\0';
	fake.text = STR("");
	atomic_store(&fake.mono_ns, 1000);
	atomic_store(&fake.n_calls, 0);
}

/* Two stacks, "a" and "a;b" without names: 10 and 20 on side A, 1 and 2 on side B. */
static void fill_answer(struct dcm_builder *b, uint32_t n_sel)
{
	static const int64_t values[2][2] = { { 10, 1 }, { 20, 2 } };
	struct dcm_profile head = { .series = builder__series(b, NULL, 0) };
	struct dcm_type types[2];
	uint32_t locations[2];

	for (uint32_t k = 0; k < 2; k++) {
		struct dcm_location l = { .mapping = DCM_NONE,
					  .process = DCM_NONE,
					  .addr_kind = DCM_ADDR_RUNTIME,
					  .address = 1 + k };
		struct dcm_function named = { .name = builder__string(b, fake.text) };
		struct dcm_line line = { .function = fake.text.n ? builder__function(b, &named) : 0 };
		locations[1 - k] = builder__location(b, &l, &line, fake.text.n > 0);
		types[k] = (struct dcm_type){ .name = builder__string(b, STR("x")),
					      .sample_type = builder__string(b, STR("cpu")),
					      .sample_unit = builder__string(b, STR("nanoseconds")),
					      .period_type = builder__string(b, STR("cpu")),
					      .period_unit = builder__string(b,
									     STR("nanoseconds")) };
	}
	builder__profile(b, &head, types, n_sel);
	builder__row(b, builder__stack(b, locations + 1, 1), 0, values[0]);
	builder__row(b, builder__stack(b, locations, 2), 0, values[1]);
}

static int fake_merge(void *instance, const struct dcm_select *sel, uint32_t n_sel,
		      const struct dcm_group_by *by, const struct dcm_host *host,
		      struct dcm_builder *answer, struct dcm_error *err)
{
	int r;
	(void)instance;
	(void)host;

	pthread_mutex_lock(&fake.lock);
	fake.n_inside++;
	pthread_cond_broadcast(&fake.changed);
	while (fake.hold)
		pthread_cond_wait(&fake.changed, &fake.lock);
	fake.n_inside--;
	fake.n_sel = n_sel;
	memcpy(fake.sel, sel, n_sel * sizeof(*sel));
	fake.labels[0] = '\0';
	for (uint32_t i = 0; i < by->n; i++)
		snprintf(fake.labels + strlen(fake.labels),
			 sizeof(fake.labels) - strlen(fake.labels), "%.*s,", STR_ARG(by->labels[i]));
	r = fake.fail;
	for (uint32_t i = 0; i < n_sel; i++)
		for (uint32_t k = 0; k < sel[i].n_matchers; k++)
			selector__accepts(&sel[i].matchers[k], fake.text);
	pthread_mutex_unlock(&fake.lock);
	if (r == 0)
		fill_answer(answer, n_sel);
	else
		error__set(err, r, "the store's own words");
	for (uint32_t k = 0; r == 0 && k < n_sel && sel[k].budget->side && !fake.tells_no_sides; k++)
		sel[k].budget->side(sel[k].budget->side_ctx, k, 7 + k, 100, 10 - (int64_t)k);
	return r;
}

static void fake_stat(void *instance, struct dcm_store_stat *ret)
{
	(void)instance;
	ret->first_ms = 3;
}

static int fake_types(void *instance, const struct dcm_select *sel, dcm_type_fn each, void *ctx,
		      struct dcm_error *err)
{
	struct dcm_type_info info = { .name = STR("x") };
	(void)instance;

	fake.sel[0] = *sel;
	if (fake.fail)
		return error__set(err, fake.fail, "the store's own words");
	return each(ctx, &info);
}

static const struct dcm_storage_ops fake_ops = {
	.size = sizeof(fake_ops), .merge = fake_merge, .types = fake_types, .stat = fake_stat
};

static struct dcm_builder *host_builder_new(const struct dcm_host *host, uint64_t max_bytes)
{
	(void)host;
	return builder__new(max_bytes);
}

static int64_t host_mono_ns(const struct dcm_host *host)
{
	(void)host;
	return atomic_load(&fake.mono_ns);
}

static int64_t host_real_ns(const struct dcm_host *host)
{
	(void)host;
	return 50 * 1000000;
}

static const struct dcm_host host = {
	.size = sizeof(host),
	.mono_ns = host_mono_ns,
	.real_ns = host_real_ns,
	.builder_new = host_builder_new,
	.builder_free = builder__free,
	.seal = builder__seal,
};

/* "Names" by giving the batch back. */
static int name_it(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_named, struct dcm_error *err)
{
	(void)ctx;
	(void)err;
	fake.n_named++;
	if (fake.name_fails)
		return fake.name_fails;
	*ret_named = batch__ref(batch);
	return 0;
}

static struct engine *new_engine(uint32_t max_questions, uint32_t max_waiting)
{
	struct engine_config c = { .host = &host,
				   .ops = &fake_ops,
				   .n_inside = &fake.n_calls,
				   .name = name_it,
				   .max_questions = max_questions,
				   .max_waiting = max_waiting };
	struct engine *e = NULL;

	fake__reset();
	assert_int_equal(engine__new(&c, &e, NULL), 0);
	return e;
}

static const struct question cpu = { .selector = { CPU, sizeof(CPU) - 1 }, .to_ms = 100 };

/* -------------------------------------------------------------------------------------------------
 * Cases
 */

static void test_a_question_becomes_a_named_answer(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	CLEANUP(top__freep) struct top *t = NULL;
	CLEANUP(filter__freep) struct filter *only = filter__new();
	struct question q = cpu;
	int64_t filtered[2];
	(void)state;

	q.selector = STR(CPU "{job=\"api\"}");
	assert_int_equal(engine__merge(e, &q, &b, filtered, NULL), 0);
	assert_int_equal(b->n_rows, 2);
	assert_int_equal(fake.n_named, 1);
	assert_int_equal(fake.n_sel, 1);
	assert_int_equal(fake.sel[0].to_ms, 100);
	assert_int_equal(fake.sel[0].n_matchers, 1);
	batch__unref(take_ptr(b));

	assert_int_equal(filter__add_text(only, FILTER_ONLY_STACKS, STR("addr:=0x2"), NULL), 0);
	q.filter = only;
	assert_int_equal(engine__merge(e, &q, &b, filtered, NULL), 0);
	assert_int_equal(b->n_rows, 1);
	assert_int_equal(filtered[0], 10);
	assert_int_equal(engine__flame(e, &q, FRAMES_FUNCTION, NULL, &f, NULL), 0);
	assert_int_equal(f->total[0][0], 20);
	assert_int_equal(f->filtered[0], 10);
	assert_int_equal(engine__top(e, &q, FRAMES_FUNCTION, NULL, &t, NULL), 0);
	assert_int_equal(t->total[0], 20);

	struct engine_stat st;
	engine__stat(e, &st);
	assert_int_equal(st.asked, 4);
	assert_int_equal(st.failed + st.refused + st.running + st.waiting, 0);
}

/* Gaps that a question was told of, as "WHAT FROM;". */
static void note_gap(void *ctx, const struct dcm_gap *gap)
{
	char *text = ctx;

	snprintf(text + strlen(text), 400 - strlen(text), "%.*s %d;", STR_ARG(gap->what),
		 (int)gap->from_ms);
	assert_non_null(memmem(gap->why.p, gap->why.n, "too long", 8));
}

#define SELECTOR_GAP "the selector's regular expression"
#define FILTER_GAP   "a filter's regular expression"

static double n_undecided(struct stats *stats)
{
	return stats__value(stats, "decima_query_undecided_total", STATS_NO_LABELS);
}

static struct engine *engine_with_stats(struct stats **ret_stats)
{
	struct engine_config c = { .host = &host, .ops = &fake_ops };
	struct engine *e = NULL;

	fake__reset();
	assert_int_equal(stats__new(NULL, ret_stats), 0);
	c.undecided = stats__counter(*ret_stats, "decima_query_undecided_total", "-", STATS_NO_LABELS);
	assert_int_equal(engine__new(&c, &e, NULL), 0);
	return e;
}

static void test_what_no_selector_can_tell_is_told(void **state)
{
	static struct hopeless h;
	static char selector[HOPELESS_PATTERN + 100], told[400];
	struct stats *stats = NULL;
	struct engine *e = engine_with_stats(&stats);
	struct dcm_budget budget = { .gap = note_gap, .gap_ctx = told };
	struct question q = { .from_ms = 3, .to_ms = 100, .from_b_ms = 5, .to_b_ms = 7, .budget = &budget };
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	(void)state;

	hopeless__init(&h);
	snprintf(selector, sizeof(selector), CPU "{job=~\"%s\"}", h.pattern);
	q.selector = q.selector_b = str__of(selector);
	/* A text of which it can tell is no gap. */
	fake.text = STR("short");
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), 0);
	assert_string_equal(told, "");
	batch__unref(take_ptr(b));

	fake.text = str__of(h.text);
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), 0);
	assert_string_equal(told, SELECTOR_GAP " 3;");
	assert_true(n_undecided(stats) == 1);
	batch__unref(take_ptr(b));

	told[0] = '\0';
	q.diff = true;
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), 0);
	assert_string_equal(told, SELECTOR_GAP " 3;" SELECTOR_GAP " 5;");
	assert_true(n_undecided(stats) == 3);
	engine__free(e);
	stats__free(stats);
}

static void test_what_no_filter_can_tell_is_told(void **state)
{
	static struct hopeless h;
	static char told[400];
	struct stats *stats = NULL;
	struct engine *e = engine_with_stats(&stats);
	CLEANUP(filter__freep) struct filter *only = filter__new();
	struct dcm_budget budget = { .gap = note_gap, .gap_ctx = told };
	struct question q = cpu;
	struct flame *flame = NULL;
	struct top *top = NULL;
	struct frames *frames = NULL;
	struct dcm_batch *b = NULL;
	(void)state;

	/* Searched for, so anchored: a match may not begin anywhere. */
	hopeless__init(&h);
	char anchored[HOPELESS_PATTERN + 8];
	snprintf(anchored, sizeof(anchored), "^(?:%s)$", h.pattern);
	assert_int_equal(filter__add_text(only, FILTER_ONLY_STACKS, str__of(anchored), NULL), 0);
	fake.text = str__of(h.text);
	q.filter = only;
	q.budget = &budget;
	/* One text, asked about once an answer. */
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), 0);
	assert_string_equal(told, FILTER_GAP " 0;");
	assert_int_equal(engine__flame(e, &q, FRAMES_FUNCTION, NULL, &flame, NULL), 0);
	assert_int_equal(engine__top(e, &q, FRAMES_FUNCTION, NULL, &top, NULL), 0);
	assert_string_equal(told, FILTER_GAP " 0;" FILTER_GAP " 0;" FILTER_GAP " 0;");
	assert_true(n_undecided(stats) == 3);
	/* Frames are there before any filter: who uses one says so. */
	told[0] = '\0';
	assert_int_equal(engine__frames(e, &q, FRAMES_FUNCTION, &frames, NULL), 0);
	assert_string_equal(told, "");
	engine__filtered(e, &q);
	assert_string_equal(told, FILTER_GAP " 0;");
	frames__unref(frames);
	top__free(top);
	flame__free(flame);
	batch__unref(b);
	engine__free(e);
	stats__free(stats);
}

static void test_a_diff_has_two_sides(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	CLEANUP(flame__freep) struct flame *f = NULL;
	struct question q = cpu;
	struct dcm_error err = DCM_ERROR_INIT;
	(void)state;

	q.diff = true;
	q.selector_b = STR(CPU "{x=\"y\"}");
	q.from_b_ms = 5;
	q.to_b_ms = 7;
	assert_int_equal(engine__flame(e, &q, FRAMES_FUNCTION, NULL, &f, NULL), 0);
	assert_int_equal(f->n_values, 2);
	assert_int_equal(f->total[0][0], 30);
	assert_int_equal(f->total[1][0], 3);
	assert_int_equal(fake.sel[1].from_ms, 5);
	assert_int_equal(fake.sel[1].n_matchers, 1);
	assert_null(fake.sel[1].budget->side);

	struct flame *none = NULL;
	q.selector_b = STR(HEAP);
	assert_int_equal(engine__flame(e, &q, FRAMES_FUNCTION, NULL, &none, &err), -EINVAL);
	assert_non_null(strstr(err.text, "nanoseconds cannot be compared with bytes"));
	q.selector_b = STR(CPU "{");
	assert_int_equal(engine__flame(e, &q, FRAMES_FUNCTION, NULL, &none, &err), -EINVAL);
	assert_true(str__starts(str__of(err.text), STR("selector B: column 51: ")));
}

/* Of a range [0, 100) the store knows nothing before 3, and 50 is now. */
static void test_a_diff_knows_its_sides(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	CLEANUP(filter__freep) struct filter *only = filter__new();
	struct dcm_budget budget = { 0 };
	struct question q = cpu;
	(void)state;

	q.diff = true;
	q.selector_b = q.selector;
	q.from_b_ms = 5;
	q.to_b_ms = 7;
	q.budget = &budget;
	for (unsigned told = 0; told < 2; told++) {
		CLEANUP(top__freep) struct top *t = NULL;
		CLEANUP(frames__unrefp) struct frames *plain = NULL;

		fake.tells_no_sides = !told;
		assert_int_equal(filter__add_text(only, FILTER_ONLY_STACKS, STR("addr:=0x2"), NULL), 0);
		q.filter = only;
		assert_int_equal(engine__top(e, &q, FRAMES_FUNCTION, NULL, &t, NULL), 0);
		assert_null(budget.side);
		const struct compare *c = &t->frames->compare;
		assert_int_equal(c->by, COMPARE_RATES);
		assert_int_equal(c->side[0].from_ms, 3);
		assert_int_equal(c->side[0].to_ms, 50);
		assert_int_equal(c->side[1].from_ms, 5);
		assert_int_equal(c->side[1].to_ms, 7);
		for (unsigned k = 0; k < 2; k++) {
			assert_int_equal(c->side[k].is_told, told);
			assert_int_equal(c->side[k].n_profiles, told ? 7 + k : 0);
			assert_int_equal(c->side[k].period, told ? 10 - k : 0);
			assert_true(c->side[k].per_sample == (told ? 10 - k : 0));
		}
		/* What a filter leaves out still belongs to the side. */
		assert_int_equal(t->all[0], 30);
		assert_int_equal(t->all[1], 3);
		assert_int_equal(t->total[0], 20);

		q.diff = false;
		assert_int_equal(engine__frames(e, &q, FRAMES_FUNCTION, &plain, NULL), 0);
		q.diff = true;
		assert_int_equal(plain->compare.by, COMPARE_TOTALS);
		assert_int_equal(plain->compare.side[0].to_ms, 0);
	}
}

static void test_wrong_questions_say_where(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	struct dcm_batch *b = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct question q = cpu;
	struct engine_stat st;
	(void)state;

	q.selector = STR("{job=\"api\"}");
	assert_int_equal(engine__merge(e, &q, &b, NULL, &err), -EINVAL);
	assert_true(str__starts(str__of(err.text), STR("selector: column 1: ")));
	engine__stat(e, &st);
	assert_int_equal(st.failed, 1);
	assert_int_equal(fake.n_sel, 0);
}

static int count_types(void *ctx, const struct dcm_type_info *info)
{
	(void)info;
	++*(int *)ctx;
	return 7;
}

static void test_lists_need_no_type(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	struct question q = { .selector = STR(""), .to_ms = 1 };
	int n = 0;
	(void)state;

	assert_int_equal(engine__types(e, &q, count_types, &n, NULL), 7);
	assert_int_equal(n, 1);
	assert_int_equal(fake.sel[0].type.n, 0);
}

static void test_labels_count_once(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	CLEANUP(frames__unrefp) struct frames *f = NULL;
	struct dcm_str labels[] = { STR("pod"), STR("zone"), STR("pod") };
	struct question q = cpu;
	(void)state;

	q.group_by = labels;
	q.n_group_by = 3;
	assert_int_equal(engine__frames(e, &q, FRAMES_FUNCTION, &f, NULL), 0);
	assert_string_equal(fake.labels, "pod,zone,");
	assert_int_equal(f->n_by, 2);
}

static void test_budgets_have_defaults(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	struct dcm_budget mine = { .max_bytes = 1 << 20 };
	struct question q = cpu;
	(void)state;

	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), 0);
	assert_non_null(fake.sel[0].budget);
	q.budget = &mine;
	batch__unref(take_ptr(b));
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), 0);
	assert_ptr_equal(fake.sel[0].budget, &mine);
	assert_int_equal(mine.max_bytes, 1 << 20);
	assert_int_equal(mine.deadline_mono_ns, 1000 + 60000000000);
}

/* Who asks is told what to do, whichever part of the memory was too much. */
static void test_too_little_memory_is_explained(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_budget little = { .max_bytes = 64 };
	struct question q = cpu;
	struct dcm_batch *b = NULL;
	(void)state;

	q.budget = &little;
	assert_int_equal(engine__merge(e, &q, &b, NULL, &err), -E2BIG);
	assert_null(b);
	assert_non_null(strstr(err.text, "more than the 64 bytes"));
	assert_non_null(strstr(err.text, "server.query_memory"));
}

/* The store's memory, or the builder's: it is one fault, and has one sentence. */
static void test_too_little_memory_is_one_sentence(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	struct dcm_error builders = DCM_ERROR_INIT, stores = builders, lists = builders;
	struct dcm_budget little = { .max_bytes = 64 };
	struct question q = cpu;
	struct dcm_batch *b = NULL;
	unsigned n = 0;
	(void)state;

	q.budget = &little;
	assert_int_equal(engine__merge(e, &q, &b, NULL, &builders), -E2BIG);
	fake.fail = -E2BIG;
	assert_int_equal(engine__merge(e, &q, &b, NULL, &stores), -E2BIG);
	assert_string_equal(stores.text, builders.text);
	assert_int_equal(engine__types(e, &q, count_types, &n, &lists), -E2BIG);
	assert_string_equal(lists.text, builders.text);
}

static void test_failures_pass_through(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	struct question q = cpu;
	struct dcm_budget budget = { 0 };
	struct dcm_batch *b = NULL;
	struct engine_stat st;
	(void)state;

	fake.fail = -E2BIG;
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), -E2BIG);
	fake.fail = 0;
	fake.name_fails = -ENOMEM;
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), -ENOMEM);
	fake.name_fails = 0;
	q.budget = &budget;
	budget.cancelled = 1;
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), -ECANCELED);
	budget.cancelled = 0;
	budget.deadline_mono_ns = 999;
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), -ETIMEDOUT);
	assert_null(b);
	engine__stat(e, &st);
	assert_int_equal(st.failed, 4);
	assert_int_equal(st.running, 0);
}

struct asker {
	struct engine *e;
	struct dcm_budget budget;
	int result;
};

static void *ask(void *arg)
{
	struct asker *a = arg;
	struct question q = cpu;
	struct dcm_batch *b = NULL;

	q.budget = &a->budget;
	a->result = engine__merge(a->e, &q, &b, NULL, NULL);
	batch__unref(b);
	return NULL;
}

/* Until the engine's numbers are these; a test that hangs is stopped by whoever runs it. */
static void await(struct engine *e, uint32_t running, uint32_t waiting)
{
	struct engine_stat st;

	do {
		usleep(1000);
		engine__stat(e, &st);
	} while (st.running != running || st.waiting != waiting);
}

static void release(void)
{
	pthread_mutex_lock(&fake.lock);
	fake.hold = false;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

static void test_questions_take_turns(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(1, 2);
	struct asker first = { .e = e }, second = first, third = first, fourth = first;
	struct dcm_error err = DCM_ERROR_INIT;
	struct question q = cpu;
	struct dcm_batch *b = NULL;
	struct engine_stat st;
	pthread_t threads[3];
	(void)state;

	fake.hold = true;
	assert_int_equal(pthread_create(&threads[0], NULL, ask, &first), 0);
	await(e, 1, 0);
	assert_int_equal(pthread_create(&threads[1], NULL, ask, &second), 0);
	third.budget.deadline_mono_ns = 5000;
	assert_int_equal(pthread_create(&threads[2], NULL, ask, &third), 0);
	await(e, 1, 2);
	/* No room to wait. */
	assert_int_equal(engine__merge(e, &q, &b, NULL, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "try again"));
	/* Waiting ends by its deadline and by being cancelled. */
	atomic_store(&fake.mono_ns, 6000);
	pthread_join(threads[2], NULL);
	assert_int_equal(third.result, -ETIMEDOUT);
	assert_int_equal(pthread_create(&threads[2], NULL, ask, &fourth), 0);
	await(e, 1, 2);
	atomic_store(&fourth.budget.cancelled, 1);
	pthread_join(threads[2], NULL);
	assert_int_equal(fourth.result, -ECANCELED);
	/* The second was never inside while the first was. */
	pthread_mutex_lock(&fake.lock);
	while (fake.n_inside == 0)
		pthread_cond_wait(&fake.changed, &fake.lock);
	assert_int_equal(fake.n_inside, 1);
	pthread_mutex_unlock(&fake.lock);
	release();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(first.result, 0);
	assert_int_equal(second.result, 0);
	engine__stat(e, &st);
	assert_int_equal(st.refused, 1);
	assert_int_equal(st.running + st.waiting, 0);
}

/* Who wants to take the store away cancels, and looks whether somebody is inside. */
static void test_calls_of_the_store_are_counted(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(0, 0);
	struct asker first = { .e = e };
	struct dcm_budget budget = { .cancelled = 1 };
	struct question q = cpu;
	struct dcm_batch *b = NULL;
	pthread_t thread;
	(void)state;

	fake.hold = true;
	assert_int_equal(pthread_create(&thread, NULL, ask, &first), 0);
	pthread_mutex_lock(&fake.lock);
	while (fake.n_inside == 0)
		pthread_cond_wait(&fake.changed, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
	assert_int_equal(fake.n_calls, 1);
	q.budget = &budget;
	assert_int_equal(engine__merge(e, &q, &b, NULL, NULL), -ECANCELED);
	assert_int_equal(fake.n_calls, 1);
	release();
	pthread_join(thread, NULL);
	assert_int_equal(fake.n_calls, 0);
	assert_int_equal(fake.n_sel, 1);
}

static void test_units(void **state)
{
	static const struct {
		const char *selector, *unit;
	} cases[] = {
		{ CPU, "nanoseconds" },
		{ " " HEAP "{a=\"b\"}", "bytes" },
		{ HEAP " {a=\"b\"}", "bytes" },
		{ "{a=\"b\"}", "" },
		{ "", "" },
		{ "x", "" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct question q = { .selector = str__of(cases[i].selector) };

		assert_true(str__eq(engine__unit(&q), str__of(cases[i].unit)));
	}
}

static void test_without_memory(void **state)
{
	CLEANUP(engine__freep) struct engine *e = new_engine(1, 1);
	struct dcm_str pod = STR("pod");
	struct question q = cpu;
	struct engine_stat st;
	(void)state;

	q.selector = STR(CPU "{a=~\"b.*c\"}");
	q.group_by = &pod;
	q.n_group_by = 1;
	FAILMALLOC_SWEEP (i) {
		struct flame *f = NULL;
		int r = engine__flame(e, &q, FRAMES_FUNCTION, NULL, &f, NULL);

		failmalloc__disarm();
		assert_true(r == 0 || (r == -ENOMEM && failmalloc__failed()));
		flame__free(f);
	}
	engine__stat(e, &st);
	assert_int_equal(st.running, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_question_becomes_a_named_answer),
		cmocka_unit_test(test_what_no_selector_can_tell_is_told),
		cmocka_unit_test(test_what_no_filter_can_tell_is_told),
		cmocka_unit_test(test_a_diff_has_two_sides),
		cmocka_unit_test(test_a_diff_knows_its_sides),
		cmocka_unit_test(test_wrong_questions_say_where),
		cmocka_unit_test(test_lists_need_no_type),
		cmocka_unit_test(test_labels_count_once),
		cmocka_unit_test(test_budgets_have_defaults),
		cmocka_unit_test(test_too_little_memory_is_explained),
		cmocka_unit_test(test_too_little_memory_is_one_sentence),
		cmocka_unit_test(test_failures_pass_through),
		cmocka_unit_test(test_questions_take_turns),
		cmocka_unit_test(test_calls_of_the_store_are_counted),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
