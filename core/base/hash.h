/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/hash.h - xxh3 of bytes, and an open-addressing index from a hash to a row number
 *
 * `struct hindex` stores (hash, row) pairs only; what a row is, and whether two are equal, its
 * owner knows:
 *
 *	uint32_t row, at = hindex__first(&ix, h, &row);
 *	for (; row != HINDEX_NONE; at = hindex__next(&ix, h, at, &row))
 *		if (equal(rows[row], key)) return row;
 *	hindex__insert(&ix, h, new_row);
 *
 * Linear probing over 8-byte slots {32 upper hash bits, row + 1}, at most 70 % full, doubling. Rows
 * below 2^32 - 2. No deletion: tables of this project only grow and then die whole.
 * Single-threaded.
 */
#ifndef DECIMA_BASE_HASH_H
#define DECIMA_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

/*
 * xxh3 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Stable across versions and
 * machines.
 */
uint64_t hash__bytes(const void *p, size_t n, uint64_t seed);
struct dcm_hash hash__bytes128(const void *p, size_t n);

/* Mixes one 64-bit value into a running hash (for hashing short fixed tuples without a buffer). */
static inline uint64_t hash__mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ (h >> 32);
}

#define HINDEX_NONE UINT32_MAX

struct hindex {
	uint64_t *slots; /* [cap] */
	uint32_t cap;	 /* 0 or a power of two */
	uint32_t n;
};

void hindex__fini(struct hindex *ix);
void hindex__clear(struct hindex *ix);

/* What a slot keeps of a hash, and where its search begins in a table of cap slots. */
static inline uint32_t hindex__tag(uint64_t h)
{
	return (uint32_t)(h >> 32);
}

static inline uint32_t hindex__home(uint32_t tag, uint32_t cap)
{
	return (uint32_t)(((uint64_t)tag * cap) >> 32);
}

/* The first slot with this tag from `at` on, before the first empty one. */
static inline uint32_t hindex__probe(const struct hindex *ix, uint32_t tag, uint32_t at, uint32_t *ret_row)
{
	for (; ix->slots[at]; at = (at + 1) & (ix->cap - 1)) {
		if (hindex__tag(ix->slots[at]) == tag) {
			*ret_row = (uint32_t)ix->slots[at] - 1;
			return at;
		}
	}
	*ret_row = HINDEX_NONE;
	return HINDEX_NONE;
}

/*
 * First row whose stored hash bits equal h's, and where it stands; HINDEX_NONE when there is none.
 * These are in the header because each entry of each batch is asked for once and more.
 */
static inline uint32_t hindex__first(const struct hindex *ix, uint64_t h, uint32_t *ret_row)
{
	uint32_t tag = hindex__tag(h);

	*ret_row = HINDEX_NONE;
	return ix->n ? hindex__probe(ix, tag, hindex__home(tag, ix->cap), ret_row) : HINDEX_NONE;
}

static inline uint32_t hindex__next(const struct hindex *ix, uint64_t h, uint32_t at, uint32_t *ret_row)
{
	return hindex__probe(ix, hindex__tag(h), (at + 1) & (ix->cap - 1), ret_row);
}

/*
 * Room for n rows in all: inserting up to there does not grow the index. 0 or -ENOMEM (index
 * unchanged).
 */
int hindex__reserve(struct hindex *ix, uint32_t n);

/* Begins to fetch from memory where the hash's rows stand, for a question that comes soon. */
static inline void hindex__prefetch(const struct hindex *ix, uint64_t h)
{
	if (ix->cap)
		__builtin_prefetch(&ix->slots[hindex__home(hindex__tag(h), ix->cap)]);
}

/* 0 or -ENOMEM (index unchanged). Does not look for an equal row: that was the caller's loop. */
int hindex__insert(struct hindex *ix, uint64_t h, uint32_t row);

#endif
