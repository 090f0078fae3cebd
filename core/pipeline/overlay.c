/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/overlay.c - builds the overlay batch that relabelling hands on
 *
 * A text that the source series or label set has keeps its id; others are added once each, without
 * a look at the parent's whole table, which may be large while the new texts are few.
 */
#include "core/pipeline/overlay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/identity.h"
#include "core/batch/limits.h"

void overlay__fini(struct overlay *o)
{
	overlay__cancel(o);
	vec__fini(&o->strings);
	vec__fini(&o->series);
	vec__fini(&o->pairs);
	vec__fini(&o->label_sets);
	vec__fini(&o->labels);
	vec__fini(&o->profiles);
	hindex__fini(&o->string_index);
	hindex__fini(&o->series_index);
	hindex__fini(&o->set_index);
	vec__fini(&o->edited);
}

int overlay__begin(struct overlay *o, struct dcm_batch *parent)
{
	o->batch = batch__overlay(parent, &o->arena);
	if (!o->batch)
		return -ENOMEM;
	o->parent = parent;
	o->stamp++;
	o->strings.n = o->series.n = o->pairs.n = o->label_sets.n = o->labels.n = o->profiles.n = 0;
	hindex__clear(&o->string_index);
	hindex__clear(&o->series_index);
	hindex__clear(&o->set_index);
	return 0;
}

void overlay__cancel(struct overlay *o)
{
	batch__unref(o->batch);
	o->batch = NULL;
}

/* ---- strings ---- */

static int new_string(struct overlay *o, struct dcm_str s, uint32_t *ret)
{
	uint64_t h = hash__bytes(s.p, s.n, 0);
	uint32_t row, at = hindex__first(&o->string_index, h, &row);

	while (row != HINDEX_NONE && !str__eq(o->strings.v[row], s))
		at = hindex__next(&o->string_index, h, at, &row);
	if (row == HINDEX_NONE) {
		row = (uint32_t)o->strings.n;
		if (!vec__reserve(&o->strings, 1) || hindex__insert(&o->string_index, h, row) < 0)
			return -ENOMEM;
		o->strings.v[o->strings.n++] = s;
	}
	*ret = o->parent->n_strings + row;
	return 0;
}

static struct dcm_str text_of(const struct overlay *o, uint32_t id)
{
	uint32_t n = o->parent->n_strings;

	return id < n ? o->parent->strings[id] : o->strings.v[id - n];
}

/* ---- series ---- */

static int pair_ids(struct overlay *o, struct dcm_span source, const struct dcm_label_text *label,
		    struct dcm_pair *ret)
{
	int e = 0;

	ret->name = ret->value = DCM_NONE;
	for (uint32_t i = 0; i < source.n; i++) {
		const struct dcm_pair *p = &o->parent->pairs[source.off + i];

		if (str__eq(text_of(o, p->name), label->name))
			ret->name = p->name;
		if (str__eq(text_of(o, p->value), label->value))
			ret->value = p->value;
	}
	if (ret->name == DCM_NONE)
		e = new_string(o, label->name, &ret->name);
	if (e == 0 && ret->value == DCM_NONE)
		e = new_string(o, label->value, &ret->value);
	return e;
}

static bool equals_series(const struct overlay *o, uint32_t row, const struct outcome *outcome)
{
	struct dcm_span s = o->series.v[row];

	if (s.n != outcome->n_labels)
		return false;
	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_pair *p = &o->pairs.v[s.off + i];

		if (!str__eq(text_of(o, p->name), outcome->labels[i].name) ||
		    !str__eq(text_of(o, p->value), outcome->labels[i].value))
			return false;
	}
	return true;
}

static uint64_t hash_labels(const struct outcome *outcome)
{
	uint64_t h = outcome->n_labels;

	for (uint32_t i = 0; i < outcome->n_labels; i++) {
		h = hash__bytes(outcome->labels[i].name.p, outcome->labels[i].name.n, h);
		h = hash__bytes(outcome->labels[i].value.p, outcome->labels[i].value.n, h);
	}
	return h;
}

