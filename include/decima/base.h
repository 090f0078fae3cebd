/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/base.h - text, hashes, errors: what everything else is made of; a part of <decima/plugin.h>
 */
#ifndef DECIMA_BASE_H
#define DECIMA_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True when the struct behind `ptr` was made by a side that knows `member`. */
#define DCM_HAS(ptr, member)                                                                       \
	((ptr)->size >= offsetof(__typeof__(*(ptr)), member) + sizeof((ptr)->member))

/* Text that need not end in NUL. p is never NULL when n > 0. */
struct dcm_str {
	const char *p;
	uint32_t n;
};

/* xxh3-128 of a length-prefixed, little-endian serialization of the content. */
struct dcm_hash {
	uint64_t lo, hi;
};

/* One sentence for a person. Callers zero it and set size; functions that fail fill text. */
struct dcm_error {
	uint32_t size;
	char text[1020]; /* NUL-terminated */
};
#define DCM_ERROR_INIT                                                                             \
	{                                                                                          \
		.size = sizeof(struct dcm_error)                                                   \
	}

enum dcm_log_level {
	DCM_LOG_ERROR,	 /* somebody must act */
	DCM_LOG_WARNING, /* something is worse than it should be */
	DCM_LOG_INFO,	 /* what an operator wants to read once */
	DCM_LOG_DEBUG	 /* what a developer wants to read */
};

#ifdef __cplusplus
}
#endif

#endif
