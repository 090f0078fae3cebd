/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/dict_copy.c - batch to dictionary, dictionary to dictionary, dictionary to
 * builder
 *
 * Each copies on demand, from the thing that is asked for down to its strings, and remembers what
 * it has copied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/storage/dict/dict.h"

enum {
	IMPORT_RUN_STACKS = 64,
	IMPORT_RUN_FRAMES = 4096, /* as many as one stack may have */
	IMPORT_AHEAD = 16,	  /* locations that come from memory meanwhile */
};

static int dict_map__init(struct dict_map *m, const struct dict_counts *c)
{
	size_t n = (size_t)c->strings + c->mappings + c->functions + c->processes + c->locations +
		   c->stacks + c->label_sets + c->series;
	uint32_t *p = mem__zalloc_large(n, sizeof(*p));

	*m = (struct dict_map){ .all = p };
	if (!p)
		return -ENOMEM;
	m->strings = p;
	m->mappings = m->strings + c->strings;
	m->functions = m->mappings + c->mappings;
	m->processes = m->functions + c->functions;
	m->locations = m->processes + c->processes;
	m->stacks = m->locations + c->locations;
	m->label_sets = m->stacks + c->stacks;
	m->series = m->label_sets + c->label_sets;
	return 0;
}

static void dict_map__fini(struct dict_map *m)
{
	free(m->all);
	*m = (struct dict_map){ 0 };
}

/* How many lines may be looked at: all, or none when they came after the counts were taken. */
static uint32_t n_known_lines(const struct dict_lines *lines, uint32_t n_functions)
{
	for (uint32_t i = 0; lines && i < lines->n; i++)
		if (lines->v[i].function != DCM_NONE && lines->v[i].function >= n_functions)
			return 0;
	return lines ? lines->n : 0;
}

/* -------------------------------------------------------------------------------------------------
 * Into a dictionary
 */

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
	return dict_map__init(&im->map, counts);
}

void dict_import__fini(struct dict_import *im)
{
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

/* A batch without such entries has no such column, and nothing is an offset from nothing. */
#define COLUMN_AT(column, off) ((column) ? (column) + (off) : NULL)

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
		.n_lines = n_known_lines(lines, im->n_functions),
	};
}

/*
 * Lines with the functions of `to`, into fresh memory; NULL when there are none or (*err) memory
 * ran out.
 */
static struct dcm_line *import_lines(struct dict_import *im, const struct dcm_line *lines,
				     uint32_t n, int *err)
{
	if (n == 0)
		return NULL;
	struct dcm_line *copy = mem__dup(lines, n * sizeof(*lines));
	if (!copy) {
		*err = -ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (copy[i].function == DCM_NONE)
			continue;
		copy[i].function = import_function(im, copy[i].function);
		if (copy[i].function == DCM_NONE) {
			free(copy);
			*err = -ENOMEM;
			return NULL;
		}
	}
	return copy;
}

static uint32_t import_location(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.locations, id) != DCM_NONE)
		return dict_map__get(im->map.locations, id);
	const struct dcm_line *lines;
	uint64_t hash;
	struct dcm_location l = source_location(im, id, &lines, &hash);

	if (l.mapping != DCM_NONE && (l.mapping = import_mapping(im, l.mapping)) == DCM_NONE)
		return DCM_NONE;
	if (l.process != DCM_NONE && (l.process = import_process(im, l.process)) == DCM_NONE)
		return DCM_NONE;
	int err = 0;
	struct dcm_line *copy = import_lines(im, lines, l.n_lines, &err);
	if (err == 0)
		dict_map__set(im->map.locations, id, dict__location(im->to, hash, &l, copy));
	free(copy);
	return dict_map__get(im->map.locations, id);
}

static uint64_t source_hash(const struct dict_import *im, uint32_t location)
{
	return im->batch ? im->batch->location_hashes[location].lo
			 : dict__location_at(im->old, location)->hash;
}

static uint32_t stack_depth(const struct dict_import *im, uint32_t id)
{
	return im->batch ? im->batch->stacks[id].n : dict__stack_at(im->old, id)->n;
}

