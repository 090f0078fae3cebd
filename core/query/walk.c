/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/walk.c - row after row of every profile
 */
#include "core/query/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"

int walk__init(struct walk *w, const struct frames *frames, const struct filter *filter,
	       struct dcm_error *err)
{
	const struct dcm_batch *b = frames->batch;

	/* An answer of nothing has the columns of the question all the same. */
	*w = (struct walk){ .frames = frames,
			    .n_values = b->n_profiles		  ? b->profiles[0].n_types
					: frames->compare.is_diff ? 2
								  : 1 };
	for (uint32_t i = 0; i < b->n_profiles; i++)
		if (b->profiles[i].n_types != w->n_values || w->n_values > 2)
			return error__set(err, -EINVAL, "profile %u has %u types: trees and tables compare one or two",
					  i, b->profiles[i].n_types);
	return filter__mark(filter, frames, &w->marks, err);
}

void walk__fini(struct walk *w)
{
	filter_marks__fini(&w->marks);
	filter_path__fini(&w->path);
	free(w->ids);
	w->ids = NULL;
}

static int make_room(struct walk *w, size_t n)
{
	if (n <= w->cap)
		return 0;
	uint32_t *ids = mem__resize(w->ids, n + n / 2, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	w->ids = ids;
	w->cap = (uint32_t)(n + n / 2);
	return 0;
}

/* A stack of which nothing is left out. */
static int read_whole(struct walk *w, uint32_t stack)
{
	const struct frames *f = w->frames;
	const struct dcm_span span = f->batch->stacks[stack];
	const bool runs_are_one = frames__group_is_coarse(f->group);

	for (uint32_t i = span.n; i > 0; i--) {
		const struct dcm_span slots = f->locations[f->batch->stack_locations[span.off + i - 1]];

		if (make_room(w, (size_t)w->n + slots.n) < 0)
			return -ENOMEM;
		for (uint32_t k = slots.n; k > 0; k--) {
			const uint32_t id = f->slots[slots.off + k - 1].frame;

			if (!runs_are_one || w->n == w->n_labels || w->ids[w->n - 1] != id)
				w->ids[w->n++] = id;
		}
	}
	return 1;
}

/* What the filter leaves of a stack. */
static int read_path(struct walk *w, uint32_t stack)
{
	const struct frames *f = w->frames;
	int r = filter__path(&w->marks, stack, &w->path);

	if (r <= 0)
		return r < 0 ? r : 2;
	if (make_room(w, w->path.n + w->n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < w->path.n; i++) {
		uint32_t id = f->slots[w->path.v[i]].frame;

		if (frames__group_is_coarse(f->group) && w->n > w->n_labels && w->ids[w->n - 1] == id)
			continue;
		w->ids[w->n++] = id;
	}
	return 1;
}

static int read_stack(struct walk *w, uint32_t stack)
{
	const struct frames *f = w->frames;

	if (make_room(w, f->n_by) < 0)
		return -ENOMEM;
	w->n = w->n_labels = f->n_by;
	for (uint32_t i = 0; i < f->n_by; i++)
		w->ids[i] = f->labels[(size_t)w->profile * f->n_by + i];
	return w->marks.slots ? read_path(w, stack) : read_whole(w, stack);
}

int walk__next(struct walk *w)
{
	const struct dcm_batch *b = w->frames->batch;

	while (w->profile < b->n_profiles && w->row == b->profiles[w->profile].n_rows) {
		w->profile++;
		w->row = 0;
	}
	if (w->profile == b->n_profiles)
		return 0;
	const struct dcm_profile *p = &b->profiles[w->profile];
	w->values = b->values + p->value_off + (uint64_t)w->row * p->n_types;
	return read_stack(w, b->row_stacks[p->row_off + w->row++]);
}
