/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/pfor.h - sequences of small numbers in few bits, and very fast back
 *
 * A sequence of n numbers is floor(n / 256) pages, then the n mod 256 left over as a short page. A
 * page packs the lower `bits` of each of its 256 numbers, and keeps what does not fit of the few
 * large ones as exceptions ("patched frame of reference": Zukowski et al., Super-Scalar RAM-CPU
 * Cache Compression, ICDE 2006):
 *
 *	u8 bits (0..32) | u8 n | bits * 32 bytes | n * u8 position | n * varint (number >> bits)
 *	u8 64 | u8 0 | 256 * u64	where nearly all of the numbers are that large
 *
 * The packed part is eight lanes side by side, lane j holding numbers j, j + 8, ...: word w of lane
 * j stands at byte (w * 8 + j) * 4, little-endian, filled from its lowest bit. So 8, 16 or 32 bytes
 * at a time unpack with the same shift and mask (Lemire and Boytsov, Decoding billions of integers
 * per second through vectorization, 2015). A short page of k numbers is the same, but its packed
 * part is one lane: number i stands in bits [i * bits, (i + 1) * bits) of ceil(k * bits / 8) bytes,
 * from the lowest bit of the first byte; a plain one has k * u64.
 *
 * How many numbers there are is known from elsewhere. What is read is hostile: every function stays
 * within the bytes given. No state, any thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_PFOR_H
#define DECIMA_STORAGE_LOCAL_PFOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum {
	PFOR_PAGE = 256,
	PFOR_PAGE_MAX = 2 + PFOR_PAGE * 8, /* bytes that the largest page has */
};

/* Appends one page of v[n]: a short one when n < PFOR_PAGE; 1 <= n <= PFOR_PAGE. */
void pfor__put_page(struct buf *b, const uint64_t *v, unsigned n);
/* Appends v[n] as pages. */
void pfor__put(struct buf *b, const uint64_t *v, size_t n);

/* What is left to read: [p, end). */
struct pfor_in {
	const uint8_t *p, *end;
};

/* True when n numbers may stand in what is left: a page has at least two bytes. Any n. */
bool pfor__may_hold(const struct pfor_in *in, uint64_t n);

/*
 * The next page, of n numbers, 1 <= n <= PFOR_PAGE; pfor__page32() for numbers that must be below
 * 2^32. v has room for PFOR_PAGE in any case, and what is behind v[n] is overwritten. 0, or
 * -EBADMSG when the bytes are no page; v and `in` may then hold anything.
 */
int pfor__page(struct pfor_in *in, uint64_t *v, unsigned n);
int pfor__page32(struct pfor_in *in, uint32_t *v, unsigned n);

/* The next n numbers, and no more, from the beginning of a page on. */
int pfor__get(struct pfor_in *in, uint64_t *v, size_t n);
int pfor__get32(struct pfor_in *in, uint32_t *v, size_t n);

/* Over the next n numbers, from the beginning of a page on, without making them. */
int pfor__skip(struct pfor_in *in, size_t n);

static inline uint64_t zigzag__of(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t zigzag__back(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
