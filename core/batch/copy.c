/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/copy.c - brings entries of a batch into a builder
 *
 * For each table of the source there is a map from its ids to the builder's, plus one; 0 is "not
 * yet". The maps are zeroed pages of which only those are touched that are used. Single-threaded,
 * like the builder.
 */
#include "core/batch/copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/tables.h"

struct copier {
	const struct dcm_batch *src;
	struct dcm_builder *dst;
	uint32_t *strings, *mappings, *functions, *processes, *locations, *stacks, *series, *label_sets;
	/*
	 * For the entry at hand, in the builder's ids. A location's lines and a stack's locations
	 * are not both in use.
	 */
	struct dcm_line lines[LOCATION_MAX_LINES];
	uint32_t stack[STACK_MAX_DEPTH];
};

struct copier *copier__new(const struct dcm_batch *src, struct dcm_builder *dst)
{
	CLEANUP(copier__freep) struct copier *c = NEW(struct copier);

	if (!c)
		return NULL;
	c->src = src;
	c->dst = dst;
	c->strings = mem__zalloc(src->n_strings, sizeof(uint32_t));
	c->mappings = mem__zalloc(src->n_mappings, sizeof(uint32_t));
	c->functions = mem__zalloc(src->n_functions, sizeof(uint32_t));
	c->processes = mem__zalloc(src->n_processes, sizeof(uint32_t));
	c->locations = mem__zalloc(src->n_locations, sizeof(uint32_t));
	c->stacks = mem__zalloc(src->n_stacks, sizeof(uint32_t));
	c->series = mem__zalloc(src->n_series, sizeof(uint32_t));
	c->label_sets = mem__zalloc(src->n_label_sets, sizeof(uint32_t));
	if (!c->strings || !c->mappings || !c->functions || !c->processes || !c->locations ||
	    !c->stacks || !c->series || !c->label_sets)
		return NULL;
	return take_ptr(c);
}

void copier__free(struct copier *c)
{
	if (!c)
		return;
	free(c->strings);
	free(c->mappings);
	free(c->functions);
	free(c->processes);
	free(c->locations);
	free(c->stacks);
	free(c->series);
	free(c->label_sets);
	free(c);
}

/* Returns from the caller with the id that the map has already, and otherwise goes on. */
#define RETURN_KNOWN(map, id)                                                                      \
	do {                                                                                       \
		if ((map)[id])                                                                     \
			return (map)[id] - 1;                                                      \
	} while (0)

/*
 * An overlay's maker may have made more of something than a builder takes, and than there is room
 * for here.
 */
static bool too_many(struct copier *c, const char *what, uint32_t id, uint32_t n, uint32_t max)
{
	if (n <= max)
		return false;
	builder__fail(c->dst, -E2BIG, "%s %u: %u entries, more than the limit of %u", what, id, n, max);
	return true;
}

static uint32_t learn(uint32_t *map, uint32_t id, uint32_t theirs)
{
	map[id] = theirs + 1;
	return theirs;
}

uint32_t copier__string(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->strings, id);
	return learn(c->strings, id, builder__string(c->dst, c->src->strings[id]));
}

static uint32_t copy_mapping(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->mappings, id);
	struct dcm_mapping m = c->src->mappings[id];
	m.file = copier__string(c, m.file);
	m.build_id = copier__string(c, m.build_id);
	return learn(c->mappings, id, builder__mapping(c->dst, &m));
}

static uint32_t copy_function(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->functions, id);
	struct dcm_function f = c->src->functions[id];
	f.name = copier__string(c, f.name);
	f.system_name = copier__string(c, f.system_name);
	f.file = copier__string(c, f.file);
	return learn(c->functions, id, builder__function(c->dst, &f));
}

static uint32_t copy_process(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->processes, id);
	return learn(c->processes, id, builder__process(c->dst, &c->src->processes[id]));
}

uint32_t copier__location(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->locations, id);
	struct dcm_location l = c->src->locations[id];
	if (l.mapping != DCM_NONE)
		l.mapping = copy_mapping(c, l.mapping);
	if (l.process != DCM_NONE)
		l.process = copy_process(c, l.process);
	if (too_many(c, "location", id, l.n_lines, LOCATION_MAX_LINES))
		return 0;
	for (uint32_t i = 0; i < l.n_lines; i++) {
		c->lines[i] = c->src->lines[l.line_off + i];
		if (c->lines[i].function != DCM_NONE)
			c->lines[i].function = copy_function(c, c->lines[i].function);
	}
	return learn(c->locations, id, builder__location(c->dst, &l, c->lines, l.n_lines));
}

