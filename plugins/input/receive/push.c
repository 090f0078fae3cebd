/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/push.c - push.v1.PusherService/Push, a unary call of Connect
 *
 * The request is a message as it is or in JSON, the answer an empty one; a refusal has one of Connect's codes. By gRPC the
 * first, which the host takes out of its frames, and a status.
 */
#include "plugins/input/receive/pyroscope.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "plugins/input/receive/descriptors.h"

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct dcm_decode how = { .identity = DCM_IDENTITY_TIMED };
	struct dcm_str type = desk__media_type(q);
	const bool is_json = str__eq(type, STR("application/json"));
	struct desk_verdict v;

	if (!is_json && !str__starts(type, STR("application/grpc")) &&
	    !str__eq(type, STR("application/proto")) && !str__eq(type, STR("application/x-protobuf"))) {
		desk__refuse(d, &v,
			     415, "Content-Type %.*s is not read here; send push.v1.PushRequest as application/proto or application/json",
			     STR_ARG(type));
		d->host->reply_header(reply, "Accept-Post", "application/proto, application/json");
		desk__tell(d, &v, reply);
		return;
	}
	how.format = is_json ? "push.v1.json" : "push.v1";
	desk__take(d, &how, q->body, q->n_body, q, &v);
	desk__note(d, "pyroscope", q, &v);
	if (v.status == 200 && is_json)
		d->host->reply_put(reply, 200, "application/json", "{}", 2);
	else if (v.status == 200)
		d->host->reply_put(reply, 200, "application/proto", "", 0);
	else
		desk__tell(d, &v, reply);
}

int push__serve(struct desk *d, struct dcm_error *err)
{
	const struct dcm_endpoint endpoint = {
		.path = "/push.v1.PusherService/Push",
		.doc = "takes push.v1.PushRequest",
		.answer = answer,
		.refusal = DCM_REFUSAL_CONNECT,
		.grpc = 1,
		.descriptors = descriptors_push,
		.n_descriptors = sizeof(descriptors_push),
	};

	return desk__serve(d, endpoint, err);
}
