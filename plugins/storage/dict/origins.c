/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/origins.c - what stacks of batches of one origin are called here
 */
#include "plugins/storage/dict/origins.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static size_t bytes_of(const struct origin *of)
{
	return sizeof(*of) + of->n * sizeof(of->stacks[0]);
}

static void free_one(struct origin *of)
{
	free(of->stacks);
	free(of);
}

void origins__fini(struct origins *o)
{
	for (size_t i = 0; i < o->all.n; i++)
		free_one(o->all.v[i]);
	vec__fini(&o->all);
	o->bytes = 0;
}

static void remove_oldest(struct origins *o, const struct origin *but)
{
	size_t oldest = 0;

	for (size_t i = 1; i < o->all.n; i++)
		if (o->all.v[i]->used < o->all.v[oldest]->used)
			oldest = i;
	if (o->all.v[oldest] == but)
		return;
	o->bytes -= bytes_of(o->all.v[oldest]);
	free_one(o->all.v[oldest]);
	o->all.v[oldest] = o->all.v[--o->all.n];
}

/* Room for so many bytes more; the one that is at work stays. */
static bool make_room(struct origins *o, size_t bytes, const struct origin *but)
{
	while (o->bytes + bytes > ORIGINS_MAX_BYTES && o->all.n > (but ? 1 : 0))
		remove_oldest(o, but);
	return o->bytes + bytes <= ORIGINS_MAX_BYTES;
}

struct origin *origins__find_or_make(struct origins *o, uint64_t name)
{
	struct origin *of = NULL;

	for (size_t i = 0; i < o->all.n && !of; i++)
		if (o->all.v[i]->name == name)
			of = o->all.v[i];
	if (!of) {
		of = make_room(o, sizeof(*of), NULL) && vec__reserve(&o->all, 1) ? NEW(struct origin)
										 : NULL;
		if (!of)
			return NULL;
		of->name = name;
		o->all.v[o->all.n++] = of;
		o->bytes += sizeof(*of);
	}
	of->used = ++o->n_uses;
	return of;
}

static bool grow(struct origins *o, struct origin *of, size_t n)
{
	size_t want = n > of->n + of->n / 2 ? n : of->n + of->n / 2;
	uint32_t *stacks;

	want = want < 256 ? 256 : want;
	if (!make_room(o, (want - of->n) * sizeof(*stacks), of))
		return false;
	stacks = mem__resize(of->stacks, want, sizeof(*stacks));
	if (!stacks)
		return false;
	memset(stacks + of->n, 0, (want - of->n) * sizeof(*stacks));
	o->bytes += (want - of->n) * sizeof(*stacks);
	of->stacks = stacks;
	of->n = want;
	return true;
}

void origins__set(struct origins *o, struct origin *of, uint32_t stack, uint32_t to)
{
	if (stack < of->n || grow(o, of, (size_t)stack + 1))
		of->stacks[stack] = ~to;
}