/* A stack's locations, leaf first, in the source's numbers: [n]; in the batch, or in `room`. */
static const uint32_t *source_stack(const struct dict_import *im, uint32_t id, uint32_t *room)
{
	if (im->batch)
		return COLUMN_AT(im->batch->stack_locations, im->batch->stacks[id].off);
	dict__stack_locations(im->old, dict__stack_at(im->old, id), room);
	return room;
}

uint32_t dict_import__stack(struct dict_import *im, uint32_t id)
{
	if (dict_map__get(im->map.stacks, id) != DCM_NONE)
		return dict_map__get(im->map.stacks, id);
	const uint32_t n = stack_depth(im, id);
	uint32_t few[128], *ids = few, i = 0;

	if (n > 128 && !(ids = mem__resize(NULL, n, sizeof(*ids))))
		return DCM_NONE;
	const uint32_t *from = source_stack(im, id, ids);
	while (i < n && (ids[i] = import_location(im, from[i])) != DCM_NONE)
		i++;
	if (i == n)
		dict_map__set(im->map.stacks, id, dict__stack(im->to, ids, n));
	if (ids != few)
		free(ids);
	return dict_map__get(im->map.stacks, id);
}

/* Stacks that are brought in together. */
struct import_run {
	uint32_t n, n_frames, n_missing;
	uint32_t ids[IMPORT_RUN_STACKS], lengths[IMPORT_RUN_STACKS];
	uint64_t hashes[IMPORT_RUN_STACKS];
	struct dict_path path;
	uint32_t frames[IMPORT_RUN_FRAMES]; /* of all: first the source's locations, then those of `to` */
	uint32_t missing[IMPORT_RUN_FRAMES]; /* the source's that are not known yet, some more than once */
};

static void begin_stack(struct dict_import *im, struct import_run *run, uint32_t id, uint32_t n)
{
	uint32_t *frames = run->frames + run->n_frames;
	const uint32_t *from = source_stack(im, id, frames);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t location = frames[i] = from[i];

		if (dict_map__get(im->map.locations, location) != DCM_NONE)
			continue;
		dict__seek_location(im->to, source_hash(im, location));
		run->missing[run->n_missing++] = location;
	}
	run->ids[run->n] = id;
	run->lengths[run->n++] = n;
	run->n_frames += n;
}

static int import_missing(struct dict_import *im, const struct import_run *run)
{
	for (uint32_t i = 0; i < run->n_missing + IMPORT_AHEAD; i++) {
		if (i < run->n_missing)
			dict__fetch_location(im->to, source_hash(im, run->missing[i]));
		if (i >= IMPORT_AHEAD && import_location(im, run->missing[i - IMPORT_AHEAD]) == DCM_NONE)
			return -ENOMEM;
	}
	return 0;
}

static int end_import_run(struct dict_import *im, struct import_run *run)
{
	uint32_t *at = run->frames;

	if (import_missing(im, run) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->n; at += run->lengths[i++]) {
		for (uint32_t k = 0; k < run->lengths[i]; k++)
			at[k] = dict_map__get(im->map.locations, at[k]);
		run->hashes[i] = dict__seek_stack(im->to, at, run->lengths[i]);
	}
	for (uint32_t i = 0; i < run->n; i++)
		dict__fetch_stack(im->to, run->hashes[i]);
	at = run->frames;
	for (uint32_t i = 0; i < run->n; at += run->lengths[i++]) {
		const uint32_t id = dict__stack_fetched(im->to, at, run->lengths[i], run->hashes[i],
							&run->path);

		if (id == DCM_NONE)
			return -ENOMEM;
		dict_map__set(im->map.stacks, run->ids[i], id);
	}
	run->n = run->n_frames = run->n_missing = 0;
	return 0;
}

