/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/lists.c - types, label names, values and series that match
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/answer/walk.h"

/* What every list begins with. */
struct look {
	struct view *view;
	struct groups groups;
	struct match match;
	struct walk walk;
	struct meter meter;
};

static void look__fini(struct look *l)
{
	walk__fini(&l->walk);
	match__fini(&l->match);
	groups__fini(&l->groups);
}

static int look__init(struct look *l, struct view *v, const struct walk_user *user)
{
	int r = groups__init(&l->groups, NULL, false);

	l->view = v;
	l->meter = (struct meter){ .host = v->host, .budget = v->sel->budget };
	if (r == 0)
		r = match__init(&l->match, v, v->sel, &l->groups);
	if (r == 0)
		r = walk__init(&l->walk, v, &l->match, &l->meter, user);
	if (r == 0)
		meter__total(&l->meter, view__rows(v, 0));
	return r;
}

/*
 * Walks every stream; `end` (may be NULL) is told of each. A stream that is settled by its series
 * alone costs time as well: the budget is looked at for each.
 */
static int look__walk(struct look *l, int (*end)(void *ctx, const struct view_stream *st), void *ctx)
{
	bool damaged = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->view->streams.n; i++) {
		r = meter__rows(&l->meter, 0);
		if (r == 0)
			r = walk__stream(&l->walk, &l->view->streams.v[i]);
		damaged |= r == -EBADMSG;
		if (r == 0 && end)
			r = end(ctx, &l->view->streams.v[i]);
		r = r == -EBADMSG ? 0 : r;
	}
	if (r == 0 && damaged)
		return -EBADMSG;
	if (r == 0)
		meter__done(&l->meter, view__rows(l->view, 0));
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Types
 */

struct type_entry {
	uint32_t type;
	struct dcm_type_info info;
};

struct types {
	struct look look;
	struct type_entry *v; /* [n] by the type's number: there are few */
	uint32_t n;
	bool counted; /* the profile at hand */
};

static void types__fini(struct types *t)
{
	look__fini(&t->look);
	free(t->v);
}

static int compare_types(const void *a, const void *b, void *ctx)
{
	const struct type_entry *x = a, *y = b;
	const struct dict *d = ctx;
	int c = str__cmp(dict__type_at(d, x->type)->text, dict__type_at(d, y->type)->text);

	if (c != 0)
		return c;
	return x->info.temporality < y->info.temporality ? -1 : x->info.temporality > y->info.temporality;
}

static void count_profiles(struct types *t, uint32_t n, int64_t first_ms, int64_t last_ms)
{
	struct dcm_type_info *info = &t->v[t->look.walk.stream->type].info;

	if (info->n_profiles == 0 || first_ms < info->first_ms)
		info->first_ms = first_ms;
	if (info->n_profiles == 0 || last_ms > info->last_ms)
		info->last_ms = last_ms;
	info->n_profiles += n;
}

static int count_span(void *ctx, const struct walk_span *s)
{
	struct types *t = ctx;
	struct walk *w = &t->look.walk;
	const struct piece *p = &w->piece->piece;

	if (!w->uniform || w->group != w->empty_group)
		return 0;
	if (w->group == MATCH_NONE)
		return 1;
	if (walk__is_whole(w, s)) {
		count_profiles(t, s->n, p->first_ms, p->last_ms);
		return 1;
	}
	int r = walk__profiles(w, PIECE_WANT_TIMES);
	if (r == 0)
		count_profiles(t, s->n, w->profiles.time_ms[s->first],
			       w->profiles.time_ms[s->first + s->n - 1]);
	return r < 0 ? r : 1;
}

static int count_rows(void *ctx, const struct walk_rows *rows)
{
	struct types *t = ctx;

	if (rows->begins)
		t->counted = false;
	if (rows->n && !t->counted) {
		t->counted = true;
		count_profiles(t, 1, rows->time_ms, rows->time_ms);
	}
	return 0;
}

