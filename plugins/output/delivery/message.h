/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/message.h - messages of protobuf, field by field: written, and read from anybody
 *
 * Source: protobuf.dev, encoding. What is read is borrowed; nothing is looked at behind the end. Any thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_MESSAGE_H
#define DECIMA_OUTPUT_DELIVERY_MESSAGE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

enum message_wire {
	MESSAGE_VARINT = 0,
	MESSAGE_FIXED64 = 1,
	MESSAGE_BYTES = 2,
	MESSAGE_FIXED32 = 5
};

struct message_field {
	uint32_t number;
	uint32_t wire;	      /* enum message_wire */
	uint64_t value;	      /* but of MESSAGE_BYTES */
	struct dcm_str bytes; /* of MESSAGE_BYTES */
};

/* Takes the next field off *rest. False: there is none, or none that can be read (*rest is not empty then). */
bool message__next(struct dcm_str *rest, struct message_field *ret);

static inline void message__put_tag(struct buf *out, uint32_t number, enum message_wire wire)
{
	buf__varint(out, (uint64_t)number << 3 | wire);
}

/* A number, of either sign; 0 is left out, as proto3 has it. */
static inline void message__put_number(struct buf *out, uint32_t number, uint64_t v)
{
	if (v == 0)
		return;
	message__put_tag(out, number, MESSAGE_VARINT);
	buf__varint(out, v);
}

static inline void message__put_bytes(struct buf *out, uint32_t number, const void *p, size_t n)
{
	message__put_tag(out, number, MESSAGE_BYTES);
	buf__varint(out, n);
	buf__append(out, p, n);
}

static inline void message__put_str(struct buf *out, uint32_t number, struct dcm_str s)
{
	message__put_bytes(out, number, s.p, s.n);
}

/* What stands in `inner`, of any size, as a field of `out`, with its error; `inner` is empty then. */
void message__put(struct buf *out, uint32_t number, struct buf *inner);

#endif
