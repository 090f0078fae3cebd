/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/response.c - what a server left out of a request that it took
 */
#include "plugins/output/otlp/response.h"

#include <libdeflate.h>
#include <stdbool.h>

#include "core/base/grpc_head.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"

enum { UNPACKED_MAX = 65536 };

/* gzip, appended to what is empty; false: it is none, or is larger. */
static bool unpack(const uint8_t *data, size_t n, struct buf *out)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *to = d ? buf__reserve(out, UNPACKED_MAX) : NULL;
	bool is_read = to && libdeflate_gzip_decompress(d, data, n, to, UNPACKED_MAX, &out->n) ==
				     LIBDEFLATE_SUCCESS;

	libdeflate_free_decompressor(d);
	return is_read;
}

void response__unframe(struct buf *body)
{
	struct buf out = { 0 };

	if (body->n > GRPC_HEAD_BYTES && body->data[0] == 0)
		buf__append(&out, body->data + GRPC_HEAD_BYTES, body->n - GRPC_HEAD_BYTES);
	else if (body->n > GRPC_HEAD_BYTES &&
		 !unpack(body->data + GRPC_HEAD_BYTES, body->n - GRPC_HEAD_BYTES, &out))
		buf__reset(&out);
	buf__fini(body);
	*body = out;
}

/* ExportProfilesPartialSuccess { rejected_profiles = 1, error_message = 2 } */
static void read_partial(struct dcm_str partial, uint32_t n_sent, struct response *ret)
{
	struct pb_reader reader = pb__reader_of(partial);
	struct pb_field f;

	while (pb__next(&reader, &f)) {
		if (f.number == 1 && f.type == PB_VARINT && (int64_t)f.value >= 0)
			ret->n_rejected = f.value < n_sent ? (uint32_t)f.value : n_sent;
		else if (f.number == 2 && f.type == PB_BYTES)
			ret->message = pb__str(&f);
	}
}

/* ExportProfilesServiceResponse { partial_success = 1 } */
struct response response__read(struct dcm_str bytes, uint32_t n_sent)
{
	struct response r = { .message = STR("") };
	struct pb_reader reader = pb__reader_of(bytes);
	struct pb_field f;

	while (pb__next(&reader, &f))
		if (f.number == 1 && f.type == PB_BYTES)
			read_partial(pb__str(&f), n_sent, &r);
	return r;
}
