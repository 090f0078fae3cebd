/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_local_era.c - a dictionary comes back from its records, number for number
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "plugins/storage/local/era_record.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"

enum { N_RECORDS = 6 };
DEFINE_CLEANUP(struct dict *, dict__unref);

/* All that a batch refers to, into the dictionary. */
static int import(struct dict *d, const struct dcm_batch *b)
{
	struct dict_import im;
	int r = dict_import__init(&im, d, b);

	for (uint32_t i = 0; r == 0 && i < b->n_stacks; i++)
		r = dict_import__stack(&im, i) == DCM_NONE ? -ENOMEM : 0;
	for (uint32_t i = 0; r == 0 && i < b->n_label_sets; i++)
		r = dict_import__label_set(&im, i) == DCM_NONE ? -ENOMEM : 0;
	for (uint32_t i = 0; r == 0 && i < b->n_series; i++)
		r = dict_import__series(&im, i) == DCM_NONE ? -ENOMEM : 0;
	for (uint32_t i = 0; r == 0 && i < b->n_types; i++)
		r = dict_import__type(&im, &b->types[i]) == DCM_NONE ? -ENOMEM : 0;
	dict_import__fini(&im);
	return r;
}

/* A record of what a random batch brings, on top of what is there. */
static void grow(struct dict *d, uint64_t seed, struct buf *record)
{
	struct dcm_batch *b = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
	struct dict_counts since = dict__counts(d);

	if (!d->keep_learnt) /* the first one has everything */
		since = (struct dict_counts){ .strings = 1, .label_sets = 1 };
	d->keep_learnt = true;
	d->learnt.n = 0;
	assert_int_equal(import(d, b), 0);
	assert_int_equal(era_record__encode(d, &since, d->learnt.v, d->learnt.n, record), 0);
	batch__unref(b);
}

static void same_lines(const struct dict *a, const struct dict *b, uint32_t id)
{
	const struct dict_lines *x = dict__location_at(a, id)->lines,
				*y = dict__location_at(b, id)->lines;

	assert_int_equal(x ? x->n : 0, y ? y->n : 0);
	for (uint32_t i = 0; x && i < x->n; i++) {
		assert_int_equal(x->v[i].function, y->v[i].function);
		assert_int_equal(x->v[i].column, y->v[i].column);
		assert_true(x->v[i].line == y->v[i].line);
	}
}

static void same_location(const struct dict *a, const struct dict *b, uint32_t id)
{
	const struct dict_location *x = dict__location_at(a, id), *y = dict__location_at(b, id);

	assert_true(x->hash == y->hash && x->address == y->address);
	assert_int_equal(x->mapping, y->mapping);
	assert_int_equal(x->process, y->process);
	assert_int_equal(x->addr_kind, y->addr_kind);
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->unnamed, y->unnamed);
	same_lines(a, b, id);
}

/* Entries whose structs have no holes, and no pointers. */
static void same_pool(const struct pool *a, const struct pool *b, size_t size, uint32_t from)
{
	assert_int_equal(a->n, b->n);
	for (uint32_t i = from; i < a->n; i++)
		assert_memory_equal(pool__at(a, i, size), pool__at(b, i, size), size);
}

static void same_labels(const struct dict *a, const struct dict *b, uint32_t from)
{
	assert_int_equal(a->label_sets.n, b->label_sets.n);
	for (uint32_t i = from; i < a->label_sets.n; i++) {
		const struct dict_label_set *x = dict__label_set_at(a, i),
					    *y = dict__label_set_at(b, i);

		assert_int_equal(x->n, y->n);
		for (uint32_t k = 0; k < x->n; k++) {
			assert_int_equal(x->labels[k].name, y->labels[k].name);
			assert_int_equal(x->labels[k].str, y->labels[k].str);
			assert_true(x->labels[k].num == y->labels[k].num);
			assert_int_equal(x->labels[k].unit, y->labels[k].unit);
		}
	}
}

static void same_series(const struct dict *a, const struct dict *b, uint32_t from)
{
	assert_int_equal(a->series.n, b->series.n);
	for (uint32_t i = from; i < a->series.n; i++) {
		const struct dict_series *x = dict__series_at(a, i), *y = dict__series_at(b, i);

		assert_int_equal(x->n, y->n);
		if (x->n)
			assert_memory_equal(x->pairs, y->pairs, x->n * sizeof(*x->pairs));
	}
}

