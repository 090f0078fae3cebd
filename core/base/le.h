/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/le.h - little-endian numbers in bytes that stand anywhere
 *
 * For files and messages: no alignment is asked for, no struct is laid over bytes from outside.
 * Bounds are the caller's. Each is one load or store on a little-endian machine.
 */
#ifndef DECIMA_BASE_LE_H
#define DECIMA_BASE_LE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t le__get16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t le__get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t le__get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void le__put16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void le__put32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void le__put64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
