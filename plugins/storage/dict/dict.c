/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/dict.c - finds or adds one entry of each kind
 */
#include "plugins/storage/dict/dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

struct dict *dict__new(void)
{
	struct dict *d = NEW(struct dict);

	if (!d)
		return NULL;
	d->refs = 1;
	labels__init(&d->labels);
	if (getrandom(&d->secret, sizeof(d->secret), 0) != sizeof(d->secret) ||
	    dict__string(d, STR("")) == DCM_NONE || dict__label_set(d, NULL, 0) == DCM_NONE) {
		dict__unref(d);
		return NULL;
	}
	return d;
}

struct dict *dict__ref(struct dict *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
	return d;
}

static void dict__fini_lists(struct dict *d)
{
	struct pool *pools[] = { &d->strings,	&d->mappings, &d->functions, &d->processes,
				 &d->locations, &d->nodes,    &d->stacks,    &d->label_sets,
				 &d->series,	&d->types };
	struct hindex *indexes[] = { &d->string_index,	&d->mapping_index,   &d->function_index,
				     &d->process_index, &d->location_index,  &d->node_index,
				     &d->stack_index,	&d->label_set_index, &d->series_index,
				     &d->type_index };

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		pool__fini(pools[i]);
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
		hindex__fini(indexes[i]);
}

void dict__unref(struct dict *d)
{
	if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) > 1)
		return;
	dict__fini_lists(d);
	labels__fini(&d->labels);
	vec__fini(&d->learnt);
	origins__fini(&d->origins);
	arena__fini(&d->arena);
	free(d);
}

uint64_t dict__bytes(const struct dict *d)
{
	const struct pool *pools[] = { &d->strings,   &d->mappings, &d->functions, &d->processes,
				       &d->locations, &d->nodes,    &d->stacks,	   &d->label_sets,
				       &d->series,    &d->types };
	const struct hindex *indexes[] = { &d->string_index,   &d->mapping_index,
					   &d->function_index, &d->process_index,
					   &d->location_index, &d->node_index,
					   &d->stack_index,    &d->label_set_index,
					   &d->series_index,   &d->type_index };
	uint64_t bytes = sizeof(*d) + d->arena.total_bytes;

	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
		bytes += pools[i]->bytes;
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
		bytes += (uint64_t)indexes[i]->cap * sizeof(*indexes[i]->slots);
	return bytes;
}

struct dict_counts dict__counts(const struct dict *d)
{
	return (struct dict_counts){
		.strings = d->strings.n,
		.mappings = d->mappings.n,
		.functions = d->functions.n,
		.processes = d->processes.n,
		.locations = d->locations.n,
		.nodes = d->nodes.n,
		.stacks = d->stacks.n,
		.label_sets = d->label_sets.n,
		.series = d->series.n,
		.types = d->types.n,
	};
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

struct dict_counts dict_counts__most(const struct dict_counts *a, const struct dict_counts *b)
{
	return (struct dict_counts){
		.strings = larger(a->strings, b->strings),
		.mappings = larger(a->mappings, b->mappings),
		.functions = larger(a->functions, b->functions),
		.processes = larger(a->processes, b->processes),
		.locations = larger(a->locations, b->locations),
		.nodes = larger(a->nodes, b->nodes),
		.stacks = larger(a->stacks, b->stacks),
		.label_sets = larger(a->label_sets, b->label_sets),
		.series = larger(a->series, b->series),
		.types = larger(a->types, b->types),
	};
}

bool dict__series_label(const struct dict *d, uint32_t series, struct dcm_str name, struct dcm_str *ret)
{
	const struct dict_series *s = dict__series_at(d, series);

	for (uint32_t i = 0; i < s->n; i++)
		if (str__eq(dict__str(d, s->pairs[i].name), name)) {
			*ret = dict__str(d, s->pairs[i].value);
			return true;
		}
	return false;
}

uint32_t dict__admit(struct pool *pool, struct hindex *index, uint64_t hash)
{
	if (hindex__insert(index, hash, pool->n) < 0)
		return DCM_NONE;
	return pool->n++;
}

static uint32_t find_string(const struct dict *d, struct dcm_str s, uint64_t h)
{
	uint32_t row, at = hindex__first(&d->string_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->string_index, h, at, &row))
		if (str__eq(dict__str(d, row), s))
			return row;
	return DCM_NONE;
}

