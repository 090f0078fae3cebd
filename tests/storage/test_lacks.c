/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_lacks.c - what questions read of dictionaries, and what a damaged one takes out of
 * answers is told
 *
 * One record after the other of an era's dictionary is damaged on a simulated disk, and every kind
 * of question is asked, of who writes the store and of who only reads it. The oracle is the store before: an
 * answer that is not what it was says that it lacks something, and where.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/answer/ask.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/reader.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_answers.h"
#include "tests/storage/counter.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { BLOCKS = 10, QUESTIONS_MAX = 400, SERIES_MAX = 12 };
#define HOUR_NS INT64_C(3600000000000)
#define DAY_NS	(24 * HOUR_NS)
#define BASE_MS (RANDOM_BASE_NS / 1000000)

/* The store behind the operations of a plugin. */
struct asking {
	struct ask ask; /* first */
	struct bench bench;
};

static int take(void *instance, struct view *v)
{
	return look__take(v, ((struct asking *)instance)->bench.store);
}

static const struct dcm_storage_ops ops = {
	.size = sizeof(ops),
	ASK_OPS,
};

static void write_block(struct bench *b, uint64_t seed, int64_t base_ns)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b->next_sequence++,
						   seed, RANDOM_PLAIN_TEXT, base_ns);

	assert_non_null(batch);
	content__write(NULL, b->store, &batch, 1);
	batch__unref(batch);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
}

/* An era with a record and a block for each hour, and one before it that stays whole. */
static void begin(struct asking *a)
{
	struct bench *b = &a->bench;

	bench__init(b, 3);
	a->ask = (struct ask){ .host = &b->storage.host, .take = take };
	b->storage.ops = &ops;
	b->storage.instance = a;
	write_block(b, 1, RANDOM_BASE_NS - 8 * DAY_NS);
	for (unsigned i = 0; i < BLOCKS; i++)
		write_block(b, i + 2, RANDOM_BASE_NS - (int64_t)(BLOCKS - i) * HOUR_NS);
	assert_int_equal(b->store->eras.n, 2);
}

static void reopen(struct asking *a)
{
	bench__restart(&a->bench, false);
}

/* The same directory, which is only read. */
static void open_reader(struct asking *a)
{
	struct bench *b = &a->bench;

	assert_int_equal(
		reader__open(&b->storage.host, sim__vfs(b->sim), &b->options, &b->store, NULL), 0);
}

static void close_store(struct asking *a)
{
	store__close(a->bench.store);
	a->bench.store = NULL;
	sim__restart(a->bench.sim, false);
}

/* Flips a byte of the payload of record `at`; false: there are not so many. */
static bool damage(struct asking *a, const char *path, int at)
{
	size_t n;
	int frame = 0;
	uint8_t *p = sim__peek(a->bench.sim, path, &n);

	assert_non_null(p);
	for (size_t i = 0; i + FRAME_HEAD_BYTES < n; i += FRAME_ALIGN) {
		if (memcmp(p + i, "DFRM", 4) != 0 || frame++ != at)
			continue;
		p[i + FRAME_HEAD_BYTES] ^= 1;
		return true;
	}
	return false;
}

struct told {
	unsigned n;
	struct dcm_gap gap;
	char what[64];
};

static void note_gap(void *ctx, const struct dcm_gap *gap)
{
	struct told *t = ctx;

	t->n++;
	t->gap = *gap;
	snprintf(t->what, sizeof(t->what), "%.*s", STR_ARG(gap->what));
}

static struct told ask_one(struct asking *a, struct asked q, struct buf *out)
{
	struct told told = { 0 };
	struct dcm_budget budget = { .gap = note_gap, .gap_ctx = &told };
	struct dcm_error err = DCM_ERROR_INIT;

	q.sel[0].budget = &budget;
	if (answers__ask(&a->bench.storage, &q, out, &err) < 0)
		fail_msg("question %d: %s", (int)q.what, err.text);
	return told;
}

/* -------------------------------------------------------------------------------------------------
 * Questions of every kind: of all types and of each, of all series and some, of all times and few
 */

struct questions {
	struct asked v[QUESTIONS_MAX];
	unsigned n;
	struct buf types, series;
	struct dcm_matcher matcher, of_series[SERIES_MAX];
	unsigned n_series;
};

static void add_kinds(struct questions *q, struct dcm_select sel)
{
	for (int what = 0; what < ASK_N; what++) {
		struct asked *to = &q->v[q->n];

		if (!sel.type.n && (what == ASK_POINTS || what == ASK_MERGE))
			continue;
		assert_true(++q->n < QUESTIONS_MAX);
		*to = (struct asked){
			.what = what, .sel = { sel }, .n_sel = 1, .name = STR("service_name"), .step_ms = 3600000
		};
	}
}

