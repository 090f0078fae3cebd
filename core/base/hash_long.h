/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/hash_long.h - xxh3 of what is long: the part of hash.c that has a file of its own
 *
 * The library's header declares its functions either inline or by the processor, never both in one
 * file. Any thread.
 */
#ifndef DECIMA_BASE_HASH_LONG_H
#define DECIMA_BASE_HASH_LONG_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

/*
 * Up to 240 bytes xxh3 has other ways, without vectors. Up to here what is compiled in, with 16 bytes at a time, is
 * faster than the widest vectors, which the library chooses, where the bytes have just been put together, as
 * a stack's are: wide loads of what smaller stores have just written wait until these are done (34 frames,
 * 552 bytes: 50 ns, 190 there; 100 frames: as much).
 */
enum { HASH_SHORT_MAX = 1600 };

/* hash__bytes() and hash__bytes128(), for n > HASH_SHORT_MAX. */
uint64_t hash_long__bytes(const void *p, size_t n, uint64_t seed);
struct dcm_hash hash_long__bytes128(const void *p, size_t n);

#endif