uint32_t dict__find_string(const struct dict *d, struct dcm_str s)
{
	return find_string(d, s, hash__bytes(s.p, s.n, 0));
}

uint32_t dict__string(struct dict *d, struct dcm_str s)
{
	uint64_t h = hash__bytes(s.p, s.n, 0);
	uint32_t found = find_string(d, s, h);

	if (found != DCM_NONE)
		return found;
	struct dcm_str *entry = POOL_PUSH(&d->strings, struct dcm_str);
	if (!entry)
		return DCM_NONE;
	*entry = arena__str(&d->arena, s);
	return entry->p ? dict__admit(&d->strings, &d->string_index, h) : DCM_NONE;
}

static bool same_mapping(const struct dcm_mapping *a, const struct dcm_mapping *b)
{
	if (a->build_id || b->build_id)
		return a->build_id == b->build_id;
	return a->kind == b->kind && a->file == b->file;
}

uint32_t dict__mapping(struct dict *d, const struct dcm_mapping *m)
{
	uint64_t h = m->build_id ? hash__mix(1, m->build_id) : hash__mix(hash__mix(2, m->kind), m->file);
	uint32_t row, at = hindex__first(&d->mapping_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->mapping_index, h, at, &row))
		if (same_mapping(POOL_AT(&d->mappings, struct dcm_mapping, row), m))
			return row;
	struct dcm_mapping *entry = POOL_PUSH(&d->mappings, struct dcm_mapping);
	if (!entry)
		return DCM_NONE;
	*entry = *m;
	return dict__admit(&d->mappings, &d->mapping_index, h);
}

uint32_t dict__function(struct dict *d, const struct dcm_function *f)
{
	uint64_t h = hash__mix(hash__mix(hash__mix(f->name, f->system_name), f->file),
			       (uint64_t)f->start_line);
	uint32_t row, at = hindex__first(&d->function_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->function_index, h, at, &row)) {
		const struct dcm_function *e = POOL_AT(&d->functions, struct dcm_function, row);
		if (e->name == f->name && e->system_name == f->system_name && e->file == f->file &&
		    e->start_line == f->start_line)
			return row;
	}
	struct dcm_function *entry = POOL_PUSH(&d->functions, struct dcm_function);
	if (!entry)
		return DCM_NONE;
	*entry = *f;
	return dict__admit(&d->functions, &d->function_index, h);
}

uint32_t dict__process(struct dict *d, const struct dcm_process *p)
{
	uint64_t h = hash__mix(hash__mix(p->pid, p->generation), p->start_ns);
	uint32_t row, at = hindex__first(&d->process_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->process_index, h, at, &row)) {
		const struct dcm_process *e = POOL_AT(&d->processes, struct dcm_process, row);
		if (e->pid == p->pid && e->generation == p->generation && e->start_ns == p->start_ns)
			return row;
	}
	struct dcm_process *entry = POOL_PUSH(&d->processes, struct dcm_process);
	if (!entry)
		return DCM_NONE;
	*entry = *p;
	return dict__admit(&d->processes, &d->process_index, h);
}

/* Lines in the arena; NULL when memory ran out. */
static const struct dict_lines *keep_lines(struct dict *d, const struct dcm_line *lines, uint32_t n)
{
	struct dict_lines *kept = arena__alloc(&d->arena, sizeof(*kept) + n * sizeof(*lines));

	if (!kept)
		return NULL;
	kept->n = n;
	memset(kept->v, 0, n * sizeof(*lines));
	for (uint32_t i = 0; i < n; i++) {
		kept->v[i].function = lines[i].function;
		kept->v[i].column = lines[i].column;
		kept->v[i].line = lines[i].line;
	}
	return kept;
}

