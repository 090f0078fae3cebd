/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/points.c - time series: sums by step and group
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/adder.h"
#include "plugins/storage/answer/answer.h"

struct points {
	struct adder adder; /* first */
	int64_t step_ms;
	/* of the walk */
	uint64_t mark;		   /* of the profile at hand */
	bool begun;		   /* there is a step at hand */
	int64_t begin_ms, last_ms; /* its first and last millisecond */
	uint64_t n_profiles;	   /* of the stream in it */
	uint32_t last;		   /* sum that was asked for */
	uint32_t run;		   /* how many profiles a step is likely to have */
};

static void points__fini(struct points *p)
{
	adder__fini(&p->adder);
}

/* A gauge's values are divided by the number of its profiles in the step. */
static void end_step(struct points *pts)
{
	if (pts->adder.gauge && pts->begun)
		sums__settle(&pts->adder.sums, 0, pts->n_profiles);
	pts->begun = false;
	pts->n_profiles = 0;
}

/* Goes to the step that holds the time. */
static inline void enter_step(struct points *pts, int64_t time_ms)
{
	const int64_t step = pts->step_ms > 0 ? pts->step_ms : 1;
	int64_t q;

	if (pts->begun && time_ms >= pts->begin_ms && time_ms <= pts->last_ms)
		return;
	const bool next = pts->begun && time_ms > pts->last_ms && time_ms - step <= pts->last_ms;
	end_step(pts);
	pts->begun = true;
	if (next && pts->last_ms < INT64_MAX - step) {
		/* Most often it is the one behind. */
		pts->begin_ms = pts->last_ms + 1;
		pts->last_ms += step;
		return;
	}
	q = time_ms / step - (time_ms % step < 0);
	/* The step around the smallest of all times begins before it. */
	if (__builtin_mul_overflow(q, step, &pts->begin_ms))
		pts->begin_ms = INT64_MIN;
	if (__builtin_add_overflow(pts->begin_ms, step - 1, &pts->last_ms))
		pts->last_ms = INT64_MAX;
}

/*
 * The sum of the group in the step at hand; UINT32_MAX when memory ran out. Streams go through the
 * same steps one after the other, so the next one is often where it was for the stream before.
 */
static inline uint32_t find_sum(struct points *pts, uint32_t group)
{
	const uint64_t key = (uint64_t)pts->begin_ms;
	const uint32_t next = pts->last + 1;

	if (next < pts->adder.sums.v.n && pts->adder.sums.v.v[next].key == key &&
	    pts->adder.sums.v.v[next].group == group)
		pts->last = next;
	else
		pts->last = sums__find(&pts->adder.sums, group, key);
	return pts->last;
}

/* To the step at hand. 0 or -ENOMEM. */
static int add(struct points *pts, uint32_t group, __int128 value)
{
	const uint64_t key = (uint64_t)pts->begin_ms;

	return pts->adder.gauge ? sums__add_part(&pts->adder.sums, group, key, value)
				: sums__add_wide(&pts->adder.sums, 0, group, key, value);
}

