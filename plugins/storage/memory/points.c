/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/points.c - time series: sums by step and group
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/memory/questions.h"
#include "plugins/storage/memory/sums.h"

struct points {
	struct view view;
	struct groups groups;
	struct sums sums;
	int64_t step_ms;
	uint64_t mark; /* of the profile at hand, counted from 1 */
	const struct profile *marked;
	uint64_t time_key;
};

static void points__fini(struct points *p)
{
	view__fini(&p->view);
	groups__fini(&p->groups);
	sums__fini(&p->sums);
}

static int64_t bucket_of(int64_t time_ms, int64_t step_ms)
{
	if (step_ms <= 0)
		return time_ms;
	int64_t q = time_ms / step_ms;
	if (time_ms % step_ms < 0)
		q--;
	return q * step_ms;
}

static int count_profile(void *ctx, uint32_t group, const struct profile *p)
{
	struct points *pts = ctx;
	uint32_t at = sums__find(&pts->sums, group, pts->time_key);

	if (at == UINT32_MAX)
		return -ENOMEM;
	if (pts->marked != p) {
		pts->marked = p;
		pts->mark++;
	}
	struct sum *s = &pts->sums.v.v[at];
	if (s->profile_mark == pts->mark)
		return 0;
	s->profile_mark = pts->mark;
	s->n_profiles++;
	if (__builtin_add_overflow(s->duration_ns, p->duration_ns, &s->duration_ns))
		s->duration_ns = INT64_MAX;
	return 0;
}

/* The stream's profiles, step by step. */
static int add_stream(struct points *pts, struct match *match, const struct view_stream *st,
		      struct meter *meter)
{
	struct sums_part part = {
		.sums = &pts->sums,
		.match = match,
		.stream = st,
		.by_time = true,
		.taken = count_profile,
		.ctx = pts,
	};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < st->n; i += part.n) {
		int64_t bucket = bucket_of(view__profile(&pts->view, st, i)->time_ms, pts->step_ms);

		part.first = i;
		part.n = 1;
		while (i + part.n < st->n && bucket_of(view__profile(&pts->view, st, i + part.n)->time_ms,
						       pts->step_ms) == bucket)
			part.n++;
		part.time_key = pts->time_key = (uint64_t)bucket;
		r = sums__part(&part, meter);
		sums__settle(&pts->sums, 0, st->temporality == DCM_GAUGE ? part.n : 0);
	}
	return r;
}

