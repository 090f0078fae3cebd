/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_encode.c - writes a batch's own encoding
 */
#include "core/codec/wire.h"
#include "core/codec/wire_write.h"

int wire__encode(const struct dcm_batch *b, struct buf *out)
{
	size_t start = wire_write__begin(out);

	wire_write__id(out, &b->id);
	wire_write__entries(out, b, &(struct wire_sent){ .strings = 1 });
	wire_write__profiles(out, b);
	return wire_write__end(out, start, &wire__batch_header);
}
