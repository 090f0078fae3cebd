/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/tables.c - frees, trims, measures and shows the columns behind a batch
 */
#include "core/batch/tables.h"

#include <stdlib.h>

#include "core/base/mem.h"

void tables__fini(struct tables *t)
{
	intern__fini(&t->strings);
#define FINI(type, name) vec__fini(&t->name);
	TABLES_COLUMNS(FINI)
#undef FINI
}

void tables__trim(struct tables *t)
{
	hindex__fini(&t->strings.index);
	/*
	 * Shrinking does not move a block; should it fail, the larger one is still good. What is
	 * nearly full stays as it is: to give the rest back costs more than it saves.
	 */
#define TRIM(type, name)                                                                           \
	if (t->name.cap - t->name.n > t->name.cap / 8) {                                           \
		type *smaller = mem__resize(t->name.v, t->name.n, sizeof(type));                   \
		if (smaller) {                                                                     \
			t->name.v = smaller;                                                       \
			t->name.cap = t->name.n;                                                   \
		}                                                                                  \
	}
	TABLES_COLUMNS(TRIM)
#undef TRIM
	if (t->strings.cap - t->strings.n > t->strings.cap / 8) {
		struct dcm_str *smaller = mem__resize(t->strings.texts, t->strings.n,
						      sizeof(*t->strings.texts));
		if (smaller) {
			t->strings.texts = smaller;
			t->strings.cap = t->strings.n;
		}
	}
}

uint64_t tables__string_bytes(const struct tables *t)
{
	return intern__bytes(&t->strings);
}

uint64_t tables__bytes(const struct tables *t)
{
	uint64_t bytes = tables__string_bytes(t);

#define ADD(type, name) bytes += t->name.cap * sizeof(type);
	TABLES_COLUMNS(ADD)
#undef ADD
	return bytes;
}

void tables__show(const struct tables *t, struct dcm_batch *ret)
{
	ret->strings = t->strings.texts;
	ret->n_strings = t->strings.n;
#define SHOW(type, name) ret->name = t->name.v;
	TABLES_COLUMNS(SHOW)
#undef SHOW
	ret->n_mappings = (uint32_t)t->mappings.n;
	ret->n_functions = (uint32_t)t->functions.n;
	ret->n_lines = (uint32_t)t->lines.n;
	ret->n_processes = (uint32_t)t->processes.n;
	ret->n_locations = (uint32_t)t->locations.n;
	ret->n_stacks = (uint32_t)t->stacks.n;
	ret->n_stack_locations = (uint32_t)t->stack_locations.n;
	ret->n_series = (uint32_t)t->series.n;
	ret->n_pairs = (uint32_t)t->pairs.n;
	ret->n_label_sets = (uint32_t)t->label_sets.n;
	ret->n_labels = (uint32_t)t->labels.n;
	ret->n_types = (uint32_t)t->types.n;
	ret->n_profiles = (uint32_t)t->profiles.n;
	ret->n_rows = t->row_stacks.n;
	ret->n_values = t->values.n;
}