static int add_all(struct points *pts, const struct dcm_select *sel, const struct dcm_host *host)
{
	CLEANUP(match__fini) struct match match = { 0 };
	struct meter meter = { .host = host, .budget = sel->budget };
	int r = match__init(&match, &pts->view, sel, host, &pts->groups);

	meter__total(&meter, pts->view.n_rows);
	for (size_t i = 0; r == 0 && i < pts->view.streams.n; i++) {
		r = match__stream(&match, &pts->view.streams.v[i]);
		if (r == 1)
			r = add_stream(pts, &match, &pts->view.streams.v[i], &meter);
		meter.bytes = 0;
		if (r == 0)
			r = meter__charge(&meter, sums__bytes(&pts->sums));
	}
	if (r == 0)
		meter__done(&meter, pts->view.n_rows);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * The answer
 */

struct ordered {
	uint32_t rank; /* of the group */
	uint32_t sum;
	int64_t t_ms;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->t_ms < y->t_ms ? -1 : x->t_ms > y->t_ms;
}

/* One group's columns, as large as the longest. */
struct columns {
	int64_t *t_ms, *value, *duration_ns;
	uint32_t *n_profiles;
	struct dcm_label_text *labels;
};

static void columns__fini(struct columns *c)
{
	free(c->t_ms);
	free(c->value);
	free(c->duration_ns);
	free(c->n_profiles);
	free(c->labels);
}

static int columns__init(struct columns *c, size_t n, size_t n_labels)
{
	c->t_ms = mem__zalloc(n, sizeof(*c->t_ms));
	c->value = mem__zalloc(n, sizeof(*c->value));
	c->duration_ns = mem__zalloc(n, sizeof(*c->duration_ns));
	c->n_profiles = mem__zalloc(n, sizeof(*c->n_profiles));
	c->labels = mem__zalloc(n_labels, sizeof(*c->labels));
	return c->t_ms && c->value && c->duration_ns && c->n_profiles && c->labels ? 0 : -ENOMEM;
}

static uint32_t fill_labels(const struct points *pts, uint32_t group, struct dcm_label_text *labels)
{
	const struct group *g = &pts->groups.v.v[group];

	if (!pts->groups.by_series) {
		for (uint32_t i = 0; i < pts->groups.by->n; i++)
			labels[i] = (struct dcm_label_text){ pts->groups.by->labels[i],
							     intern__text(&pts->groups.texts,
									  g->values[i]) };
		return pts->groups.by->n;
	}
	const struct dict_series *s = dict__series_at(pts->view.dict, g->series);
	for (uint32_t i = 0; i < s->n; i++)
		labels[i] = (struct dcm_label_text){ dict__str(pts->view.dict, s->pairs[i].name),
						     dict__str(pts->view.dict, s->pairs[i].value) };
	return s->n;
}

static size_t most_labels(const struct points *pts)
{
	size_t n = pts->groups.by->n;

	for (size_t i = 0; pts->groups.by_series && i < pts->view.streams.n; i++) {
		const struct dict_series *s = dict__series_at(pts->view.dict,
							      pts->view.streams.v[i].series);
		n = s->n > n ? s->n : n;
	}
	return n;
}

static int emit_group(const struct points *pts, uint32_t group, const struct ordered *o, size_t n,
		      struct columns *c, dcm_points_fn each, void *ctx)
{
	struct dcm_points out = {
		.labels = c->labels,
		.n_labels = fill_labels(pts, group, c->labels),
		.n = (uint32_t)n,
		.t_ms = c->t_ms,
		.value = c->value,
		.duration_ns = c->duration_ns,
		.n_profiles = c->n_profiles,
	};

	for (size_t i = 0; i < n; i++) {
		const struct sum *s = &pts->sums.v.v[o[i].sum];

		c->t_ms[i] = o[i].t_ms;
		c->value[i] = sums__value(&pts->sums, o[i].sum, 0);
		c->duration_ns[i] = s->duration_ns;
		c->n_profiles[i] = s->n_profiles;
	}
	return each(ctx, &out);
}

static int emit(const struct points *pts, dcm_points_fn each, void *ctx)
{
	size_t n = pts->sums.v.n;
	CLEANUP(columns__fini) struct columns c = { 0 };
	CLEANUP(mem__freep) uint32_t *groups = groups__sorted(&pts->groups, pts->view.dict);
	CLEANUP(mem__freep) uint32_t *ranks = mem__zalloc(pts->groups.v.n, sizeof(*ranks));
	CLEANUP(mem__freep) struct ordered *o = mem__zalloc(n, sizeof(*o));

	if (!groups || !ranks || !o || columns__init(&c, n, most_labels(pts)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < pts->groups.v.n; i++)
		ranks[groups[i]] = i;
	for (uint32_t i = 0; i < n; i++)
		o[i] = (struct ordered){ ranks[pts->sums.v.v[i].group], i, (int64_t)pts->sums.v.v[i].key };
	qsort(o, n, sizeof(*o), compare_ordered);

	int r = 0;
	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		for (end = i; end < n && o[end].rank == o[i].rank; end++)
			;
		r = emit_group(pts, groups[o[i].rank], o + i, end - i, &c, each, ctx);
	}
	return r;
}

int questions__points(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      int64_t step_ms, const struct dcm_group_by *by, dcm_points_fn each, void *ctx)
{
	CLEANUP(points__fini) struct points pts = { .step_ms = step_ms };
	int r = view__init(&pts.view, s, sel, 1);

	sums__init(&pts.sums, 1);
	if (r == 0)
		r = groups__init(&pts.groups, by, step_ms == 0 && (!by || by->n == 0));
	if (r == 0)
		r = add_all(&pts, sel, host);
	return r == 0 ? emit(&pts, each, ctx) : r;
}
