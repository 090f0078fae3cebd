/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/hash_long.c - xxh3 of what is long, by the library's own choice of the processor's
 * vectors: AVX2 takes half the time of SSE2
 */
#include "core/base/hash_long.h"

#include "config.h"

#ifdef HAVE_XXH3_DISPATCH
#include <xxh_x86dispatch.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

uint64_t hash_long__bytes(const void *p, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}

struct dcm_hash hash_long__bytes128(const void *p, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(p, n);

	return (struct dcm_hash){ .lo = h.low64, .hi = h.high64 };
}
