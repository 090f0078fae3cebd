/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_answer.c - questions over pieces answer what memory answers, however the
 * profiles are cut up
 *
 * The same batches go to the memory store (which is held against SQL elsewhere) and to a mosaic of
 * eras, streams and blocks. Then: damage, budgets, and no memory.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "tests/contract/storage_random.h"
#include "tests/storage/counter.h"
#include "tests/storage/mosaic.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/random_batch.h"

#define MEMORY_FILE TEST_BUILDDIR "/plugins/.libs/storage_memory.so"
#define CPU	    "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

struct pair {
	struct storage memory;
	struct mosaic *mosaic;
};

static void pair__init(struct pair *p)
{
	assert_true(storage__open(&p->memory, MEMORY_FILE, "{ max_bytes: 1GiB, retention: 0 }"));
	p->mosaic = mosaic__new();
}

static void pair__fini(struct pair *p)
{
	storage__close(&p->memory);
	mosaic__free(p->mosaic);
}

static void write_both(struct pair *p, struct random *r, uint64_t round, unsigned flags)
{
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = storage_random__batch(r, round, flags, RANDOM_BASE_NS);

	assert_int_equal(p->memory.ops->write(p->memory.instance, &b, 1, NULL, NULL, NULL), 0);
	mosaic__write(p->mosaic, b);
}

static void seal_some(struct pair *p, struct random *r)
{
	for (uint32_t i = 0; i < MOSAIC_ERAS; i++)
		if (random__below(r, 3))
			mosaic__seal(p->mosaic, i, (int)random__below(r, 2));
}

static uint64_t n_asked, n_empty, n_tight;

static void ask_both(struct pair *p, const struct asked *a)
{
	struct buf expected = { 0 }, got = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	char text[1024];

	question__describe(a, text, sizeof(text));
	assert_int_equal(answers__ask(&p->memory, a, &expected, NULL), 0);
	if (answers__ask(&p->mosaic->storage, a, &got, &err) < 0)
		fail_msg("%s\n %s", text, err.text);
	if (expected.n != got.n || (got.n && memcmp(expected.data, got.data, got.n) != 0))
		fail_msg("%s\n expected:\n%s\n answered:\n%s", text,
			 expected.n ? (char *)expected.data : "", got.n ? (char *)got.data : "");
	n_asked++;
	n_empty += got.n == 0;
	buf__fini(&expected);
	buf__fini(&got);
}

/*
 * With little memory sums stand here and there, or the answer is that it does not suffice; which is
 * what one thread would have said too.
 */
static void ask_tightly(struct pair *p, struct asked *a)
{
	const uint32_t n_threads = p->mosaic->crew.n_threads;
	struct dcm_budget tight = { .max_bytes = 100000 };
	struct buf expected = { 0 }, got = { 0 };

	assert_int_equal(answers__ask(&p->memory, a, &expected, NULL), 0);
	a->sel[0].budget = &tight;
	int r = answers__ask(&p->mosaic->storage, a, &got, NULL);
	assert_true(r == 0 || r == -E2BIG);
	if (r < 0) {
		crew__resize(&p->mosaic->crew, 1);
		assert_int_equal(answers__ask(&p->mosaic->storage, a, &got, NULL), -E2BIG);
		crew__resize(&p->mosaic->crew, n_threads);
	}
	if (r == 0) {
		assert_int_equal(got.n, expected.n);
		assert_true(got.n == 0 || memcmp(got.data, expected.data, got.n) == 0);
		n_tight += got.n > 0 && a->what == ASK_MERGE;
	}
	buf__fini(&expected);
	buf__fini(&got);
}

static void ask_random(struct pair *p, struct random *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct question q;

		question__random(&q, r);
		ask_both(p, &q.asked);
		ask_tightly(p, &q.asked);
		question__fini(&q);
	}
}

static void test_any_pieces_answer_like_memory(void **state)
{
	(void)state;
	n_asked = n_empty = n_tight = 0;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct pair p;
		struct random r = { seed };
		/* Some without sample labels: chunks without that column, added up at once. */
		const unsigned flags = seed % 4 == 3   ? RANDOM_NO_SAMPLE_LABELS
				       : seed % 4 == 0 ? RANDOM_NASTY
						       : 0;

		pair__init(&p);
		for (uint64_t round = 0; round < 8; round++) {
			write_both(&p, &r, round, flags);
			if (round % 2)
				seal_some(&p, &r);
			crew__resize(&p.mosaic->crew, 1 + (uint32_t)random__below(&r, 4));
			ask_random(&p, &r, 40);
		}
		assert_true(p.mosaic->blocks.n > 2);
		assert_int_equal(p.mosaic->n_unreadable, 0);
		assert_true(p.mosaic->n_shared > 20);
		pair__fini(&p);
	}
	assert_true(n_empty < n_asked * 2 / 3);
	assert_true(n_tight > n_asked / 20);
}

