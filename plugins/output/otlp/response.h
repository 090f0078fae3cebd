/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/response.h - ExportProfilesServiceResponse: what a server left out of a request that it took
 *
 * Source: opentelemetry.io/docs/specs/otlp, Partial Success. Pure functions; any thread.
 */
#ifndef DECIMA_OUTPUT_OTLP_RESPONSE_H
#define DECIMA_OUTPUT_OTLP_RESPONSE_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

struct response {
	uint32_t n_rejected;	/* profiles; at most as many as were sent */
	struct dcm_str message; /* why; without a rejected one a warning; "": none. Within the bytes */
};

/*
 * In place, of an answer by gRPC the message in its first frame, which servers pack as the request was, whatever was said:
 * at most 64 KiB. Nothing stays of what cannot be read.
 */
void response__unframe(struct buf *body);

/* Reads the message; what cannot be read says nothing. */
struct response response__read(struct dcm_str bytes, uint32_t n_sent);

#endif
