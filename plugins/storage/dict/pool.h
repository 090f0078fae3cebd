/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/pool.h - an array that grows without moving what it holds
 *
 * Entries live in pages that double in size (256, 512, 1024, ...), so that the address of an entry
 * never changes and a reader who learnt of an entry under the store's lock may read it later
 * without the lock, while a writer appends.
 */
#ifndef DECIMA_STORAGE_DICT_POOL_H
#define DECIMA_STORAGE_DICT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/mem.h"

enum { POOL_FIRST_BITS = 8, POOL_PAGES = 23 };

/* Zeroed is empty. */
struct pool {
	void *pages[POOL_PAGES]; /* page k holds entries [256 * (2^k - 1), 256 * (2^(k+1) - 1)) */
	uint32_t n;
	uint64_t bytes; /* allocated */
};

static inline void *pool__at(const struct pool *p, uint32_t i, size_t size)
{
	uint32_t k = i + (1u << POOL_FIRST_BITS);
	unsigned page = 31u - (unsigned)__builtin_clz(k) - POOL_FIRST_BITS;

	return (char *)p->pages[page] + (size_t)(k - ((1u << POOL_FIRST_BITS) << page)) * size;
}

/*
 * Room for entry number n (zeroed), which becomes one with n + 1. NULL when memory or numbers ran
 * out.
 */
static inline void *pool__push(struct pool *p, size_t size)
{
	uint32_t k = p->n + (1u << POOL_FIRST_BITS);
	unsigned page = 31u - (unsigned)__builtin_clz(k) - POOL_FIRST_BITS;

	if (page >= POOL_PAGES)
		return NULL;
	if (!p->pages[page]) {
		size_t n = (size_t)1 << (POOL_FIRST_BITS + page);

		p->pages[page] = mem__zalloc(n, size);
		if (!p->pages[page])
			return NULL;
		p->bytes += n * size;
	}
	return pool__at(p, p->n, size);
}

static inline void pool__fini(struct pool *p)
{
	for (unsigned i = 0; i < POOL_PAGES; i++)
		free(p->pages[i]);
	*p = (struct pool){ 0 };
}

#define POOL_AT(pool, type, i) ((type *)pool__at((pool), (i), sizeof(type)))
#define POOL_PUSH(pool, type)  ((type *)pool__push((pool), sizeof(type)))

#endif
