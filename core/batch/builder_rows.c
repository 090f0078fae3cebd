/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/builder_rows.c - adding what a profile is made of: series, label sets, types, rows
 *
 * Single-threaded, like the builder.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/builder_private.h"
#include "core/batch/check.h"

/* -------------------------------------------------------------------------------------------------
 * Series and label sets
 */

struct pairs_key {
	const struct dcm_pair *pairs;
	uint32_t n;
};

static bool series_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct pairs_key *k = key;
	struct dcm_span span = t->series.v[row];

	return span.n == k->n &&
	       (k->n == 0 || memcmp(&t->pairs.v[span.off], k->pairs, k->n * sizeof(*k->pairs)) == 0);
}

static int by_pair_name(const void *a, const void *b, void *tables)
{
	return str__cmp(tables__str(tables, ((const struct dcm_pair *)a)->name),
			tables__str(tables, ((const struct dcm_pair *)b)->name));
}

uint32_t builder__series(struct dcm_builder *b, const struct dcm_pair *given, uint32_t n_given)
{
	struct tables *t = &b->t;
	struct dcm_pair pairs[LABELS_MAX];
	uint32_t n = 0;

	if (unlikely(b->code) || !builder__passed(b, check__pair_ids(t, given, n_given, &b->error)))
		return 0;
	for (uint32_t i = 0; i < n_given; i++)
		if (given[i].value)
			pairs[n++] = given[i];
	qsort_r(pairs, n, sizeof(pairs[0]), by_pair_name, t);
	_Static_assert(sizeof(struct dcm_pair) == 8,
		       "pairs have no holes and may be hashed as bytes");
	uint64_t h = hash__bytes(pairs, n * sizeof(pairs[0]), b->seed);
	uint32_t row = find(b, IX_SERIES, h, series_is, &(struct pairs_key){ pairs, n });
	if (row != HINDEX_NONE)
		return row;
	for (uint32_t i = 0; i < n; i++)
		if (!builder__passed(b, check__label_name(t, "series", t->series.n, pairs[i].name,
							  i ? pairs[i - 1].name : DCM_NONE, &b->error)))
			return 0;
	if (!ROOM(b, &t->series, 1) || !ROOM_BOUNDED(b, &t->pairs, n) ||
	    !builder__enter(b, IX_SERIES, h, t->series.n))
		return 0;
	t->series.v[t->series.n] = (struct dcm_span){ (uint32_t)t->pairs.n, n };
	if (n)
		memcpy(&t->pairs.v[t->pairs.n], pairs, n * sizeof(pairs[0]));
	t->pairs.n += n;
	return (uint32_t)t->series.n++;
}

struct labels_key {
	const struct dcm_label *labels;
	uint32_t n;
};

static bool label_set_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct labels_key *k = key;
	struct dcm_span span = t->label_sets.v[row];

	if (span.n != k->n)
		return false;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct dcm_label *a = &t->labels.v[span.off + i], *l = &k->labels[i];
		if (a->name != l->name || a->str != l->str || a->num != l->num || a->unit != l->unit)
			return false;
	}
	return true;
}

static uint64_t label_set_hash(const struct dcm_builder *b, const struct dcm_label *labels, uint32_t n)
{
	/* A label has a hole at its end, so its numbers are packed. */
	uint64_t key[3 * LABELS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		key[3 * i] = labels[i].name | (uint64_t)labels[i].str << 32;
		key[3 * i + 1] = (uint64_t)labels[i].num;
		key[3 * i + 2] = labels[i].unit;
	}
	return hash__bytes(key, 3 * n * sizeof(key[0]), b->seed);
}

static int by_label_name(const void *a, const void *b, void *tables)
{
	return str__cmp(tables__str(tables, ((const struct dcm_label *)a)->name),
			tables__str(tables, ((const struct dcm_label *)b)->name));
}

