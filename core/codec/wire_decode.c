/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_decode.c - reads a batch's own encoding
 */
#include <errno.h>

#include "core/base/error.h"
#include "core/codec/wire.h"
#include "core/codec/wire_read.h"

int wire__decode(const void *data, size_t n, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct wire_maps maps;
	int r = wire_read__header(data, n, &wire__batch_header, err);
	if (r < 0)
		return r;
	/* The worst that honest bytes need is about 20 a byte. */
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(((uint64_t)16 << 20) + 32 * n);
	if (!b)
		return error__nomem(err);
	struct wire_reader reader = {
		.p = (const uint8_t *)data + WIRE_HEADER_BYTES,
		.end = (const uint8_t *)data + n,
		.b = b,
		.maps = &maps,
	};
	if (wire_maps__init(&maps) < 0)
		builder__fail(b, -ENOMEM, "out of memory");
	else
		wire_read__batch(&reader);
	wire_maps__fini(&maps);
	r = builder__seal(b, ret_batch, err);
	if (r < 0)
		error__prefix(err, "batch format");
	return r;
}
