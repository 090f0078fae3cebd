/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/import.c - what a batch or another dictionary has, into a dictionary
 *
 * Each thing is brought in on demand, down to its strings, and it is remembered what came already.
 * Stacks have a file of their own: import_stacks.c.
 */
#include "plugins/storage/dict/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"

int dict_import__init(struct dict_import *im, struct dict *to, const struct dcm_batch *from)
{
	struct dict_counts counts = {
		.strings = from->n_strings,
		.mappings = from->n_mappings,
		.functions = from->n_functions,
		.processes = from->n_processes,
		.locations = from->n_locations,
		.stacks = from->n_stacks,
		.label_sets = from->n_label_sets,
		.series = from->n_series,
	};

	*im = (struct dict_import){ .to = to, .batch = from };
	if (from->origin)
		im->origin = origins__find_or_make(&to->origins, from->origin);
	return dict_map__init(&im->map, &counts);
}

int dict_import__init_dict(struct dict_import *im, struct dict *to, const struct dict *from)
{
	const struct dict_counts counts = dict__counts(from);

	return dict_import__init_counts(im, to, from, &counts);
}

int dict_import__init_counts(struct dict_import *im, struct dict *to, const struct dict *from,
			     const struct dict_counts *counts)
{
	*im = (struct dict_import){ .to = to, .old = from, .n_functions = counts->functions };
	im->hashes = mem__zalloc_large(counts->nodes, sizeof(im->hashes[0]));
	im->nodes = mem__zalloc_large(counts->nodes, sizeof(im->nodes[0]));
	return im->hashes && im->nodes ? dict_map__init(&im->map, counts) : -ENOMEM;
}

void dict_import__fini(struct dict_import *im)
{
	free(im->hashes);
	free(im->nodes);
	dict_map__fini(&im->map);
}

static struct dcm_str source_string(const struct dict_import *im, uint32_t id)
{
	return im->batch ? im->batch->strings[id] : dict__str(im->old, id);
}

static uint32_t import_string(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.strings, id) == DCM_NONE)
		dict_map__set(im->map.strings, id, dict__string(im->to, source_string(im, id)));
	return dict_map__get(im->map.strings, id);
}

static uint32_t import_mapping(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.mappings, id) != DCM_NONE)
		return dict_map__get(im->map.mappings, id);
	struct dcm_mapping m = im->batch ? im->batch->mappings[id]
					 : *POOL_AT(&im->old->mappings, struct dcm_mapping, id);
	m.file = import_string(im, m.file);
	m.build_id = import_string(im, m.build_id);
	if (m.file == DCM_NONE || m.build_id == DCM_NONE)
		return DCM_NONE;
	return dict_map__set(im->map.mappings, id, dict__mapping(im->to, &m));
}

static uint32_t import_function(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.functions, id) != DCM_NONE)
		return dict_map__get(im->map.functions, id);
	struct dcm_function f = im->batch ? im->batch->functions[id]
					  : *POOL_AT(&im->old->functions, struct dcm_function, id);
	f.name = import_string(im, f.name);
	f.system_name = import_string(im, f.system_name);
	f.file = import_string(im, f.file);
	if (f.name == DCM_NONE || f.system_name == DCM_NONE || f.file == DCM_NONE)
		return DCM_NONE;
	/* "" says the same as repeating the name does. */
	if (f.system_name == f.name)
		f.system_name = 0;
	return dict_map__set(im->map.functions, id, dict__function(im->to, &f));
}

static uint32_t import_process(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.processes, id) == DCM_NONE)
		dict_map__set(im->map.processes, id,
			      dict__process(im->to, im->batch ? &im->batch->processes[id]
							      : POOL_AT(&im->old->processes,
									struct dcm_process, id)));
	return dict_map__get(im->map.processes, id);
}

