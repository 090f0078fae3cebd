/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/sha256.c - SHA-256, for identifiers that others compute too
 */
#include "core/base/sha256.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void put_big(uint8_t *p, uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> 8 * (n - 1 - i));
}

/* The block's 16 words, and 48 that are made of them. */
static void schedule(const uint8_t *block, uint32_t w[static 64])
{
	for (unsigned i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

static void take_block(struct sha256 *s)
{
	uint32_t w[64], v[8];

	schedule(s->block, w);
	memcpy(v, s->h, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4];
		uint32_t one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			       ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
		uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			       ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += one;
		v[0] = one + two;
	}
	for (unsigned i = 0; i < 8; i++)
		s->h[i] += v[i];
}

void sha256__init(struct sha256 *s)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->h, start, sizeof(start));
	s->n = 0;
}

void sha256__add(struct sha256 *s, const void *p, size_t n)
{
	const uint8_t *from = p;

	while (n) {
		size_t at = s->n % SHA256_BLOCK_BYTES, room = SHA256_BLOCK_BYTES - at;
		size_t some = n < room ? n : room;

		memcpy(s->block + at, from, some);
		s->n += some;
		from += some;
		n -= some;
		if (some == room)
			take_block(s);
	}
}

void sha256__end(struct sha256 *s, uint8_t ret[static SHA256_BYTES])
{
	static const uint8_t padding[SHA256_BLOCK_BYTES] = { 0x80 };
	uint64_t n_bits = s->n * 8;
	size_t at = s->n % SHA256_BLOCK_BYTES, length_at = SHA256_BLOCK_BYTES - 8;
	uint8_t length[8];

	put_big(length, n_bits, sizeof(length));
	sha256__add(s, padding, (at < length_at ? length_at : length_at + SHA256_BLOCK_BYTES) - at);
	sha256__add(s, length, sizeof(length));
	for (unsigned i = 0; i < 8; i++)
		put_big(ret + 4 * i, s->h[i], 4);
}