static int make_types(struct types *t, const struct view *v)
{
	for (size_t i = 0; i < v->streams.n; i++)
		t->n = v->streams.v[i].type >= t->n ? v->streams.v[i].type + 1 : t->n;
	t->v = mem__zalloc(t->n, sizeof(*t->v));
	if (!t->v)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct dcm_type *type = &dict__type_at(v->dict, i)->parts;

		t->v[i].type = i;
		t->v[i].info = (struct dcm_type_info){
			.name = dict__str(v->dict, type->name),
			.sample_type = dict__str(v->dict, type->sample_type),
			.sample_unit = dict__str(v->dict, type->sample_unit),
			.period_type = dict__str(v->dict, type->period_type),
			.period_unit = dict__str(v->dict, type->period_unit),
			.temporality = type->temporality,
		};
	}
	return meter__hold(&t->look.meter, (uint64_t)t->n * sizeof(*t->v));
}

static int try_types(struct types *t, struct view *v, const struct walk_user *user)
{
	int r = look__init(&t->look, v, user);

	if (r == 0)
		r = make_types(t, v);
	return r < 0 ? r : look__walk(&t->look, NULL, NULL);
}

int answer__types(struct view *v, dcm_type_fn each, void *ctx)
{
	int r;

	do {
		CLEANUP(types__fini) struct types t = { 0 };
		const struct walk_user user = { .span = count_span, .rows = count_rows, .ctx = &t };

		r = try_types(&t, v, &user);
		if (r == 0) {
			qsort_r(t.v, t.n, sizeof(*t.v), compare_types, v->dict);
			for (uint32_t i = 0; r == 0 && i < t.n; i++)
				if (t.v[i].info.n_profiles)
					r = each(ctx, &t.v[i].info);
			return r;
		}
	} while (r == -EBADMSG);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Names and values: texts with the number of series that have them
 */

struct name_entry {
	uint64_t n_series;
	uint32_t last_series; /* counted */
};

struct names {
	struct intern texts;
	VEC(struct name_entry) v; /* [texts.n] */
};

static void names__fini(struct names *n)
{
	intern__fini(&n->texts);
	vec__fini(&n->v);
}

static int names__count(struct names *n, struct dcm_str text, uint32_t series)
{
	uint32_t id = intern__add(&n->texts, text);

	if (id == INTERN_NONE)
		return -ENOMEM;
	while (n->v.n <= id)
		if (!vec__push(&n->v, (struct name_entry){ .last_series = DCM_NONE }))
			return -ENOMEM;
	if (n->v.v[id].last_series != series) {
		n->v.v[id].last_series = series;
		n->v.v[id].n_series++;
	}
	return 0;
}

struct names_order {
	const struct names *names;
	struct meter_glance glance;
};

static int compare_texts(const void *a, const void *b, void *ctx)
{
	struct names_order *o = ctx;

	if (meter__glance(&o->glance) < 0)
		return 0;
	return str__cmp(intern__text(&o->names->texts, *(const uint32_t *)a),
			intern__text(&o->names->texts, *(const uint32_t *)b));
}

static int names__emit(const struct names *n, const struct meter *m, dcm_name_fn each, void *ctx)
{
	CLEANUP(mem__freep) uint32_t *ids = mem__zalloc(n->v.n, sizeof(*ids));
	struct names_order order = { n, { m->host, m->budget, 0, 0 } };

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->v.n; i++)
		ids[i] = i;
	qsort_r(ids, n->v.n, sizeof(*ids), compare_texts, &order);
	int r = order.glance.r;
	for (size_t i = 0; r == 0 && i < n->v.n; i++)
		if (n->v.v[ids[i]].n_series)
			r = each(ctx, intern__text(&n->texts, ids[i]), n->v.v[ids[i]].n_series);
	return r;
}

