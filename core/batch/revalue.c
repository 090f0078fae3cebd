/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/revalue.c - a batch with other values: what was counted since the last time, fewer types
 *
 * Columns of rows, values, types and profiles are new and in the overlay's arena; everything that rows refer to is the parent's.
 */
#include "core/batch/revalue.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/batch/batch.h"

/* The columns of the overlay, filled up to where they are. */
struct columns {
	struct dcm_profile *profiles;
	struct dcm_type *types;
	uint32_t *stacks, *labels;
	int64_t *values;
	uint32_t n_profiles, n_types;
	uint64_t n_rows, n_values;
};

static int check(const struct dcm_batch *b, const struct dcm_revalue *c, struct dcm_error *err)
{
	const uint32_t i = c->profile, n = (uint32_t)__builtin_popcount(c->columns);

	if (i >= b->n_profiles)
		return error__set(err, -EINVAL, "revalued: there are %u profiles, and no number %u",
				  b->n_profiles, i);
	if (n == 0 || (uint64_t)c->columns >> b->profiles[i].n_types)
		return error__set(err, -EINVAL, "revalued: profile %u has %u types, and none or others were to stay",
				  i, b->profiles[i].n_types);
	for (uint32_t k = 0; k < n; k++)
		if (c->temporality[k] > DCM_CUMULATIVE)
			return error__set(err, -EINVAL, "revalued: profile %u: temporality %u is unknown",
					  i, c->temporality[k]);
	if (c->duration_ns < 0)
		return error__set(err, -EINVAL, "revalued: profile %u: a negative duration", i);
	return 0;
}

static int allocate(struct arena *a, const struct dcm_batch *b, const struct dcm_revalue *changes,
		    uint32_t n, struct columns *ret)
{
	uint64_t n_rows = 0, n_values = 0;
	uint32_t n_types = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t kept = (uint32_t)__builtin_popcount(changes[i].columns);
		const uint64_t rows = b->profiles[changes[i].profile].n_rows;

		n_types += kept;
		n_rows += rows;
		n_values += rows * kept;
	}
	ret->profiles = arena__zalloc(a, n, sizeof(*ret->profiles));
	ret->types = arena__zalloc(a, n_types, sizeof(*ret->types));
	ret->stacks = arena__zalloc(a, n_rows, sizeof(*ret->stacks));
	ret->labels = arena__zalloc(a, n_rows, sizeof(*ret->labels));
	ret->values = arena__zalloc(a, n_values, sizeof(*ret->values));
	return ret->profiles && ret->types && ret->stacks && ret->labels && ret->values ? 0 : -ENOMEM;
}

static bool is_nothing(const int64_t *values, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (values[k])
			return false;
	return true;
}

static void add_profile(const struct dcm_batch *b, const struct dcm_revalue *c, struct columns *to)
{
	const struct dcm_profile *from = &b->profiles[c->profile];
	struct dcm_profile *p = &to->profiles[to->n_profiles++];
	const int64_t *values = c->values;

	*p = *from;
	p->time_ns = c->time_ns;
	p->duration_ns = c->duration_ns;
	p->type_off = to->n_types;
	p->n_types = 0;
	for (uint32_t t = 0; t < from->n_types; t++) {
		if (!(c->columns >> t & 1))
			continue;
		to->types[to->n_types] = b->types[from->type_off + t];
		to->types[to->n_types++].temporality = c->temporality[p->n_types++];
	}
	p->row_off = to->n_rows;
	p->value_off = to->n_values;
	for (uint32_t r = 0; r < from->n_rows; r++, values += p->n_types) {
		if (is_nothing(values, p->n_types))
			continue;
		to->stacks[to->n_rows] = b->row_stacks[from->row_off + r];
		to->labels[to->n_rows++] = b->row_labels[from->row_off + r];
		memcpy(to->values + to->n_values, values, p->n_types * sizeof(*values));
		to->n_values += p->n_types;
	}
	p->n_rows = (uint32_t)(to->n_rows - p->row_off);
}

int batch__revalued(struct dcm_batch *batch, const struct dcm_revalue *changes, uint32_t n,
		    struct dcm_batch **ret, struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = NULL;
	struct columns to = { 0 };
	struct arena *arena;

	for (uint32_t i = 0; i < n; i++) {
		int r = check(batch, &changes[i], err);

		if (r < 0)
			return r;
	}
	b = batch__overlay(batch, &arena);
	if (!b || allocate(arena, batch, changes, n, &to) < 0)
		return error__nomem(err);
	for (uint32_t i = 0; i < n; i++)
		add_profile(batch, &changes[i], &to);
	b->profiles = to.profiles;
	b->types = to.types;
	b->row_stacks = to.stacks;
	b->row_labels = to.labels;
	b->values = to.values;
	b->n_profiles = to.n_profiles;
	b->n_types = to.n_types;
	b->n_rows = to.n_rows;
	b->n_values = to.n_values;
	batch__account(b);
	*ret = take_ptr(b);
	return 0;
}
