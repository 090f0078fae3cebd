/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/grpc_client.c - a request of HTTP/2, and a status behind its answer
 */
#include "core/net/grpc_client.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/base/url.h"
#include "core/net/grpc.h"
#include "core/net/http_client.h"

/* grpc/grpc, doc/statuscodes.md. */
static int errno_of(int64_t status)
{
	static const int errors[] = {
		[1] = -ETIMEDOUT, [3] = -EINVAL,  [4] = -ETIMEDOUT, [5] = -ENOENT,
		[6] = -EEXIST,	  [7] = -EACCES,  [8] = -EFBIG,	    [9] = -EBUSY,
		[12] = -ENOSYS,	  [14] = -EAGAIN, [16] = -EACCES,
	};
	const size_t n = sizeof(errors) / sizeof(errors[0]);

	return status > 0 && (size_t)status < n && errors[status] ? errors[status] : -EPROTO;
}

static int fail(int64_t status, struct dcm_str message, struct dcm_error *err)
{
	struct buf text = { 0 };
	int r = errno_of(status);

	url__unescape(&text, message);
	buf__byte(&text, '\0');
	if (text.error)
		r = error__nomem(err);
	else if (text.n > 1)
		error__set(err, r, "%s", (const char *)text.data);
	else
		error__set(err, r, "the server answered with gRPC's status %d, and says no more",
			   (int)status);
	buf__fini(&text);
	return r;
}

/* The one message of an answer. */
static int take_answer(const struct http_response *r, struct buf *ret, struct dcm_error *err)
{
	struct grpc_head head;

	if (r->body.n < GRPC_HEAD_BYTES || !grpc_head__read(r->body.data, &head) ||
	    head.is_packed || head.n != r->body.n - GRPC_HEAD_BYTES)
		return error__set(err, -EPROTO, "the server's answer is not one message of gRPC");
	buf__append(ret, r->body.data + GRPC_HEAD_BYTES, head.n);
	return ret->error ? error__nomem(err) : 0;
}

static int judge(const struct grpc_call *call, const struct http_response *r, struct buf *ret,
		 struct dcm_error *err)
{
	struct dcm_str text = http_response__find(r, "grpc-status");
	int64_t status;

	if (text.n == 0 || units__parse_int(text, "", &status) < 0)
		return error__set(err, r->status == 401 || r->status == 403 ? -EACCES : -EPROTO, "%s: what answers with HTTP's status %d does not speak gRPC there; give the address of a server that does",
				  call->server, r->status);
	if (status != 0)
		return fail(status, http_response__find(r, "grpc-message"), err);
	return take_answer(r, ret, err);
}

int grpc_client__call(const struct grpc_call *call, struct buf *ret, struct dcm_error *err)
{
	struct http_response answer = { 0 };
	struct buf url = { 0 }, frame = { 0 };
	int r;

	buf__printf(&url, "%s%s", call->server, call->method);
	if (call->message) {
		grpc_head__append(&frame, 0, (uint32_t)call->message->n);
		buf__append(&frame, call->message->data, call->message->n);
	}
	if (url.error || frame.error)
		r = error__nomem(err);
	else
		r = http_client__call(&(struct http_call){ .method = HTTP_POST,
							   .url = (const char *)url.data,
							   .bearer = call->bearer,
							   .ca_file = call->ca_file,
							   .cert_file = call->cert_file,
							   .key_file = call->key_file,
							   .body = (const char *)frame.data,
							   .n_body = frame.n,
							   .file = call->stream,
							   .content_type = "application/grpc",
							   .http2 = true,
							   .sent = call->sent,
							   .ctx = call->sent_ctx,
							   .timeout_ns = call->timeout_ns,
							   .max_bytes = call->max_bytes + GRPC_HEAD_BYTES },
				      &answer, err);
	if (r == 0)
		r = judge(call, &answer, ret, err);
	http_response__fini(&answer);
	buf__fini(&frame);
	buf__fini(&url);
	return r;
}