static bool same_lines(const struct dict_lines *kept, const struct dcm_line *lines, uint32_t n)
{
	if (!kept)
		return n == 0;
	if (kept->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (kept->v[i].function != lines[i].function ||
		    kept->v[i].column != lines[i].column || kept->v[i].line != lines[i].line)
			return false;
	return true;
}

/* Then the lines are no part of what the location is. */
static bool named_later(const struct dict *d, const struct dcm_location *l)
{
	return l->kind == DCM_FRAME_NATIVE && l->addr_kind != DCM_ADDR_NONE && l->mapping != DCM_NONE &&
	       POOL_AT(&d->mappings, struct dcm_mapping, l->mapping)->build_id != 0;
}

int dict__learn(struct dict *d, uint32_t location, uint8_t unnamed, const struct dcm_line *lines,
		uint32_t n)
{
	struct dict_location *e = POOL_AT(&d->locations, struct dict_location, location);
	const bool more_lines = n && !atomic_load_explicit(&e->lines, memory_order_relaxed);
	const bool reason = unnamed != DCM_UNNAMED_NOT_TRIED &&
			    atomic_load_explicit(&e->unnamed, memory_order_relaxed) ==
				    DCM_UNNAMED_NOT_TRIED;

	if (d->keep_learnt && (more_lines || reason) && !vec__push(&d->learnt, location))
		return -ENOMEM;
	if (more_lines) {
		const struct dict_lines *kept = keep_lines(d, lines, n);

		if (!kept)
			return -ENOMEM;
		atomic_store_explicit(&e->lines, kept, memory_order_release);
	}
	if (reason)
		atomic_store_explicit(&e->unnamed, unnamed, memory_order_relaxed);
	return 0;
}

void dict__fetch_location(const struct dict *d, uint64_t hash)
{
	uint32_t row;

	hindex__first(&d->location_index, hash, &row);
	if (row == HINDEX_NONE)
		return;
	/* Half of them lie in two lines of the cache. */
	__builtin_prefetch(dict__location_at(d, row));
	__builtin_prefetch((const char *)(dict__location_at(d, row) + 1) - 1);
}

uint32_t dict__location(struct dict *d, uint64_t hash, const struct dcm_location *l,
			const struct dcm_line *lines)
{
	bool later = named_later(d, l);
	uint32_t row, at = hindex__first(&d->location_index, hash, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->location_index, hash, at, &row)) {
		struct dict_location *e = POOL_AT(&d->locations, struct dict_location, row);
		const struct dict_lines *kept = atomic_load_explicit(&e->lines, memory_order_relaxed);

		if (e->address != l->address || e->mapping != l->mapping ||
		    e->process != l->process || e->addr_kind != l->addr_kind || e->kind != l->kind)
			continue;
		if (!later && !same_lines(kept, lines, l->n_lines))
			continue;
		return dict__learn(d, row, l->unnamed, lines, l->n_lines) == 0 ? row : DCM_NONE;
	}
	struct dict_location *entry = POOL_PUSH(&d->locations, struct dict_location);
	const struct dict_lines *kept = NULL;
	if (!entry || (l->n_lines && !(kept = keep_lines(d, lines, l->n_lines))))
		return DCM_NONE;
	entry->hash = hash;
	entry->address = l->address;
	entry->mapping = l->mapping;
	entry->process = l->process;
	entry->addr_kind = l->addr_kind;
	entry->kind = l->kind;
	atomic_store_explicit(&entry->unnamed, l->unnamed, memory_order_relaxed);
	atomic_store_explicit(&entry->lines, kept, memory_order_relaxed);
	return dict__admit(&d->locations, &d->location_index, hash);
}

/* A copy of a list in the arena; never NULL but when memory ran out. */
static void *keep(struct dict *d, const void *p, size_t n_bytes)
{
	void *kept = arena__alloc(&d->arena, n_bytes ? n_bytes : 1);

	if (kept && n_bytes)
		memcpy(kept, p, n_bytes);
	return kept;
}

