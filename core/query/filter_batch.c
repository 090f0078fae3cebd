/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/filter_batch.c - a batch of the stacks that a filter leaves
 *
 * Each path is folded back into locations: a run of one location's slots, which stand in descending
 * order, is one location; the next one begins where the order breaks. Locations that are whole are
 * copied as they are.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/query/filter.h"

struct folding {
	const struct dcm_batch *from;
	struct dcm_builder *to;
	struct copier *copier;
	struct frames *frames;
	struct filter_marks marks;
	struct filter_path path;
	uint32_t *stacks; /* [from->n_stacks] new id, DCM_NONE: not yet, or GONE */
	VEC(uint32_t) locations;
	VEC(struct dcm_line) lines;
};
#define GONE (DCM_NONE - 1)

static void folding__fini(struct folding *f)
{
	filter_marks__fini(&f->marks);
	filter_path__fini(&f->path);
	frames__unref(f->frames);
	copier__free(f->copier);
	builder__free(f->to);
	free(f->stacks);
	vec__fini(&f->locations);
	vec__fini(&f->lines);
}

static uint32_t copy_function(struct folding *f, uint32_t id)
{
	if (id == DCM_NONE)
		return DCM_NONE;
	struct dcm_function fn = f->from->functions[id];

	fn.name = copier__string(f->copier, fn.name);
	fn.system_name = copier__string(f->copier, fn.system_name);
	fn.file = copier__string(f->copier, fn.file);
	return builder__function(f->to, &fn);
}

/*
 * The location with the lines of these slots only, outermost first; [n] of them, fewer than it has.
 */
static uint32_t copy_part(struct folding *f, uint32_t location, const uint32_t *slots, size_t n)
{
	struct dcm_location l = f->from->locations[location];

	if (l.mapping != DCM_NONE) {
		struct dcm_mapping m = f->from->mappings[l.mapping];

		m.file = copier__string(f->copier, m.file);
		m.build_id = copier__string(f->copier, m.build_id);
		l.mapping = builder__mapping(f->to, &m);
	}
	if (l.process != DCM_NONE)
		l.process = builder__process(f->to, &f->from->processes[l.process]);
	for (size_t i = 0; i < n; i++) {
		struct dcm_line line = f->from->lines[f->frames->slots[slots[n - 1 - i]].line];

		line.function = copy_function(f, line.function);
		f->lines.v[i] = line;
	}
	return builder__location(f->to, &l, f->lines.v, (uint32_t)n);
}

/* The path as a stack of the builder. */
static int fold_path(struct folding *f, uint32_t *ret_stack)
{
	const struct filter_path *p = &f->path;

	f->locations.n = 0;
	if (!vec__reserve(&f->locations, p->n) || !vec__reserve(&f->lines, p->n))
		return -ENOMEM;
	for (size_t i = 0, end; i < p->n; i = end) {
		uint32_t location = f->frames->slots[p->v[i]].location;

		end = i + 1;
		while (end < p->n && f->frames->slots[p->v[end]].location == location &&
		       p->v[end] < p->v[end - 1])
			end++;
		f->locations.v[f->locations.n++] = end - i == f->frames->locations[location].n
							   ? copier__location(f->copier, location)
							   : copy_part(f, location, p->v + i, end - i);
	}
	for (size_t i = 0; i < f->locations.n / 2; i++) {
		uint32_t *a = &f->locations.v[i], *b = &f->locations.v[f->locations.n - 1 - i], t = *a;

		*a = *b;
		*b = t;
	}
	*ret_stack = builder__stack(f->to, f->locations.v, (uint32_t)f->locations.n);
	return 0;
}

static int new_stack(struct folding *f, uint32_t stack, uint32_t *ret)
{
	if (f->stacks[stack] == DCM_NONE) {
		int r = filter__path(&f->marks, stack, &f->path);

		if (r == 1)
			r = fold_path(f, &f->stacks[stack]);
		else if (r == 0)
			f->stacks[stack] = GONE;
		if (r < 0)
			return r;
	}
	*ret = f->stacks[stack];
	return 0;
}

static int fold_profile(struct folding *f, uint32_t profile, int64_t *filtered)
{
	const struct dcm_batch *b = f->from;
	struct dcm_profile head = b->profiles[profile];
	struct dcm_type types[16];

	for (uint32_t k = 0; k < head.n_types; k++) {
		types[k] = b->types[head.type_off + k];
		types[k].name = copier__string(f->copier, types[k].name);
		types[k].sample_type = copier__string(f->copier, types[k].sample_type);
		types[k].sample_unit = copier__string(f->copier, types[k].sample_unit);
		types[k].period_type = copier__string(f->copier, types[k].period_type);
		types[k].period_unit = copier__string(f->copier, types[k].period_unit);
	}
	head.series = copier__series(f->copier, head.series);
	builder__profile(f->to, &head, types, head.n_types);
	for (uint32_t i = 0; i < head.n_rows; i++) {
		const int64_t *values = b->values + head.value_off + (uint64_t)i * head.n_types;
		uint32_t stack;
		int r = new_stack(f, b->row_stacks[head.row_off + i], &stack);

		if (r < 0)
			return r;
		if (stack != GONE) {
			builder__row(f->to, stack,
				     copier__label_set(f->copier, b->row_labels[head.row_off + i]),
				     values);
			continue;
		}
		for (uint32_t k = 0; k < head.n_types; k++)
			if (__builtin_add_overflow(filtered[k], values[k], &filtered[k]))
				filtered[k] = values[k] < 0 ? INT64_MIN : INT64_MAX;
	}
	return 0;
}

static int begin(struct folding *f, const struct filter *filter, struct dcm_batch *batch,
		 uint64_t max_bytes, struct dcm_error *err)
{
	int r = frames__new(batch, FRAMES_FUNCTION, NULL, &f->frames, err);

	if (r == 0)
		r = filter__mark(filter, f->frames, &f->marks, err);
	if (r < 0)
		return r;
	f->to = builder__new(max_bytes);
	f->copier = f->to ? copier__new(batch, f->to) : NULL;
	f->stacks = mem__resize(NULL, batch->n_stacks ? batch->n_stacks : 1, sizeof(*f->stacks));
	if (!f->copier || !f->stacks)
		return error__nomem(err);
	for (uint32_t i = 0; i < batch->n_stacks; i++)
		f->stacks[i] = DCM_NONE;
	return 0;
}

int filter__batch(const struct filter *filter, struct dcm_batch *batch, uint64_t max_bytes,
		  struct dcm_batch **ret_batch, int64_t ret_filtered[static 16], struct dcm_error *err)
{
	struct folding f = { .from = batch };
	struct dcm_batch *out = NULL;
	int64_t filtered[16] = { 0 };
	int r = 0;

	if (filter__is_empty(filter)) {
		out = batch__ref(batch);
	} else {
		r = begin(&f, filter, batch, max_bytes, err);
		for (uint32_t i = 0; r == 0 && i < batch->n_profiles; i++)
			if (fold_profile(&f, i, filtered) < 0)
				r = error__nomem(err);
		if (r == 0)
			r = builder__seal(f.to, &out, err);
		folding__fini(&f);
	}
	if (r < 0)
		return r;
	for (unsigned k = 0; k < 16; k++)
		ret_filtered[k] = filtered[k];
	*ret_batch = out;
	return 0;
}
