/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/outcome.c - what relabelling makes of one set of labels, remembered by content
 *
 * A key is the length-prefixed texts of the labels in their order, which is sorted; equal keys are
 * equal labels.
 */
#include "core/pipeline/outcome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/limits.h"

enum { LABEL_BYTES_MAX = 64 * 1024 };

void outcome_cache__fini(struct outcome_cache *c)
{
	arena__fini(&c->arena);
	hindex__fini(&c->index);
	hindex__fini(&c->edits_index);
	vec__fini(&c->outcomes);
	label_map__fini(&c->map);
	buf__fini(&c->key);
}

void outcome_cache__trim(struct outcome_cache *c)
{
	if (c->arena.total_bytes + c->outcomes.cap * sizeof(c->outcomes.v[0]) <= c->max_bytes)
		return;
	arena__fini(&c->arena);
	hindex__clear(&c->index);
	hindex__clear(&c->edits_index);
	c->n_edits_ids = 0;
	c->outcomes.n = 0;
}

/* ---- the key ---- */

static void key_text(struct buf *key, struct dcm_str s)
{
	buf__le32(key, s.n);
	buf__str(key, s);
}

struct dcm_str outcome__sample_value(const struct dcm_batch *b, const struct dcm_label *l,
				     char number[static 24])
{
	if (l->unit == DCM_NONE)
		return batch__str(b, l->str);
	snprintf(number, 24, "%" PRId64, l->num);
	return str__of(number);
}

void outcome__project(const struct dcm_batch *b, uint32_t label_set, const uint8_t *use, struct buf *out)
{
	struct dcm_span l = b->label_sets[label_set];

	for (uint32_t i = 0; i < l.n; i++) {
		const struct dcm_label *label = &b->labels[l.off + i];
		char number[24];

		if (use[label->name] == RULES_IGNORE)
			continue;
		key_text(out, batch__str(b, label->name));
		/* No label has the empty value: it stands for any. */
		key_text(out, use[label->name] == RULES_READ_VALUE
				      ? outcome__sample_value(b, label, number)
				      : STR(""));
	}
}

static int make_key(struct outcome_cache *c, const struct dcm_batch *b, uint32_t series,
		    uint32_t label_set, const uint8_t *use)
{
	struct dcm_span s = b->series[series];

	buf__reset(&c->key);
	buf__le32(&c->key, s.n);
	for (uint32_t i = 0; i < s.n; i++) {
		key_text(&c->key, batch__str(b, b->pairs[s.off + i].name));
		key_text(&c->key, batch__str(b, b->pairs[s.off + i].value));
	}
	if (use)
		outcome__project(b, label_set, use, &c->key);
	return c->key.error;
}

static struct outcome *find(const struct outcome_cache *c, uint64_t hash)
{
	struct dcm_str key = buf__view(&c->key);
	uint32_t row, at = hindex__first(&c->index, hash, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&c->index, hash, at, &row))
		if (str__eq(c->outcomes.v[row]->key, key))
			return c->outcomes.v[row];
	return NULL;
}

/* ---- evaluating ---- */

static int put_sample(struct label_map *m, const struct dcm_batch *b, const struct dcm_label *l)
{
	struct dcm_str name = batch__str(b, l->name), value;
	char number[24], *text = arena__alloc(&m->arena, sizeof(RULES_SAMPLE_PREFIX) - 1 + name.n + 1);

	if (!text)
		return -ENOMEM;
	memcpy(text, RULES_SAMPLE_PREFIX, sizeof(RULES_SAMPLE_PREFIX) - 1);
	memcpy(text + sizeof(RULES_SAMPLE_PREFIX) - 1, name.p, name.n);
	value = outcome__sample_value(b, l, number);
	if (value.p == number)
		value = arena__str(&m->arena, value);
	if (!value.p)
		return -ENOMEM;
	name = (struct dcm_str){ text, (uint32_t)sizeof(RULES_SAMPLE_PREFIX) - 1 + name.n };
	return label_map__put(m, name, value);
}

