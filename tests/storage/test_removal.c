/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_removal.c - what was removed is in no answer, whatever happens to the store,
 * and nothing else goes
 *
 * Answers are compared with batches: the rows that are left are those that do not match. Power cuts
 * are test_store.c's, random removals against the store `memory` those of the conformance suite.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

#define FIRST_MS INT64_C(1700000000000)
enum { STEP_MS = 1000, KINDS = 4 };

/* On small segments, and a disk that keeps any names; faults are many, and told to nobody. */
static void start(struct bench *b)
{
	bench__prepare(b, 1, SIM_SUBSET);
	b->options.segment_bytes = 1 << 16;
	b->options.report = NULL;
	b->storage.real_ns = FIRST_MS * 1000000;
	bench__open(b);
}

/*
 * One profile at a step of time, with a row for each kind: value 1, and the sample label kind=kN.
 */
static struct dcm_batch *make_batch(struct bench *b, int step, uint32_t temporality)
{
	struct dcm_builder *builder = builder__new(0);
	struct dcm_batch *batch = NULL;

	assert_non_null(builder);
	builder__set_source(builder, (struct dcm_hash){ 1, 2 }, b->next_sequence++);
	const uint32_t x = builder__string(builder, STR("x"));
	const struct dcm_type type = { x, x, x, x, x, temporality };
	const struct dcm_pair pair = { builder__string(builder, STR("service")),
				       builder__string(builder, step % 2 ? STR("odd") : STR("even")) };
	builder__profile(builder,
			 &(struct dcm_profile){ .series = builder__series(builder, &pair, 1),
						.time_ns = (FIRST_MS + step * STEP_MS) * 1000000 },
			 &type, 1);
	for (int i = 0; i < KINDS; i++) {
		char text[8];

		snprintf(text, sizeof(text), "k%d", i);
		const struct dcm_label label = { .name = builder__string(builder, STR("kind")),
						 .str = builder__string(builder, str__of(text)),
						 .unit = DCM_NONE };
		builder__row(builder, builder__stack(builder, NULL, 0),
			     builder__label_set(builder, &label, 1), &(const int64_t){ 1 });
	}
	assert_int_equal(builder__seal(builder, &batch, NULL), 0);
	builder__free(builder);
	return batch;
}

static void write_steps(struct bench *b, int from, int to, uint32_t temporality)
{
	for (int i = from; i < to; i++) {
		struct dcm_batch *batch = make_batch(b, i, temporality);

		content__write(NULL, b->store, &batch, 1);
		batch__unref(batch);
	}
}

/* Rows that match, as `service` and `kind` say; "" matches all. */
struct wish {
	struct dcm_matcher matchers[2];
	struct dcm_select sel;
};

static const struct dcm_select *wish(struct wish *w, const char *service, const char *kind)
{
	uint32_t n = 0;

	*w = (struct wish){ .sel = { .size = sizeof(w->sel), .from_ms = INT64_MIN, .to_ms = INT64_MAX } };
	if (*service)
		w->matchers[n++] = (struct dcm_matcher){ .op = DCM_EQ,
							 .name = STR("service"),
							 .value = str__of(service) };
	if (*kind)
		w->matchers[n++] = (struct dcm_matcher){ .op = DCM_EQ,
							 .name = STR("kind"),
							 .value = str__of(kind) };
	w->sel.matchers = w->matchers;
	w->sel.n_matchers = n;
	return &w->sel;
}

static int add_points(void *ctx, const struct dcm_points *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		*(int64_t *)ctx += p->value[i];
	return 0;
}

/* What a question finds: each row counts 1. */
static int64_t count(struct bench *b, const char *service, const char *kind, const char *type)
{
	struct wish w;
	struct dcm_select sel = *wish(&w, service, kind);
	struct view v;
	int64_t n = 0;

	sel.type = str__of(type);
	view__init(&v, &b->storage.host, &sel, 1);
	assert_int_equal(look__take(&v, b->store), 0);
	assert_int_equal(answer__points(&v, STEP_MS, NULL, add_points, &n), 0);
	view__fini(&v);
	return n;
}