static void add_selections(struct questions *q, struct dcm_str type)
{
	struct dcm_select sel = { .size = sizeof(sel),
				  .type = type,
				  .from_ms = BASE_MS - 20 * DAY_NS / 1000000,
				  .to_ms = BASE_MS + 1000000 };

	add_kinds(q, sel);
	sel.matchers = &q->matcher;
	sel.n_matchers = 1;
	add_kinds(q, sel);
	sel.n_matchers = 0;
	sel.from_ms = BASE_MS - 2 * HOUR_NS / 1000000;
	add_kinds(q, sel);
}

/* One that takes it, for each of the first series: one that is lost may be the one. */
static void add_series(struct questions *q, struct dcm_select sel)
{
	for (size_t i = 0; i < q->series.n && q->n_series < SERIES_MAX; q->n_series++) {
		const char *line = (const char *)q->series.data + i;
		struct dcm_matcher *m = &q->of_series[q->n_series];
		const size_t name = strcspn(line, "="), value = strcspn(line, ",\n") - name - 1;

		assert_int_equal(line[name], '=');
		*m = (struct dcm_matcher){ .op = DCM_EQ,
					   .name = { line, (uint32_t)name },
					   .value = { line + name + 1, (uint32_t)value } };
		sel.matchers = m;
		sel.n_matchers = 1;
		add_kinds(q, sel);
		i += strcspn(line, "\n") + 1;
	}
}

/* What the store has before it is damaged. */
static void make_questions(struct asking *a, struct questions *q)
{
	struct asked all = {
		.what = ASK_TYPES,
		.sel = { { .size = sizeof(all.sel[0]), .from_ms = INT64_MIN, .to_ms = INT64_MAX } },
		.n_sel = 1
	};

	*q = (struct questions){ .n = 0 };
	q->matcher = (struct dcm_matcher){ .op = DCM_NE, .name = STR("service_name"), .value = STR("api") };
	assert_int_equal(ask_one(a, all, &q->types).n, 0);
	all.what = ASK_SERIES;
	assert_int_equal(ask_one(a, all, &q->series).n, 0);
	add_series(q, all.sel[0]);
	add_selections(q, STR(""));
	for (size_t i = 0; i < q->types.n;) {
		const char *line = (const char *)q->types.data + i;

		add_selections(q, (struct dcm_str){ line, (uint32_t)strcspn(line, "|") });
		i += strcspn(line, "\n") + 1;
	}
	assert_true(q->n > 60);
}

static void check_gap(const struct told *t, const char *path)
{
	assert_int_equal(t->n, 1);
	assert_string_equal(t->what, path);
	assert_true(t->gap.n_profiles > 0);
	assert_true(t->gap.from_ms >= BASE_MS - BLOCKS * HOUR_NS / 1000000);
	assert_true(t->gap.to_ms <= BASE_MS && t->gap.to_ms > t->gap.from_ms);
}

/* What a list has was there before: nothing is made of what is lost. */
static void check_list(const struct asked *q, const struct buf *before, const struct buf *now)
{
	for (size_t i = 0; q->what <= ASK_SERIES && i < now->n;) {
		const char *line = (const char *)now->data + i;
		const size_t n = strcspn(line, "|\n");
		bool there = false;

		for (size_t k = 0; !there && k < before->n;) {
			const char *old = (const char *)before->data + k;

			there = strcspn(old, "|\n") == n && memcmp(old, line, n) == 0;
			k += strcspn(old, "\n") + 1;
		}
		if (!there)
			fail_msg("kind %d: \"%.*s\" was not there", (int)q->what, (int)n, line);
		i += strcspn(line, "\n") + 1;
	}
}

/* Returns how many answers are other than before. */
static unsigned compare(struct asking *a, const struct questions *q, const struct buf *before,
			const char *path)
{
	unsigned n = 0;

	for (unsigned i = 0; i < q->n; i++) {
		struct buf now = { 0 }, line = { 0 };
		const struct told t = ask_one(a, q->v[i], &now);
		const bool differs = answers__differ(&before[i], &now, &line);

		if (differs && !t.n)
			fail_msg("question %u of kind %d says nothing:\n%s", i, (int)q->v[i].what,
				 (const char *)line.data);
		if (t.n)
			check_gap(&t, path);
		check_list(&q->v[i], &before[i], &now);
		n += differs;
		buf__fini(&now);
		buf__fini(&line);
	}
	return n;
}