static void test_what_is_removed_stays_unseen(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct question removed[6];
		struct pair p;
		struct random r = { seed };
		unsigned n = 0;

		pair__init(&p);
		for (uint64_t round = 0; round < 12; round++) {
			write_both(&p, &r, round, 0);
			seal_some(&p, &r);
			if (round % 2) {
				const struct dcm_select *sel = &removed[n].asked.sel[0];
				uint64_t gone;

				question__random(&removed[n++], &r);
				mosaic__remove(p.mosaic, sel);
				assert_int_equal(
					p.memory.ops->remove(p.memory.instance, sel, &gone, NULL), 0);
			}
			ask_random(&p, &r, 25);
		}
		pair__fini(&p);
		while (n > 0)
			question__fini(&removed[--n]);
	}
}

/* A counter of one stack that stands at `value`. */
static struct dcm_batch *make_counter(int64_t time_ms, int64_t value)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;

	counter__fill(b, time_ms * 1000000, builder__stack(b, NULL, 0), value);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

static void write_counter(struct pair *p, int64_t time_ms, int64_t value)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = make_counter(time_ms, value);

	assert_int_equal(p->memory.ops->write(p->memory.instance, &batch, 1, NULL, NULL, NULL), 0);
	mosaic__write(p->mosaic, batch);
}

/*
 * Where the profile before the range was removed, the one before that takes its place, eras away.
 */
static void test_increases_reach_over_what_was_removed(void **state)
{
	const int64_t start = RANDOM_BASE_NS / 1000000,
		      times[] = { start, start + 130000, start + 250000 };
	struct asked a = { .what = ASK_MERGE, .n_sel = 1 };
	struct dcm_select *sel = &a.sel[0], removed = { .size = sizeof(removed) };
	uint64_t gone = 0;
	struct pair p;
	(void)state;

	pair__init(&p);
	write_counter(&p, times[0], 100);
	write_counter(&p, times[1], 130);
	write_counter(&p, times[2], 170);
	*sel = (struct dcm_select){
		.size = sizeof(*sel), .type = STR(COUNTER_TYPE), .from_ms = times[2], .to_ms = INT64_MAX
	};
	ask_both(&p, &a);
	removed.from_ms = times[1];
	removed.to_ms = times[2];
	mosaic__remove(p.mosaic, &removed);
	assert_int_equal(p.memory.ops->remove(p.memory.instance, &removed, &gone, NULL), 0);
	assert_int_equal(gone, 1);
	ask_both(&p, &a);
	pair__fini(&p);
}

/* The ms to the next profile: steadily with some jitter, now and then at another pace, or none. */
static int64_t next_gap(struct random *r, int64_t *pace)
{
	static const int64_t paces[] = { 0, 1, 700, 10000, 10000, 61000, 3700000 };

	if (random__below(r, 300) == 0)
		*pace = paces[random__below(r, N_OF(paces))];
	if (random__below(r, 60) == 0)
		return (int64_t)random__below(r, 400000);
	return *pace > 20 ? *pace - 20 + (int64_t)random__below(r, 41) : *pace;
}

