/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_heap.h - what heap profiles of several writers have in common: private to
 * legacy_*.c
 */
#ifndef DECIMA_CODEC_LEGACY_HEAP_H
#define DECIMA_CODEC_LEGACY_HEAP_H

#include "core/codec/legacy_profile.h"

struct legacy_heap_values {
	int64_t v[LEGACY_TYPES_MAX];
	int64_t block_bytes;
};

/* Objects and bytes in use, and allocated when has_alloc, as sample types; by space. */
void legacy_heap__types(struct legacy_profile *p, bool has_alloc);

/* "N: BYTES [N: BYTES]" from the front of *s: in use, then allocated. */
int legacy_heap__counts(struct legacy_profile *p, const struct legacy_lines *l, struct dcm_str *s,
			int64_t ret[static 4]);

/*
 * A sample's values out of its counts, in the order of the types. rate: an allocation was sampled
 * with the probability 1 - exp(-bytes/rate); up to 1: each was.
 */
int legacy_heap__values(struct legacy_profile *p, const struct legacy_lines *l,
			const int64_t *counts, int64_t rate, struct legacy_heap_values *ret);

/* What so many objects of together so many bytes stand for. */
void legacy_heap__unsample(int64_t rate, int64_t *count, int64_t *bytes);

#endif
