/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_revalue.c - a batch with other values is what a builder would have made of them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/batch/revalue.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/* A random change of one profile; its arrays are the caller's to free. */
static struct dcm_revalue random_change(struct random *r, const struct dcm_profile *p)
{
	struct dcm_revalue c = { .size = sizeof(c) };
	uint32_t n = 0, *temporality = calloc(16, sizeof(*temporality));
	int64_t *values;

	while (!c.columns)
		c.columns = (uint32_t)random__below(r, 1u << p->n_types);
	for (uint32_t t = 0; t < p->n_types; t++)
		if (c.columns >> t & 1)
			temporality[n++] = (uint32_t)random__below(r, 3);
	values = calloc((size_t)p->n_rows * n + 1, sizeof(*values));
	for (size_t i = 0; i < (size_t)p->n_rows * n; i++)
		values[i] = random__below(r, 2) ? (int64_t)random__below(r, 1000) - 500 : 0;
	c.temporality = temporality;
	c.values = values;
	c.time_ns = p->time_ns - (int64_t)random__below(r, 1000000);
	c.duration_ns = (int64_t)random__below(r, 1000000);
	return c;
}

/* Of each profile one or two, or none; *ret_n of them. */
static struct dcm_revalue *random_changes(struct random *r, const struct dcm_batch *b, uint32_t *ret_n)
{
	struct dcm_revalue *all = calloc(2 * b->n_profiles + 1, sizeof(*all));

	*ret_n = 0;
	for (uint32_t i = 0; i < b->n_profiles; i++)
		for (uint64_t k = random__below(r, 8) ? 1 + random__below(r, 2) : 0; k > 0; k--) {
			all[*ret_n] = random_change(r, &b->profiles[i]);
			all[(*ret_n)++].profile = i;
		}
	return all;
}

static void free_changes(struct dcm_revalue *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free((void *)(uintptr_t)all[i].temporality);
		free((void *)(uintptr_t)all[i].values);
	}
	free(all);
}

/* The oracle: the same through a builder, type by type and row by row. */
static void add_changed(struct dcm_builder *b, struct copier *c, const struct dcm_batch *src,
			const struct dcm_profile *p, const struct dcm_revalue *change)
{
	struct dcm_profile head = { .series = copier__series(c, p->series),
				    .time_ns = change->time_ns,
				    .duration_ns = change->duration_ns,
				    .period = p->period };
	struct dcm_type types[16];
	uint32_t n = 0;

	for (uint32_t t = 0; t < p->n_types; t++) {
		const struct dcm_type *from = &src->types[p->type_off + t];

		if (!(change->columns >> t & 1))
			continue;
		types[n] = (struct dcm_type){
			copier__string(c, from->name),	      copier__string(c, from->sample_type),
			copier__string(c, from->sample_unit), copier__string(c, from->period_type),
			copier__string(c, from->period_unit), change->temporality[n],
		};
		n++;
	}
	builder__profile(b, &head, types, n);
	for (uint32_t r = 0; r < p->n_rows; r++)
		builder__row(b, copier__stack(c, src->row_stacks[p->row_off + r]),
			     copier__label_set(c, src->row_labels[p->row_off + r]),
			     change->values + (size_t)r * n);
}

static struct dcm_batch *built(const struct dcm_batch *src, const struct dcm_revalue *changes, uint32_t n)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(copier__freep) struct copier *c = copier__new(src, b);
	struct dcm_batch *made = NULL;

	for (uint32_t i = 0; i < n; i++)
		add_changed(b, c, src, &src->profiles[changes[i].profile], &changes[i]);
	assert_int_equal(builder__seal(b, &made, NULL), 0);
	return made;
}

static void is_what_a_builder_makes(void **state)
{
	struct random random = { .state = 1 };
	uint64_t n_rows = 0, n_left = 0;
	uint32_t n;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *src = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
		struct dcm_revalue *changes = random_changes(&random, src, &n);
		CLEANUP(batch__unrefp) struct dcm_batch *want = built(src, changes, n);
		CLEANUP(batch__unrefp) struct dcm_batch *got = NULL;
		struct dcm_hash x, y;

		assert_int_equal(batch__revalued(src, changes, n, &got, NULL), 0);
		assert_null(batch_judge__fault(got, false));
		x = batch__content(want);
		y = batch__content(got);
		assert_true(x.lo == y.lo && x.hi == y.hi);
		assert_int_equal(got->n_profiles, n);
		for (uint32_t i = 0; i < n; i++) {
			const struct dcm_profile *from = &src->profiles[changes[i].profile];

			assert_int_equal(got->profiles[i].duration_ns, changes[i].duration_ns);
			assert_int_equal(got->profiles[i].period, from->period);
			n_rows += from->n_rows;
		}
		n_left += got->n_rows;
		free_changes(changes, n);
	}
	/* Rows of nothing but 0 were left out, and not all. */
	assert_true(n_left > n_rows / 2 && n_left < n_rows);
}

static void what_cannot_be_is_refused(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *src = random_batch__new(3, RANDOM_ONE_PROFILE);
	uint32_t n_types = src->profiles[0].n_types;
	int64_t *values = calloc((size_t)src->n_values + 1, sizeof(*values));
	uint32_t plain[16] = { 0 }, odd[16] = { 3 };
	const struct {
		struct dcm_revalue change;
		const char *why;
	} cases[] = {
		{ { .profile = 1, .columns = 1, .temporality = plain }, "no number 1" },
		{ { .columns = 0, .temporality = plain }, "none or others were to stay" },
		{ { .columns = 1u << n_types, .temporality = plain }, "none or others were to stay" },
		{ { .columns = 1, .temporality = odd }, "temporality 3 is unknown" },
		{ { .columns = 1, .temporality = plain, .duration_ns = -1 }, "a negative duration" },
	};
	struct dcm_batch *got = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dcm_revalue change = cases[i].change;
		struct dcm_error err = DCM_ERROR_INIT;

		change.values = values;
		assert_int_equal(batch__revalued(src, &change, 1, &got, &err), -EINVAL);
		assert_non_null(strstr(err.text, cases[i].why));
		assert_null(got);
	}
	free(values);
}

static void failing_memory_is_survived(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *src = random_batch__new(8, 0);
	struct random random = { .state = 2 };
	uint32_t n;
	struct dcm_revalue *changes = random_changes(&random, src, &n);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *got = NULL;
		int r = batch__revalued(src, changes, n, &got, &err);

		failmalloc__disarm();
		assert_true(r == 0 ? got != NULL : (r == -ENOMEM && !got));
		batch__unref(got);
	}
	free_changes(changes, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_what_a_builder_makes),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(failing_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