uint32_t copier__stack(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->stacks, id);
	struct dcm_span span = c->src->stacks[id];
	if (too_many(c, "stack", id, span.n, STACK_MAX_DEPTH))
		return 0;
	for (uint32_t i = 0; i < span.n; i++)
		c->stack[i] = copier__location(c, c->src->stack_locations[span.off + i]);
	return learn(c->stacks, id, builder__stack(c->dst, c->stack, span.n));
}

uint32_t copier__series(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->series, id);
	struct dcm_span span = c->src->series[id];
	struct dcm_pair pairs[LABELS_MAX];
	if (too_many(c, "series", id, span.n, LABELS_MAX))
		return 0;
	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_pair *p = &c->src->pairs[span.off + i];
		pairs[i].name = copier__string(c, p->name);
		pairs[i].value = copier__string(c, p->value);
	}
	return learn(c->series, id, builder__series(c->dst, pairs, span.n));
}

uint32_t copier__label_set(struct copier *c, uint32_t id)
{
	RETURN_KNOWN(c->label_sets, id);
	struct dcm_span span = c->src->label_sets[id];
	struct dcm_label labels[LABELS_MAX];
	if (too_many(c, "label set", id, span.n, LABELS_MAX))
		return 0;
	for (uint32_t i = 0; i < span.n; i++) {
		labels[i] = c->src->labels[span.off + i];
		labels[i].name = copier__string(c, labels[i].name);
		labels[i].str = copier__string(c, labels[i].str);
		if (labels[i].unit != DCM_NONE)
			labels[i].unit = copier__string(c, labels[i].unit);
	}
	return learn(c->label_sets, id, builder__label_set(c->dst, labels, span.n));
}

uint32_t copier__profile(struct copier *c, uint32_t id)
{
	const struct dcm_batch *src = c->src;
	struct dcm_profile p = src->profiles[id];
	struct dcm_type types[TYPES_MAX];

	if (too_many(c, "profile", id, p.n_types, TYPES_MAX))
		return 0;
	for (uint32_t k = 0; k < p.n_types; k++) {
		const struct dcm_type *t = &src->types[p.type_off + k];
		types[k] = (struct dcm_type){
			.name = copier__string(c, t->name),
			.sample_type = copier__string(c, t->sample_type),
			.sample_unit = copier__string(c, t->sample_unit),
			.period_type = copier__string(c, t->period_type),
			.period_unit = copier__string(c, t->period_unit),
			.temporality = t->temporality,
		};
	}
	p.series = copier__series(c, p.series);
	uint32_t theirs = builder__profile(c->dst, &p, types, p.n_types);
	/* A builder that has failed takes nothing more. */
	for (uint32_t r = 0; r < p.n_rows && !builder__error(c->dst); r++) {
		uint32_t stack = copier__stack(c, src->row_stacks[p.row_off + r]);
		uint32_t labels = copier__label_set(c, src->row_labels[p.row_off + r]);
		builder__row(c->dst, stack, labels, &src->values[p.value_off + (uint64_t)r * p.n_types]);
	}
	return theirs;
}

int batch__merge(struct dcm_batch *const *batches, uint32_t n, struct dcm_builder *b,
		 struct dcm_batch **ret_batch, struct dcm_error *err)
{
	for (uint32_t i = 0; i < n && !builder__error(b); i++) {
		CLEANUP(copier__freep) struct copier *c = copier__new(batches[i], b);
		if (!c) {
			builder__fail(b, -ENOMEM, "out of memory");
			break;
		}
		for (uint32_t k = 0; k < batches[i]->n_profiles; k++)
			copier__profile(c, k);
	}
	return builder__seal(b, ret_batch, err);
}

static struct dcm_hash source_of(const struct dcm_batch_id *id, uint32_t profile)
{
	const struct {
		struct dcm_batch_id id;
		uint64_t profile;
	} whole = { *id, profile };
	const struct dcm_hash none = { 0 };

	return id->source.lo || id->source.hi ? hash__bytes128(&whole, sizeof(whole)) : none;
}

int batch__one(const struct dcm_batch *b, uint32_t profile, struct dcm_batch **ret, struct dcm_error *err)
{
	CLEANUP(builder__freep) struct dcm_builder *to = builder__new(0);
	CLEANUP(copier__freep) struct copier *c = to ? copier__new(b, to) : NULL;

	if (!c)
		return error__nomem(err);
	builder__set_source(to, source_of(&b->id, profile), DCM_BATCH_ONCE);
	copier__profile(c, profile);
	return builder__seal(to, ret, err);
}