#define DELTA "x:x:x:x:x:delta"
#define GAUGE "x:x:x:x:x"

static uint64_t remove_rows(struct bench *b, const char *service, const char *kind)
{
	struct wish w;
	uint64_t n = 0;

	assert_int_equal(removal__select(b->store, wish(&w, service, kind), &n, NULL), 0);
	return n;
}

/* Blocks, a head, and both again after a start; then what is written later, and the blocks anew. */
static void test_what_was_removed_is_gone_at_once(void **state)
{
	struct bench b;
	(void)state;

	start(&b);
	write_steps(&b, 0, 10, DCM_DELTA);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	write_steps(&b, 10, 20, DCM_DELTA);
	assert_int_equal(count(&b, "", "", DELTA), 80);
	const uint64_t block = b.store->blocks.v[0]->entry.number;

	assert_int_equal(remove_rows(&b, "odd", "k1"), 10);
	assert_int_equal(remove_rows(&b, "odd", "k1"), 0);
	assert_int_equal(filters__n(b.store->filters), 1);
	assert_int_equal(b.store->blocks.v[0]->entry.number, block);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(count(&b, "", "", DELTA), 70);
		assert_int_equal(count(&b, "odd", "", DELTA), 30);
		assert_int_equal(count(&b, "", "k1", DELTA), 10);
		bench__restart(&b, true);
	}
	/* What matches and comes later stays, also through a start. */
	write_steps(&b, 1, 2, DCM_DELTA);
	assert_int_equal(count(&b, "odd", "k1", DELTA), 1);
	bench__restart(&b, true);
	assert_int_equal(count(&b, "odd", "k1", DELTA), 1);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(count(&b, "odd", "k1", DELTA), 1);

	assert_int_equal(removal__drain(b.store, NULL), 0);
	assert_null(b.store->filters);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(count(&b, "odd", "k1", DELTA), 1);
		assert_int_equal(count(&b, "", "", DELTA), 74);
		bench__restart(&b, true);
	}
	assert_null(manifest__extra(commit__manifest(b.store->commit), EXTRA_FILTERS));
	bench__fini(&b);
}

/*
 * A batch that was removed was seen: whoever did not hear so and sends it again does not bring it
 * back.
 */
static void test_a_retry_brings_nothing_back(void **state)
{
	struct dcm_batch *batches[8];
	struct bench b;
	(void)state;

	start(&b);
	for (int i = 0; i < 8; i++) {
		batches[i] = make_batch(&b, i, DCM_DELTA);
		content__write(NULL, b.store, &batches[i], 1);
		if (i == 3)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	assert_int_equal(remove_rows(&b, "", ""), 8);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 8; i++)
			content__write(NULL, b.store, &batches[i], 1);
		assert_int_equal(count(&b, "", "", DELTA), 0);
		if (round == 1)
			assert_int_equal(removal__drain(b.store, NULL), 0);
		bench__restart(&b, true);
	}
	write_steps(&b, 0, 8, DCM_DELTA); /* the same profiles, but other batches */
	assert_int_equal(count(&b, "", "", DELTA), 32);
	for (int i = 0; i < 8; i++)
		batch__unref(batches[i]);
	bench__fini(&b);
}

/*
 * Of two states at one time the older, which no answer had, does not come back when the newer goes.
 */
static void test_a_state_that_was_replaced_stays_so(void **state)
{
	(void)state;

	for (int seals = 0; seals < 4; seals++) {
		struct bench b;

		start(&b);
		write_steps(&b, 0, 4, DCM_GAUGE);
		if (seals & 1)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		write_steps(&b, 0, 4, DCM_GAUGE);
		if (seals & 2)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		assert_int_equal(count(&b, "", "", GAUGE), 16);
		assert_int_equal(remove_rows(&b, "", ""), 4);
		assert_int_equal(count(&b, "", "", GAUGE), 0);
		bench__restart(&b, true);
		for (int r = 1; r == 1;) {
			r = removal__step(b.store, NULL, NULL);
			assert_true(r >= 0);
			assert_int_equal(count(&b, "", "", GAUGE), 0);
			bench__restart(&b, true);
			assert_int_equal(count(&b, "", "", GAUGE), 0);
		}
		assert_int_equal(b.store->blocks.n, 0);
		bench__fini(&b);
	}
}