/*
 * The labels as the rules get them: the series', the external ones it lacks, the sample labels they
 * read.
 */
static int fill_map(struct outcome_cache *c, const struct dcm_batch *b, uint32_t series,
		    uint32_t label_set, const uint8_t *use)
{
	struct dcm_span s = b->series[series], l = b->label_sets[label_set];
	struct label_map *m = &c->map;
	int r = 0;

	label_map__reset(m);
	for (uint32_t i = 0; r == 0 && i < s.n; i++)
		r = label_map__put(m, batch__str(b, b->pairs[s.off + i].name),
				   batch__str(b, b->pairs[s.off + i].value));
	for (uint32_t i = 0; r == 0 && i < c->n_externals; i++)
		if (label_map__get(m, c->externals[i].name).n == 0)
			r = label_map__put(m, c->externals[i].name, c->externals[i].value);
	for (uint32_t i = 0; r == 0 && use && i < l.n; i++)
		if (use[b->labels[l.off + i].name] != RULES_IGNORE)
			r = put_sample(m, b, &b->labels[l.off + i]);
	label_map__sort(m);
	return r;
}

/* ---- keeping ---- */

/* Of the series: neither gone nor internal. */
static bool is_label(const struct label_entry *e)
{
	return !e->is_removed && !str__starts(e->name, STR("__"));
}

/* A sample label that a rule wrote or took away. */
static bool is_edit(const struct label_entry *e)
{
	return (e->is_added || e->is_removed) && str__starts(e->name, STR(RULES_SAMPLE_PREFIX)) &&
	       e->name.n > sizeof(RULES_SAMPLE_PREFIX) - 1;
}

/* Counts what will be kept; false when it is more than a series may have. */
static bool measure(const struct label_map *m, struct outcome *o)
{
	size_t bytes = 0;

	for (size_t i = 0; i < m->v.n; i++) {
		const struct label_entry *e = &m->v.v[i];

		o->n_labels += is_label(e);
		o->n_edits += is_edit(e);
		if (is_label(e) || is_edit(e))
			bytes += (size_t)e->name.n + e->value.n;
	}
	return o->n_labels <= LABELS_MAX && o->n_edits <= LABELS_MAX && bytes <= LABEL_BYTES_MAX;
}

/* Copies what came out of the map, which is sorted, into the cache's arena. */
static int keep(struct outcome_cache *c, struct outcome *o)
{
	struct dcm_label_text *labels = arena__alloc(&c->arena, o->n_labels * sizeof(*labels) + 1);
	struct outcome_edit *edits = arena__alloc(&c->arena, o->n_edits * sizeof(*edits) + 1);
	const uint32_t prefix = sizeof(RULES_SAMPLE_PREFIX) - 1;
	uint32_t n_labels = 0, n_edits = 0;

	if (!labels || !edits)
		return -ENOMEM;
	for (size_t i = 0; i < c->map.v.n; i++) {
		const struct label_entry *e = &c->map.v.v[i];
		struct dcm_str name, value;

		if (!is_label(e) && !is_edit(e))
			continue;
		name = arena__str(&c->arena, e->name);
		value = arena__str(&c->arena, e->value);
		if (!name.p || !value.p)
			return -ENOMEM;
		if (is_label(e))
			labels[n_labels++] = (struct dcm_label_text){ name, value };
		else
			edits[n_edits++] = (struct outcome_edit){ { name.p + prefix, name.n - prefix },
								  value };
	}
	o->labels = labels;
	o->edits = edits;
	return 0;
}

static bool equal_edits(const struct outcome *a, const struct outcome *b)
{
	if (a->n_edits != b->n_edits)
		return false;
	for (uint32_t i = 0; i < a->n_edits; i++)
		if (!str__eq(a->edits[i].name, b->edits[i].name) ||
		    !str__eq(a->edits[i].value, b->edits[i].value))
			return false;
	return true;
}