static struct dcm_batch *make_paced(struct random *r, uint64_t n)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	int64_t time_ms = RANDOM_BASE_NS / 1000000, pace = 10000;

	assert_non_null(b);
	builder__set_source(b, (struct dcm_hash){ 7, 7 }, 1);
	const uint32_t x = builder__string(b, STR("x"));
	const struct dcm_type type = { x, x, x, x, x, DCM_DELTA };
	const uint32_t series = builder__series(b, &(struct dcm_pair){ x, x }, 1);
	for (uint64_t i = 0; i < n; i++) {
		const int64_t value = (int64_t)random__below(r, 1 << 20) - 1000;

		builder__profile(b,
				 &(struct dcm_profile){ .series = series,
							.time_ns = time_ms * 1000000,
							.duration_ns = 10000000000 },
				 &type, 1);
		builder__row(b, builder__stack(b, NULL, 0), 0, &value);
		time_ms += next_gap(r, &pace);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

/* Profiles come at any pace, and a step has none of them, one, or thousands. */
static void test_steps_hold_what_falls_into_them(void **state)
{
	static const int64_t steps[] = { 1, 7, 1000, 15000, 60000, 60001, 3600000, 86400000 };
	struct asked a = { .what = ASK_POINTS, .n_sel = 1 };
	struct random r = { 11 };
	struct pair p;
	(void)state;

	CLEANUP(batch__unrefp) struct dcm_batch *batch = make_paced(&r, 6000);
	pair__init(&p);
	assert_int_equal(p.memory.ops->write(p.memory.instance, &batch, 1, NULL, NULL, NULL), 0);
	mosaic__write(p.mosaic, batch);
	for (uint32_t i = 0; i < MOSAIC_ERAS; i++)
		mosaic__seal(p.mosaic, i, 0);
	for (unsigned i = 0; i < 40 * N_OF(steps); i++) {
		const int64_t from_ms = RANDOM_BASE_NS / 1000000 + (int64_t)random__below(&r, 1 << 26);

		a.step_ms = steps[i % N_OF(steps)];
		a.sel[0] = (struct dcm_select){
			.size = sizeof(a.sel[0]),
			.type = STR("x:x:x:x:x:delta"),
			.from_ms = i < 40 ? 0 : from_ms,
			.to_ms = i < 40 ? INT64_MAX : from_ms + (int64_t)random__below(&r, 1 << 26)
		};
		ask_both(&p, &a);
	}
	pair__fini(&p);
}

/* -------------------------------------------------------------------------------------------------
 * Damage
 */

/* The same pieces of all chunks. */
static void damage(struct mosaic_block *b, unsigned section)
{
	for (uint64_t i = 0; i < b->block.info.n_chunks; i++) {
		const struct chunk_entry *e = &b->block.chunks[i];
		const struct chunk_piece *pieces[] = { &e->profiles, &e->stacks, &e->rollups };
		const uint8_t *at[] = { b->block.sections[1], b->block.sections[2],
					b->block.sections[3] };

		((uint8_t *)(uintptr_t)at[section])[pieces[section]->off] ^= 0x55;
	}
}

/* Damaged pieces are as if they were not there, in the whole answer, and each is told of. */
static void test_damaged_pieces_are_left_out(void **state)
{
	(void)state;
	for (unsigned section = 0; section < 2; section++) {
		struct random r = { 7 + section };
		struct mosaic *m = mosaic__new();
		unsigned n = 0;

		for (uint64_t round = 0; round < 8; round++) {
			struct dcm_batch *b = storage_random__batch(&r, round, 0, RANDOM_BASE_NS);

			mosaic__write(m, b);
			batch__unref(b);
			if (round % 2)
				mosaic__seal(m, (uint32_t)random__below(&r, MOSAIC_ERAS), 0);
		}
		struct mosaic_block *bad = m->blocks.v[m->blocks.n / 2];
		damage(bad, section);
		while (n < 60) {
			struct buf expected = { 0 }, got = { 0 };
			struct question q;

			question__random(&q, &r);
			/* Lists know more of a chunk from its entry than what is damaged here. */
			if (q.asked.what == (section ? ASK_MERGE : ASK_POINTS)) {
				bad->hidden = true;
				assert_int_equal(answers__ask(&m->storage, &q.asked, &expected, NULL), 0);
				bad->hidden = false;
				crew__resize(&m->crew, 1 + n % 4);
				assert_int_equal(answers__ask(&m->storage, &q.asked, &got, NULL), 0);
				assert_int_equal(got.n, expected.n);
				assert_true(got.n == 0 || memcmp(got.data, expected.data, got.n) == 0);
				n++;
			}
			question__fini(&q);
			buf__fini(&expected);
			buf__fini(&got);
		}
		assert_true(m->n_unreadable > 0);
		mosaic__free(m);
	}
}

/* -------------------------------------------------------------------------------------------------
 * Budgets, and no memory
 */

/* A question of each kind, over everything. */
static struct asked plain_question(unsigned what)
{
	struct asked a = { .what = what, .n_sel = 2, .name = STR("comm"), .step_ms = 10000 };

	for (unsigned k = 0; k < 2; k++)
		a.sel[k] = (struct dcm_select){ .size = sizeof(a.sel[k]),
						.type = STR(CPU),
						.to_ms = INT64_MAX };
	return a;
}

static struct mosaic *small_mosaic(uint64_t n_rounds)
{
	struct mosaic *m = mosaic__new();
	struct random r = { 3 };

	for (uint64_t round = 0; round < n_rounds; round++) {
		struct dcm_batch *b = storage_random__batch(&r, round, 0, RANDOM_BASE_NS);

		mosaic__write(m, b);
		batch__unref(b);
		if (round % 2)
			for (uint32_t i = 0; i < MOSAIC_ERAS; i++)
				mosaic__seal(m, i, 0);
	}
	return m;
}

/* The rows that a question set out to read, each time it was begun. */
static uint64_t rows_begun(struct mosaic *m, struct asked *a, struct buf *out)
{
	struct dcm_budget budget = { 0 };

	for (uint32_t k = 0; k < a->n_sel; k++)
		a->sel[k].budget = &budget;
	assert_int_equal(answers__ask(&m->storage, a, out, NULL), 0);
	return budget.total;
}

/* However much is damaged, a question is begun twice: all of it is found the first time. */
static void test_damage_is_found_at_once(void **state)
{
	(void)state;
	for (unsigned what = ASK_POINTS; what <= ASK_MERGE; what++) {
		struct mosaic *m = small_mosaic(40);
		struct asked a = plain_question(what);
		struct buf out = { 0 };
		const uint64_t n_rows = rows_begun(m, &a, &out);

		assert_true(m->blocks.n > 30);
		for (size_t i = 0; i < m->blocks.n; i++)
			if (i % 5)
				damage(m->blocks.v[i], what == ASK_MERGE);
		for (uint32_t n_threads = 1; n_threads <= 4; n_threads++) {
			crew__resize(&m->crew, n_threads);
			assert_true(rows_begun(m, &a, &out) == 2 * n_rows);
		}
		assert_true(m->n_unreadable > 30);
		buf__fini(&out);
		mosaic__free(m);
	}
}

/*
 * A counter before the range is looked for as far back as those behind it are damaged. That is
 * found out when the question is begun for the second time.
 */
static void test_damage_before_the_range_is_found_at_once(void **state)
{
	const int64_t start = RANDOM_BASE_NS / 1000000;
	enum { N = 40 };
	(void)state;

	for (unsigned section = 0; section < 2; section++) {
		struct mosaic *m = mosaic__new();
		struct asked a = { .what = ASK_MERGE, .n_sel = 1 };
		struct buf expected = { 0 }, got = { 0 };

		a.sel[0] = (struct dcm_select){ .size = sizeof(a.sel[0]),
						.type = STR(COUNTER_TYPE),
						.from_ms = start + (N - 1) * 1000,
						.to_ms = INT64_MAX };
		for (int64_t i = 0; i < N; i++) {
			struct dcm_batch *b = make_counter(start + i * 1000, 100 + i * i);

			mosaic__write(m, b);
			mosaic__seal(m, 0, 0);
			batch__unref(b);
		}
		for (size_t i = 1; i + 1 < N; i++)
			m->blocks.v[i]->hidden = true;
		rows_begun(m, &a, &expected);
		for (size_t i = 1; i + 1 < N; i++) {
			m->blocks.v[i]->hidden = false;
			damage(m->blocks.v[i], section);
		}
		assert_in_range(rows_begun(m, &a, &got), 2 * N, 3 * N);
		assert_int_equal(got.n, expected.n);
		assert_memory_equal(got.data, expected.data, got.n);
		assert_int_equal(m->n_unreadable, N - 2);
		buf__fini(&expected);
		buf__fini(&got);
		mosaic__free(m);
	}
}

static void test_questions_obey_their_budget(void **state)
{
	struct mosaic *m = small_mosaic(6);
	(void)state;

	for (unsigned what = 0; what < ASK_N; what++) {
		struct dcm_budget free_budget = { 0 }, late = { .deadline_mono_ns = 1 },
				  cancelled = { .cancelled = 1 };
		struct asked a = plain_question(what);
		struct buf out = { 0 };

		m->storage.mono_ns = 1000;
		a.n_sel = 1;
		a.sel[0].budget = &free_budget;
		assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), 0);
		assert_true(free_budget.total > 0);
		assert_int_equal(free_budget.done, free_budget.total);
		a.sel[0].budget = &late;
		assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), -ETIMEDOUT);
		a.sel[0].budget = &cancelled;
		assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), -ECANCELED);
		buf__fini(&out);
	}
	struct dcm_budget tight = { .max_bytes = 16 };
	struct asked a = plain_question(ASK_MERGE);
	struct buf out = { 0 };

	a.sel[0].budget = &tight;
	assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), -E2BIG);
	buf__fini(&out);
	mosaic__free(m);
}

