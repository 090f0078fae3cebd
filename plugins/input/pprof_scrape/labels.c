/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/labels.c - the labels of a target, for as long as it is known
 */
#include "plugins/input/pprof_scrape/labels.h"

#include <stdlib.h>
#include <string.h>

static bool has(const struct labels *l, const struct text *name)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->v[i].name == name)
			return true;
	return false;
}

/* False: no memory. */
static bool add(struct labels *l, const struct dcm_label_text *from)
{
	struct text *name = texts__hold(l->texts, from->name), *value;
	bool is_known = name && has(l, name);

	value = name && !is_known ? texts__hold(l->texts, from->value) : NULL;
	if (value)
		l->v[l->n++] = (struct label){ name, value };
	else
		texts__release(l->texts, name);
	return value || is_known;
}

struct labels *labels__new(struct texts *texts, const struct dcm_label_text *from, uint32_t n)
{
	struct labels *l;
	uint32_t n_there = 0;
	bool is_well = true;

	for (uint32_t i = 0; i < n; i++)
		n_there += from[i].value.n > 0;
	l = malloc(sizeof(*l) + n_there * sizeof(*l->v));
	if (!l)
		return NULL;
	*l = (struct labels){ .texts = texts, .n_holders = 1 };
	for (uint32_t i = 0; i < n && is_well; i++)
		is_well = from[i].value.n == 0 || add(l, &from[i]);
	if (is_well)
		return l;
	labels__release(l);
	return NULL;
}

struct labels *labels__hold(struct labels *l)
{
	l->n_holders++;
	return l;
}

void labels__release(struct labels *l)
{
	if (!l || --l->n_holders)
		return;
	for (uint32_t i = 0; i < l->n; i++) {
		texts__release(l->texts, l->v[i].name);
		texts__release(l->texts, l->v[i].value);
	}
	free(l);
}

bool labels__are_same(const struct labels *a, const struct labels *b)
{
	return a == b || (a->n == b->n && memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0);
}

uint32_t labels__view(const struct labels *l, const struct labels *more, struct dcm_label_text *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		to[n++] = (struct dcm_label_text){ text__str(l->v[i].name), text__str(l->v[i].value) };
	for (uint32_t i = 0; more && i < more->n; i++)
		if (!has(l, more->v[i].name))
			to[n++] = (struct dcm_label_text){ text__str(more->v[i].name),
							   text__str(more->v[i].value) };
	return n;
}
