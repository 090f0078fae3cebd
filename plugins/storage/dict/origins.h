/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/origins.h - what stacks of batches of one origin are called here (dcm_batch.origin)
 *
 * A hint, bounded: what it does not know is looked for as if it had never come. Adding and asking need the store's
 * lock.
 */
#ifndef DECIMA_STORAGE_DICT_ORIGINS_H
#define DECIMA_STORAGE_DICT_ORIGINS_H

#include <decima/plugin.h>

#include "core/base/vec.h"

/* Of all together; whose batch came longest ago goes first. */
#define ORIGINS_MAX_BYTES ((size_t)16 << 20)

struct origin {
	uint64_t name, used; /* counts uses of all */
	uint32_t *stacks; /* [n]: the number here of each there, as its complement; 0: not known */
	size_t n;
};

/* Zeroed: empty. */
struct origins {
	VEC(struct origin *) all;
	uint64_t n_uses;
	size_t bytes;
};

void origins__fini(struct origins *o);
/* NULL when memory ran out. It lives until another is made or something is set. */
struct origin *origins__find_or_make(struct origins *o, uint64_t name);

/* Nothing happens where memory or room ran out. */
void origins__set(struct origins *o, struct origin *of, uint32_t stack, uint32_t to);

/* DCM_NONE: not known. */
static inline uint32_t origins__get(const struct origin *of, uint32_t stack)
{
	return stack < of->n ? ~of->stacks[stack] : DCM_NONE;
}

#endif
