/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/lacks.c - a list by era
 */
#include "plugins/storage/local/lacks.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "plugins/storage/local/era.h"

void lacks__init(struct lacks *l)
{
	*l = (struct lacks){ .v = { 0 } };
	pthread_mutex_init(&l->lock, NULL);
}

void lacks__fini(struct lacks *l)
{
	vec__fini(&l->v);
	pthread_mutex_destroy(&l->lock);
}

static struct lack *find(struct lacks *l, uint32_t era)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (l->v.v[i].era == era)
			return &l->v.v[i];
	return NULL;
}

int lacks__expect(struct lacks *l, uint32_t era)
{
	return find(l, era) || vec__push(&l->v, (struct lack){ .era = era }) ? 0 : -ENOMEM;
}

void lacks__note(struct lacks *l, const struct lack *more)
{
	pthread_mutex_lock(&l->lock);
	struct lack *k = find(l, more->era);

	if (k && more->n_profiles) {
		if (!k->n_profiles || more->first_ms < k->first_ms)
			k->first_ms = more->first_ms;
		if (!k->n_profiles || more->last_ms > k->last_ms)
			k->last_ms = more->last_ms;
		k->n_profiles += more->n_profiles;
	}
	pthread_mutex_unlock(&l->lock);
}

void lacks__add(struct lacks *l, const struct lacks *more, int64_t from_ms)
{
	for (size_t i = 0; i < more->v.n; i++)
		if (more->v.v[i].last_ms >= from_ms)
			lacks__note(l, &more->v.v[i]);
}

static int compare(const void *a, const void *b)
{
	const struct lack *x = a, *y = b;

	return x->era < y->era ? -1 : x->era > y->era;
}

void lacks__tell(struct lacks *l, const struct dcm_budget *budget)
{
	if (l->v.n)
		qsort(l->v.v, l->v.n, sizeof(l->v.v[0]), compare);
	for (size_t i = 0; budget && budget->gap && i < l->v.n; i++) {
		const struct lack *k = &l->v.v[i];
		char path[ERA_PATH_BYTES];
		const struct dcm_gap gap = {
			.size = sizeof(gap),
			.what = str__of(era__path(path, k->era)),
			.why = STR("this dictionary is damaged: profiles, frames or labels are "
				   "missing"),
			.from_ms = k->first_ms,
			.to_ms = k->last_ms < INT64_MAX ? k->last_ms + 1 : INT64_MAX,
			.n_profiles = k->n_profiles,
		};

		if (k->n_profiles)
			budget->gap(budget->gap_ctx, &gap);
	}
}