uint32_t builder__label_set(struct dcm_builder *b, const struct dcm_label *given, uint32_t n_given)
{
	struct tables *t = &b->t;
	struct dcm_label labels[LABELS_MAX];
	uint32_t n = 0;

	if (unlikely(b->code) || !builder__passed(b, check__label_ids(t, given, n_given, &b->error)))
		return 0;
	for (uint32_t i = 0; i < n_given; i++)
		if (given[i].str || given[i].unit != DCM_NONE)
			labels[n++] = given[i];
	if (n == 0)
		return 0;
	qsort_r(labels, n, sizeof(labels[0]), by_label_name, t);
	uint64_t h = label_set_hash(b, labels, n);
	uint32_t row = find(b, IX_LABEL_SETS, h, label_set_is, &(struct labels_key){ labels, n });
	if (row != HINDEX_NONE)
		return row;
	for (uint32_t i = 0; i < n; i++)
		if (!builder__passed(b, check__label_name(t, "label set", t->label_sets.n, labels[i].name,
							  i ? labels[i - 1].name : DCM_NONE, &b->error)))
			return 0;
	if (!ROOM(b, &t->label_sets, 1) || !ROOM_BOUNDED(b, &t->labels, n) ||
	    !builder__enter(b, IX_LABEL_SETS, h, t->label_sets.n))
		return 0;
	t->label_sets.v[t->label_sets.n] = (struct dcm_span){ (uint32_t)t->labels.n, n };
	memcpy(&t->labels.v[t->labels.n], labels, n * sizeof(labels[0]));
	t->labels.n += n;
	return (uint32_t)t->label_sets.n++;
}

/* -------------------------------------------------------------------------------------------------
 * Profiles and rows
 */

struct types_key {
	const struct dcm_type *types;
	uint32_t n;
};

static bool types_are(const struct tables *t, uint32_t row, const void *key)
{
	const struct types_key *k = key;
	const struct dcm_profile *p = &t->profiles.v[row];

	_Static_assert(sizeof(struct dcm_type) == 24,
		       "types have no holes and may be compared as bytes");
	return p->n_types == k->n &&
	       memcmp(&t->types.v[p->type_off], k->types, k->n * sizeof(*k->types)) == 0;
}

/*
 * Where these types, which were checked, stand in the table; a new profile is about to have them.
 */
static bool put_types(struct dcm_builder *b, const struct dcm_type *types, uint32_t n, uint32_t *ret_off)
{
	struct tables *t = &b->t;
	uint64_t h = hash__bytes(types, n * sizeof(*types), b->seed);
	uint32_t row = find(b, IX_TYPES, h, types_are, &(struct types_key){ types, n });

	if (row != HINDEX_NONE) {
		*ret_off = t->profiles.v[row].type_off;
		return true;
	}
	if (!ROOM_BOUNDED(b, &t->types, n) || !builder__enter(b, IX_TYPES, h, t->profiles.n))
		return false;
	*ret_off = (uint32_t)t->types.n;
	memcpy(&t->types.v[t->types.n], types, n * sizeof(*types));
	t->types.n += n;
	return true;
}

uint32_t builder__profile(struct dcm_builder *b, const struct dcm_profile *head,
			  const struct dcm_type *types, uint32_t n_types)
{
	struct tables *t = &b->t;
	uint32_t type_off;

	if (unlikely(b->code))
		return 0;
	if (!builder__passed(b, check__profile(t, head, types, n_types, &b->error)) ||
	    !ROOM_BOUNDED(b, &t->profiles, 1) || !put_types(b, types, n_types, &type_off))
		return 0;
	builder__end_profile(b);
	t->profiles.v[t->profiles.n] = (struct dcm_profile){
		.series = head->series,
		.type_off = type_off,
		.n_types = n_types,
		.time_ns = head->time_ns,
		.duration_ns = head->duration_ns,
		.period = head->period,
		.row_off = t->row_stacks.n,
		.value_off = t->values.n,
	};
	b->n_types = n_types;
	return (uint32_t)t->profiles.n++;
}

void builder__row(struct dcm_builder *b, uint32_t stack, uint32_t label_set, const int64_t *values)
{
	struct tables *t = &b->t;
	uint32_t n_types = b->n_types;

	if (unlikely(b->code))
		return;
	if (unlikely(n_types == 0 || stack >= t->stacks.n || label_set >= t->label_sets.n)) {
		builder__passed(b, check__row(t, stack, label_set, &b->error));
		return;
	}
	if (!ROOM_BOUNDED(b, &t->row_stacks, 1) || !ROOM(b, &t->row_labels, 1) ||
	    !ROOM(b, &t->values, n_types))
		return;
	t->row_stacks.v[t->row_stacks.n++] = stack;
	t->row_labels.v[t->row_labels.n++] = label_set;
	for (uint32_t i = 0; i < n_types; i++)
		t->values.v[t->values.n++] = values[i];
}