/* The source's location as a batch would have it, and where its lines are. */
static struct dcm_location source_location(const struct dict_import *im, uint32_t id,
					   const struct dcm_line **ret_lines, uint64_t *ret_hash)
{
	if (im->batch) {
		const struct dcm_location *l = &im->batch->locations[id];

		*ret_lines = COLUMN_AT(im->batch->lines, l->line_off);
		*ret_hash = im->batch->location_hashes[id].lo;
		return *l;
	}
	const struct dict_location *e = dict__location_at(im->old, id);
	const struct dict_lines *lines = atomic_load_explicit(&e->lines, memory_order_acquire);

	*ret_lines = lines ? lines->v : NULL;
	*ret_hash = e->hash;
	return (struct dcm_location){
		.mapping = e->mapping,
		.process = e->process,
		.address = e->address,
		.addr_kind = e->addr_kind,
		.kind = e->kind,
		.unnamed = atomic_load_explicit(&e->unnamed, memory_order_relaxed),
		.n_lines = dict_lines__n_known(lines, im->n_functions),
	};
}

/* Most locations have one line, or a few of what is inlined there: so many take no memory of their own. */
enum { FEW_LINES = 16 };

/* Lines with the functions of `to`. 0 or -ENOMEM. */
static int import_lines(struct dict_import *im, const struct dcm_line *lines, uint32_t n,
			struct dcm_line *to)
{
	for (uint32_t i = 0; i < n; i++) {
		to[i] = lines[i];
		if (lines[i].function == DCM_NONE)
			continue;
		to[i].function = import_function(im, lines[i].function);
		if (to[i].function == DCM_NONE)
			return -ENOMEM;
	}
	return 0;
}

uint32_t dict_import__location(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.locations, id) != DCM_NONE)
		return dict_map__get(im->map.locations, id);
	const struct dcm_line *from;
	struct dcm_line few[FEW_LINES], *lines = few;
	uint64_t hash;
	struct dcm_location l = source_location(im, id, &from, &hash);

	if (l.mapping != DCM_NONE && (l.mapping = import_mapping(im, l.mapping)) == DCM_NONE)
		return DCM_NONE;
	if (l.process != DCM_NONE && (l.process = import_process(im, l.process)) == DCM_NONE)
		return DCM_NONE;
	if (l.n_lines > FEW_LINES && !(lines = mem__resize(NULL, l.n_lines, sizeof(*lines))))
		return DCM_NONE;
	if (import_lines(im, from, l.n_lines, lines) == 0)
		dict_map__set(im->map.locations, id, dict__location(im->to, hash, &l, lines));
	if (lines != few)
		free(lines);
	return dict_map__get(im->map.locations, id);
}

uint32_t dict_import__label_set(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.label_sets, id) != DCM_NONE)
		return dict_map__get(im->map.label_sets, id);
	struct dict_label_set s;
	if (im->batch)
		s = (struct dict_label_set){ COLUMN_AT(im->batch->labels, im->batch->label_sets[id].off),
					     im->batch->label_sets[id].n };
	else
		s = *dict__label_set_at(im->old, id);
	if (s.n == 0)
		return dict_map__set(im->map.label_sets, id, 0);

	/* Zeroed, because entries are compared member by member but kept as bytes. */
	struct dcm_label *labels = mem__zalloc(s.n, sizeof(*labels));
	bool failed = !labels;
	for (uint32_t i = 0; !failed && i < s.n; i++) {
		labels[i].name = import_string(im, s.labels[i].name);
		labels[i].str = import_string(im, s.labels[i].str);
		labels[i].num = s.labels[i].num;
		labels[i].unit = s.labels[i].unit == DCM_NONE ? DCM_NONE
							      : import_string(im, s.labels[i].unit);
		failed = labels[i].name == DCM_NONE || labels[i].str == DCM_NONE ||
			 (labels[i].unit == DCM_NONE && s.labels[i].unit != DCM_NONE);
	}
	if (!failed)
		dict_map__set(im->map.label_sets, id, dict__label_set(im->to, labels, s.n));
	free(labels);
	return dict_map__get(im->map.label_sets, id);
}

static struct dict_series source_series(const struct dict_import *im, uint32_t id)
{
	if (!im->batch)
		return *dict__series_at(im->old, id);
	return (struct dict_series){ COLUMN_AT(im->batch->pairs, im->batch->series[id].off),
				     im->batch->series[id].n };
}

