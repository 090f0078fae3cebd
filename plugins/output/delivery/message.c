/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/message.c - messages of protobuf, field by field
 */
#include "plugins/output/delivery/message.h"

static bool take_varint(struct dcm_str *rest, uint64_t *ret)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < rest->n && i < 10; i++) {
		uint8_t c = (uint8_t)rest->p[i];

		if (i == 9 && c > 1) /* beyond 64 bits */
			return false;
		v |= (uint64_t)(c & 0x7f) << (7 * i);
		if (c < 0x80) {
			*ret = v;
			*rest = (struct dcm_str){ rest->p + i + 1, rest->n - i - 1 };
			return true;
		}
	}
	return false;
}

static bool take_bytes(struct dcm_str *rest, uint64_t n, struct dcm_str *ret)
{
	if (n > rest->n)
		return false;
	*ret = (struct dcm_str){ rest->p, (uint32_t)n };
	*rest = (struct dcm_str){ rest->p + n, rest->n - (uint32_t)n };
	return true;
}

static bool take_fixed(struct dcm_str *rest, uint32_t n, uint64_t *ret)
{
	struct dcm_str bytes;

	if (!take_bytes(rest, n, &bytes))
		return false;
	*ret = 0;
	for (uint32_t i = 0; i < n; i++)
		*ret |= (uint64_t)(uint8_t)bytes.p[i] << (8 * i);
	return true;
}

bool message__next(struct dcm_str *rest, struct message_field *ret)
{
	struct dcm_str after = *rest;
	struct message_field f = { .bytes = { "", 0 } };
	uint64_t tag, n;
	bool is_read;

	if (!take_varint(&after, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
		return false;
	f.number = (uint32_t)(tag >> 3);
	f.wire = tag & 7;
	switch (f.wire) {
	case MESSAGE_VARINT:
		is_read = take_varint(&after, &f.value);
		break;
	case MESSAGE_FIXED64:
		is_read = take_fixed(&after, 8, &f.value);
		break;
	case MESSAGE_FIXED32:
		is_read = take_fixed(&after, 4, &f.value);
		break;
	case MESSAGE_BYTES:
		is_read = take_varint(&after, &n) && take_bytes(&after, n, &f.bytes);
		break;
	default: /* groups, which nobody sends any more */
		is_read = false;
	}
	if (!is_read)
		return false;
	*rest = after;
	*ret = f;
	return true;
}

void message__put(struct buf *out, uint32_t number, struct buf *inner)
{
	message__put_bytes(out, number, inner->data ? inner->data : (const uint8_t *)"", inner->n);
	if (inner->error && !out->error)
		out->error = inner->error;
	buf__reset(inner);
}