struct sentences {
	const char *path;
	unsigned n;
	char last[300];
};

static void note_sentence(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct sentences *s = ctx;

	if (level != DCM_LOG_ERROR || !strstr(sentence, s->path))
		return;
	s->n++;
	snprintf(s->last, sizeof(s->last), "%s", sentence);
}

static void check_quiet(struct asking *a)
{
	const struct asked whole = { .what = ASK_TYPES,
				     .sel = { { .size = sizeof(whole.sel[0]),
						.from_ms = INT64_MIN,
						.to_ms = BASE_MS - DAY_NS / 1000000 } },
				     .n_sel = 1 };
	struct buf out = { 0 };

	assert_int_equal(ask_one(a, whole, &out).n, 0);
	assert_true(out.n > 0);
	buf__fini(&out);
}

static void check_damaged_records(bool only_read)
{
	unsigned n_records = 0, n_differ = 0;
	bool more = true;

	for (int at = 0; more; at++) {
		static struct questions q;
		struct buf before[QUESTIONS_MAX] = { 0 };
		char path[ERA_PATH_BYTES];
		struct asking a;

		begin(&a);
		make_questions(&a, &q);
		for (unsigned i = 0; i < q.n; i++)
			assert_int_equal(ask_one(&a, q.v[i], &before[i]).n, 0);
		era__path(path, a.bench.store->eras.v[1]->number);
		close_store(&a);
		more = damage(&a, path, at);
		if (only_read)
			open_reader(&a);
		else
			bench__open(&a.bench);
		for (int i = 0; more && i < 2; i++) {
			struct sentences s = { .path = path };

			n_differ += compare(&a, &q, before, path);
			check_quiet(&a);
			assert_int_equal(inspect__check(a.bench.store,
							&(struct inspect_how){ .report = note_sentence,
									       .ctx = &s },
							NULL),
					 1);
			assert_int_equal(s.n, 1);
			if (!only_read)
				reopen(&a);
			else
				eras__trim(a.bench.store);
		}
		n_records += more;
		for (unsigned i = 0; i < q.n; i++)
			buf__fini(&before[i]);
		buf__fini(&q.types);
		buf__fini(&q.series);
		bench__fini(&a.bench);
	}
	assert_true(n_records >= 3 && n_differ > 50);
}

static void test_what_a_record_had_is_told(void **state)
{
	(void)state;
	check_damaged_records(false);
	check_damaged_records(true);
}

/* How many dictionaries are there, whole or their names alone. */
static unsigned n_read(const struct store *s, bool names)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		n += (names ? s->eras.v[i]->names : s->eras.v[i]->dict) != NULL;
	return n;
}

static bool is_cumulative(const struct store *s, struct dcm_str type)
{
	for (size_t i = 0; i < s->eras.n; i++) {
		const struct dict *d = s->eras.v[i]->dict;

		for (uint32_t k = 0; k < d->types.n; k++)
			if (str__eq(dict__type_at(d, k)->text, type) &&
			    dict__type_at(d, k)->parts.temporality == DCM_CUMULATIVE)
				return true;
	}
	return false;
}

/* Stacks, and what only they refer to, are read for merges, and for increases. */
static void test_lists_and_points_read_names_alone(void **state)
{
	static struct questions q;
	struct buf before[QUESTIONS_MAX] = { 0 };
	unsigned n_points[2] = { 0 };
	bool stacks[QUESTIONS_MAX];
	struct asking a;
	(void)state;

	begin(&a);
	make_questions(&a, &q);
	for (unsigned i = 0; i < q.n; i++) {
		assert_int_equal(ask_one(&a, q.v[i], &before[i]).n, 0);
		stacks[i] = q.v[i].what == ASK_MERGE ||
			    (q.v[i].what == ASK_POINTS &&
			     is_cumulative(a.bench.store, q.v[i].sel[0].type));
		n_points[stacks[i]] += q.v[i].what == ASK_POINTS;
	}
	assert_true(n_points[false] && n_points[true]);
	close_store(&a);
	for (unsigned i = 0; i < q.n; i++) {
		struct buf now = { 0 }, line = { 0 };

		open_reader(&a);
		assert_int_equal(n_read(a.bench.store, false) + n_read(a.bench.store, true), 0);
		assert_int_equal(ask_one(&a, q.v[i], &now).n, 0);
		if (answers__differ(&before[i], &now, &line))
			fail_msg("question %u of kind %d:\n%s", i, (int)q.v[i].what,
				 (const char *)line.data);
		assert_true(n_read(a.bench.store, stacks[i]) == 0 || q.v[i].what == ASK_POINTS);
		assert_true(n_read(a.bench.store, !stacks[i]) > 0);
		close_store(&a);
		buf__fini(&now);
		buf__fini(&line);
	}
	for (unsigned i = 0; i < q.n; i++)
		buf__fini(&before[i]);
	buf__fini(&q.types);
	buf__fini(&q.series);
	bench__fini(&a.bench);
}

