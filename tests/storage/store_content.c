/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_content.c - everything that a store holds, in a form that knows no numbers
 */
#include "tests/storage/store_content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/storage/block_rows.h"
#include "tests/unit/unit.h"

struct content_row {
	uint64_t key; /* of stack and label set */
	int64_t value;
};

void content__fini(struct content *c)
{
	vec__fini(&c->profiles);
}

static uint64_t text_hash(uint64_t h, struct dcm_str s)
{
	return hash__mix(h, hash__bytes(s.n ? s.p : "", s.n, s.n));
}

/* texts: as struct dcm_type has them. */
static uint64_t type_hash(const struct dcm_str texts[static 5], uint32_t temporality)
{
	uint64_t h = hash__mix(1, temporality);

	for (int i = 0; i < 5; i++)
		h = text_hash(h, texts[i]);
	return h;
}

static int compare_rows(const void *a, const void *b)
{
	const struct content_row *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Rows of one key are one: their sum. */
static uint64_t rows_hash(struct content_row *rows, uint32_t n)
{
	uint64_t h = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), compare_rows);
	for (uint32_t i = 0; i < n;) {
		uint64_t key = rows[i].key, sum = 0;

		for (; i < n && rows[i].key == key; i++)
			sum += (uint64_t)rows[i].value;
		h = hash__mix(hash__mix(h, key), sum);
	}
	return h;
}

static void add(struct content *c, uint64_t place, const struct chunk_profile *head, bool is_state,
		struct content_row *rows)
{
	uint64_t who = hash__mix(place, (uint64_t)head->time_ms);
	uint64_t all = hash__mix(hash__mix(who, (uint64_t)head->duration_ns), (uint64_t)head->period);

	all = hash__mix(all, rows_hash(rows, head->n_rows));
	assert_true(vec__push(&c->profiles,
			      (struct content_profile){ who, all, head->time_ms, is_state }));
}

/* -------------------------------------------------------------------------------------------------
 * Batches
 */

static uint64_t batch_stack(const struct dcm_batch *b, uint32_t id)
{
	uint64_t h = 2;

	for (uint32_t i = 0; i < b->stacks[id].n; i++) {
		uint32_t at = b->stack_locations[b->stacks[id].off + i];
		const struct dcm_location *l = &b->locations[at];

		h = hash__mix(hash__mix(h, b->location_hashes[at].lo), l->address);
		if (l->mapping != DCM_NONE)
			h = text_hash(h, b->strings[b->mappings[l->mapping].build_id]);
	}
	return h;
}

static uint64_t batch_labels(const struct dcm_batch *b, uint32_t id)
{
	uint64_t h = 3;

	for (uint32_t i = 0; i < b->label_sets[id].n; i++) {
		const struct dcm_label *l = &b->labels[b->label_sets[id].off + i];

		h = text_hash(text_hash(h, b->strings[l->name]), b->strings[l->str]);
		h = hash__mix(h, (uint64_t)l->num);
	}
	return h;
}

static uint64_t batch_series(const struct dcm_batch *b, uint32_t id)
{
	uint64_t h = 4;

	for (uint32_t i = 0; i < b->series[id].n; i++) {
		const struct dcm_pair *p = &b->pairs[b->series[id].off + i];

		h = text_hash(text_hash(h, b->strings[p->name]), b->strings[p->value]);
	}
	return h;
}

static uint64_t batch_type(const struct dcm_batch *b, const struct dcm_type *t)
{
	const struct dcm_str texts[5] = { b->strings[t->name], b->strings[t->sample_type],
					  b->strings[t->sample_unit], b->strings[t->period_type],
					  b->strings[t->period_unit] };

	return type_hash(texts, t->temporality);
}

