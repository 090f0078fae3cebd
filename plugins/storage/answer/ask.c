/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/ask.c - checks a question, has a view taken, and answers from it
 */
#include "plugins/storage/answer/ask.h"

#include <errno.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/answer/meter.h"

static void begin_view(const struct ask *a, struct view *v, const struct dcm_host *host,
		       const struct dcm_select *sel, uint32_t n_sel)
{
	view__init(v, host, sel, n_sel);
	v->crew = a->crew;
	v->stock = a->stock;
}

/* What a list, or points, of one selection look at. The view may be ended after a failure too. */
static int look(struct ask *a, struct view *v, const struct dcm_select *sel, bool points,
		struct dcm_error *err)
{
	int r = answer__check_select(sel, points, err);

	begin_view(a, v, a->host, sel, 1);
	v->names_only = true;
	v->increases = points;
	if (r < 0)
		return r;
	return meter__explain(a->take(a, v), sel->budget, err);
}

int ask__types(void *instance, const struct dcm_select *sel, dcm_type_fn each, void *ctx,
	       struct dcm_error *err)
{
	CLEANUP(view__fini) struct view v;
	int r = look(instance, &v, sel, false, err);

	return r < 0 ? r : meter__explain(answer__types(&v, each, ctx), sel->budget, err);
}

int ask__labels(void *instance, const struct dcm_select *sel, dcm_name_fn each, void *ctx,
		struct dcm_error *err)
{
	CLEANUP(view__fini) struct view v;
	int r = look(instance, &v, sel, false, err);

	return r < 0 ? r : meter__explain(answer__labels(&v, each, ctx), sel->budget, err);
}

int ask__values(void *instance, const struct dcm_select *sel, struct dcm_str name, dcm_name_fn each,
		void *ctx, struct dcm_error *err)
{
	CLEANUP(view__fini) struct view v;
	int r = look(instance, &v, sel, false, err);

	return r < 0 ? r : meter__explain(answer__values(&v, name, each, ctx), sel->budget, err);
}

int ask__series(void *instance, const struct dcm_select *sel, dcm_series_fn each, void *ctx,
		struct dcm_error *err)
{
	CLEANUP(view__fini) struct view v;
	int r = look(instance, &v, sel, false, err);

	return r < 0 ? r : meter__explain(answer__series(&v, each, ctx), sel->budget, err);
}

int ask__time_series(void *instance, const struct dcm_select *sel, int64_t step_ms,
		     const struct dcm_group_by *by, dcm_points_fn each, void *ctx, struct dcm_error *err)
{
	CLEANUP(view__fini) struct view v = { 0 };
	int r = answer__check_group_by(by, err);

	if (r == 0 && step_ms < 0)
		r = error__set(err, -EINVAL, "the step is negative");
	if (r == 0)
		r = look(instance, &v, sel, true, err);
	return r < 0 ? r : meter__explain(answer__points(&v, step_ms, by, each, ctx), sel->budget, err);
}

int ask__merge(void *instance, const struct dcm_select *sel, uint32_t n_sel,
	       const struct dcm_group_by *by, const struct dcm_host *host,
	       struct dcm_builder *answer, struct dcm_error *err)
{
	struct ask *a = instance;
	CLEANUP(view__fini) struct view v = { 0 };
	int r = answer__check_group_by(by, err);

	if (r == 0)
		r = answer__check_selects(sel, n_sel, err);
	if (r < 0)
		return r;
	begin_view(a, &v, host, sel, n_sel);
	r = a->take(a, &v);
	if (r == 0)
		r = answer__merge(&v, by, answer);
	return meter__explain(r, sel[0].budget, err);
}
