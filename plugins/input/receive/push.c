/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/push.c - push.v1.PusherService/Push, a unary call of Connect
 *
 * The request is a message as it is or in JSON, the answer an empty one; a refusal is JSON with one of Connect's codes. By gRPC the
 * first, which the host takes out of its frames, and a status.
 */
#include "plugins/input/receive/pyroscope.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "plugins/input/receive/descriptors.h"

static const char *code_of(int status)
{
	switch (status) {
	case 400:
		return "invalid_argument";
	case 504:
		return "deadline_exceeded";
	default:
		return "unavailable";
	}
}

/*
 * Connect has a status for each code; that of a request that is too large, resource_exhausted, would be "try again"
 * (connectrpc.com/docs/protocol, Error Codes).
 */
static void refuse(const struct desk *d, const struct desk_verdict *v, struct dcm_reply *reply)
{
	const int status = v->status == 413 ? 400 : v->status;
	struct buf body = { 0 };

	buf__printf(&body, "{\"code\":\"%s\",\"message\":", code_of(status));
	buf__json(&body, str__of(v->error.text));
	buf__text(&body, "}");
	desk__tell(d, v, reply);
	if (!body.error)
		d->host->reply_put(reply, status, "application/json", body.data, body.n);
	buf__fini(&body);
}

/* With or without parameters, as "; charset=utf-8". */
static bool is_of_type(struct dcm_str header, struct dcm_str type)
{
	return str__starts(header, type) &&
	       (header.n == type.n || header.p[type.n] == ';' || header.p[type.n] == ' ');
}

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct dcm_decode how = { .identity = DCM_IDENTITY_TIMED };
	struct dcm_str type = desk__field(q->headers, q->n_headers, "content-type");
	const bool is_json = is_of_type(type, STR("application/json"));
	struct desk_verdict v;

	if (!is_json && !str__starts(type, STR("application/grpc")) &&
	    !is_of_type(type, STR("application/proto")) &&
	    !is_of_type(type, STR("application/x-protobuf"))) {
		desk__refuse(d, &v,
			     415, "Content-Type %.*s is not read here; send push.v1.PushRequest as application/proto or application/json",
			     STR_ARG(type));
		d->host->reply_header(reply, "Accept-Post", "application/proto, application/json");
		desk__tell(d, &v, reply);
		return;
	}
	how.format = is_json ? "push.v1.json" : "push.v1";
	desk__take(d, &how, q->body, q->n_body, q, &v);
	if (v.status == 200 && is_json)
		d->host->reply_put(reply, 200, "application/json", "{}", 2);
	else if (v.status == 200)
		d->host->reply_put(reply, 200, "application/proto", "", 0);
	else
		refuse(d, &v, reply);
}

int push__serve(struct desk *d, struct dcm_error *err)
{
	const struct dcm_endpoint endpoint = {
		.path = "/push.v1.PusherService/Push",
		.doc = "takes push.v1.PushRequest",
		.answer = answer,
		.grpc = 1,
		.descriptors = descriptors_push,
		.n_descriptors = sizeof(descriptors_push),
	};

	return desk__serve(d, endpoint, err);
}