void content__add_batch(struct content *c, const struct dcm_batch *b)
{
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const struct dcm_profile *p = &b->profiles[i];
		struct content_row *rows = mem__zalloc((size_t)p->n_rows + 1, sizeof(*rows));
		struct chunk_profile head = {
			.time_ms = streams__ms(p->time_ns),
			.duration_ns = p->duration_ns,
			.period = p->period,
			.n_rows = p->n_rows,
		};

		assert_non_null(rows);
		for (uint32_t t = 0; t < p->n_types; t++) {
			const struct dcm_type *type = &b->types[p->type_off + t];
			uint64_t place = hash__mix(batch_series(b, p->series), batch_type(b, type));

			for (uint32_t k = 0; k < p->n_rows; k++) {
				uint64_t stack = batch_stack(b, b->row_stacks[p->row_off + k]);

				rows[k].key = hash__mix(
					stack, batch_labels(b, b->row_labels[p->row_off + k]));
				rows[k].value = b->values[p->value_off + (uint64_t)k * p->n_types + t];
			}
			add(c, place, &head, type->temporality != DCM_DELTA, rows);
		}
		free(rows);
	}
}

/* -------------------------------------------------------------------------------------------------
 * Stores
 */

static uint64_t dict_stack(const struct dict *d, uint32_t id)
{
	assert_true(id < d->stacks.n);
	const struct dict_stack *stack = dict__stack_at(d, id);
	uint32_t *locations = mem__zalloc((size_t)stack->n + 1, sizeof(*locations));
	uint64_t h = 2;

	assert_non_null(locations);
	dict__stack_locations(d, stack, locations);
	for (uint32_t i = 0; i < stack->n; i++) {
		const struct dict_location *l = dict__location_at(d, locations[i]);

		h = hash__mix(hash__mix(h, l->hash), l->address);
		if (l->mapping != DCM_NONE)
			h = text_hash(
				h,
				dict__str(d, POOL_AT(&d->mappings, struct dcm_mapping, l->mapping)->build_id));
	}
	free(locations);
	return h;
}

static uint64_t dict_labels(const struct dict *d, uint32_t id)
{
	uint64_t h = 3;

	assert_true(id < d->label_sets.n);
	const struct dict_label_set *set = dict__label_set_at(d, id);
	for (uint32_t i = 0; i < set->n; i++) {
		h = text_hash(h, dict__str(d, set->labels[i].name));
		h = text_hash(h, dict__str(d, set->labels[i].str));
		h = hash__mix(h, (uint64_t)set->labels[i].num);
	}
	return h;
}

static uint64_t dict_place(const struct dict *d, uint32_t series, uint32_t type)
{
	uint64_t h = 4;

	assert_true(series < d->series.n && type < d->types.n);
	const struct dict_series *s = dict__series_at(d, series);
	const struct dcm_type *t = &dict__type_at(d, type)->parts;
	for (uint32_t i = 0; i < s->n; i++)
		h = text_hash(text_hash(h, dict__str(d, s->pairs[i].name)),
			      dict__str(d, s->pairs[i].value));
	const struct dcm_str texts[5] = { dict__str(d, t->name), dict__str(d, t->sample_type),
					  dict__str(d, t->sample_unit), dict__str(d, t->period_type),
					  dict__str(d, t->period_unit) };
	return hash__mix(h, type_hash(texts, t->temporality));
}

static bool is_state(const struct dict *d, uint32_t type)
{
	return dict__type_at(d, type)->parts.temporality != DCM_DELTA;
}

static void add_profile(struct content *c, const struct dict *d, const struct stream *st,
			const struct profile *p)
{
	struct content_row *rows = mem__zalloc((size_t)p->n_rows + 1, sizeof(*rows));
	struct chunk_profile head = { p->time_ms, p->duration_ns, p->period, p->n_rows };

	assert_non_null(rows);
	for (uint32_t i = 0; i < p->n_rows; i++) {
		const struct row row = profile__row(p, i);

		rows[i] = (struct content_row){
			hash__mix(dict_stack(d, row.stack), dict_labels(d, row.labels)), row.value
		};
	}
	add(c, dict_place(d, st->series, st->type), &head, is_state(d, st->type), rows);
	free(rows);
}

static void add_heads(struct content *c, const struct heads *h)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct streams *s = &h->v[i]->streams;

		for (size_t j = 0; j < s->n; j++)
			for (size_t k = 0; k < s->v[j].profiles.n; k++)
				add_profile(c, s->dict, &s->v[j], s->v[j].profiles.v[k]);
	}
}