/* The whole takes the place of the names, and both go when they are too many. */
static void test_names_come_and_go(void **state)
{
	struct asked all = {
		.what = ASK_SERIES,
		.sel = { { .size = sizeof(all.sel[0]), .from_ms = INT64_MIN, .to_ms = INT64_MAX } },
		.n_sel = 1
	};
	struct buf out = { 0 };
	struct asking a;
	(void)state;

	begin(&a);
	close_store(&a);
	a.bench.options.dictionary_max_bytes = 1;
	open_reader(&a);
	struct store *s = a.bench.store;
	for (int i = 0; i < 2; i++) {
		ask_one(&a, all, &out);
		assert_int_equal(n_read(s, true), 2);
		assert_true(eras__bytes(s->eras.v[0]) > 0);
		eras__trim(s);
		assert_int_equal(n_read(s, true), 0);
	}
	ask_one(&a, all, &out);
	const uint64_t names_bytes = eras__bytes(s->eras.v[0]);
	struct era *era = NULL;
	assert_int_equal(store__era(s, s->eras.v[0]->number, &era, NULL), 0);
	assert_true(era->dict && !era->names && eras__bytes(era) > names_bytes);
	eras__trim(s);
	assert_int_equal(n_read(s, true), 0);
	assert_int_equal(n_read(s, false), 1); /* somebody has it */
	era__unref(era);
	eras__trim(s);
	assert_int_equal(n_read(s, false), 0);
	bench__fini(&a.bench);
	buf__fini(&out);
}

static void test_a_lost_dictionary_is_one_finding(void **state)
{
	char path[ERA_PATH_BYTES], end[64];
	struct asking a;
	size_t n, n_blocks = 0;
	(void)state;

	begin(&a);
	const uint32_t era = a.bench.store->eras.v[1]->number;

	for (size_t i = 0; i < a.bench.store->blocks.n; i++)
		n_blocks += a.bench.store->blocks.v[i]->entry.era == era;
	assert_true(n_blocks > 1);
	snprintf(end, sizeof(end), "backup; blocks without it: %zu", n_blocks);
	era__path(path, era);
	store__close(a.bench.store);
	sim__restart(a.bench.sim, false);
	sim__peek(a.bench.sim, path, &n)[0] ^= 1;
	bench__open(&a.bench);
	for (int i = 0; i < 2; i++) { /* the second one knows already that it cannot be read */
		struct sentences s = { .path = path };

		assert_int_equal(
			inspect__check(a.bench.store,
				       &(struct inspect_how){ .report = note_sentence, .ctx = &s }, NULL),
			1);
		assert_int_equal(s.n, 1);
		assert_non_null(strstr(s.last, end));
	}
	bench__fini(&a.bench);
}

/* The store of begin(), with nothing in it. */
static void begin_empty(struct asking *s)
{
	bench__init(&s->bench, 3);
	s->ask = (struct ask){ .host = &s->bench.storage.host, .take = take };
	s->bench.storage.ops = &ops;
	s->bench.storage.instance = s;
}

/* A counter of a stack that no other one has, sealed: a block and a record of its era. */
static void write_counter(struct bench *bench, int64_t i)
{
	enum { COUNTED = 1 << 20 }; /* at the base time */
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	const struct dcm_location l = { .mapping = DCM_NONE,
					.process = DCM_NONE,
					.addr_kind = DCM_ADDR_RUNTIME,
					.address = (uint64_t)(COUNTED + i) };
	const uint32_t location = builder__location(b, &l, NULL, 0);

	counter__fill(b, RANDOM_BASE_NS + i * 1000000000, builder__stack(b, &location, 1), COUNTED + i);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	content__write(NULL, bench->store, &batch, 1);
	batch__unref(batch);
	assert_int_equal(upkeep__seal(bench->store, NULL), 0);
}

/*
 * A counter before the range is looked for in pieces whose numbers the dictionary has lost: that is
 * seen of each before the question is begun again. Counted by the rows that it sets out to read.
 */
