/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact_parts.h - which types of a series' chunks are merged together
 *
 * One block may have a type with three others in a chunk, the next one may have it alone. To be
 * merged in order, the profiles of a type must go into one list of types: so chunks are cut into
 * parts, and types stay together when every chunk has all of them or none. A type that a filter
 * looks into goes by itself.
 *
 * One thread. Memory is used again from series to series.
 */
#ifndef DECIMA_STORAGE_LOCAL_COMPACT_PARTS_H
#define DECIMA_STORAGE_LOCAL_COMPACT_PARTS_H

#include "core/base/vec.h"
#include "plugins/storage/local/compact.h"

struct compact_part {
	struct chunk chunk;
	uint32_t block, order; /* of the job's; among all chunks of the series */
	uint32_t n_types;
	uint8_t columns[CHUNK_MAX_TYPES]; /* [n_types] of the chunk's types */
	bool ask;			  /* the filter looks into it; n_types is 1 then */
};

/* A chunk as it came, and the filter's word on each of its types. */
struct compact_cut {
	struct chunk chunk;
	uint32_t block;
	uint8_t verdicts[CHUNK_MAX_TYPES];
};

/* Types of equal `chunks` stay together. */
struct compact_class {
	uint32_t type;
	uint64_t chunks; /* a hash of which chunks have it */
};

struct compact_parts {
	VEC(struct compact_part) parts;	 /* by list of types, then order */
	VEC(struct compact_cut) chunks;	 /* that were taken in */
	VEC(struct compact_class) types; /* of these */
};
void compact_parts__fini(struct compact_parts *p);
void compact_parts__reset(struct compact_parts *p); /* for the next series */

/* Takes a chunk in; `filter` may be NULL. 0, -ENOMEM, or the filter's error. */
int compact_parts__add(struct compact_parts *p, const struct compact_filter *filter, uint32_t block,
		       const struct chunk *chunk, uint32_t era);

/* Fills `parts` when all chunks of the series are in. 0 or -ENOMEM. */
int compact_parts__cut(struct compact_parts *p);

/* The number of a part's type. */
static inline uint32_t compact_part__type(const struct compact_part *p, uint32_t at)
{
	return p->chunk.types[p->columns[at]].type;
}

/* The order of their lists of types: negative, 0 or positive. */
int compact_part__compare(const struct compact_part *a, const struct compact_part *b);

#endif
