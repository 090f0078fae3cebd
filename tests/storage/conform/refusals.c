/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/refusals.c - questions that make no sense, and askers who have enough
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/storage/conform/conform.h"
#include "tests/unit/random_batch.h"

static bool refused(struct trial *t, const char *what, const struct asked *a)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	int r = answers__ask(&t->subject, a, &out, &err);

	buf__fini(&out);
	if (r != -EINVAL)
		return trial__fail(t, "%s: %d, not -EINVAL", what, r);
	return err.text[0] || trial__fail(t, "%s: refused without a sentence", what);
}

/* Wrong in one way each; otherwise they would be answered. */
static bool refuses(struct trial *t)
{
	struct dcm_matcher no_regex = { .op = DCM_RE, .name = STR("comm"), .value = STR("a.*") };
	struct asked good = { .what = ASK_POINTS, .n_sel = 1, .step_ms = 1000 }, a;

	good.sel[0] = (struct dcm_select){ .size = sizeof(good.sel[0]),
					   .type = str__of(storage_random__types[0]),
					   .to_ms = INT64_MAX };
	good.by_labels[0] = good.by_labels[1] = STR("comm");
	for (unsigned what = 0; what < ASK_N; what++) {
		a = good;
		a.what = what;
		a.sel[0].matchers = &no_regex;
		a.sel[0].n_matchers = 1;
		if (!refused(t, "a matcher without a compiled regex", &a))
			return false;
		if (what < ASK_POINTS)
			continue;
		a = good;
		a.what = what;
		a.sel[0].type.n = 0;
		if (!refused(t, "a merge or time series without a type", &a))
			return false;
		a = good;
		a.what = what;
		a.by = (struct dcm_group_by){ a.by_labels, 2 };
		if (!refused(t, "a grouping by one label twice", &a))
			return false;
	}
	a = good;
	a.step_ms = -1;
	if (!refused(t, "a negative step", &a))
		return false;
	a = good;
	a.what = ASK_MERGE;
	a.n_sel = 0;
	return refused(t, "a merge of nothing", &a);
}

/* Ends each list at its first entry. */
static int stop_type(void *ctx, const struct dcm_type_info *info)
{
	(void)info;
	return ++*(int *)ctx == 1 ? 42 : 43;
}
static int stop_name(void *ctx, struct dcm_str name, uint64_t n_series)
{
	(void)name;
	(void)n_series;
	return ++*(int *)ctx == 1 ? 42 : 43;
}
static int stop_series(void *ctx, const struct dcm_label_text *labels, uint32_t n)
{
	(void)labels;
	(void)n;
	return ++*(int *)ctx == 1 ? 42 : 43;
}
static int stop_points(void *ctx, const struct dcm_points *points)
{
	(void)points;
	return ++*(int *)ctx == 1 ? 42 : 43;
}

static bool lists_end(struct trial *t)
{
	const struct dcm_storage_ops *ops = t->subject.ops;
	void *i = t->subject.instance;
	struct dcm_select all = { .size = sizeof(all), .to_ms = INT64_MAX }, one = all;
	struct dcm_str name = STR("service_name");
	struct dcm_group_by by = { &name, 1 };
	int n[5] = { 0 }, r[5];

	one.type = str__of(storage_random__types[3]);
	r[0] = ops->types(i, &all, stop_type, &n[0], NULL);
	r[1] = ops->labels(i, &all, stop_name, &n[1], NULL);
	r[2] = ops->values(i, &all, name, stop_name, &n[2], NULL);
	r[3] = ops->series(i, &all, stop_series, &n[3], NULL);
	r[4] = ops->time_series(i, &one, 1000, &by, stop_points, &n[4], NULL);
	for (unsigned k = 0; k < 5; k++)
		if (n[k] != 1 || r[k] != 42)
			return trial__fail(t, "list %u went on to entry %d and returned %d, not 42",
					   k, n[k], r[k]);
	return true;
}

bool conform__refusals(const struct trial_options *o, struct buf *ret_why)
{
	struct trial *t = trial__new(o);
	struct random r = { 1 };

	if (!t)
		abort();
	for (uint64_t i = 0; t->why.n == 0 && i < 4; i++) {
		struct dcm_batch *batch = storage_random__batch(&r, i, 0, RANDOM_BASE_NS);

		trial__write(t, &batch, 1);
		batch__unref(batch);
	}
	if (t->why.n == 0)
		(void)(refuses(t) && lists_end(t));
	return trial__end(t, ret_why);
}
