/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow_meta.h - flatbuffers, field by field, without a schema: what Arrow's metadata is written in
 *
 * Source: https://flatbuffers.dev/internals. A table begins with the distance back to its vtable, whose 16-bit entries say where
 * its fields are. Nothing is looked at that is not within the bytes; what points beyond them is a fault, which sticks to the
 * reader, and 0 from then on. Tables may be one behind several references, so that walkers bound what they go through. Any thread.
 */
#ifndef DECIMA_CODEC_ARROW_META_H
#define DECIMA_CODEC_ARROW_META_H

#include <decima/plugin.h>

struct fb {
	const uint8_t *p;
	uint32_t n;
	const char *fault; /* a literal; NULL: none yet */
};

/* A place in the bytes; 0 is none: no table or vector begins there. */
typedef uint32_t fb_at;

fb_at fb__root(struct fb *b);
/* Field `slot` of a table: an integer of `bytes`, or `usual` where it is absent. */
int64_t fb__int(struct fb *b, fb_at table, uint32_t slot, uint32_t bytes, int64_t usual);
/* A table, vector or string that a field refers to; 0: absent. */
fb_at fb__ref(struct fb *b, fb_at table, uint32_t slot);
/* A vector's length, when each of its entries has so many bytes. */
uint32_t fb__length(struct fb *b, fb_at vector, uint32_t bytes);
/* Table i of a vector of them. */
fb_at fb__table(struct fb *b, fb_at vector, uint32_t i);
/* The int64 at byte `off` of a vector's entries; the caller has asked its length. */
int64_t fb__i64(struct fb *b, fb_at vector, uint64_t off);
struct dcm_str fb__str(struct fb *b, fb_at table, uint32_t slot);

#endif