/* The profile at hand, once a group. */
static int count(struct points *pts, uint32_t group, int64_t duration_ns)
{
	const uint32_t at = find_sum(pts, group);

	if (at == UINT32_MAX)
		return -ENOMEM;
	struct sum *s = &pts->adder.sums.v.v[at];
	if (s->profile_mark == pts->mark)
		return 0;
	s->profile_mark = pts->mark;
	s->n_profiles++;
	if (__builtin_add_overflow(s->duration_ns, duration_ns, &s->duration_ns))
		s->duration_ns = INT64_MAX;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Pieces at once: totals instead of rows
 */

/*
 * Profiles [first, end) of the piece: those that fall into one step, and what they add up to. All
 * of one group.
 */
struct step_span {
	uint32_t first, end;
	int64_t total;
};

static int64_t duration_of(const struct walk *w, const struct step_span *s)
{
	const struct piece *p = &w->piece->piece;
	int64_t duration_ns = 0;

	if (p->same_spans)
		return __builtin_mul_overflow(p->duration_ns, (int64_t)(s->end - s->first), &duration_ns)
			       ? INT64_MAX
			       : duration_ns;
	for (uint32_t i = s->first; i < s->end; i++)
		if (__builtin_add_overflow(duration_ns, w->profiles.duration_ns[i], &duration_ns))
			return INT64_MAX;
	return duration_ns;
}

/* To the step at hand. */
static int add_step(struct points *pts, const struct step_span *s)
{
	const struct walk *w = pts->adder.walk;
	const uint32_t at = find_sum(pts, w->group);

	if (at == UINT32_MAX)
		return -ENOMEM;
	struct sum *sum = &pts->adder.sums.v.v[at];
	sum->n_profiles += s->end - s->first;
	if (__builtin_add_overflow(sum->duration_ns, duration_of(w, s), &sum->duration_ns))
		sum->duration_ns = INT64_MAX;
	pts->n_profiles += s->end - s->first;
	if (pts->adder.gauge)
		return sums__add_part(&pts->adder.sums, w->group, sum->key, s->total);
	pts->adder.sums.totals.v[at] += (__int128)s->total * (1 << SUMS_FRACTION_BITS);
	return 0;
}

/* The first of n times behind `first` that is after last_ms; n when none is. */
static uint32_t first_after(const int64_t *time_ms, uint32_t first, uint32_t n, int64_t last_ms)
{
	uint32_t low = first + 1, reach = 1;

	while (n - low > reach && time_ms[low + reach] <= last_ms) {
		low += reach + 1;
		reach *= 2;
	}
	for (uint32_t high = n - low > reach ? low + reach : n; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		if (time_ms[middle] <= last_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The same, looked for where it would be if *run times from `first` on were not after last_ms.
 * Profiles come at a steady pace, so it is near there, and which of the four around it is the one is
 * found without a branch, which nobody could foresee where profiles are due at the border of a step.
 * *run goes half the way to what was found elsewhere.
 */
static inline uint32_t end_of_run(const int64_t *time_ms, uint32_t first, uint32_t n,
				  int64_t last_ms, uint32_t *run)
{
	const uint32_t ahead = *run > 3 ? *run - 2 : 1;

	if (n - first >= ahead + 4) {
		const int64_t *t = time_ms + first + ahead;
		const uint32_t more = (uint32_t)(t[0] <= last_ms) + (uint32_t)(t[1] <= last_ms) +
				      (uint32_t)(t[2] <= last_ms) + (uint32_t)(t[3] <= last_ms);

		if (more < 4 && (more > 0 || ahead == 1))
			return first + ahead + more;
	}
	const uint32_t end = first_after(time_ms, first, n, last_ms);
	*run = (*run + end - first + 1) / 2;
	return end;
}

/* Profiles [first, end) of the piece, run by run, one a step. */
static int add_steps(struct points *pts, uint32_t first, uint32_t end)
{
	const struct piece_profiles *p = &pts->adder.walk->profiles;
	struct step_span s = { .end = first };
	uint32_t run = pts->run;
	int r = 0;

	while (r == 0 && s.end < end) {
		s.first = s.end;
		enter_step(pts, p->time_ms[s.first]);
		s.end = end_of_run(p->time_ms, s.first, end, pts->last_ms, &run);
		s.total = (int64_t)((p->before[s.end] - p->before[s.first]) * p->unit);
		r = add_step(pts, &s);
	}
	pts->run = run;
	return r;
}

static int add_span(void *ctx, const struct walk_span *s)
{
	struct points *pts = ctx;
	struct walk *w = pts->adder.walk;
	const bool same = w->piece->piece.same_spans;
	int r = 0;

	/* A profile without rows has to be told from others where it goes another way. */
	if (!w->uniform || w->group != w->empty_group)
		return 0;
	if (w->group == MATCH_NONE && !pts->adder.gauge)
		return 1;
	if (w->group == MATCH_NONE)
		return 0;
	r = walk__profiles(w, PIECE_WANT_TIMES | PIECE_WANT_TOTALS | (same ? 0 : PIECE_WANT_SPANS));
	if (r < 0 || !w->profiles.before)
		return r;
	r = add_steps(pts, s->first, s->first + s->n);
	return r < 0 ? r : 1;
}

/* -------------------------------------------------------------------------------------------------
 * Rows
 */

static int add_rows(void *ctx, const struct walk_rows *rows)
{
	struct points *pts = ctx;
	int r = 0;

	enter_step(pts, rows->time_ms);
	if (rows->begins) {
		pts->mark++;
		pts->n_profiles++;
	}
	for (uint32_t i = 0, end; r == 0 && i < rows->n; i = end) {
		__int128 sum = 0;

		for (end = i; end < rows->n && rows->groups[end] == rows->groups[i]; end++)
			sum += rows->values[end];
		r = count(pts, rows->groups[i], rows->duration_ns);
		if (r == 0)
			r = add(pts, rows->groups[i], sum);
	}
	return r;
}

static void end_stream(struct adder *a)
{
	end_step((struct points *)a);
}

/* -------------------------------------------------------------------------------------------------
 * Several that add up
 */

static void free_points(struct adder *a)
{
	struct points *pts = (struct points *)a;

	if (pts)
		points__fini(pts);
	free(pts);
}

static const struct adder_ops ops;

static int points__init(struct points *pts, struct view *v, int64_t step_ms,
			const struct dcm_group_by *by)
{
	const struct adder_init init = { .ops = &ops,
					 .view = v,
					 .by = by,
					 .by_series = step_ms == 0 && (!by || by->n == 0),
					 .n_values = 1 };

	*pts = (struct points){ .step_ms = step_ms };
	return adder__init(&pts->adder, &init);
}

static struct adder *fork_points(const struct adder *a)
{
	struct points *pts = NEW(struct points);

	if (pts && points__init(pts, a->view, ((const struct points *)a)->step_ms, a->groups.by) < 0) {
		free_points(&pts->adder);
		return NULL;
	}
	return pts ? &pts->adder : NULL;
}

/* Sums have all that there is. */
static int join_points(struct adder *a, const struct adder *from, const uint32_t *groups)
{
	(void)a;
	(void)from;
	(void)groups;
	return 0;
}

static const struct adder_ops ops = {
	.user = { .increases = true, .columns = PIECE_WANT_TOTALS, .span = add_span, .rows = add_rows },
	.fork = fork_points,
	.free = free_points,
	.end = end_stream,
	.join = join_points,
};

/* -------------------------------------------------------------------------------------------------
 * The answer
 */

struct ordered {
	uint32_t rank; /* of the group */
	uint32_t sum;
	int64_t t_ms;
};

static int compare_ordered(const void *a, const void *b, void *ctx)
{
	const struct ordered *x = a, *y = b;

	if (meter__glance(ctx) < 0)
		return 0;
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
	const struct group *g = &pts->adder.groups.v.v[group];

	if (!pts->adder.groups.by_series) {
		for (uint32_t i = 0; i < pts->adder.groups.by->n; i++)
			labels[i] = (struct dcm_label_text){ pts->adder.groups.by->labels[i],
							     intern__text(&pts->adder.groups.texts,
									  g->values[i]) };
		return pts->adder.groups.by->n;
	}
	const struct dict_series *s = dict__series_at(pts->adder.view->dict, g->series);
	for (uint32_t i = 0; i < s->n; i++)
		labels[i] = (struct dcm_label_text){ dict__str(pts->adder.view->dict, s->pairs[i].name),
						     dict__str(pts->adder.view->dict, s->pairs[i].value) };
	return s->n;
}

static size_t most_labels(const struct points *pts)
{
	size_t n = pts->adder.groups.by->n;

	for (size_t i = 0; pts->adder.groups.by_series && i < pts->adder.view->streams.n; i++) {
		const struct dict_series *s = dict__series_at(pts->adder.view->dict,
							      pts->adder.view->streams.v[i].series);
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
		const struct sum *s = &pts->adder.sums.v.v[o[i].sum];

		c->t_ms[i] = o[i].t_ms;
		c->value[i] = sums__value(pts->adder.sums.totals.v[o[i].sum]);
		c->duration_ns[i] = s->duration_ns;
		c->n_profiles[i] = s->n_profiles;
	}
	return each(ctx, &out);
}

static int emit(const struct points *pts, dcm_points_fn each, void *ctx)
{
	size_t n = pts->adder.sums.v.n;
	CLEANUP(columns__fini) struct columns c = { 0 };
	const struct view *v = pts->adder.view;
	struct meter_glance glance = { v->host, v->sel->budget, 0, 0 };
	CLEANUP(mem__freep) uint32_t *groups = NULL;
	CLEANUP(mem__freep) uint32_t *ranks = mem__zalloc(pts->adder.groups.v.n, sizeof(*ranks));
	CLEANUP(mem__freep) struct ordered *o = mem__zalloc(n, sizeof(*o));

	if (!ranks || !o || columns__init(&c, n, most_labels(pts)) < 0)
		return -ENOMEM;
	int r = groups__sort(&pts->adder.groups, v->dict, v->host, v->sel->budget, &groups);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < pts->adder.groups.v.n; i++)
		ranks[groups[i]] = i;
	for (uint32_t i = 0; i < n; i++)
		o[i] = (struct ordered){ ranks[pts->adder.sums.v.v[i].group], i,
					 (int64_t)pts->adder.sums.v.v[i].key };
	qsort_r(o, n, sizeof(*o), compare_ordered, &glance);
	r = glance.r;
	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		for (end = i; end < n && o[end].rank == o[i].rank; end++)
			;
		r = emit_group(pts, groups[o[i].rank], o + i, end - i, &c, each, ctx);
	}
	return r;
}

int answer__points(struct view *v, int64_t step_ms, const struct dcm_group_by *by,
		   dcm_points_fn each, void *ctx)
{
	int r;

	do {
		CLEANUP(points__fini) struct points pts;

		r = points__init(&pts, v, step_ms, by);
		if (r == 0)
			r = adder__add(&pts.adder, 0);
		if (r == 0)
			return emit(&pts, each, ctx);
	} while (view__asks_again(v, r));
	return r;
}