static void add_plain(struct content *c, const struct dict *d, const struct plain_profile *p)
{
	struct chunk_profile head = { p->time_ms, p->duration_ns, p->period, p->n_rows };
	struct content_row *rows = mem__zalloc((size_t)p->n_rows + 1, sizeof(*rows));

	assert_non_null(rows);
	for (uint32_t t = 0; t < p->n_types; t++) {
		for (uint32_t i = 0; i < p->n_rows; i++)
			rows[i] = (struct content_row){ hash__mix(dict_stack(d, p->rows[i].stack),
								  dict_labels(d, p->rows[i].label_set)),
							p->rows[i].values[t] };
		add(c, dict_place(d, p->series, p->types[t]), &head, is_state(d, p->types[t]), rows);
	}
	free(rows);
}

void content__add_store(struct content *c, struct store *s)
{
	for (size_t i = 0; i < s->blocks.n; i++) {
		plain_profiles profiles = { 0 };
		const struct block *block;
		struct era *era;

		assert_int_equal(store__era(s, s->blocks.v[i]->entry.era, &era, NULL), 0);
		assert_int_equal(stored__block(s->blocks.v[i], &block, NULL), 0);
		plain__read(&profiles, block, 0);
		for (size_t k = 0; k < profiles.n; k++)
			add_plain(c, era->dict, &profiles.v[k]);
		plain__fini(&profiles);
		era__unref(era);
	}
	add_heads(c, &s->sealing);
	add_heads(c, &s->active);
}

/* -------------------------------------------------------------------------------------------------
 * Comparing
 */

static int compare_who(const void *a, const void *b)
{
	const struct content_profile *x = a, *y = b;

	return (x->who > y->who) - (x->who < y->who);
}

static int compare_all(const void *a, const void *b)
{
	const struct content_profile *x = a, *y = b;

	return (x->all > y->all) - (x->all < y->all);
}

/* A stable sort, so that what was written later stays behind. */
static void sort_stable(struct content_profile *v, size_t n, struct content_profile *room)
{
	size_t half = n / 2, i = 0, j = half;

	if (n < 2)
		return;
	sort_stable(v, half, room);
	sort_stable(v + half, n - half, room);
	for (size_t k = 0; k < n; k++)
		room[k] = i < half && (j == n || compare_who(&v[i], &v[j]) <= 0) ? v[i++] : v[j++];
	memcpy(v, room, n * sizeof(*v));
}

void content__settle(struct content *c)
{
	struct content_profile *v = c->profiles.v;
	struct content_profile *room = mem__zalloc(c->profiles.n + 1, sizeof(*room));
	size_t n = 0;

	assert_non_null(room);
	sort_stable(v, c->profiles.n, room);
	free(room);
	for (size_t i = 0; i < c->profiles.n; i++) {
		bool replaced = v[i].is_state && i + 1 < c->profiles.n && v[i + 1].who == v[i].who;

		if (!replaced)
			v[n++] = v[i];
	}
	c->profiles.n = n;
	if (n)
		qsort(v, n, sizeof(*v), compare_all);
}

uint32_t content__differences(const struct content *a, const struct content *b)
{
	size_t i = 0, j = 0;
	uint32_t n = 0;

	while (i < a->profiles.n || j < b->profiles.n) {
		int order = i == a->profiles.n	 ? 1
			    : j == b->profiles.n ? -1
						 : compare_all(&a->profiles.v[i], &b->profiles.v[j]);

		n += order != 0;
		i += order <= 0;
		j += order >= 0;
	}
	return n;
}

void content__compare(const struct content *told, struct content *there)
{
	struct content must = { 0 };

	for (size_t i = 0; i < told->profiles.n; i++)
		assert_true(vec__push(&must.profiles, told->profiles.v[i]));
	content__settle(there);
	content__settle(&must);
	assert_int_equal(content__differences(there, &must), 0);
	content__fini(&must);
}

void content__compare_store(const struct content *told, struct store *s)
{
	struct content there = { 0 };

	content__add_store(&there, s);
	content__compare(told, &there);
	content__fini(&there);
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

static void note_done(void *ctx, int status)
{
	*(int *)ctx = status;
}

void content__write(struct content *told, struct store *s, struct dcm_batch *const *batches, uint32_t n)
{
	int status = -EINPROGRESS;

	assert_int_equal(store__write(s, batches, n, note_done, &status, NULL), 0);
	assert_int_equal(status, 0);
	for (uint32_t i = 0; told && i < n; i++)
		content__add_batch(told, batches[i]);
}