/* A filter needs no room but the manifest's; the blocks wait for room. */
static void test_removal_on_a_disk_without_room_for_blocks(void **state)
{
	struct bench b;
	(void)state;

	start(&b);
	write_steps(&b, 0, 10, DCM_DELTA);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(remove_rows(&b, "even", ""), 5);
	sim__fail(b.sim, 1, FAULT_ENOSPC, true);
	assert_int_equal(removal__step(b.store, NULL, NULL), -ENOSPC);
	assert_int_equal(count(&b, "", "", DELTA), 20);
	sim__fail(b.sim, 0, FAULT_NONE, false);
	assert_int_equal(removal__drain(b.store, NULL), 0);
	assert_null(b.store->filters);
	bench__restart(&b, true);
	assert_int_equal(count(&b, "", "", DELTA), 20);
	bench__fini(&b);
}

static int remove_one(struct bench *b, int step, struct dcm_budget *budget)
{
	struct wish w;
	struct dcm_select sel = *wish(&w, "", "k2");
	uint64_t n = 0;

	sel.from_ms = FIRST_MS + step * STEP_MS;
	sel.to_ms = sel.from_ms + 1;
	sel.budget = budget;
	const int r = removal__select(b->store, &sel, &n, NULL);
	assert_int_equal(n, r == 0);
	return r;
}

/* When as many as there may be wait for their blocks, the next one waits for its own time, no longer. */
static void test_a_removal_has_its_patience(void **state)
{
	struct bench b;
	(void)state;

	start(&b);
	write_steps(&b, 0, FILTERS_MAX + 1, DCM_DELTA);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	for (int i = 0; i < FILTERS_MAX; i++)
		assert_int_equal(remove_one(&b, i, NULL), 0);
	const int64_t n = count(&b, "", "", DELTA);
	b.storage.mono_ns = 2;
	struct dcm_budget late = { .deadline_mono_ns = 1 };
	assert_int_equal(remove_one(&b, FILTERS_MAX, &late), -ETIMEDOUT);
	struct dcm_budget cancelled = { .cancelled = 1 };
	assert_int_equal(remove_one(&b, FILTERS_MAX, &cancelled), -ECANCELED);
	assert_int_equal(filters__n(b.store->filters), FILTERS_MAX);
	assert_int_equal(count(&b, "", "", DELTA), n);
	assert_int_equal(remove_one(&b, FILTERS_MAX, NULL), 0);
	assert_true(filters__n(b.store->filters) < FILTERS_MAX);
	assert_int_equal(count(&b, "", "", DELTA), n - 1);
	bench__fini(&b);
}

/* Compaction does not take what waits for its removal along, and no filter is lost over many. */
static void test_many_removals_are_worked_off(void **state)
{
	struct bench b;
	(void)state;

	start(&b);
	write_steps(&b, 0, 200, DCM_DELTA);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(remove_one(&b, i, NULL), 0);
		assert_true(filters__n(b.store->filters) <= FILTERS_MAX);
		assert_int_equal(count(&b, "", "", DELTA), 800 - i - 1);
	}
	assert_true(filters__n(b.store->filters) > 1);
	bench__restart(&b, true);
	assert_int_equal(count(&b, "", "", DELTA), 600);
	bench__fini(&b);
}

/*
 * Whatever call or allocation fails: the rows are all there, or none is; and once it has said so,
 * none.
 */
