/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/map.c - what a copy remembers: for each thing of the source what it is called
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "plugins/storage/dict/dict.h"

int dict_map__init(struct dict_map *m, const struct dict_counts *c)
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

void dict_map__fini(struct dict_map *m)
{
	free(m->all);
	*m = (struct dict_map){ 0 };
}

uint32_t dict_lines__n_known(const struct dict_lines *lines, uint32_t n_functions)
{
	for (uint32_t i = 0; lines && i < lines->n; i++)
		if (lines->v[i].function != DCM_NONE && lines->v[i].function >= n_functions)
			return 0;
	return lines ? lines->n : 0;
}
