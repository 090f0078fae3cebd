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

/* Up to so many bytes xxh3 has other ways, without vectors. */
enum { HASH_SHORT_MAX = 240 };

/* hash__bytes() and hash__bytes128(), for n > HASH_SHORT_MAX. */
uint64_t hash_long__bytes(const void *p, size_t n, uint64_t seed);
struct dcm_hash hash_long__bytes128(const void *p, size_t n);

#endif