/* A profile of a series that has a text of its own for a label, which is long. */
static struct dcm_batch *long_batch(uint64_t n)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	char text[2000];

	assert_non_null(b);
	snprintf(text, sizeof(text), "%-*d", (int)sizeof(text) - 1, (int)n);
	builder__set_source(b, (struct dcm_hash){ 7, 7 }, n);
	const uint32_t x = builder__string(b, STR("x"));
	const struct dcm_type type = { x, x, x, x, x, DCM_DELTA };
	const struct dcm_pair pair = { x, builder__string(b, str__of(text)) };
	const int64_t value = 1;

	builder__profile(b,
			 &(struct dcm_profile){ .series = builder__series(b, &pair, 1),
						.time_ns = RANDOM_BASE_NS },
			 &type, 1);
	builder__row(b, builder__stack(b, NULL, 0), 0, &value);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

/* Groups have the texts of their labels, which are memory of the question's. */
static void test_texts_of_groups_count(void **state)
{
	enum { GROUPS = 300 };
	struct dcm_budget budget = { 0 };
	struct asked a = { .what = ASK_POINTS, .n_sel = 1, .step_ms = 10000, .by_labels = { STR("x") } };
	struct mosaic *m = mosaic__new();
	struct buf out = { 0 };
	(void)state;

	for (uint64_t i = 0; i < GROUPS; i++) {
		struct dcm_batch *b = long_batch(i);

		mosaic__write(m, b);
		batch__unref(b);
	}
	a.by = (struct dcm_group_by){ .labels = a.by_labels, .n = 1 };
	a.sel[0] = (struct dcm_select){ .size = sizeof(a.sel[0]),
					.type = STR("x:x:x:x:x:delta"),
					.to_ms = INT64_MAX,
					.budget = &budget };
	budget.max_bytes = GROUPS * 2000 / 2;
	assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), -E2BIG);
	budget.max_bytes = GROUPS * 2000 * 4;
	assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), 0);
	assert_true(out.n > GROUPS * 2000);
	buf__fini(&out);
	mosaic__free(m);
}