static int add_series(struct overlay *o, uint32_t source, const struct outcome *outcome, uint64_t hash)
{
	struct dcm_span span = { .off = (uint32_t)o->pairs.n, .n = outcome->n_labels };
	int e = 0;

	if (!vec__reserve(&o->pairs, outcome->n_labels) || !vec__reserve(&o->series, 1))
		return -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < outcome->n_labels; i++)
		e = pair_ids(o, o->parent->series[source], &outcome->labels[i],
			     &o->pairs.v[span.off + i]);
	if (e == 0)
		e = hindex__insert(&o->series_index, hash, (uint32_t)o->series.n);
	if (e < 0)
		return e;
	o->pairs.n += outcome->n_labels;
	o->series.v[o->series.n++] = span;
	return 0;
}

int overlay__series(struct overlay *o, uint32_t source, struct outcome *outcome, uint32_t *ret)
{
	uint64_t h;
	uint32_t row, at;
	int e;

	if (outcome->stamp == o->stamp) {
		*ret = outcome->series;
		return 0;
	}
	h = hash_labels(outcome);
	at = hindex__first(&o->series_index, h, &row);
	while (row != HINDEX_NONE && !equals_series(o, row, outcome))
		at = hindex__next(&o->series_index, h, at, &row);
	if (row == HINDEX_NONE) {
		row = (uint32_t)o->series.n;
		e = add_series(o, source, outcome, h);
		if (e < 0)
			return e;
	}
	outcome->stamp = o->stamp;
	outcome->series = *ret = row;
	return 0;
}

/* ---- label sets ---- */

static const struct outcome_edit *edit_of(const struct outcome *outcome, struct dcm_str name)
{
	for (uint32_t i = 0; i < outcome->n_edits; i++)
		if (str__eq(outcome->edits[i].name, name))
			return &outcome->edits[i];
	return NULL;
}

static const struct dcm_label *label_of(const struct overlay *o, struct dcm_span set, struct dcm_str name)
{
	for (uint32_t i = 0; i < set.n; i++)
		if (str__eq(text_of(o, o->parent->labels[set.off + i].name), name))
			return &o->parent->labels[set.off + i];
	return NULL;
}

/* A label that says the same already is left alone: a number stays a number. */
static bool says(const struct overlay *o, const struct dcm_label *l, struct dcm_str value)
{
	char number[24];

	return str__eq(outcome__sample_value(o->parent, l, number), value);
}

/* The set's labels after the edits, unsorted, at the end of o->labels; n is where they begin. *ret_changed: any edit
 * had an effect. */
static int edit_labels(struct overlay *o, struct dcm_span set, const struct outcome *outcome,
		       bool *ret_changed)
{
	const struct outcome_edit *edit;
	const struct dcm_label *have;
	int e = 0;

	*ret_changed = false;
	if (!vec__reserve(&o->labels, (size_t)set.n + outcome->n_edits))
		return -ENOMEM;
	for (uint32_t i = 0; i < set.n; i++) {
		have = &o->parent->labels[set.off + i];
		edit = edit_of(outcome, text_of(o, have->name));
		if (!edit || says(o, have, edit->value))
			o->labels.v[o->labels.n++] = *have;
		else
			*ret_changed = true;
	}
	for (uint32_t i = 0; e == 0 && i < outcome->n_edits; i++) {
		struct dcm_label new = { .unit = DCM_NONE };

		edit = &outcome->edits[i];
		have = label_of(o, set, edit->name);
		if (edit->value.n == 0 || (have && says(o, have, edit->value)))
			continue;
		new.name = have ? have->name : DCM_NONE;
		if (!have)
			e = new_string(o, edit->name, &new.name);
		if (e == 0)
			e = new_string(o, edit->value, &new.str);
		o->labels.v[o->labels.n++] = new;
		*ret_changed = true;
	}
	return e;
}

