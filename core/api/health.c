/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/health.c - grpc.health.v1.Health/Check, for probes that speak gRPC
 *
 * Source: grpc/grpc, doc/health-checking.md and src/proto/grpc/health/v1/health.proto:
 *
 *	HealthCheckRequest { string service = 1 } -> HealthCheckResponse { ServingStatus status = 1 }
 *
 * The service "" is the server as a whole; it serves when it is ready, as /-/ready has it. Of others it
 * knows nothing: NOT_FOUND. Watch is no unary method, and not offered.
 */
#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/codec/protobuf.h"

enum { SERVING = 1, NOT_SERVING = 2 };

/* False: it is no HealthCheckRequest. */
static bool read_service(const struct http_request *req, struct dcm_str *ret)
{
	struct pb_reader r = pb__reader((const uint8_t *)req->body.p, req->body.n);
	struct pb_field f;

	*ret = STR("");
	while (pb__next(&r, &f))
		if (f.number == 1 && f.type == PB_BYTES)
			*ret = (struct dcm_str){ (const char *)f.p, (uint32_t)f.n };
	return !r.fault;
}

void api__health_check(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct http_response ready = { .status = 200 };
	struct dcm_str service;

	if (!read_service(req, &service)) {
		http_response__problem(resp, 400, "the message is no HealthCheckRequest");
		return;
	}
	if (service.n > 0) {
		http_response__problem(resp, 404, "nothing is known of \"%.*s\"; the server as a whole is \"\"",
				       STR_ARG(service));
		return;
	}
	api__ready(ctx, req, &ready);
	snprintf(resp->content_type, sizeof(resp->content_type), "application/proto");
	pb__put_varint(&resp->body, 1, ready.status == 200 ? SERVING : NOT_SERVING);
	http_response__fini(&ready);
}