/* The n-th look at the clock finds it late, or the asker goes at that moment. */
static _Atomic int n_looks;
static struct dcm_budget *_Atomic leaving;

static int64_t clock_until(const struct dcm_host *host)
{
	struct dcm_budget *budget = leaving;
	(void)host;

	if (atomic_fetch_sub(&n_looks, 1) > 1)
		return 1000;
	if (budget)
		atomic_store(&budget->cancelled, 1);
	return budget ? 1000 : 2000;
}

/* Asks until the n-th look is none; how often the question was ended. */
static unsigned ask_until(struct mosaic *m, unsigned what, bool leave)
{
	unsigned n_ended = 0;

	for (int n = 1;; n++) {
		struct dcm_budget budget = { .deadline_mono_ns = 1500 };
		struct asked a = plain_question(what);
		struct buf out = { 0 };

		a.n_sel = 1;
		a.sel[0].budget = &budget;
		leaving = leave ? &budget : NULL;
		atomic_store(&n_looks, n);
		const int r = answers__ask(&m->storage, &a, &out, NULL);
		const bool never = n_looks > 0;
		buf__fini(&out);
		assert_true(r == 0 || r == (leave ? -ECANCELED : -ETIMEDOUT));
		/* Who goes after the last row has been read has an answer nobody waits for. */
		assert_true(never ? r == 0 : r < 0 || leave);
		assert_true(r < 0 || (budget.total > 0 && budget.done == budget.total));
		n_ended += r < 0;
		if (never)
			return n_ended;
	}
}

/* Whoever of several finds out that it is too late, or that the asker has gone, ends the question. */
static void test_helpers_obey_the_budget(void **state)
{
	struct mosaic *m = small_mosaic(12);
	(void)state;

	crew__resize(&m->crew, 4);
	m->storage.host.mono_ns = clock_until;
	for (unsigned what = ASK_POINTS; what <= ASK_MERGE; what++) {
		/* A look by the asker before it begins, and one by each that reads rows. */
		assert_true(ask_until(m, what, false) >= 3);
		assert_true(ask_until(m, what, true) >= 2);
	}
	assert_true(m->n_shared >= 4);
	mosaic__free(m);
}

/* It is late as soon as the last row was read. */
static int64_t clock_of_rows(const struct dcm_host *host)
{
	const struct dcm_budget *budget = leaving;
	(void)host;

	return budget->total > 0 && budget->done == budget->total ? 2000 : 1000;
}

