/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/export.c - what a dictionary has, into a builder
 *
 * Each thing is given out on demand, down to its strings, and it is remembered what was already.
 * Stacks have a file of their own: export_stacks.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "plugins/storage/dict/export.h"

int dict_export__init(struct dict_export *ex, const struct dict *from, const struct dict_counts *counts,
		      const struct dcm_host *host, struct dcm_builder *to)
{
	*ex = (struct dict_export){ .from = from, .host = host, .to = to, .n_functions = counts->functions };
	return dict_map__init(&ex->map, counts);
}

void dict_export__fini(struct dict_export *ex)
{
	dict_map__fini(&ex->map);
	free(ex->ways);
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

uint32_t dict_export__new_location(struct dict_export *ex, uint32_t id, int *err)
{
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
