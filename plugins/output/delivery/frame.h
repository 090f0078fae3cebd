/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/frame.h - what stands before a message of gRPC: whether it is packed, and how long it is
 *
 * Source: grpc.io, "gRPC over HTTP2", Length-Prefixed-Message.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_FRAME_H
#define DECIMA_OUTPUT_DELIVERY_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_HEAD_BYTES = 5 };

/* n: of the message, below 4 GiB. */
static inline void frame__put_head(uint8_t head[static FRAME_HEAD_BYTES], bool is_packed, size_t n)
{
	head[0] = is_packed;
	for (int i = 0; i < 4; i++)
		head[1 + i] = (uint8_t)(n >> (24 - 8 * i));
}

#endif