/* What a list takes from a series, and from each label set of its rows that match. */
struct harvest;
struct harvest_kind {
	int (*series)(struct harvest *h, uint32_t series);
	/* NULL: one row is enough to know that the series matches. */
	int (*label_set)(struct harvest *h, uint32_t series, const struct dict_label_set *set);
};

struct harvest {
	const struct harvest_kind *kind;
	struct dcm_str name; /* values: of this label */
	struct look look;
	struct names names;   /* labels and values: what was found */
	struct groups series; /* series: the same; groups know how to sort */
	uint32_t n_streams;
	VEC(uint32_t) seen; /* by label set: the stream (from 1) in which it was met last */
	bool taken;	    /* a profile of the stream at hand matches */
};

static void harvest__fini(struct harvest *h)
{
	look__fini(&h->look);
	names__fini(&h->names);
	groups__fini(&h->series);
	vec__fini(&h->seen);
}

/* What it has found is the question's. */
static int weigh(struct harvest *h)
{
	return meter__hold(&h->look.meter,
			   intern__bytes(&h->names.texts) + h->names.v.cap * sizeof(h->names.v.v[0]) +
				   groups__bytes(&h->series) + h->seen.cap * sizeof(h->seen.v[0]));
}

static int labels_of_series(struct harvest *h, uint32_t series)
{
	const struct dict *d = h->look.view->dict;
	const struct dict_series *s = dict__series_at(d, series);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		r = names__count(&h->names, dict__str(d, s->pairs[i].name), series);
	return r;
}

static int labels_of_set(struct harvest *h, uint32_t series, const struct dict_label_set *set)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < set->n; i++)
		r = names__count(&h->names, dict__str(h->look.view->dict, set->labels[i].name), series);
	return r;
}

static int value_of_series(struct harvest *h, uint32_t series)
{
	struct dcm_str value;

	return dict__series_label(h->look.view->dict, series, h->name, &value)
		       ? names__count(&h->names, value, series)
		       : 0;
}

static int value_of_set(struct harvest *h, uint32_t series, const struct dict_label_set *set)
{
	const struct dict *d = h->look.view->dict;
	struct dcm_str hidden;
	char buf[24];

	if (dict__series_label(d, series, h->name, &hidden))
		return 0;
	for (uint32_t i = 0; i < set->n; i++)
		if (str__eq(dict__str(d, set->labels[i].name), h->name))
			return names__count(&h->names, match__label_text(d, &set->labels[i], buf), series);
	return 0;
}

/* A label set of a row that matches. */
static int take_set(struct harvest *h, uint32_t set)
{
	if (set == DCM_NONE)
		return -ENOMEM;
	while (h->seen.n <= set)
		if (!vec__push(&h->seen, 0))
			return -ENOMEM;
	if (h->seen.v[set] == h->n_streams)
		return 0;
	h->seen.v[set] = h->n_streams;
	const int r = h->kind->label_set(h, h->look.walk.stream->series,
					 dict__label_set_at(h->look.view->dict, set));

	return r < 0 ? r : weigh(h);
}

/* Pieces that list their label sets, and pieces of which one row is enough. */
static int harvest_span(void *ctx, const struct walk_span *s)
{
	struct harvest *h = ctx;
	struct walk *w = &h->look.walk;

	if (!walk__is_whole(w, s) || !w->piece->piece.n_rows)
		return 0;
	if (!h->kind->label_set && w->uniform && w->group != MATCH_NONE) {
		h->taken = true;
		return WALK_ENOUGH;
	}
	if (!w->numbers.label_sets)
		return 0;
	bool any = false;
	for (uint32_t i = 0; i < w->numbers.n_label_sets; i++) {
		if (w->groups.v[i] == MATCH_NONE)
			continue;
		any = true;
		int r = h->kind->label_set ? take_set(h, walk__label_set(w, i)) : 0;
		if (r < 0)
			return r;
	}
	h->taken |= any;
	/* Profiles without rows may match where no row does. */
	return any || w->empty_group == MATCH_NONE;
}

