/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/match.c - judges series, then label sets
 */
#include "plugins/storage/memory/match.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* -------------------------------------------------------------------------------------------------
 * Groups
 */

int groups__init(struct groups *g, const struct dcm_group_by *by, bool by_series)
{
	static const struct dcm_group_by none;

	*g = (struct groups){ .by = by ? by : &none, .by_series = by_series };
	return intern__init(&g->texts);
}

void groups__fini(struct groups *g)
{
	intern__fini(&g->texts);
	arena__fini(&g->arena);
	vec__fini(&g->v);
	hindex__fini(&g->index);
}

static bool same_group(const struct groups *g, const struct group *a, const uint32_t *values,
		       uint32_t series)
{
	if (a->series != series)
		return false;
	for (uint32_t i = 0; i < g->by->n; i++)
		if (a->values[i] != values[i])
			return false;
	return true;
}

/* values [by->n] in texts. The group's id, made when new; MATCH_NONE when memory ran out. */
static uint32_t find_or_make_group(struct groups *g, const uint32_t *values, uint32_t series)
{
	uint64_t h = hash__mix(0, series);

	for (uint32_t i = 0; i < g->by->n; i++)
		h = hash__mix(h, values[i]);
	uint32_t row, at = hindex__first(&g->index, h, &row);
	for (; row != HINDEX_NONE; at = hindex__next(&g->index, h, at, &row))
		if (same_group(g, &g->v.v[row], values, series))
			return row;
	uint32_t *kept = arena__alloc(&g->arena, (g->by->n ? g->by->n : 1) * sizeof(*kept));
	if (!kept || !vec__reserve(&g->v, 1) || hindex__insert(&g->index, h, (uint32_t)g->v.n) < 0)
		return MATCH_NONE;
	for (uint32_t i = 0; i < g->by->n; i++)
		kept[i] = values[i];
	g->v.v[g->v.n] = (struct group){ .values = kept, .series = series };
	return (uint32_t)g->v.n++;
}

struct group_order {
	const struct groups *g;
	const struct dict *d;
};

static int compare_series(const struct dict *d, uint32_t a, uint32_t b)
{
	const struct dict_series *x = dict__series_at(d, a), *y = dict__series_at(d, b);

	for (uint32_t i = 0; i < x->n && i < y->n; i++) {
		int c = str__cmp(dict__str(d, x->pairs[i].name), dict__str(d, y->pairs[i].name));
		if (c == 0)
			c = str__cmp(dict__str(d, x->pairs[i].value), dict__str(d, y->pairs[i].value));
		if (c != 0)
			return c;
	}
	return x->n < y->n ? -1 : x->n > y->n;
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct group_order *o = ctx;
	const struct group *x = &o->g->v.v[*(const uint32_t *)a], *y = &o->g->v.v[*(const uint32_t *)b];

	if (o->g->by_series)
		return compare_series(o->d, x->series, y->series);
	for (uint32_t i = 0; i < o->g->by->n; i++) {
		int c = str__cmp(intern__text(&o->g->texts, x->values[i]),
				 intern__text(&o->g->texts, y->values[i]));
		if (c != 0)
			return c;
	}
	return 0;
}

uint32_t *groups__sorted(const struct groups *g, const struct dict *d)
{
	struct group_order order = { g, d };
	uint32_t *ids = mem__resize(NULL, g->v.n ? g->v.n : 1, sizeof(*ids));

	if (!ids)
		return NULL;
	for (uint32_t i = 0; i < g->v.n; i++)
		ids[i] = i;
	qsort_r(ids, g->v.n, sizeof(*ids), compare_groups, &order);
	return ids;
}

/* -------------------------------------------------------------------------------------------------
 * Matching
 */

int match__init(struct match *m, const struct view *v, const struct dcm_select *sel,
		const struct dcm_host *host, struct groups *groups)
{
	*m = (struct match){ .view = v, .host = host, .sel = sel, .groups = groups };
	m->sets = mem__zalloc(v->counts.label_sets, sizeof(*m->sets));
	m->open = mem__zalloc(sel->n_matchers ? sel->n_matchers : 1, sizeof(*m->open));
	m->values = mem__zalloc(groups->by->n ? groups->by->n : 1, sizeof(*m->values));
	if (m->sets && m->open && m->values)
		return 0;
	match__fini(m);
	return -ENOMEM;
}

