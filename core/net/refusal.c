/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/refusal.c - a problem as google.rpc.Status, and as Connect's JSON
 */
#include "core/net/refusal.h"

#include <stdio.h>
#include <strings.h>

#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/net/grpc.h"

static bool is_of_type(const struct http_request *req, const char *type)
{
	const struct dcm_str is = str__media_type(http_request__header(req, "content-type"));

	return is.n == str__of(type).n && strncasecmp(is.p, type, is.n) == 0;
}

/* Without memory for it the problem stays. */
static bool replace(struct http_response *resp, struct buf *body, const char *type)
{
	if (body->error) {
		buf__fini(body);
		return false;
	}
	buf__fini(&resp->body);
	resp->body = *body;
	snprintf(resp->content_type, sizeof(resp->content_type), "%s", type);
	return true;
}

/* In the encoding of the request. */
static void say_status(const struct http_request *req, struct http_response *resp)
{
	static const char protobuf[] = "application/x-protobuf", json[] = "application/json";
	const enum grpc_status code = grpc__status_of(resp->status);
	struct buf body = { 0 };

	if (is_of_type(req, json)) {
		buf__printf(&body, "{\"code\":%d,\"message\":", code);
		buf__json(&body, buf__view(&resp->detail));
		buf__text(&body, "}");
		replace(resp, &body, json);
	} else if (is_of_type(req, protobuf)) {
		pb__put_varint(&body, 1, code);
		pb__put_bytes(&body, 2, resp->detail.data, resp->detail.n);
		replace(resp, &body, protobuf);
	}
}

/* Connect has a status of HTTP for each code. */
static const struct {
	enum grpc_status code;
	int status;
	const char *name;
} connect_codes[] = {
	{ GRPC_CANCELLED, 499, "canceled" },
	{ GRPC_INVALID_ARGUMENT, 400, "invalid_argument" },
	{ GRPC_DEADLINE_EXCEEDED, 504, "deadline_exceeded" },
	{ GRPC_NOT_FOUND, 404, "not_found" },
	{ GRPC_ALREADY_EXISTS, 409, "already_exists" },
	{ GRPC_PERMISSION_DENIED, 403, "permission_denied" },
	{ GRPC_FAILED_PRECONDITION, 400, "failed_precondition" },
	{ GRPC_UNIMPLEMENTED, 501, "unimplemented" },
	{ GRPC_INTERNAL, 500, "internal" },
	{ GRPC_UNAVAILABLE, 503, "unavailable" },
	{ GRPC_UNAUTHENTICATED, 401, "unauthenticated" },
	/* What is too large is so the next time: resource_exhausted would be "try again". */
	{ GRPC_RESOURCE_EXHAUSTED, 400, "invalid_argument" },
	{ GRPC_UNKNOWN, 500, "unknown" }, /* the last: of all others */
};

static void say_connect(struct http_response *resp)
{
	const enum grpc_status code = grpc__status_of(resp->status);
	struct buf body = { 0 };
	size_t i = 0;

	/* Of these Connect knows the status itself. */
	if (resp->status == 405 || resp->status == 415)
		return;
	while (connect_codes[i].code != code && connect_codes[i].code != GRPC_UNKNOWN)
		i++;
	buf__printf(&body, "{\"code\":\"%s\",\"message\":", connect_codes[i].name);
	buf__json(&body, buf__view(&resp->detail));
	buf__text(&body, "}");
	if (replace(resp, &body, "application/json"))
		resp->status = connect_codes[i].status;
}

void refusal__say(enum http_refusal form, const struct http_request *req, struct http_response *resp)
{
	if (resp->status < 400 || !resp->detail.n)
		return;
	if (form == HTTP_REFUSAL_STATUS)
		say_status(req, resp);
	else if (form == HTTP_REFUSAL_CONNECT)
		say_connect(resp);
}