static int harvest_rows(void *ctx, const struct walk_rows *rows)
{
	struct harvest *h = ctx;
	int r = 0;

	h->taken |= rows->n > 0;
	if (!h->kind->label_set)
		return h->taken ? WALK_ENOUGH : 0;
	for (uint32_t i = 0; r == 0 && i < rows->n; i++)
		r = take_set(h, rows->label_sets[i]);
	return r;
}

static int end_stream(void *ctx, const struct view_stream *st)
{
	struct harvest *h = ctx;
	int r = h->taken ? h->kind->series(h, st->series) : 0;

	h->taken = false;
	h->n_streams++;
	return r < 0 ? r : weigh(h);
}

static int try_harvest(struct harvest *h, struct view *v)
{
	const struct walk_user user = {
		.label_sets = h->kind->label_set, .span = harvest_span, .rows = harvest_rows, .ctx = h
	};
	int r = intern__init(&h->names.texts);

	h->n_streams = 1;
	if (r == 0)
		r = groups__init(&h->series, NULL, true);
	if (r == 0)
		r = look__init(&h->look, v, &user);
	return r < 0 ? r : look__walk(&h->look, end_stream, h);
}

static int list_names(struct view *v, const struct harvest_kind *kind, struct dcm_str name,
		      dcm_name_fn each, void *ctx)
{
	int r;

	do {
		CLEANUP(harvest__fini) struct harvest h = { .kind = kind, .name = name };

		r = try_harvest(&h, v);
		if (r == 0)
			return names__emit(&h.names, &h.look.meter, each, ctx);
	} while (r == -EBADMSG);
	return r;
}

int answer__labels(struct view *v, dcm_name_fn each, void *ctx)
{
	static const struct harvest_kind kind = { labels_of_series, labels_of_set };

	return list_names(v, &kind, STR(""), each, ctx);
}

int answer__values(struct view *v, struct dcm_str name, dcm_name_fn each, void *ctx)
{
	static const struct harvest_kind kind = { value_of_series, value_of_set };

	return list_names(v, &kind, name, each, ctx);
}

/* -------------------------------------------------------------------------------------------------
 * Series
 */

static int series_itself(struct harvest *h, uint32_t series)
{
	return groups__find_or_make(&h->series, NULL, series) == MATCH_NONE ? -ENOMEM : 0;
}

static int emit_series(struct harvest *h, dcm_series_fn each, void *ctx)
{
	const struct dict *d = h->look.view->dict;
	const struct groups *g = &h->series;
	CLEANUP(mem__freep) uint32_t *order = NULL;
	VEC(struct dcm_label_text) labels = { 0 };
	int r = groups__sort(g, d, h->look.meter.host, h->look.meter.budget, &order);

	for (size_t i = 0; r == 0 && i < g->v.n; i++) {
		const struct dict_series *series = dict__series_at(d, g->v.v[order[i]].series);

		labels.n = 0;
		if (!vec__reserve(&labels, series->n))
			r = -ENOMEM;
		for (uint32_t k = 0; r == 0 && k < series->n; k++)
			labels.v[labels.n++] =
				(struct dcm_label_text){ dict__str(d, series->pairs[k].name),
							 dict__str(d, series->pairs[k].value) };
		if (r == 0)
			r = each(ctx, labels.v, series->n);
	}
	vec__fini(&labels);
	return r;
}

int answer__series(struct view *v, dcm_series_fn each, void *ctx)
{
	static const struct harvest_kind kind = { .series = series_itself };
	int r;

	do {
		CLEANUP(harvest__fini) struct harvest h = { .kind = &kind };

		r = try_harvest(&h, v);
		if (r == 0)
			return emit_series(&h, each, ctx);
	} while (r == -EBADMSG);
	return r;
}
