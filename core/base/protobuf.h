/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/protobuf.h - protobuf's wire format, field by field, without a schema
 *
 * Source: https://protobuf.dev/programming-guides/encoding. The reader never copies and never looks
 * past the end; groups (an obsolete form of nesting) are skipped, at most 64 deep. The reader is in
 * the header because decoding profiles spends its time here. Any thread.
 */
#ifndef DECIMA_BASE_PROTOBUF_H
#define DECIMA_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

enum pb_type {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2,
	PB_GROUP = 3,
	PB_END_GROUP = 4,
	PB_FIXED32 = 5
};

struct pb_reader {
	const uint8_t *p, *end;
	const char *fault; /* what is wrong, once something is; a literal */
};

struct pb_field {
	uint32_t number;
	uint32_t type;	  /* PB_VARINT, PB_FIXED64, PB_BYTES or PB_FIXED32 */
	uint64_t value;	  /* PB_VARINT and the fixed ones */
	const uint8_t *p; /* PB_BYTES: [n] */
	size_t n;
};

static inline struct pb_reader pb__reader(const uint8_t *p, size_t n)
{
	return (struct pb_reader){ .p = p, .end = n ? p + n : p }; /* NULL, 0 is fine */
}

static inline struct pb_reader pb__reader_of(struct dcm_str message)
{
	return pb__reader((const uint8_t *)message.p, message.n);
}

/*
 * Behind a varint, whose number is in *ret; NULL when it is cut off or longer than 64 bits. The
 * first for any, the second quick for those of few bytes.
 */
const uint8_t *pb__long_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret);

static inline const uint8_t *pb__varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	if (__builtin_expect(end - p >= 3, 1)) {
		uint64_t v = p[0];
		if (v < 0x80) {
			*ret = v;
			return p + 1;
		}
		v = (v & 0x7f) | (uint64_t)p[1] << 7;
		if (p[1] < 0x80) {
			*ret = v;
			return p + 2;
		}
		v = (v & 0x3fff) | (uint64_t)p[2] << 14;
		if (p[2] < 0x80) {
			*ret = v;
			return p + 3;
		}
	}
	return pb__long_varint(p, end, ret);
}

/* Ends the reading; r->p stays where the fault is. */
static inline bool pb__fail(struct pb_reader *r, const char *fault)
{
	r->fault = fault;
	r->end = r->p;
	return false;
}

/* The next field, of any form. */
bool pb__next_any(struct pb_reader *r, struct pb_field *ret);

/*
 * The next field; false at the end, and on a fault. Groups are stepped over. Here is what nearly
 * every field is: a tag of one byte, and a number or a length of at most two.
 */
static inline bool pb__next(struct pb_reader *r, struct pb_field *ret)
{
	const uint8_t *p = r->p;

	if (__builtin_expect(r->end - p < 2, 0))
		return pb__next_any(r, ret);
	uint32_t tag = p[0];
	uint64_t v = p[1];
	p += 2;
	if (v >= 0x80) /* a message often ends with its two bytes: a third is not sure to be there */
		v = p < r->end ? (v & 0x7f) | (uint64_t)*p++ << 7 : UINT64_MAX;
	if (__builtin_expect(tag < 1 << 3 || tag >= 0x80 || v >= 0x80 << 7, 0))
		return pb__next_any(r, ret);
	ret->number = tag >> 3;
	ret->type = tag & 7;
	if (ret->type == PB_BYTES && v <= (uint64_t)(r->end - p)) {
		ret->p = p;
		ret->n = (size_t)v;
		r->p = p + v;
		return true;
	}
	if (ret->type == PB_VARINT) {
		ret->value = v;
		r->p = p;
		return true;
	}
	return pb__next_any(r, ret);
}

/* What is in a field of PB_BYTES; borrowed. */
static inline struct dcm_str pb__str(const struct pb_field *f)
{
	return (struct dcm_str){ (const char *)f->p, (uint32_t)f->n };
}

/* --- writing --- */

static inline void pb__put_tag(struct buf *out, uint32_t number, enum pb_type type)
{
	buf__varint(out, (uint64_t)number << 3 | type);
}

/* A number; 0 is left out, as proto3 does. */
static inline void pb__put_varint(struct buf *out, uint32_t number, uint64_t v)
{
	if (v == 0)
		return;
	pb__put_tag(out, number, PB_VARINT);
	buf__varint(out, v);
}

static inline void pb__put_bytes(struct buf *out, uint32_t number, const void *p, size_t n)
{
	pb__put_tag(out, number, PB_BYTES);
	buf__varint(out, n);
	buf__append(out, p, n);
}

static inline void pb__put_str(struct buf *out, uint32_t number, struct dcm_str s)
{
	pb__put_bytes(out, number, s.p, s.n);
}

/* What stands in `inner`, of any size, as a field of `out`, with its error; `inner` is empty then. */
void pb__put_nested(struct buf *out, uint32_t number, struct buf *inner);

#endif
