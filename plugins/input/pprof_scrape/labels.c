/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/labels.c - the labels of a target, for as long as it is known
 */
#include "plugins/input/pprof_scrape/labels.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static struct text *const *names_of(const struct labels *l)
{
	return (struct text *const *)l->names->p;
}

static bool has(struct text *const *names, uint32_t n, const struct text *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (names[i] == name)
			return true;
	return false;
}

/* False: no memory. */
static bool add(struct labels *l, struct text **names, const struct dcm_label_text *from)
{
	struct text *name = texts__hold(l->texts, from->name), *value;
	bool is_known = name && has(names, l->n, name);

	value = name && !is_known ? texts__hold(l->texts, from->value) : NULL;
	if (value) {
		names[l->n] = name;
		l->values[l->n++] = value;
	} else {
		texts__release(l->texts, name);
	}
	return value || is_known;
}

static void free_labels(struct labels *l, struct text *const *names)
{
	for (uint32_t i = 0; i < l->n; i++) {
		texts__release(l->texts, names[i]);
		texts__release(l->texts, l->values[i]);
	}
	texts__release(l->texts, l->names);
	free(l);
}

/* Names: room for all of them. */
static struct labels *fill(struct labels *l, struct text **names, const struct dcm_label_text *from,
			   uint32_t n)
{
	bool is_well = true;

	for (uint32_t i = 0; i < n && is_well; i++)
		is_well = from[i].value.n == 0 || add(l, names, &from[i]);
	if (is_well)
		l->names = texts__hold(l->texts, (struct dcm_str){ (const char *)names,
								   (uint32_t)(l->n * sizeof(*names)) });
	if (l->names)
		return l;
	free_labels(l, names);
	return NULL;
}

struct labels *labels__new(struct texts *texts, const struct dcm_label_text *from, uint32_t n)
{
	struct labels *l;
	struct text **names;
	uint32_t n_there = 0;

	for (uint32_t i = 0; i < n; i++)
		n_there += from[i].value.n > 0;
	names = mem__zalloc(n_there + 1, sizeof(*names));
	l = malloc(sizeof(*l) + n_there * sizeof(*l->values));
	if (l && names) {
		*l = (struct labels){ .texts = texts, .n_holders = 1 };
		l = fill(l, names, from, n);
	} else {
		free(l);
		l = NULL;
	}
	free(names);
	return l;
}

struct labels *labels__hold(struct labels *l)
{
	l->n_holders++;
	return l;
}

void labels__release(struct labels *l)
{
	if (l && --l->n_holders == 0)
		free_labels(l, names_of(l));
}

bool labels__are_same(const struct labels *a, const struct labels *b)
{
	return a == b ||
	       (a->names == b->names && memcmp(a->values, b->values, a->n * sizeof(*a->values)) == 0);
}

static struct dcm_label_text view(const struct labels *l, uint32_t i)
{
	return (struct dcm_label_text){ text__str(names_of(l)[i]), text__str(l->values[i]) };
}

uint32_t labels__view(const struct labels *l, const struct labels *more, struct dcm_label_text *to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->n; i++)
		to[n++] = view(l, i);
	for (uint32_t i = 0; more && i < more->n; i++)
		if (!has(names_of(l), l->n, names_of(more)[i]))
			to[n++] = view(more, i);
	return n;
}
