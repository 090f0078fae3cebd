/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/grpc_head.h - what stands before a message of gRPC: its flags, and how long it is
 *
 * Source: grpc/grpc, doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message; PROTOCOL-WEB.md for the flag of trailers.
 */
#ifndef DECIMA_BASE_GRPC_HEAD_H
#define DECIMA_BASE_GRPC_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum { GRPC_HEAD_BYTES = 5 };
enum { GRPC_PACKED = 1, GRPC_TRAILERS = 0x80 };

struct grpc_head {
	bool is_packed;
	uint32_t n; /* bytes of the message behind it */
};

/* False: its first byte is neither of the two that a message can have. */
static inline bool grpc_head__read(const uint8_t from[static GRPC_HEAD_BYTES], struct grpc_head *ret)
{
	ret->is_packed = from[0] & GRPC_PACKED;
	ret->n = (uint32_t)from[1] << 24 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 8 | from[4];
	return !(from[0] & ~GRPC_PACKED);
}

/* n: of the message, below 4 GiB. */
static inline void grpc_head__put(uint8_t to[static GRPC_HEAD_BYTES], uint8_t flags, size_t n)
{
	to[0] = flags;
	for (int i = 0; i < 4; i++)
		to[1 + i] = (uint8_t)(n >> (24 - 8 * i));
}

static inline void grpc_head__append(struct buf *b, uint8_t flags, size_t n)
{
	uint8_t head[GRPC_HEAD_BYTES];

	grpc_head__put(head, flags, n);
	buf__append(b, head, sizeof(head));
}

#endif