static bool same_labels(const struct dict_label_set *e, const struct dcm_label *labels, uint32_t n)
{
	if (e->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (e->labels[i].name != labels[i].name || e->labels[i].str != labels[i].str ||
		    e->labels[i].num != labels[i].num || e->labels[i].unit != labels[i].unit)
			return false;
	return true;
}

uint32_t dict__label_set(struct dict *d, const struct dcm_label *labels, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++) {
		h = hash__mix(hash__mix(h, labels[i].name), labels[i].str);
		h = hash__mix(hash__mix(h, (uint64_t)labels[i].num), labels[i].unit);
	}
	uint32_t row, at = hindex__first(&d->label_set_index, h, &row);
	for (; row != HINDEX_NONE; at = hindex__next(&d->label_set_index, h, at, &row))
		if (same_labels(dict__label_set_at(d, row), labels, n))
			return row;
	struct dict_label_set *entry = POOL_PUSH(&d->label_sets, struct dict_label_set);
	if (!entry)
		return DCM_NONE;
	entry->n = n;
	entry->labels = keep(d, labels, n * sizeof(*labels));
	return entry->labels ? dict__admit(&d->label_sets, &d->label_set_index, h) : DCM_NONE;
}

static uint64_t series_hash(const struct dcm_pair *pairs, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h = hash__mix(hash__mix(h, pairs[i].name), pairs[i].value);
	return h;
}

static uint32_t find_series(const struct dict *d, const struct dcm_pair *pairs, uint32_t n, uint64_t h)
{
	uint32_t row, at = hindex__first(&d->series_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->series_index, h, at, &row)) {
		const struct dict_series *e = dict__series_at(d, row);
		if (e->n == n && (n == 0 || memcmp(e->pairs, pairs, n * sizeof(*pairs)) == 0))
			return row;
	}
	return DCM_NONE;
}

uint32_t dict__find_series(const struct dict *d, const struct dcm_pair *pairs, uint32_t n)
{
	return find_series(d, pairs, n, series_hash(pairs, n));
}

uint32_t dict__series(struct dict *d, const struct dcm_pair *pairs, uint32_t n)
{
	uint64_t h = series_hash(pairs, n);
	uint32_t found = find_series(d, pairs, n, h);

	if (found != DCM_NONE)
		return found;
	struct dict_series *entry = POOL_PUSH(&d->series, struct dict_series);
	if (!entry)
		return DCM_NONE;
	entry->n = n;
	entry->pairs = keep(d, pairs, n * sizeof(*pairs));
	return entry->pairs ? dict__admit(&d->series, &d->series_index, h) : DCM_NONE;
}

/* name:sample_type:sample_unit:period_type:period_unit[:delta] */
static struct dcm_str type_text(struct dict *d, const struct dcm_type *t)
{
	uint32_t parts[] = { t->name, t->sample_type, t->sample_unit, t->period_type, t->period_unit };
	struct buf text = { 0 };

	for (size_t i = 0; i < 5; i++) {
		if (i > 0)
			buf__byte(&text, ':');
		buf__str(&text, dict__str(d, parts[i]));
	}
	if (t->temporality == DCM_DELTA)
		buf__text(&text, ":delta");
	struct dcm_str kept = { 0 };
	if (!text.error)
		kept = arena__str(&d->arena, buf__view(&text));
	buf__fini(&text);
	return kept;
}

uint32_t dict__type(struct dict *d, const struct dcm_type *t)
{
	uint64_t h = hash__mix(hash__mix(hash__mix(t->name, t->sample_type), t->sample_unit),
			       t->period_type);
	h = hash__mix(hash__mix(h, t->period_unit), t->temporality);
	uint32_t row, at = hindex__first(&d->type_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->type_index, h, at, &row))
		if (memcmp(&dict__type_at(d, row)->parts, t, sizeof(*t)) == 0)
			return row;
	struct dict_type *entry = POOL_PUSH(&d->types, struct dict_type);
	if (!entry)
		return DCM_NONE;
	entry->parts = *t;
	entry->text = type_text(d, t);
	return entry->text.p ? dict__admit(&d->types, &d->type_index, h) : DCM_NONE;
}

