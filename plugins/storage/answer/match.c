/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/match.c - judges series, then label sets
 */
#include "plugins/storage/answer/match.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"

int match__init(struct match *m, const struct view *v, const struct dcm_select *sel, struct groups *groups)
{
	*m = (struct match){ .view = v, .dict = v->dict, .sel = sel, .groups = groups };
	m->open = mem__zalloc(sel->n_matchers ? sel->n_matchers : 1, sizeof(*m->open));
	m->values = mem__zalloc(groups->by->n ? groups->by->n : 1, sizeof(*m->values));
	if (m->open && m->values)
		return 0;
	match__fini(m);
	return -ENOMEM;
}

void match__fini(struct match *m)
{
	vec__fini(&m->sets);
	free(take_ptr(m->open));
	free(take_ptr(m->values));
}

bool match__accepts(const struct dcm_host *host, const struct dcm_matcher *matcher, struct dcm_str value)
{
	switch (matcher->op) {
	case DCM_EQ:
		return str__eq(value, matcher->value);
	case DCM_NE:
		return !str__eq(value, matcher->value);
	case DCM_RE:
		return host->regex_matches(matcher->regex, value);
	case DCM_NRE:
		return !host->regex_matches(matcher->regex, value);
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

int match__stream(struct match *m, uint32_t series)
{
	const struct dict *d = m->dict;
	struct dcm_str value;

	m->stream++;
	m->series = series;
	m->n_open = 0;
	m->settled = true;
	for (uint32_t i = 0; i < m->sel->n_matchers; i++) {
		if (!dict__series_label(d, series, m->sel->matchers[i].name, &value))
			m->open[m->n_open++] = i;
		else if (!match__accepts(m->view->host, &m->sel->matchers[i], value))
			return 0;
	}
	m->settled = m->n_open == 0;
	for (uint32_t i = 0; i < m->groups->by->n; i++) {
		if (!dict__series_label(d, series, m->groups->by->labels[i], &value)) {
			m->values[i] = INTERN_NONE;
			m->settled = false;
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
			values[i] = intern__add(&m->groups->texts,
						sample_value(m->dict, label_set, by->labels[i], buf));
		if (values[i] == INTERN_NONE)
			r = -ENOMEM;
	}
	if (r == 0) {
		*ret_group = groups__find_or_make(m->groups, values,
						  m->groups->by_series ? m->series : DCM_NONE);
		r = *ret_group == MATCH_NONE ? -ENOMEM : 0;
	}
	if (values != few)
		free(values);
	return r;
}

int match__judge(struct match *m, uint32_t label_set)
{
	uint32_t group = MATCH_NONE, i = 0;
	char buf[24];

	while (m->sets.n <= label_set)
		if (!vec__push(&m->sets, (struct match_verdict){ 0 }))
			return -ENOMEM;
	while (i < m->n_open) {
		const struct dcm_matcher *matcher = &m->sel->matchers[m->open[i]];

		if (!match__accepts(m->view->host, matcher,
				    sample_value(m->dict, label_set, matcher->name, buf)))
			break;
		i++;
	}
	if (i == m->n_open && find_group(m, label_set, &group) < 0)
		return -ENOMEM;
	m->sets.v[label_set] = (struct match_verdict){ .stream = m->stream, .group = group };
	return 0;
}