/* Gives equal edits one number. The outcome will be row `row`. */
static int number_edits(struct outcome_cache *c, struct outcome *o, uint32_t row)
{
	uint64_t h = o->n_edits;
	uint32_t other, at;

	if (o->n_edits == 0)
		return 0;
	for (uint32_t i = 0; i < o->n_edits; i++) {
		h = hash__bytes(o->edits[i].name.p, o->edits[i].name.n, h);
		h = hash__bytes(o->edits[i].value.p, o->edits[i].value.n, h);
	}
	at = hindex__first(&c->edits_index, h, &other);
	while (other != HINDEX_NONE && !equal_edits(c->outcomes.v[other], o))
		at = hindex__next(&c->edits_index, h, at, &other);
	if (other != HINDEX_NONE) {
		o->edits_id = c->outcomes.v[other]->edits_id;
		return 0;
	}
	o->edits_id = ++c->n_edits_ids;
	return hindex__insert(&c->edits_index, h, row);
}

static bool is_same(const struct outcome *o, const struct dcm_batch *b, uint32_t series)
{
	struct dcm_span s = b->series[series];

	if (o->n_edits > 0 || o->n_labels != s.n)
		return false;
	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_pair *p = &b->pairs[s.off + i];

		if (!str__eq(batch__str(b, p->name), o->labels[i].name) ||
		    !str__eq(batch__str(b, p->value), o->labels[i].value))
			return false;
	}
	return true;
}

/* Runs the rules over the map and keeps what came out. */
static int evaluate(struct outcome_cache *c, const struct dcm_batch *b, uint32_t series,
		    struct outcome *o)
{
	int r = c->rules ? rules__run(c->rules, &c->map) : 1;

	o->is_undecided = c->map.n_undecided > 0;
	if (r == -EFBIG) {
		o->fate = OUTCOME_TOO_LARGE;
		return 0;
	}
	if (r <= 0) {
		o->fate = OUTCOME_DROPPED;
		return r;
	}
	label_map__sort(&c->map);
	if (!measure(&c->map, o)) {
		o->fate = OUTCOME_TOO_LARGE;
		return 0;
	}
	r = keep(c, o);
	o->fate = is_same(o, b, series) ? OUTCOME_SAME : OUTCOME_CHANGED;
	return r;
}

/*
 * A new outcome, not yet in the index. What it took of the arena stays when it fails; the next trim
 * has it.
 */
static int make(struct outcome_cache *c, const struct dcm_batch *b, uint32_t series,
		uint32_t label_set, const uint8_t *use, struct outcome **ret)
{
	struct outcome *o = arena__zalloc(&c->arena, 1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->key = arena__str(&c->arena, buf__view(&c->key));
	if (!o->key.p)
		return -ENOMEM;
	r = fill_map(c, b, series, label_set, use);
	if (r == 0)
		r = evaluate(c, b, series, o);
	if (r == 0)
		*ret = o;
	return r;
}

int outcome_cache__get(struct outcome_cache *c, const struct dcm_batch *batch, uint32_t series,
		       uint32_t label_set, const uint8_t *use, struct outcome **ret)
{
	struct outcome *o;
	uint64_t hash;
	int r = make_key(c, batch, series, label_set, use);

	if (r < 0)
		return r;
	hash = hash__bytes(c->key.data, c->key.n, 0);
	o = find(c, hash);
	if (o) {
		*ret = o;
		return 0;
	}
	r = make(c, batch, series, label_set, use, &o);
	if (r < 0)
		return r;
	if (!vec__reserve(&c->outcomes, 1) ||
	    hindex__insert(&c->index, hash, (uint32_t)c->outcomes.n) < 0)
		return -ENOMEM;
	/* Into the row first: the two indexes point at it, whatever comes. */
	c->outcomes.v[c->outcomes.n++] = o;
	r = number_edits(c, o, (uint32_t)c->outcomes.n - 1);
	if (r < 0)
		return r;
	*ret = o;
	return 0;
}