int dict_import__stacks(struct dict_import *im, const uint32_t *ids, uint64_t n)
{
	struct import_run run;
	int r = 0;

	run.n = run.n_frames = run.n_missing = run.path.n = 0;
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		if (dict_map__get(im->map.stacks, ids[i]) != DCM_NONE)
			continue;
		const uint32_t depth = stack_depth(im, ids[i]);

		if (run.n == IMPORT_RUN_STACKS || depth > IMPORT_RUN_FRAMES - run.n_frames)
			r = end_import_run(im, &run);
		if (r == 0 && depth <= IMPORT_RUN_FRAMES)
			begin_stack(im, &run, ids[i], depth);
	}
	return r ? r : end_import_run(im, &run);
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

/* -------------------------------------------------------------------------------------------------
 * Into a builder
 */

int dict_export__init(struct dict_export *ex, const struct dict *from, const struct dict_counts *counts,
		      const struct dcm_host *host, struct dcm_builder *to)
{
	*ex = (struct dict_export){ .from = from, .host = host, .to = to, .n_functions = counts->functions };
	return dict_map__init(&ex->map, counts);
}

void dict_export__fini(struct dict_export *ex)
{
	dict_map__fini(&ex->map);
}

static uint32_t export_string(struct dict_export *ex, uint32_t id)
{
	if (dict_map__get(ex->map.strings, id) == DCM_NONE)
		dict_map__set(ex->map.strings, id,
			      ex->host->add_string(ex->to, dict__str(ex->from, id)));
	return dict_map__get(ex->map.strings, id);
}

static uint32_t export_mapping(struct dict_export *ex, uint32_t id)
{
	if (dict_map__get(ex->map.mappings, id) == DCM_NONE) {
		struct dcm_mapping m = *POOL_AT(&ex->from->mappings, struct dcm_mapping, id);

		m.file = export_string(ex, m.file);
		m.build_id = export_string(ex, m.build_id);
		dict_map__set(ex->map.mappings, id, ex->host->add_mapping(ex->to, &m));
	}
	return dict_map__get(ex->map.mappings, id);
}

static uint32_t export_function(struct dict_export *ex, uint32_t id)
{
	if (dict_map__get(ex->map.functions, id) == DCM_NONE) {
		struct dcm_function f = *POOL_AT(&ex->from->functions, struct dcm_function, id);

		f.name = export_string(ex, f.name);
		f.system_name = export_string(ex, f.system_name);
		f.file = export_string(ex, f.file);
		dict_map__set(ex->map.functions, id, ex->host->add_function(ex->to, &f));
	}
	return dict_map__get(ex->map.functions, id);
}

static uint32_t export_location(struct dict_export *ex, uint32_t id, int *err)
{
	if (dict_map__get(ex->map.locations, id) != DCM_NONE)
		return dict_map__get(ex->map.locations, id);
	const struct dict_location *e = dict__location_at(ex->from, id);
	const struct dict_lines *kept = atomic_load_explicit(&e->lines, memory_order_acquire);
	uint32_t n = n_known_lines(kept, ex->n_functions);
	struct dcm_line few[16], *lines = few;

	if (n > 16 && !(lines = mem__zalloc(n, sizeof(*lines)))) {
		*err = -ENOMEM;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		lines[i] = kept->v[i];
		if (lines[i].function != DCM_NONE)
			lines[i].function = export_function(ex, lines[i].function);
	}
	struct dcm_location l = {
		.mapping = e->mapping == DCM_NONE ? DCM_NONE : export_mapping(ex, e->mapping),
		.process = DCM_NONE,
		.address = e->address,
		.addr_kind = e->addr_kind,
		.kind = e->kind,
		.unnamed = atomic_load_explicit(&e->unnamed, memory_order_relaxed),
	};
	if (e->process != DCM_NONE) {
		if (dict_map__get(ex->map.processes, e->process) == DCM_NONE)
			dict_map__set(ex->map.processes, e->process,
				      ex->host->add_process(ex->to, POOL_AT(&ex->from->processes,
									    struct dcm_process,
									    e->process)));
		l.process = dict_map__get(ex->map.processes, e->process);
	}
	dict_map__set(ex->map.locations, id, ex->host->add_location(ex->to, &l, lines, n));
	if (lines != few)
		free(lines);
	return dict_map__get(ex->map.locations, id);
}