/* From these numbers on. */
static void same_from(const struct dict *a, const struct dict *b, const struct dict_counts *from)
{
	assert_int_equal(a->strings.n, b->strings.n);
	for (uint32_t i = from->strings; i < a->strings.n; i++)
		assert_true(str__eq(dict__str(a, i), dict__str(b, i)));
	assert_int_equal(a->mappings.n, b->mappings.n);
	for (uint32_t i = from->mappings; i < a->mappings.n; i++)
		assert_memory_equal(POOL_AT(&a->mappings, struct dcm_mapping, i),
				    POOL_AT(&b->mappings, struct dcm_mapping, i),
				    offsetof(struct dcm_mapping, kind) + sizeof(uint32_t));
	assert_int_equal(a->functions.n, b->functions.n);
	for (uint32_t i = from->functions; i < a->functions.n; i++) {
		const struct dcm_function *x = POOL_AT(&a->functions, struct dcm_function, i);
		const struct dcm_function *y = POOL_AT(&b->functions, struct dcm_function, i);

		assert_true(x->name == y->name && x->system_name == y->system_name &&
			    x->file == y->file && x->start_line == y->start_line);
	}
	same_pool(&a->processes, &b->processes, sizeof(struct dcm_process), from->processes);
	assert_int_equal(a->locations.n, b->locations.n);
	for (uint32_t i = from->locations; i < a->locations.n; i++)
		same_location(a, b, i);
	assert_int_equal(a->nodes.n, b->nodes.n);
	for (uint32_t i = from->nodes; i < a->nodes.n; i++) {
		const struct dict_node *x = dict__node_at(a, i), *y = dict__node_at(b, i);

		assert_true(x->parent == y->parent && x->location == y->location);
	}
	assert_int_equal(a->stacks.n, b->stacks.n);
	for (uint32_t i = from->stacks; i < a->stacks.n; i++) {
		const struct dict_stack *x = dict__stack_at(a, i), *y = dict__stack_at(b, i);

		assert_true(x->leaf == y->leaf && x->n == y->n);
	}
	same_labels(a, b, from->label_sets);
	same_series(a, b, from->series);
	assert_int_equal(a->types.n, b->types.n);
	for (uint32_t i = from->types; i < a->types.n; i++)
		assert_memory_equal(&dict__type_at(a, i)->parts, &dict__type_at(b, i)->parts,
				    sizeof(struct dcm_type));
}

static const struct dict_counts nothing;

static void comes_back(void **state)
{
	(void)state;
	uint64_t lost;

	for (uint64_t seed = 0; seed < 30; seed++) {
		CLEANUP(dict__unrefp) struct dict *d = dict__new();
		CLEANUP(dict__unrefp) struct dict *back = dict__new();

		for (unsigned i = 0; i < N_RECORDS; i++) {
			struct buf record = { 0 };

			grow(d, seed * 100 + i, &record);
			assert_int_equal(era_record__decode(back, record.data, record.n, &lost), 0);
			assert_int_equal(lost, 0);
			same_from(d, back, &nothing);
			buf__fini(&record);
		}
	}
}

static void same_names(const struct dict *a, const struct dict *b)
{
	assert_int_equal(a->strings.n, b->strings.n);
	for (uint32_t i = 0; i < a->strings.n; i++)
		assert_true(str__eq(dict__str(a, i), dict__str(b, i)));
	same_labels(a, b, 0);
	same_series(a, b, 0);
	assert_int_equal(a->types.n, b->types.n);
	for (uint32_t i = 0; i < a->types.n; i++) {
		assert_true(str__eq(dict__type_at(a, i)->text, dict__type_at(b, i)->text));
		assert_int_equal(dict__lacks_type(a, i), dict__lacks_type(b, i));
	}
	for (uint32_t i = 0; i < a->series.n; i++)
		assert_int_equal(dict__lacks_series(a, i), dict__lacks_series(b, i));
}

/* The same as of the whole dictionary, with the record `left_out` lost, and nothing beside them. */
static void check_names(unsigned left_out)
{
	CLEANUP(dict__unrefp) struct dict *d = dict__new();
	CLEANUP(dict__unrefp) struct dict *all = dict__new();
	CLEANUP(dict__unrefp) struct dict *names = dict__new();
	struct dict_counts have = { 0 };

	for (unsigned i = 0; i < N_RECORDS; i++) {
		uint64_t lost = 0, lost_too = 0;
		struct dict_counts end, counts;
		struct buf record = { 0 };

		grow(d, i, &record);
		assert_int_equal(era_record__end(record.data, record.n, &end), 0);
		counts = dict__counts(d);
		assert_memory_equal(&end, &counts, sizeof(end));
		if (i != left_out) {
			assert_int_equal(era_record__decode(all, record.data, record.n, &lost), 0);
			assert_int_equal(era_record__decode_names(names, record.data, record.n,
								  &have, &lost_too),
					 0);
			assert_int_equal(lost, lost_too);
			assert_int_equal(lost > 0, i == left_out + 1);
			assert_memory_equal(&have, &counts, sizeof(have));
			same_names(all, names);
		}
		buf__fini(&record);
	}
	const struct dict_counts is = dict__counts(names);
	assert_int_equal(
		is.mappings + is.functions + is.processes + is.locations + is.nodes + is.stacks, 0);
}

static void names_alone(void **state)
{
	(void)state;
	check_names(N_RECORDS); /* none */
	check_names(1);
}

/*
 * What follows a lost record keeps its numbers; what was in it is empty, and is never taken for
 * anything.
 */