/* Bringing into order what was found takes time, too. */
static void test_sorting_obeys_the_budget(void **state)
{
	struct mosaic *m = small_mosaic(6);
	(void)state;

	m->storage.host.mono_ns = clock_of_rows;
	for (unsigned what = ASK_LABELS; what < ASK_N; what++) {
		struct dcm_budget budget = { .deadline_mono_ns = 1500 };
		struct asked a = plain_question(what);
		struct buf out = { 0 };

		a.n_sel = 1;
		a.sel[0].budget = &budget;
		leaving = &budget;
		assert_int_equal(answers__ask(&m->storage, &a, &out, NULL), -ETIMEDOUT);
		assert_int_equal(budget.done, budget.total);
		buf__fini(&out);
	}
	mosaic__free(m);
}

static void test_asking_without_memory(void **state)
{
	struct mosaic *m = small_mosaic(6);
	struct dcm_matcher matcher = { .op = DCM_NE, .name = STR("thread_name"), .value = STR("main") };
	struct dcm_select removed = { .size = sizeof(removed),
				      .matchers = &matcher,
				      .n_matchers = 1,
				      .from_ms = 0,
				      .to_ms = RANDOM_BASE_NS / 1000000 + 60000 };
	(void)state;

	mosaic__remove(m, &removed);
	for (unsigned turn = 0; turn < 2 * ASK_N; turn++) {
		struct asked a = plain_question(turn / 2);

		crew__resize(&m->crew, turn % 2 ? 3 : 1);

		FAILMALLOC_SWEEP (i) {
			struct buf out = { 0 };
			int e = answers__ask(&m->storage, &a, &out, NULL);

			failmalloc__disarm();
			/*
			 * The text itself may have found no memory; and sealing can do without
			 * some.
			 */
			assert_true(e == 0 || (e == -ENOMEM && failmalloc__failed()));
			buf__fini(&out);
		}
	}
	assert_int_equal(m->n_unreadable, 0);
	mosaic__free(m);
}

/*
 * A dictionary grows while it is looked at: a name that a location learnt since then is not there
 * yet.
 */
static void test_what_came_after_the_look_is_not_looked_at(void **state)
{
	struct dict *from = dict__new(), *to = dict__new();
	const struct dcm_mapping m = { .build_id = dict__string(from, STR("0011223344556677")) };
	const struct dcm_location l = { .mapping = dict__mapping(from, &m),
					.process = DCM_NONE,
					.addr_kind = DCM_ADDR_VADDR,
					.address = 0x1000 };
	const uint32_t location = dict__location(from, 1, &l, NULL);
	const uint32_t stack = dict__stack(from, &location, 1);
	const struct dict_counts counts = dict__counts(from);
	struct dict_import im;
	(void)state;

	struct dcm_function f = { .name = dict__string(from, STR("late")) };
	struct dcm_line line = { .function = dict__function(from, &f) };
	assert_int_equal(dict__learn(from, location, 0, &line, 1), 0);
	assert_int_equal(dict_import__init_counts(&im, to, from, &counts), 0);
	const uint32_t copy = dict_import__stack(&im, stack);
	assert_int_equal(dict__stack_at(to, copy)->n, 1);
	assert_int_equal(to->functions.n, 0);
	dict_import__fini(&im);

	/* Later looks see it. */
	assert_int_equal(dict_import__init_dict(&im, to, from), 0);
	assert_int_equal(dict_import__stack(&im, stack), copy);
	assert_int_equal(to->functions.n, 1);
	dict_import__fini(&im);
	dict__unref(from);
	dict__unref(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_pieces_answer_like_memory),
		cmocka_unit_test(test_what_is_removed_stays_unseen),
		cmocka_unit_test(test_increases_reach_over_what_was_removed),
		cmocka_unit_test(test_steps_hold_what_falls_into_them),
		cmocka_unit_test(test_damaged_pieces_are_left_out),
		cmocka_unit_test(test_damage_is_found_at_once),
		cmocka_unit_test(test_damage_before_the_range_is_found_at_once),
		cmocka_unit_test(test_questions_obey_their_budget),
		cmocka_unit_test(test_texts_of_groups_count),
		cmocka_unit_test(test_helpers_obey_the_budget),
		cmocka_unit_test(test_sorting_obeys_the_budget),
		cmocka_unit_test(test_asking_without_memory),
		cmocka_unit_test(test_what_came_after_the_look_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
