/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/batch.c - a sealed batch: references, overlays, labels
 *
 * Every batch is the public part of a `struct sealed` (tables.h), which owns tables when a builder
 * made it, and an arena and a reference to its parent when it is an overlay. The count of
 * references is the only thing that changes.
 */
#include "core/batch/batch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/tables.h"

static struct sealed *sealed_of(struct dcm_batch *b)
{
	return (struct sealed *)((char *)b - offsetof(struct sealed, pub));
}

struct dcm_batch *batch__ref(struct dcm_batch *b)
{
	atomic_fetch_add_explicit(&sealed_of(b)->refs, 1, memory_order_relaxed);
	return b;
}

void batch__unref(struct dcm_batch *b)
{
	/* A loop, so that a long chain of overlays needs no deep stack. */
	while (b) {
		struct sealed *s = sealed_of(b);

		/*
		 * Release what this thread did with it, and before freeing acquire what the others
		 * did.
		 */
		if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
			return;
		b = s->parent;
		tables__fini(&s->tables);
		arena__fini(&s->arena);
		free(s);
	}
}

struct dcm_batch *batch__overlay(struct dcm_batch *parent, struct arena **ret_arena)
{
	struct sealed *s = NEW(struct sealed);

	if (!s)
		return NULL;
	s->pub = *parent;
	s->refs = 1;
	s->parent = batch__ref(parent);
	*ret_arena = &s->arena;
	return &s->pub;
}

/* Does it say the same of the same stacks? */
static bool keeps_stacks(const struct dcm_batch *a, const struct dcm_batch *b)
{
	return a->stacks == b->stacks && a->stack_locations == b->stack_locations &&
	       a->locations == b->locations && a->lines == b->lines && a->functions == b->functions &&
	       a->mappings == b->mappings && a->processes == b->processes;
}

void batch__account(struct dcm_batch *overlay)
{
	struct sealed *s = sealed_of(overlay);

	if (!keeps_stacks(overlay, s->parent)) {
		s->pub.origin = 0;
		s->pub.stack_origins = NULL;
	}
	s->pub.bytes = sizeof(*s) + s->arena.total_bytes + s->parent->bytes;
}

uint64_t batch__n_rows(const struct dcm_batch *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++)
		n += b->profiles[i].n_rows;
	return n;
}

struct dcm_str batch__series_label(const struct dcm_batch *b, uint32_t series, struct dcm_str name)
{
	struct dcm_span span = b->series[series];

	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_pair *p = &b->pairs[span.off + i];
		if (str__eq(b->strings[p->name], name))
			return b->strings[p->value];
	}
	return STR("");
}