void match__fini(struct match *m)
{
	free(take_ptr(m->sets));
	free(take_ptr(m->open));
	free(take_ptr(m->values));
}

static bool accepts(const struct match *m, const struct dcm_matcher *matcher, struct dcm_str value)
{
	switch (matcher->op) {
	case DCM_EQ:
		return str__eq(value, matcher->value);
	case DCM_NE:
		return !str__eq(value, matcher->value);
	case DCM_RE:
		return m->host->regex_matches(matcher->regex, value);
	case DCM_NRE:
		return !m->host->regex_matches(matcher->regex, value);
	}
	return false;
}

struct dcm_str match__label_text(const struct dict *d, const struct dcm_label *l, char buf[static 24])
{
	if (l->unit == DCM_NONE)
		return dict__str(d, l->str);
	int n = snprintf(buf, 24, "%" PRId64, l->num);
	return (struct dcm_str){ buf, (uint32_t)n };
}

/* The label set's value of a name, or "". */
static struct dcm_str sample_value(const struct dict *d, uint32_t label_set, struct dcm_str name,
				   char buf[static 24])
{
	const struct dict_label_set *set = dict__label_set_at(d, label_set);

	for (uint32_t i = 0; i < set->n; i++)
		if (str__eq(dict__str(d, set->labels[i].name), name))
			return match__label_text(d, &set->labels[i], buf);
	return STR("");
}

int match__stream(struct match *m, const struct view_stream *st)
{
	const struct dict *d = m->view->dict;
	struct dcm_str value;

	m->stream++;
	m->series = st->series;
	m->n_open = 0;
	for (uint32_t i = 0; i < m->sel->n_matchers; i++) {
		if (!dict__series_label(d, st->series, m->sel->matchers[i].name, &value))
			m->open[m->n_open++] = i;
		else if (!accepts(m, &m->sel->matchers[i], value))
			return 0;
	}
	for (uint32_t i = 0; i < m->groups->by->n; i++) {
		if (!dict__series_label(d, st->series, m->groups->by->labels[i], &value)) {
			m->values[i] = INTERN_NONE;
			continue;
		}
		m->values[i] = intern__add(&m->groups->texts, value);
		if (m->values[i] == INTERN_NONE)
			return -ENOMEM;
	}
	return 1;
}

/* The group of the row: the series' values, and the label set's for the others. */
static int find_group(struct match *m, uint32_t label_set, uint32_t *ret_group)
{
	const struct dcm_group_by *by = m->groups->by;
	uint32_t few[32], *values = few;
	char buf[24];
	int r = 0;

	if (by->n > 32 && !(values = mem__resize(NULL, by->n, sizeof(*values))))
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < by->n; i++) {
		values[i] = m->values[i];
		if (values[i] == INTERN_NONE)
			values[i] = intern__add(&m->groups->texts, sample_value(m->view->dict, label_set,
										by->labels[i], buf));
		if (values[i] == INTERN_NONE)
			r = -ENOMEM;
	}
	if (r == 0) {
		*ret_group = find_or_make_group(m->groups, values,
						m->groups->by_series ? m->series : DCM_NONE);
		r = *ret_group == MATCH_NONE ? -ENOMEM : 0;
	}
	if (values != few)
		free(values);
	return r;
}

int match__row(struct match *m, uint32_t label_set, uint32_t *ret_group)
{
	struct match_verdict *v = &m->sets[label_set];
	char buf[24];

	if (v->stream == m->stream) {
		*ret_group = v->group;
		return 0;
	}
	uint32_t group = MATCH_NONE, i = 0;
	while (i < m->n_open) {
		const struct dcm_matcher *matcher = &m->sel->matchers[m->open[i]];

		if (!accepts(m, matcher, sample_value(m->view->dict, label_set, matcher->name, buf)))
			break;
		i++;
	}
	if (i == m->n_open && find_group(m, label_set, &group) < 0)
		return -ENOMEM;
	*v = (struct match_verdict){ .stream = m->stream, .group = group };
	*ret_group = group;
	return 0;
}

int match__profile(struct match *m, const struct profile *p)
{
	uint32_t group;

	if (p->n_rows == 0)
		return match__row(m, 0, &group) < 0 ? -ENOMEM : group != MATCH_NONE;
	for (uint32_t i = 0; i < p->n_rows; i++) {
		if (match__row(m, p->rows[i].labels, &group) < 0)
			return -ENOMEM;
		if (group != MATCH_NONE)
			return 1;
	}
	return 0;
}
