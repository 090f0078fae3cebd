/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact_parts.c - which types of a series' chunks are merged together
 */
#include "plugins/storage/local/compact_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/hash.h"

void compact_parts__fini(struct compact_parts *p)
{
	vec__fini(&p->parts);
	vec__fini(&p->chunks);
	vec__fini(&p->types);
}

void compact_parts__reset(struct compact_parts *p)
{
	p->parts.n = p->chunks.n = p->types.n = 0;
}

/* A series has few types. NULL: it is not there. */
static struct compact_class *find_type(struct compact_parts *p, uint32_t type)
{
	for (size_t i = 0; i < p->types.n; i++)
		if (p->types.v[i].type == type)
			return &p->types.v[i];
	return NULL;
}

/* Notes that the chunk at hand has the type; one that a filter looks into becomes like no other. */
static int note_type(struct compact_parts *p, uint32_t type, int verdict)
{
	struct compact_class *c = find_type(p, type);

	if (!c) {
		if (!vec__push(&p->types, (struct compact_class){ .type = type }))
			return -ENOMEM;
		c = &p->types.v[p->types.n - 1];
	}
	c->chunks = hash__mix(c->chunks, p->chunks.n + 1);
	if (verdict == COMPACT_ASK)
		c->chunks = hash__mix(c->chunks, ~(uint64_t)type);
	return 0;
}

int compact_parts__add(struct compact_parts *p, const struct compact_filter *filter, uint32_t block,
		       const struct chunk *chunk, uint32_t era)
{
	struct compact_cut cut = { .chunk = *chunk, .block = block };

	for (unsigned t = 0; t < chunk->entry->n_types; t++) {
		const struct compact_place place = { .era = era, .block = block, .chunk = chunk, .type = t };
		int verdict = filter && filter->chunk ? filter->chunk(filter->ctx, &place) : COMPACT_KEEP;

		if (verdict < 0)
			return verdict;
		cut.verdicts[t] = (uint8_t)verdict;
		if (verdict != COMPACT_DROP && note_type(p, chunk->types[t].type, verdict) < 0)
			return -ENOMEM;
	}
	return vec__push(&p->chunks, cut) ? 0 : -ENOMEM;
}

int compact_part__compare(const struct compact_part *a, const struct compact_part *b)
{
	for (uint32_t t = 0; t < a->n_types && t < b->n_types; t++) {
		const uint32_t x = compact_part__type(a, t), y = compact_part__type(b, t);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a->n_types > b->n_types) - (a->n_types < b->n_types);
}

static int by_types(const void *a, const void *b)
{
	const struct compact_part *x = a, *y = b;
	const int order = compact_part__compare(x, y);

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* By number, so that every chunk has them in the same order. */
static void add_column(struct compact_part *part, uint8_t column)
{
	const struct chunk_type *types = part->chunk.types;
	uint32_t at = part->n_types++;

	for (; at > 0 && types[part->columns[at - 1]].type > types[column].type; at--)
		part->columns[at] = part->columns[at - 1];
	part->columns[at] = column;
}

/* The parts of a chunk: each of its types with those after it that are in the same chunks. */
static int cut_chunk(struct compact_parts *p, const struct compact_cut *cut, uint32_t order)
{
	const struct chunk_type *types = cut->chunk.types;
	const uint32_t n = cut->chunk.entry->n_types;
	uint32_t left = 0; /* bits of types that are in no part yet */

	for (uint32_t t = 0; t < n; t++)
		if (cut->verdicts[t] != COMPACT_DROP)
			left |= 1u << t;
	while (left) {
		const uint32_t first = (uint32_t)__builtin_ctz(left);
		const uint64_t chunks = find_type(p, types[first].type)->chunks;
		struct compact_part part = { .chunk = cut->chunk,
					     .block = cut->block,
					     .order = order,
					     .ask = cut->verdicts[first] == COMPACT_ASK };

		for (uint32_t t = first; t < n; t++) {
			if (!(left & 1u << t) || find_type(p, types[t].type)->chunks != chunks)
				continue;
			add_column(&part, (uint8_t)t);
			left &= ~(1u << t);
			if (part.ask)
				break;
		}
		if (!vec__push(&p->parts, part))
			return -ENOMEM;
	}
	return 0;
}

int compact_parts__cut(struct compact_parts *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->chunks.n; i++)
		r = cut_chunk(p, &p->chunks.v[i], (uint32_t)i);
	if (p->parts.n > 1)
		qsort(p->parts.v, p->parts.n, sizeof(p->parts.v[0]), by_types);
	return r;
}
