/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/groups.c - finds groups by the numbers of their labels' texts
 */
#include "plugins/storage/answer/groups.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/meter.h"

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

uint64_t groups__bytes(const struct groups *g)
{
	return intern__bytes(&g->texts) + g->arena.total_bytes + g->v.cap * sizeof(g->v.v[0]) +
	       (uint64_t)g->index.cap * sizeof(g->index.slots[0]);
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

uint32_t groups__find_or_make(struct groups *g, const uint32_t *values, uint32_t series)
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
	struct meter_glance glance;
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
	struct group_order *o = ctx;
	const struct group *x = &o->g->v.v[*(const uint32_t *)a], *y = &o->g->v.v[*(const uint32_t *)b];

	if (meter__glance(&o->glance) < 0)
		return 0;
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

int groups__sort(const struct groups *g, const struct dict *d, const struct dcm_host *host,
		 const struct dcm_budget *budget, uint32_t **ret)
{
	struct group_order order = { g, d, { host, budget, 0, 0 } };
	uint32_t *ids = mem__resize(NULL, g->v.n ? g->v.n : 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->v.n; i++)
		ids[i] = i;
	qsort_r(ids, g->v.n, sizeof(*ids), compare_groups, &order);
	if (order.glance.r < 0)
		free(ids);
	else
		*ret = ids;
	return order.glance.r;
}
