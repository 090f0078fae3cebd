/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/sha256.h - SHA-256, for identifiers that others compute too
 *
 * Not for secrets: it is plain C, at some 200 MB/s. What only we compare has core/base/hash.h.
 * Source: FIPS 180-4, 5 and 6.2.
 */
#ifndef DECIMA_BASE_SHA256_H
#define DECIMA_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
	uint32_t h[8];
	uint64_t n; /* bytes so far */
	uint8_t block[SHA256_BLOCK_BYTES];
};

void sha256__init(struct sha256 *s);
/* p may be NULL when n is 0. */
void sha256__add(struct sha256 *s, const void *p, size_t n);
/* The hash of all that was added; nothing can be added afterwards. */
void sha256__end(struct sha256 *s, uint8_t ret[static SHA256_BYTES]);

#endif
