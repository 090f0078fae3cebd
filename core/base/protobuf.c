/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/protobuf.c - protobuf's wire format: what is not on the path of every sample
 *
 * Pure functions over bytes that may be anybody's.
 */
#include "core/base/protobuf.h"

enum { GROUPS_MAX_DEPTH = 64 };

const uint8_t *pb__long_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
		uint8_t c = *p++;
		/* The tenth byte has room for one bit. */
		if (shift == 63 && c > 1)
			return NULL;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*ret = v;
			return p;
		}
	}
	return NULL;
}

/* The value of a field that is neither a varint nor bytes nor a group; false with a fault. */
static bool read_fixed(struct pb_reader *r, struct pb_field *ret)
{
	size_t n = ret->type == PB_FIXED64 ? 8 : 4;

	if (ret->type == PB_END_GROUP)
		return pb__fail(r, "a group ends that has not begun");
	if (ret->type != PB_FIXED64 && ret->type != PB_FIXED32)
		return pb__fail(r, "a field has an unknown wire type");
	if ((size_t)(r->end - r->p) < n)
		return pb__fail(r, "a number is cut off");
	ret->value = 0;
	memcpy(&ret->value, r->p, n);
	r->p += n;
	return true;
}

/* One field within a group, past its tag, when it is not a group; false with a fault. */
static bool skip_plain(struct pb_reader *r, uint32_t type)
{
	struct pb_field ignored = { .type = type };
	uint64_t v;

	if (type != PB_VARINT && type != PB_BYTES)
		return read_fixed(r, &ignored);
	const uint8_t *p = pb__varint(r->p, r->end, &v);
	if (!p)
		return pb__fail(r, "a number is cut off or longer than 64 bits");
	if (type == PB_BYTES && v > (uint64_t)(r->end - p))
		return pb__fail(r, "a field is longer than what holds it");
	r->p = type == PB_BYTES ? p + v : p;
	return true;
}

/* Steps over a group's content and its end; false with a fault. */
static bool skip_group(struct pb_reader *r, uint32_t number)
{
	uint32_t open[GROUPS_MAX_DEPTH] = { number };
	unsigned depth = 1;

	while (depth > 0) {
		uint64_t tag;
		const uint8_t *p = pb__varint(r->p, r->end, &tag);
		if (!p || tag > UINT32_MAX || tag >> 3 == 0)
			return pb__fail(r, "a group is cut off");
		r->p = p;
		uint32_t type = (uint32_t)tag & 7, n = (uint32_t)(tag >> 3);
		if (type == PB_GROUP) {
			if (depth == GROUPS_MAX_DEPTH)
				return pb__fail(r, "groups are nested too deep");
			open[depth++] = n;
		} else if (type == PB_END_GROUP) {
			if (n != open[--depth])
				return pb__fail(r, "a group ends with another's number");
		} else if (!skip_plain(r, type)) {
			return false;
		}
	}
	return true;
}

bool pb__next_any(struct pb_reader *r, struct pb_field *ret)
{
	uint64_t tag, v;
	const uint8_t *p;

	for (;;) {
		if (r->p == r->end)
			return false;
		p = pb__varint(r->p, r->end, &tag);
		if (!p)
			return pb__fail(r, "a field's tag is cut off or too long");
		ret->number = (uint32_t)(tag >> 3);
		ret->type = (uint32_t)tag & 7;
		if (ret->number == 0 || tag > UINT32_MAX)
			return pb__fail(r, "a field has an impossible number");
		if (ret->type == PB_VARINT || ret->type == PB_BYTES)
			break;
		r->p = p;
		if (ret->type != PB_GROUP)
			return read_fixed(r, ret);
		if (!skip_group(r, ret->number))
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

void pb__put_nested(struct buf *out, uint32_t number, struct buf *inner)
{
	pb__put_bytes(out, number, inner->data ? inner->data : (const uint8_t *)"", inner->n);
	if (inner->error && !out->error)
		out->error = inner->error;
	buf__reset(inner);
}
