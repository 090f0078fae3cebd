/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/hash.c - xxh3, and an open-addressing index from a hash to a row number
 *
 * A slot is {upper 32 bits of the hash, row + 1}; 0 is an empty one. The home of a hash is given by
 * its topmost bits: they are in the slot, so that growing needs no row, and hash__mix() spreads
 * them best. Single-threaded.
 */
#include "core/base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nearly all is short, and then a call into the library costs as much as the hash itself. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/hash_long.h"
#include "core/base/mem.h"

enum { CAP_MIN = 16 };
#define CAP_MAX ((uint32_t)1 << 31)

uint64_t hash__bytes(const void *p, size_t n, uint64_t seed)
{
	if (n > HASH_SHORT_MAX)
		return hash_long__bytes(p, n, seed);
	return XXH3_64bits_withSeed(p, n, seed);
}

struct dcm_hash hash__bytes128(const void *p, size_t n)
{
	if (n > HASH_SHORT_MAX)
		return hash_long__bytes128(p, n);
	XXH128_hash_t h = XXH3_128bits(p, n);
	return (struct dcm_hash){ .lo = h.low64, .hi = h.high64 };
}

void hindex__fini(struct hindex *ix)
{
	free(ix->slots);
	*ix = (struct hindex){ 0 };
}

void hindex__clear(struct hindex *ix)
{
	if (ix->cap)
		memset(ix->slots, 0, ix->cap * sizeof(*ix->slots));
	ix->n = 0;
}

static void place(struct hindex *ix, uint64_t slot)
{
	uint32_t at = hindex__home(hindex__tag(slot), ix->cap);

	while (ix->slots[at])
		at = (at + 1) & (ix->cap - 1);
	ix->slots[at] = slot;
}

static int grow_to(struct hindex *ix, uint32_t cap)
{
	struct hindex bigger = { .cap = cap, .n = ix->n };

	bigger.slots = mem__zalloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < ix->cap; i++)
		if (ix->slots[i])
			place(&bigger, ix->slots[i]);
	free(ix->slots);
	*ix = bigger;
	return 0;
}

/* Is there room for n rows in a table of cap? */
static bool has_room(uint64_t n, uint32_t cap)
{
	return n * 10 <= (uint64_t)cap * 7;
}

int hindex__reserve(struct hindex *ix, uint32_t n)
{
	uint32_t cap = ix->cap ? ix->cap : CAP_MIN;

	while (!has_room(n, cap)) {
		if (cap >= CAP_MAX)
			return -ENOMEM;
		cap *= 2;
	}
	return cap == ix->cap ? 0 : grow_to(ix, cap);
}

int hindex__insert(struct hindex *ix, uint64_t h, uint32_t row)
{
	assert(row < UINT32_MAX - 1);
	if (!has_room((uint64_t)ix->n + 1, ix->cap)) {
		int rc = hindex__reserve(ix, ix->n + 1);
		if (rc)
			return rc;
	}
	place(ix, ((uint64_t)hindex__tag(h) << 32) | (row + 1));
	ix->n++;
	return 0;
}