/* n zeroed entries more, which no index knows. */
static int fill_pool(struct pool *pool, uint32_t to, size_t size, uint64_t *n)
{
	if (pool->n > to)
		return -EBADMSG;
	for (; pool->n < to; pool->n++, (*n)++)
		if (!pool__push(pool, size))
			return -ENOMEM;
	return 0;
}

int dict__fill(struct dict *d, const struct dict_counts *to, uint64_t *ret_n)
{
	const struct dict_counts had = dict__counts(d);
	const struct {
		struct pool *pool;
		uint32_t to;
		size_t size;
	} fills[] = {
		{ &d->strings, to->strings, sizeof(struct dcm_str) },
		{ &d->mappings, to->mappings, sizeof(struct dcm_mapping) },
		{ &d->functions, to->functions, sizeof(struct dcm_function) },
		{ &d->processes, to->processes, sizeof(struct dcm_process) },
		{ &d->locations, to->locations, sizeof(struct dict_location) },
		{ &d->nodes, to->nodes, sizeof(struct dict_node) },
		{ &d->stacks, to->stacks, sizeof(struct dict_stack) },
		{ &d->label_sets, to->label_sets, sizeof(struct dict_label_set) },
		{ &d->series, to->series, sizeof(struct dict_series) },
		{ &d->types, to->types, sizeof(struct dict_type) },
	};
	uint64_t n = 0;
	int r = to->nodes > had.nodes && !to->locations ? -EBADMSG : 0;

	for (size_t i = 0; r == 0 && i < sizeof(fills) / sizeof(fills[0]); i++)
		r = fill_pool(fills[i].pool, fills[i].to, fills[i].size, &n);
	for (uint32_t i = had.strings; r == 0 && i < d->strings.n; i++)
		POOL_AT(&d->strings, struct dcm_str, i)->p = "";
	for (uint32_t i = had.locations; r == 0 && i < d->locations.n; i++) {
		struct dict_location *l = POOL_AT(&d->locations, struct dict_location, i);

		l->mapping = l->process = DCM_NONE;
		l->kind = DCM_FRAME_NOTE;
		atomic_store_explicit(&l->unnamed, DCM_UNNAMED_NOT_HERE, memory_order_relaxed);
	}
	for (uint32_t i = had.nodes; r == 0 && i < d->nodes.n; i++)
		POOL_AT(&d->nodes, struct dict_node, i)->parent = DCM_NONE;
	for (uint32_t i = had.stacks; r == 0 && i < d->stacks.n; i++)
		POOL_AT(&d->stacks, struct dict_stack, i)->leaf = DCM_NONE;
	for (uint32_t i = had.types; r == 0 && i < d->types.n; i++)
		POOL_AT(&d->types, struct dict_type, i)->text = (struct dcm_str){ "", 0 };
	d->has_gaps |= n > 0;
	if (r == 0)
		*ret_n = n;
	return r;
}

/* The empty text is number 0 alone. */
static bool lacks_string(const struct dict *d, uint32_t id)
{
	return id && !dict__str(d, id).n;
}

bool dict__lacks_series(const struct dict *d, uint32_t series)
{
	if (!d->has_gaps)
		return false;
	const struct dict_series *s = dict__series_at(d, series);
	bool lacks = !s->pairs;

	for (uint32_t i = 0; !lacks && i < s->n; i++)
		lacks = lacks_string(d, s->pairs[i].name) || lacks_string(d, s->pairs[i].value);
	return lacks;
}

bool dict__lacks_type(const struct dict *d, uint32_t type)
{
	if (!d->has_gaps)
		return false;
	const struct dict_type *t = dict__type_at(d, type);
	const struct dcm_type *of = &t->parts;

	return !t->text.n || lacks_string(d, of->name) || lacks_string(d, of->sample_type) ||
	       lacks_string(d, of->sample_unit) || lacks_string(d, of->period_type) ||
	       lacks_string(d, of->period_unit);
}