static void a_lost_record(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = dict__new();
	CLEANUP(dict__unrefp) struct dict *back = dict__new();
	struct dict_counts after_loss = { 0 };
	uint64_t lost = 0, all_lost = 0;

	for (unsigned i = 0; i < N_RECORDS; i++) {
		struct buf record = { 0 };

		grow(d, i, &record);
		if (i == 1)
			after_loss = dict__counts(d);
		else
			assert_int_equal(era_record__decode(back, record.data, record.n, &lost), 0);
		all_lost += lost;
		buf__fini(&record);
	}
	assert_true(all_lost > 0);
	same_from(d, back, &after_loss);
	for (uint32_t i = 0; i < after_loss.stacks; i++) {
		const struct dict_stack *s = dict__stack_at(back, i);
		uint32_t *locations = calloc(s->n + 1u, sizeof(*locations));

		dict__stack_locations(back, s, locations);
		free(locations);
	}
	const uint32_t n_strings = back->strings.n;

	assert_int_equal(dict__string(back, STR("surely new")), n_strings);
}

/* The stacks [leaf, caller] of two callers, and a record of what that brings. */
static void add_stacks(struct dict *d, uint32_t leaf, struct buf *record)
{
	const struct dict_counts since = dict__counts(d);
	uint32_t stack[2] = { leaf };

	for (stack[1] = 0; stack[1] < 2; stack[1]++)
		assert_int_not_equal(dict__stack(d, leaf ? stack : &stack[1], leaf ? 2 : 1), DCM_NONE);
	assert_int_equal(era_record__encode(d, &since, NULL, 0, record), 0);
}

/*
 * Of two callers that were lost nobody can say which is which; the stacks above them are two
 * nevertheless.
 */
static void lost_callers(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = dict__new();
	CLEANUP(dict__unrefp) struct dict *back = dict__new();
	struct buf callers = { 0 }, stacks = { 0 };
	uint64_t lost = 0;

	for (uint32_t i = 0; i < 3; i++) {
		const struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .address = i };

		assert_int_equal(dict__location(d, i, &l, NULL), i);
		assert_int_equal(dict__location(back, i, &l, NULL), i);
	}
	add_stacks(d, 0, &callers);
	add_stacks(d, 2, &stacks);
	assert_int_equal(era_record__decode(back, stacks.data, stacks.n, &lost), 0);
	assert_int_equal(lost, 4); /* nodes and stacks of the callers */
	assert_int_equal(back->stacks.n, d->stacks.n);
	buf__fini(&callers);
	buf__fini(&stacks);
}

/* A record that came before, or twice, does not fit. */
static void out_of_order(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = dict__new();
	CLEANUP(dict__unrefp) struct dict *back = dict__new();
	struct buf record = { 0 };
	uint64_t lost;

	grow(d, 1, &record);
	assert_int_equal(era_record__decode(back, record.data, record.n, &lost), 0);
	assert_int_equal(era_record__decode(back, record.data, record.n, &lost), -EBADMSG);
	for (size_t n = 0; n < record.n; n++) {
		CLEANUP(dict__unrefp) struct dict *cut = dict__new();
		CLEANUP(dict__unrefp) struct dict *names = dict__new();
		struct dict_counts have = { 0 };

		assert_int_equal(era_record__decode(cut, record.data, n, &lost), -EBADMSG);
		assert_int_equal(era_record__decode_names(names, record.data, n, &have, &lost), -EBADMSG);
	}
	/* Strings would say it too, but of these alone. */
	struct dict_counts have = { .stacks = 1 };
	CLEANUP(dict__unrefp) struct dict *names = dict__new();
	assert_int_equal(era_record__decode_names(names, record.data, record.n, &have, &lost), -EBADMSG);
	buf__fini(&record);
}

static void without_memory(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = dict__new();
	const struct dict_counts since = { .strings = 1, .label_sets = 1 };
	struct buf record = { 0 };
	uint64_t lost;

	grow(d, 3, &record);
	FAILMALLOC_SWEEP (i) {
		struct dict *back = dict__new();
		int r = back ? era_record__decode(back, record.data, record.n, &lost) : -ENOMEM;

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		dict__unref(back);
	}
	FAILMALLOC_SWEEP (i) {
		struct dict_counts have = { 0 };
		struct dict *names = dict__new();
		int r = names ? era_record__decode_names(names, record.data, record.n, &have, &lost)
			      : -ENOMEM;

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		dict__unref(names);
	}
	FAILMALLOC_SWEEP (i) {
		struct buf again = { 0 };
		int r = era_record__encode(d, &since, NULL, 0, &again);

		failmalloc__disarm();
		assert_true(r == 0 || (r == -ENOMEM && again.n == 0));
		buf__fini(&again);
	}
	buf__fini(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),	cmocka_unit_test(a_lost_record),
		cmocka_unit_test(names_alone),	cmocka_unit_test(lost_callers),
		cmocka_unit_test(out_of_order), cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
