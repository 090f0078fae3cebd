/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/health.c - grpc.health.v1.Health: Check and List, for probes that speak gRPC, and Watch, for balancers
 *
 * Source: grpc/grpc, doc/health-checking.md and src/proto/grpc/health/v1/health.proto:
 *
 *	Check: HealthCheckRequest { string service = 1 } -> HealthCheckResponse { ServingStatus status = 1 }
 *	List: HealthListRequest {} -> HealthListResponse { map<string, HealthCheckResponse> statuses = 1 }
 *	Watch: as Check, and another HealthCheckResponse whenever it is another status
 *
 * The service "" is the server as a whole; it serves when it is ready, as /-/ready has it. Of others it
 * knows nothing: Check says NOT_FOUND, Watch SERVICE_UNKNOWN.
 */
#include "core/api/internal.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

/* False: it is no HealthCheckRequest. */
static bool read_service(const struct http_request *req, struct dcm_str *ret)
{
	struct pb_reader r = pb__reader_of(req->body);
	struct pb_field f;

	*ret = STR("");
	while (pb__next(&r, &f))
		if (f.number == 1 && f.type == PB_BYTES)
			*ret = pb__str(&f);
	return !r.fault;
}

static unsigned status_now(void *ctx, const struct http_request *req)
{
	struct http_response ready = { .status = 200 };
	bool serves;

	api__ready(ctx, req, &ready);
	serves = ready.status == 200;
	http_response__fini(&ready);
	return serves ? SERVING : NOT_SERVING;
}

static void put_status(struct http_response *resp, unsigned status)
{
	snprintf(resp->content_type, sizeof(resp->content_type), "application/proto");
	pb__put_varint(&resp->body, 1, status);
}

void api__health_check(void *ctx, const struct http_request *req, struct http_response *resp)
{
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
	put_status(resp, status_now(ctx, req));
}

/* Of the map one entry, whose key "" needs not be said. */
void api__health_list(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct buf status = { 0 }, entry = { 0 };

	snprintf(resp->content_type, sizeof(resp->content_type), "application/proto");
	pb__put_varint(&status, 1, status_now(ctx, req));
	pb__put_nested(&entry, 2, &status);
	pb__put_nested(&resp->body, 1, &entry);
	buf__fini(&status);
	buf__fini(&entry);
}

/* Of one call of Watch. */
struct watch {
	bool is_known; /* the service */
	unsigned said;
};

static struct watch *begin_watch(const struct http_request *req, struct http_response *resp)
{
	struct watch *w;
	struct dcm_str service;

	if (!read_service(req, &service)) {
		http_response__problem(resp, 400, "the message is no HealthCheckRequest");
		return NULL;
	}
	w = arena__zalloc(req->arena, 1, sizeof(*w));
	if (!w) {
		http_response__problem(resp, 503, "out of memory; try again later");
		return NULL;
	}
	w->is_known = service.n == 0;
	return w;
}

void api__health_watch(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct watch *w = req->talk->is_look ? req->talk->state : begin_watch(req, resp);
	unsigned status;

	if (!w)
		return;
	req->talk->state = w;
	status = w->is_known ? status_now(ctx, req) : SERVICE_UNKNOWN;
	if (status == w->said) {
		resp->status = 204;
		return;
	}
	w->said = status;
	put_status(resp, status);
}