static void try_to_remove(struct bench *b, bool *ret_failed, uint64_t at, bool memory)
{
	struct wish w;
	uint64_t n = 0;

	start(b);
	write_steps(b, 0, 4, DCM_DELTA);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
	write_steps(b, 4, 8, DCM_DELTA);
	wish(&w, "odd", "k0");
	if (memory)
		failmalloc__arm_once(at);
	else
		sim__fail(b->sim, at, FAULT_EIO, at % 2);
	int r = removal__select(b->store, &w.sel, &n, NULL);
	if (r == 0)
		removal__drain(b->store, NULL);
	*ret_failed = memory ? failmalloc__disarm() : sim__failed(b->sim);
	sim__fail(b->sim, 0, FAULT_NONE, false);
	const int64_t left = count(b, "", "", DELTA);
	assert_true(left == 28 || (r != 0 && left == 32));
	bench__restart(b, true);
	const int64_t later = count(b, "", "", DELTA);
	assert_true(later == left || (r != 0 && later == 32));
	assert_int_equal(removal__drain(b->store, NULL), 0);
	assert_int_equal(count(b, "", "", DELTA), later);
	bench__fini(b);
}

static void test_every_call_fails(void **state)
{
	bool failed = true;
	struct bench b;
	uint64_t n = 0;
	(void)state;

	while (failed)
		try_to_remove(&b, &failed, ++n, false);
	assert_true(n > 10);
}

static void test_without_memory(void **state)
{
	bool failed = true;
	struct bench b;
	uint64_t n = 0;
	(void)state;

	while (failed)
		try_to_remove(&b, &failed, ++n, true);
	assert_true(n > 50);
}

/* Bytes that are no filters keep the store closed: rows would come back. */
static void test_damaged_filters_are_refused(void **state)
{
	const struct dcm_matcher matcher = { .op = DCM_EQ, .name = STR("a"), .value = STR("bc") };
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = STR(DELTA),
					.matchers = &matcher,
					.n_matchers = 1,
					.from_ms = -5,
					.to_ms = 7 };
	const uint64_t blocks[] = { 1, 3 };
	const struct filter_parts parts = { &sel, 9, 4, 11, blocks, 2 };
	struct storage storage = { 0 };
	struct filter *f = NULL;
	struct filters *again = NULL;
	(void)state;

	storage__host(&storage);
	assert_int_equal(filter__new(&storage.host, &parts, &f, NULL), 0);
	struct filters *s = filters__of(&f, 1);
	filter__unref(f);
	struct manifest m = { .generation = 1 };
	assert_int_equal(filters__write(&m, s), 0);
	assert_int_equal(filters__read(&m, &storage.host, &again, NULL), 0);
	assert_int_equal(again->n, 1);
	assert_true(again->v[0]->lsn == 9 && again->v[0]->before_block == 4 && again->v[0]->made_ms == 11);
	assert_true(again->selects[0].from_ms == -5 && again->selects[0].to_ms == 7);
	assert_true(str__eq(again->selects[0].type, STR(DELTA)) &&
		    str__eq(again->selects[0].matchers[0].value, STR("bc")));
	assert_true(filters__list(again, 3) && !filters__list(again, 2) && !filters__list(again, 4));
	assert_true(filters__first(again, 3) == 0 && filters__first(again, 4) == 1);
	filters__unref(again);

	struct manifest_extra *extra = &m.extras.v[0];
	const uint32_t n = extra->n;
	for (extra->n = 1; extra->n < n; extra->n++)
		assert_int_equal(filters__read(&m, &storage.host, &again, NULL), -EUCLEAN);
	for (uint32_t at = 0; at < n; at++) {
		for (int bit = 0; bit < 8; bit++) {
			again = NULL;
			extra->bytes[at] ^= (uint8_t)(1 << bit);
			int r = filters__read(&m, &storage.host, &again, NULL);
			assert_true(r == 0 || r == -EUCLEAN);
			filters__unref(again);
			extra->bytes[at] ^= (uint8_t)(1 << bit);
		}
	}
	filters__unref(s);
	manifest__fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_removed_is_gone_at_once),
		cmocka_unit_test(test_a_retry_brings_nothing_back),
		cmocka_unit_test(test_a_state_that_was_replaced_stays_so),
		cmocka_unit_test(test_removal_on_a_disk_without_room_for_blocks),
		cmocka_unit_test(test_many_removals_are_worked_off),
		cmocka_unit_test(test_a_removal_has_its_patience),
		cmocka_unit_test(test_every_call_fails),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_damaged_filters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