/* By the text of their names; sets are small and nearly sorted. */
static void sort_labels(const struct overlay *o, struct dcm_label *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct dcm_label l = v[i];
		size_t k = i;

		for (; k > 0 && str__cmp(text_of(o, v[k - 1].name), text_of(o, l.name)) > 0; k--)
			v[k] = v[k - 1];
		v[k] = l;
	}
}

/* Field by field: there is padding in the struct. */
static uint64_t hash_set(const struct dcm_label *v, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = hash__mix(h, (uint64_t)v[i].name << 32 | v[i].str);
		h = hash__mix(h, (uint64_t)v[i].num);
		h = hash__mix(h, v[i].unit);
	}
	return h;
}

static bool equal_sets(const struct dcm_label *a, const struct dcm_label *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].name != b[i].name || a[i].str != b[i].str || a[i].num != b[i].num ||
		    a[i].unit != b[i].unit)
			return false;
	return true;
}

/* The labels from `from` on become a set, or are found to be one that was made before. */
static int add_set(struct overlay *o, size_t from, uint32_t *ret)
{
	const uint32_t base = o->parent->n_labels;
	const struct dcm_label *new = o->labels.v + from;
	struct dcm_span span = { .off = base + (uint32_t)from, .n = (uint32_t)(o->labels.n - from) };
	uint64_t h = hash_set(new, span.n);
	uint32_t row, at = hindex__first(&o->set_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&o->set_index, h, at, &row)) {
		struct dcm_span other = o->label_sets.v[row];

		if (other.n == span.n && equal_sets(o->labels.v + (other.off - base), new, span.n))
			break;
	}
	if (row != HINDEX_NONE) {
		o->labels.n = from;
	} else {
		row = (uint32_t)o->label_sets.n;
		if (!vec__reserve(&o->label_sets, 1) || hindex__insert(&o->set_index, h, row) < 0)
			return -ENOMEM;
		o->label_sets.v[o->label_sets.n++] = span;
	}
	*ret = o->parent->n_label_sets + row;
	return 0;
}

static int edit_set(struct overlay *o, uint32_t label_set, const struct outcome *outcome, uint32_t *ret)
{
	struct dcm_span set = o->parent->label_sets[label_set];
	size_t from = o->labels.n;
	bool is_changed;
	int e = edit_labels(o, set, outcome, &is_changed);

	if (e == 0 && o->labels.n - from > LABELS_MAX)
		e = -EFBIG;
	if (e < 0 || !is_changed || o->labels.n == from) {
		*ret = is_changed ? 0 : label_set;
		o->labels.n = from;
		return e;
	}
	sort_labels(o, o->labels.v + from, o->labels.n - from);
	return add_set(o, from, ret);
}

/* The memo of a label set; NULL when memory ran out. */
static struct edited_set *memo_of(struct overlay *o, uint32_t label_set)
{
	size_t n = o->parent->n_label_sets;

	if (o->edited.n < n) {
		if (!vec__reserve(&o->edited, n - o->edited.n))
			return NULL;
		memset(o->edited.v + o->edited.n, 0, (n - o->edited.n) * sizeof(o->edited.v[0]));
		o->edited.n = n;
	}
	return &o->edited.v[label_set];
}

int overlay__label_set(struct overlay *o, uint32_t label_set, const struct outcome *outcome, uint32_t *ret)
{
	struct edited_set *memo;
	int e;

	if (outcome->n_edits == 0) {
		*ret = label_set;
		return 0;
	}
	memo = memo_of(o, label_set);
	if (!memo)
		return -ENOMEM;
	if (memo->stamp != o->stamp || memo->edits_id != outcome->edits_id) {
		e = edit_set(o, label_set, outcome, &memo->label_set);
		if (e < 0) {
			memo->stamp = 0;
			return e;
		}
		memo->stamp = o->stamp;
		memo->edits_id = outcome->edits_id;
	}
	*ret = memo->label_set;
	return 0;
}

/* ---- the batch ---- */

