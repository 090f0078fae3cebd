/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/lists.c - types, label names, values and series that match
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/memory/match.h"
#include "plugins/storage/memory/questions.h"

/* What every list begins with. */
struct look {
	struct view view;
	struct groups groups;
	struct match match;
	struct meter meter;
};

static void look__fini(struct look *l)
{
	match__fini(&l->match);
	groups__fini(&l->groups);
	view__fini(&l->view);
}

static int look__init(struct look *l, struct store *s, const struct dcm_host *host,
		      const struct dcm_select *sel)
{
	int r = view__init(&l->view, s, sel, 1);

	l->meter = (struct meter){ .host = host, .budget = sel->budget };
	if (r == 0)
		r = groups__init(&l->groups, NULL, false);
	if (r == 0)
		r = match__init(&l->match, &l->view, sel, host, &l->groups);
	if (r == 0)
		meter__total(&l->meter, l->view.n_rows);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Types
 */

struct type_entry {
	uint32_t type;
	struct dcm_type_info info;
};

static int compare_types(const void *a, const void *b, void *ctx)
{
	const struct type_entry *x = a, *y = b;
	const struct dict *d = ctx;
	int c = str__cmp(dict__type_at(d, x->type)->text, dict__type_at(d, y->type)->text);

	if (c != 0)
		return c;
	return x->info.temporality < y->info.temporality ? -1 : x->info.temporality > y->info.temporality;
}

static void count_type(struct type_entry *e, const struct profile *p)
{
	if (e->info.n_profiles == 0 || p->time_ms < e->info.first_ms)
		e->info.first_ms = p->time_ms;
	if (e->info.n_profiles == 0 || p->time_ms > e->info.last_ms)
		e->info.last_ms = p->time_ms;
	e->info.n_profiles++;
}

/* All types of the dictionary, by id: there are few. */
static struct type_entry *make_types(const struct dict *d, uint32_t n)
{
	struct type_entry *v = mem__zalloc(n, sizeof(*v));

	for (uint32_t i = 0; v && i < n; i++) {
		const struct dcm_type *t = &dict__type_at(d, i)->parts;

		v[i].type = i;
		v[i].info = (struct dcm_type_info){
			.name = dict__str(d, t->name),
			.sample_type = dict__str(d, t->sample_type),
			.sample_unit = dict__str(d, t->sample_unit),
			.period_type = dict__str(d, t->period_type),
			.period_unit = dict__str(d, t->period_unit),
			.temporality = t->temporality,
		};
	}
	return v;
}

int questions__types(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		     dcm_type_fn each, void *ctx)
{
	CLEANUP(look__fini) struct look l = { 0 };
	uint32_t n = 0;
	int r = look__init(&l, s, host, sel);

	for (size_t i = 0; i < l.view.streams.n; i++)
		n = l.view.streams.v[i].type >= n ? l.view.streams.v[i].type + 1 : n;
	CLEANUP(mem__freep) struct type_entry *types = r == 0 ? make_types(l.view.dict, n) : NULL;
	if (r == 0 && !types)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < l.view.streams.n; i++) {
		const struct view_stream *st = &l.view.streams.v[i];

		r = match__stream(&l.match, st);
		for (uint32_t j = 0; r == 1 && j < st->n; j++) {
			const struct profile *p = view__profile(&l.view, st, j);
			int taken = match__profile(&l.match, p);

			if (taken == 1)
				count_type(&types[st->type], p);
			r = taken < 0 ? taken : meter__rows(&l.meter, p->n_rows) ?: 1;
		}
		r = r == 1 ? 0 : r;
	}
	if (r < 0)
		return r;
	meter__done(&l.meter, l.view.n_rows);
	qsort_r(types, n, sizeof(*types), compare_types, l.view.dict);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (types[i].info.n_profiles)
			r = each(ctx, &types[i].info);
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

static int names__init(struct names *n)
{
	return intern__init(&n->texts);
}

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

static int compare_texts(const void *a, const void *b, void *ctx)
{
	const struct names *n = ctx;

	return str__cmp(intern__text(&n->texts, *(const uint32_t *)a),
			intern__text(&n->texts, *(const uint32_t *)b));
}

static int names__emit(struct names *n, dcm_name_fn each, void *ctx)
{
	CLEANUP(mem__freep) uint32_t *ids = mem__zalloc(n->v.n, sizeof(*ids));
	int r = 0;

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->v.n; i++)
		ids[i] = i;
	qsort_r(ids, n->v.n, sizeof(*ids), compare_texts, n);
	for (size_t i = 0; r == 0 && i < n->v.n; i++)
		if (n->v.v[ids[i]].n_series)
			r = each(ctx, intern__text(&n->texts, ids[i]), n->v.v[ids[i]].n_series);
	return r;
}

/* What a list of texts takes from a series, and from each label set of its rows that match. */
struct harvest {
	struct names names;
	const struct dict *dict;
	struct dcm_str name; /* values: of this label */
	int (*series)(struct harvest *h, uint32_t series);
	int (*label_set)(struct harvest *h, uint32_t series, const struct dict_label_set *set);
};

static int labels_of_series(struct harvest *h, uint32_t series)
{
	const struct dict_series *s = dict__series_at(h->dict, series);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		r = names__count(&h->names, dict__str(h->dict, s->pairs[i].name), series);
	return r;
}