static void test_lost_records_before_the_range_are_found_at_once(void **state)
{
	enum { N = 30 };
	struct asked a = { .what = ASK_MERGE,
			   .sel = { { .size = sizeof(a.sel[0]),
				      .type = STR(COUNTER_TYPE),
				      .from_ms = BASE_MS + (N - 1) * 1000,
				      .to_ms = INT64_MAX } },
			   .n_sel = 1 };
	struct told told = { 0 };
	struct dcm_budget budget = { .gap = note_gap, .gap_ctx = &told };
	char path[ERA_PATH_BYTES];
	struct buf out = { 0 };
	struct asking s;
	(void)state;

	begin_empty(&s);
	for (int64_t i = 0; i < N; i++)
		write_counter(&s.bench, i);
	assert_int_equal(s.bench.store->blocks.n, N);
	assert_int_equal(s.bench.store->eras.n, 1);
	era__path(path, s.bench.store->eras.v[0]->number);
	store__close(s.bench.store);
	sim__restart(s.bench.sim, false);
	for (int at = 2; at < N; at++)
		assert_true(damage(&s, path, at));
	bench__open(&s.bench);
	a.sel[0].budget = &budget;
	assert_int_equal(answers__ask(&s.bench.storage, &a, &out, NULL), 0);
	assert_int_equal(told.n, 1);
	assert_in_range(budget.total, 1, 3 * N);
	buf__fini(&out);
	bench__fini(&s.bench);
}

static unsigned n_told(struct asking *s, const char *type, int64_t from_s, int64_t to_s)
{
	struct asked q = { .what = ASK_MERGE,
			   .sel = { { .size = sizeof(q.sel[0]),
				      .type = str__of(type),
				      .from_ms = BASE_MS + from_s * 1000,
				      .to_ms = to_s == INT64_MAX ? INT64_MAX : BASE_MS + to_s * 1000 } },
			   .n_sel = 1 };
	unsigned n = 0;

	for (q.what = type[0] ? ASK_TYPES : ASK_LABELS; q.what < ASK_N; q.what++) {
		struct buf out = { 0 };

		if (!type[0] && (q.what == ASK_POINTS || q.what == ASK_MERGE))
			continue;
		const struct told t = ask_one(s, q, &out);
		n = t.n > n ? t.n : n;
		buf__fini(&out);
	}
	return n;
}

/*
 * What is before the range is looked at because counters grow from there on. That a dictionary there
 * is damaged is told when what it lacks may be where one grows from, and else not.
 */
static void check_lost_before(int n_lost)
{
	enum { N = 4, EARLIER_S = -8 * 24 * 3600 };
	char path[ERA_PATH_BYTES];
	struct asking s;

	begin_empty(&s);
	for (int64_t i = 0; i < N; i++)
		write_counter(&s.bench, EARLIER_S + i);
	for (int64_t i = 0; i < N; i++)
		write_counter(&s.bench, i);
	assert_int_equal(s.bench.store->eras.n, 2);
	era__path(path, s.bench.store->eras.v[0]->number);
	assert_int_equal(n_told(&s, COUNTER_TYPE, EARLIER_S, INT64_MAX), 0);
	store__close(s.bench.store);
	sim__restart(s.bench.sim, false);
	for (int at = 0; at < n_lost; at++)
		assert_true(damage(&s, path, at));
	bench__open(&s.bench);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(n_told(&s, COUNTER_TYPE, 2, INT64_MAX), 0);
		assert_int_equal(n_told(&s, COUNTER_TYPE, 1, 2), 0);
		assert_int_equal(n_told(&s, COUNTER_TYPE, 0, INT64_MAX), 1);
		assert_int_equal(n_told(&s, COUNTER_TYPE, -9, 1), 1);
		assert_int_equal(n_told(&s, COUNTER_TYPE, EARLIER_S + 2, EARLIER_S + 3), 1);
		assert_int_equal(n_told(&s, COUNTER_TYPE, 9, INT64_MAX), 0);
		assert_int_equal(n_told(&s, "", 0, INT64_MAX), 0);
		reopen(&s);
	}
	bench__fini(&s.bench);
}

static void test_what_is_lost_before_the_range_is_told_where_it_matters(void **state)
{
	(void)state;
	check_lost_before(1); /* the type, and what is behind it is there */
	check_lost_before(4); /* all of it, so that nobody knows what it was */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_record_had_is_told),
		cmocka_unit_test(test_lists_and_points_read_names_alone),
		cmocka_unit_test(test_names_come_and_go),
		cmocka_unit_test(test_a_lost_dictionary_is_one_finding),
		cmocka_unit_test(test_lost_records_before_the_range_are_found_at_once),
		cmocka_unit_test(test_what_is_lost_before_the_range_is_told_where_it_matters),
	};

	return cmocka_run_group_tests_name("lacks", tests, NULL, NULL);
}