int overlay__rows(struct overlay *o, uint64_t n_rows, uint64_t n_values, struct overlay_rows *ret)
{
	struct overlay_rows rows = {
		.stacks = arena__alloc(o->arena, n_rows * sizeof(rows.stacks[0]) + 1),
		.labels = arena__alloc(o->arena, n_rows * sizeof(rows.labels[0]) + 1),
		.values = arena__alloc(o->arena, n_values * sizeof(rows.values[0]) + 1),
	};

	if (!rows.stacks || !rows.labels || !rows.values)
		return -ENOMEM;
	o->batch->row_stacks = rows.stacks;
	o->batch->row_labels = rows.labels;
	o->batch->values = rows.values;
	o->batch->n_rows = n_rows;
	o->batch->n_values = n_values;
	*ret = rows;
	return 0;
}

/* [n_old] of the parent's and [n_new] elements in one array of the batch's arena. */
static void *joined(struct overlay *o, const void *old, size_t n_old, const void *new, size_t n_new,
		    size_t size)
{
	char *p = arena__alloc(o->arena, (n_old + n_new) * size + 1);

	if (p && n_old > 0)
		memcpy(p, old, n_old * size);
	if (p && n_new > 0)
		memcpy(p + n_old * size, new, n_new * size);
	return p;
}

/*
 * The new texts live in the outcomes' cache, or in a batch that may be gone: the overlay keeps its
 * own.
 */
static int put_strings(struct overlay *o)
{
	struct dcm_batch *b = o->batch;
	struct dcm_str *all;

	if (o->strings.n == 0)
		return 0;
	all = joined(o, o->parent->strings, o->parent->n_strings, o->strings.v, o->strings.n,
		     sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < o->strings.n; i++) {
		struct dcm_str *s = &all[o->parent->n_strings + i];

		*s = arena__str(o->arena, *s);
		if (!s->p)
			return -ENOMEM;
	}
	b->strings = all;
	b->n_strings += (uint32_t)o->strings.n;
	return 0;
}

static int put_series(struct overlay *o)
{
	struct dcm_batch *b = o->batch;
	struct dcm_hash *hashes = arena__alloc(o->arena, o->series.n * sizeof(*hashes) + 1);

	b->series = joined(o, NULL, 0, o->series.v, o->series.n, sizeof(o->series.v[0]));
	b->pairs = joined(o, NULL, 0, o->pairs.v, o->pairs.n, sizeof(o->pairs.v[0]));
	if (!hashes || !b->series || !b->pairs)
		return -ENOMEM;
	b->n_series = (uint32_t)o->series.n;
	b->n_pairs = (uint32_t)o->pairs.n;
	for (uint32_t i = 0; i < b->n_series; i++)
		hashes[i] = identity__series(b, i);
	b->series_hashes = hashes;
	return 0;
}

static int put_label_sets(struct overlay *o)
{
	struct dcm_batch *b = o->batch;

	if (o->label_sets.n == 0)
		return 0;
	b->label_sets = joined(o, o->parent->label_sets, o->parent->n_label_sets, o->label_sets.v,
			       o->label_sets.n, sizeof(o->label_sets.v[0]));
	b->labels = joined(o, o->parent->labels, o->parent->n_labels, o->labels.v, o->labels.n,
			   sizeof(o->labels.v[0]));
	if (!b->label_sets || !b->labels)
		return -ENOMEM;
	b->n_label_sets += (uint32_t)o->label_sets.n;
	b->n_labels += (uint32_t)o->labels.n;
	return 0;
}

int overlay__finish(struct overlay *o, struct dcm_batch **ret)
{
	int e = put_strings(o);

	if (e == 0)
		e = put_series(o);
	if (e == 0)
		e = put_label_sets(o);
	if (e == 0) {
		o->batch->profiles = joined(o, NULL, 0, o->profiles.v, o->profiles.n,
					    sizeof(o->profiles.v[0]));
		e = o->batch->profiles ? 0 : -ENOMEM;
	}
	if (e < 0) {
		overlay__cancel(o);
		return e;
	}
	o->batch->n_profiles = (uint32_t)o->profiles.n;
	batch__account(o->batch);
	*ret = o->batch;
	o->batch = NULL;
	return 0;
}