static bool is_given(const struct dict_export *ex, uint32_t stack)
{
	return !ex->stacks_once && dict_map__get(ex->map.stacks, stack) != DCM_NONE;
}

uint32_t dict_export__stack(struct dict_export *ex, uint32_t id, int *err)
{
	const struct dict_stack *s = dict__stack_at(ex->from, id);
	uint32_t few[128], *ids = few;

	if (is_given(ex, id))
		return dict_map__get(ex->map.stacks, id);
	if (s->n > 128 && !(ids = mem__resize(NULL, s->n, sizeof(*ids)))) {
		*err = -ENOMEM;
		return 0;
	}
	dict__stack_locations(ex->from, s, ids);
	for (uint32_t i = 0; i < s->n; i++)
		ids[i] = export_location(ex, ids[i], err);
	const uint32_t given = ex->host->add_stack(ex->to, ids, s->n);
	if (!ex->stacks_once)
		dict_map__set(ex->map.stacks, id, given);
	if (ids != few)
		free(ids);
	return given;
}

/*
 * Stacks that are given out together. They are climbed in step, all of them by a frame at a time, so
 * that the nodes of one come from memory while the others are looked at. Where two stand on one
 * node, the later one's climb ends: from there on it has the callers of the other.
 */
struct stack_run {
	uint32_t n, n_locations;
	uint32_t ids[DICT_RUN_MAX], lengths[DICT_RUN_MAX];
	uint32_t *ret[DICT_RUN_MAX];   /* where its number in the builder goes */
	uint32_t ends[DICT_RUN_MAX];   /* of its locations, the root's is the last */
	uint32_t nodes[DICT_RUN_MAX];  /* where it has come to */
	uint32_t shared[DICT_RUN_MAX]; /* how many callers it has from */
	uint32_t of[DICT_RUN_MAX];     /* this one, which stands before it */
	uint32_t locations[DICT_RUN_LOCATIONS];
};

/* All that are in climbing[n] go up from where they have `depth` frames left. Returns who is left. */
static uint32_t climb(const struct dict_export *ex, struct stack_run *run, uint32_t depth,
		      uint32_t *climbing, uint32_t n)
{
	uint32_t left = 0, before = DCM_NONE, its_node = DCM_NONE;

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = climbing[k], node = run->nodes[i];

		if (run->lengths[i] >= depth && node == its_node) {
			run->shared[i] = depth;
			run->of[i] = before;
			continue;
		}
		climbing[left++] = i;
		if (run->lengths[i] < depth)
			continue;
		const struct dict_node *at = dict__node_at(ex->from, node);
		run->locations[run->ends[i] - depth] = at->location;
		run->nodes[i] = at->parent;
		if (depth > 1)
			__builtin_prefetch(dict__node_at(ex->from, at->parent));
		before = i;
		its_node = node;
	}
	return left;
}

/* The locations of a stack that was climbed become the builder's; those before it did. */
static void name_locations(struct dict_export *ex, struct stack_run *run, uint32_t i, int *err)
{
	const uint32_t *known = ex->map.locations, shared = run->shared[i];
	uint32_t *at = run->locations + run->ends[i] - run->lengths[i];

	for (uint32_t k = 0; k < run->lengths[i] - shared; k++) {
		const uint32_t id = dict_map__get(known, at[k]);

		at[k] = id != DCM_NONE ? id : export_location(ex, at[k], err);
	}
	if (shared)
		memcpy(run->locations + run->ends[i] - shared,
		       run->locations + run->ends[run->of[i]] - shared, shared * sizeof(*at));
}

static void end_run(struct dict_export *ex, struct stack_run *run, int *err)
{
	uint32_t climbing[DICT_RUN_MAX], n = run->n, depth = 0;

	for (uint32_t i = 0; i < run->n; i++) {
		climbing[i] = i;
		depth = run->lengths[i] > depth ? run->lengths[i] : depth;
	}
	for (; depth > 0; depth--)
		n = climb(ex, run, depth, climbing, n);
	for (uint32_t i = 0; i < run->n; i++)
		name_locations(ex, run, i, err);
	const uint32_t first = ex->host->add_stacks(ex->to, run->locations, run->lengths, run->n);
	for (uint32_t i = 0; i < run->n; i++)
		*run->ret[i] = first + i;
	for (uint32_t i = 0; !ex->stacks_once && i < run->n; i++)
		dict_map__set(ex->map.stacks, run->ids[i], first + i);
	run->n = run->n_locations = 0;
}