static int labels_of_set(struct harvest *h, uint32_t series, const struct dict_label_set *set)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < set->n; i++)
		r = names__count(&h->names, dict__str(h->dict, set->labels[i].name), series);
	return r;
}

static int value_of_series(struct harvest *h, uint32_t series)
{
	struct dcm_str value;

	return dict__series_label(h->dict, series, h->name, &value)
		       ? names__count(&h->names, value, series)
		       : 0;
}

static int value_of_set(struct harvest *h, uint32_t series, const struct dict_label_set *set)
{
	struct dcm_str hidden;
	char buf[24];

	if (dict__series_label(h->dict, series, h->name, &hidden))
		return 0;
	for (uint32_t i = 0; i < set->n; i++)
		if (str__eq(dict__str(h->dict, set->labels[i].name), h->name))
			return names__count(&h->names,
					    match__label_text(h->dict, &set->labels[i], buf), series);
	return 0;
}

/* One profile's rows; *taken is set when one matches. */
static int harvest_profile(struct harvest *h, struct look *l, uint32_t series,
			   const struct profile *p, bool *taken)
{
	uint32_t group;
	int r = 0;

	if (p->n_rows == 0) {
		r = match__row(&l->match, 0, &group);
		*taken |= r == 0 && group != MATCH_NONE;
	}
	for (uint32_t i = 0; r == 0 && i < p->n_rows; i++) {
		bool is_new = match__is_new(&l->match, p->rows[i].labels);

		r = match__row(&l->match, p->rows[i].labels, &group);
		if (r < 0 || group == MATCH_NONE)
			continue;
		*taken = true;
		if (is_new)
			r = h->label_set(h, series, dict__label_set_at(h->dict, p->rows[i].labels));
	}
	return r;
}

static int harvest(struct harvest *h, struct store *s, const struct dcm_host *host,
		   const struct dcm_select *sel, dcm_name_fn each, void *ctx)
{
	CLEANUP(look__fini) struct look l = { 0 };
	int r = look__init(&l, s, host, sel);

	h->dict = l.view.dict;
	if (r == 0)
		r = names__init(&h->names);
	for (size_t i = 0; r == 0 && i < l.view.streams.n; i++) {
		const struct view_stream *st = &l.view.streams.v[i];
		bool taken = false;

		r = match__stream(&l.match, st);
		if (r <= 0)
			continue;
		r = 0;
		for (uint32_t j = 0; r == 0 && j < st->n; j++) {
			const struct profile *p = view__profile(&l.view, st, j);

			r = harvest_profile(h, &l, st->series, p, &taken);
			r = r == 0 ? meter__rows(&l.meter, p->n_rows) : r;
		}
		if (r == 0 && taken)
			r = h->series(h, st->series);
	}
	if (r == 0) {
		meter__done(&l.meter, l.view.n_rows);
		r = names__emit(&h->names, each, ctx);
	}
	names__fini(&h->names);
	return r;
}

int questions__labels(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      dcm_name_fn each, void *ctx)
{
	struct harvest h = { .series = labels_of_series, .label_set = labels_of_set };

	return harvest(&h, s, host, sel, each, ctx);
}

int questions__values(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      struct dcm_str name, dcm_name_fn each, void *ctx)
{
	struct harvest h = { .name = name, .series = value_of_series, .label_set = value_of_set };

	return harvest(&h, s, host, sel, each, ctx);
}

/* -------------------------------------------------------------------------------------------------
 * Series
 */

/* Every series of which a profile matches becomes a group; groups know how to sort. */
static int collect_series(struct look *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->view.streams.n; i++) {
		const struct view_stream *st = &l->view.streams.v[i];
		int taken = 0;

		r = match__stream(&l->match, st);
		for (uint32_t j = 0; r == 1 && taken == 0 && j < st->n; j++) {
			taken = match__profile(&l->match, view__profile(&l->view, st, j));
			r = taken < 0 ? taken : meter__rows(&l->meter, view__profile(&l->view, st, j)->n_rows) ?: 1;
		}
		r = r == 1 ? 0 : r;
	}
	return r;
}

int questions__series(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      dcm_series_fn each, void *ctx)
{
	CLEANUP(look__fini) struct look l = { 0 };
	VEC(struct dcm_label_text) labels = { 0 };
	int r = look__init(&l, s, host, sel);

	l.groups.by_series = true;
	if (r == 0)
		r = collect_series(&l);
	CLEANUP(mem__freep)
	uint32_t *order = r == 0 ? groups__sorted(&l.groups, l.view.dict) : NULL;
	if (r == 0 && !order)
		r = -ENOMEM;
	meter__done(&l.meter, l.view.n_rows);
	for (size_t i = 0; r == 0 && i < l.groups.v.n; i++) {
		const struct dict_series *series = dict__series_at(l.view.dict,
								   l.groups.v.v[order[i]].series);

		labels.n = 0;
		if (!vec__reserve(&labels, series->n))
			r = -ENOMEM;
		for (uint32_t k = 0; r == 0 && k < series->n; k++)
			labels.v[labels.n++] = (struct dcm_label_text){
				dict__str(l.view.dict, series->pairs[k].name),
				dict__str(l.view.dict, series->pairs[k].value)
			};
		if (r == 0)
			r = each(ctx, labels.v, series->n);
	}
	vec__fini(&labels);
	return r;
}
