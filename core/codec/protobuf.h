/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/protobuf.h - protobuf's wire format, field by field, without a schema
 *
 * Source: https://protobuf.dev/programming-guides/encoding. The reader never copies and never looks
 * past the end; groups (an obsolete form of nesting) are skipped, at most 64 deep. The reader is in
 * the header because decoding profiles spends its time here. Any thread.
 */
#ifndef DECIMA_CODEC_PROTOBUF_H
#define DECIMA_CODEC_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* The bytes behind a varint of several bytes; NULL when it is cut off or longer than 64 bits. */
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

/* Steps over a group's content and its end; false with a fault. */
bool pb__skip_group(struct pb_reader *r, uint32_t number);

/* The value of a field that is neither a varint nor bytes nor a group; false with a fault. */
bool pb__fixed(struct pb_reader *r, struct pb_field *ret);

static inline bool pb__fail(struct pb_reader *r, const char *fault)
{
	r->fault = fault;
	return false;
}

/* The next field; false at the end, and on a fault. Groups are stepped over. */
static inline bool pb__next(struct pb_reader *r, struct pb_field *ret)
{
	uint64_t tag, v;
	const uint8_t *p;

	for (;;) {
		if (r->p == r->end || r->fault)
			return false;
		p = pb__varint(r->p, r->end, &tag);
		if (!p)
			return pb__fail(r, "a field's tag is cut off or too long");
		ret->number = (uint32_t)(tag >> 3);
		ret->type = (uint32_t)tag & 7;
		if (__builtin_expect(ret->number == 0 || tag > UINT32_MAX, 0))
			return pb__fail(r, "a field has an impossible number");
		if (__builtin_expect(ret->type == PB_VARINT || ret->type == PB_BYTES, 1))
			break;
		r->p = p;
		if (ret->type != PB_GROUP)
			return pb__fixed(r, ret);
		if (!pb__skip_group(r, ret->number))
			return false;
	}
	p = pb__varint(p, r->end, &v);
	if (!p)
		return pb__fail(r, "a number is cut off or longer than 64 bits");
	if (ret->type == PB_VARINT) {
		ret->value = v;
		r->p = p;
		return true;
	}
	if (v > (uint64_t)(r->end - p))
		return pb__fail(r, "a field is longer than what holds it");
	ret->p = p;
	ret->n = (size_t)v;
	r->p = p + v;
	return true;
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

#endif
