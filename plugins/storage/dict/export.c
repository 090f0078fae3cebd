/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/export.c - what a dictionary has, into a builder
 *
 * Each thing is given out on demand, down to its strings, and it is remembered what was already.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "plugins/storage/dict/dict.h"

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
	uint32_t n = dict_lines__n_known(kept, ex->n_functions);
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