static void begin_climb(const struct dict_export *ex, struct stack_run *run, uint32_t id,
			const struct dict_stack *s, uint32_t *ret)
{
	const uint32_t i = run->n++;

	if (s->n)
		__builtin_prefetch(dict__node_at(ex->from, s->leaf));
	run->n_locations += s->n;
	run->ids[i] = id;
	run->ret[i] = ret;
	run->lengths[i] = s->n;
	run->ends[i] = run->n_locations;
	run->nodes[i] = s->leaf;
	run->shared[i] = 0;
}

void dict_export__stacks(struct dict_export *ex, const uint32_t *ids, uint32_t n, uint32_t *ret, int *err)
{
	struct stack_run run;

	run.n = run.n_locations = 0;
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(dict__stack_at(ex->from, ids[i]));
	for (uint32_t i = 0; i < n; i++) {
		const struct dict_stack *s = dict__stack_at(ex->from, ids[i]);

		if (s->n > DICT_RUN_DEPTH || is_given(ex, ids[i])) {
			ret[i] = dict_export__stack(ex, ids[i], err);
			continue;
		}
		if (run.n == DICT_RUN_MAX || run.n_locations + s->n > DICT_RUN_LOCATIONS)
			end_run(ex, &run, err);
		begin_climb(ex, &run, ids[i], s, &ret[i]);
	}
	if (run.n)
		end_run(ex, &run, err);
}

uint32_t dict_export__label_set(struct dict_export *ex, uint32_t id, int *err)
{
	if (dict_map__get(ex->map.label_sets, id) != DCM_NONE)
		return dict_map__get(ex->map.label_sets, id);
	const struct dict_label_set *s = dict__label_set_at(ex->from, id);
	struct dcm_label *labels = mem__zalloc(s->n ? s->n : 1, sizeof(*labels));

	if (!labels) {
		*err = -ENOMEM;
		return 0;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		labels[i] = s->labels[i];
		labels[i].name = export_string(ex, labels[i].name);
		labels[i].str = export_string(ex, labels[i].str);
		if (labels[i].unit != DCM_NONE)
			labels[i].unit = export_string(ex, labels[i].unit);
	}
	dict_map__set(ex->map.label_sets, id, ex->host->add_label_set(ex->to, labels, s->n));
	free(labels);
	return dict_map__get(ex->map.label_sets, id);
}

uint32_t dict_export__series(struct dict_export *ex, uint32_t id, int *err)
{
	if (dict_map__get(ex->map.series, id) != DCM_NONE)
		return dict_map__get(ex->map.series, id);
	const struct dict_series *s = dict__series_at(ex->from, id);
	struct dcm_pair *pairs = mem__zalloc(s->n ? s->n : 1, sizeof(*pairs));

	if (!pairs) {
		*err = -ENOMEM;
		return 0;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		pairs[i].name = export_string(ex, s->pairs[i].name);
		pairs[i].value = export_string(ex, s->pairs[i].value);
	}
	dict_map__set(ex->map.series, id, ex->host->add_series(ex->to, pairs, s->n));
	free(pairs);
	return dict_map__get(ex->map.series, id);
}

struct dcm_type dict_export__type(struct dict_export *ex, uint32_t id)
{
	const struct dcm_type *t = &dict__type_at(ex->from, id)->parts;

	return (struct dcm_type){
		.name = export_string(ex, t->name),
		.sample_type = export_string(ex, t->sample_type),
		.sample_unit = export_string(ex, t->sample_unit),
		.period_type = export_string(ex, t->period_type),
		.period_unit = export_string(ex, t->period_unit),
		.temporality = t->temporality,
	};
}