uint32_t dict_import__series(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.series, id) != DCM_NONE)
		return dict_map__get(im->map.series, id);
	const struct dict_series s = source_series(im, id);
	struct dcm_pair *pairs = mem__zalloc(s.n ? s.n : 1, sizeof(*pairs));
	bool failed = !pairs;

	for (uint32_t i = 0; !failed && i < s.n; i++) {
		pairs[i].name = import_string(im, s.pairs[i].name);
		pairs[i].value = import_string(im, s.pairs[i].value);
		failed = pairs[i].name == DCM_NONE || pairs[i].value == DCM_NONE;
	}
	if (!failed)
		dict_map__set(im->map.series, id, dict__series(im->to, pairs, s.n));
	free(pairs);
	return dict_map__get(im->map.series, id);
}

/* The number of a text that is there already, or DCM_NONE. */
static uint32_t known_string(const struct dict_import *im, uint32_t id)
{
	const uint32_t known = dict_map__get(im->map.strings, id);

	return known != DCM_NONE ? known : dict__find_string(im->to, source_string(im, id));
}

/* 1: the series is there already; 0: it is not; -ENOMEM. */
static int knows_series(const struct dict_import *im, uint32_t id)
{
	const struct dict_series s = source_series(im, id);
	struct dcm_pair *pairs = mem__zalloc(s.n ? s.n : 1, sizeof(*pairs));
	bool knows = pairs;

	for (uint32_t i = 0; knows && i < s.n; i++) {
		pairs[i].name = known_string(im, s.pairs[i].name);
		pairs[i].value = known_string(im, s.pairs[i].value);
		knows = pairs[i].name != DCM_NONE && pairs[i].value != DCM_NONE;
	}
	const int r = !pairs ? -ENOMEM : knows && dict__find_series(im->to, pairs, s.n) != DCM_NONE;
	free(pairs);
	return r;
}

/* That of another store, or of a copy, comes as it is. */
static bool is_overflow_itself(const struct dict_import *im, uint32_t id)
{
	const struct dict_series s = source_series(im, id);

	return s.n == 1 && str__eq(source_string(im, s.pairs[0].name), STR(DICT_OVERFLOW_NAME)) &&
	       str__eq(source_string(im, s.pairs[0].value), STR(DICT_OVERFLOW_VALUE));
}

/*
 * The overflow itself takes no room: a copy, which brings series in in another order, has as many.
 */
static bool is_full(const struct dict *d, uint32_t max)
{
	if (max == 0 || d->series.n < max)
		return false;
	const struct dcm_pair pair = { dict__find_string(d, STR(DICT_OVERFLOW_NAME)),
				       dict__find_string(d, STR(DICT_OVERFLOW_VALUE)) };

	return d->series.n > max || dict__find_series(d, &pair, 1) == DCM_NONE;
}

static uint32_t overflow_series(struct dict *to)
{
	const struct dcm_pair pair = { dict__string(to, STR(DICT_OVERFLOW_NAME)),
				       dict__string(to, STR(DICT_OVERFLOW_VALUE)) };

	return pair.name == DCM_NONE || pair.value == DCM_NONE ? DCM_NONE : dict__series(to, &pair, 1);
}

uint32_t dict_import__series_within(struct dict_import *im, uint32_t id, uint32_t max)
{
	if (dict_map__get(im->map.series, id) != DCM_NONE)
		return dict_map__get(im->map.series, id);
	const int known = is_full(im->to, max) && !is_overflow_itself(im, id) ? knows_series(im, id) : 1;

	if (known)
		return known < 0 ? DCM_NONE : dict_import__series(im, id);
	const uint32_t overflow = overflow_series(im->to);
	if (overflow == DCM_NONE)
		return DCM_NONE;
	im->overflow = overflow + 1;
	return dict_map__set(im->map.series, id, overflow);
}

uint32_t dict_import__type(struct dict_import *im, const struct dcm_type *t)
{
	struct dcm_type copy = {
		.name = import_string(im, t->name),
		.sample_type = import_string(im, t->sample_type),
		.sample_unit = import_string(im, t->sample_unit),
		.period_type = import_string(im, t->period_type),
		.period_unit = import_string(im, t->period_unit),
		.temporality = t->temporality,
	};

	if (copy.name == DCM_NONE || copy.sample_type == DCM_NONE || copy.sample_unit == DCM_NONE ||
	    copy.period_type == DCM_NONE || copy.period_unit == DCM_NONE)
		return DCM_NONE;
	return dict__type(im->to, &copy);
}
