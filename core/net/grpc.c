/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/grpc.c - a flag, four bytes of length and a message; and 17 statuses
 */
#include "core/net/grpc.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/grpc_timeout.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"

enum grpc_form grpc__form(const struct http_request *req)
{
	/* The longer ones first; what follows is "+proto", a parameter, or nothing. */
	static const struct {
		const char *type;
		enum grpc_form form;
	} forms[] = { { "application/grpc-web-text", GRPC_WEB_TEXT },
		      { "application/grpc-web", GRPC_WEB },
		      { "application/grpc", GRPC_HTTP2 } };
	struct dcm_str type = http_request__header(req, "content-type");

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct dcm_str want = str__of(forms[i].type);

		if (str__starts(type, want) &&
		    (type.n == want.n || type.p[want.n] == '+' || type.p[want.n] == ';'))
			return forms[i].form;
	}
	return GRPC_NONE;
}

bool grpc__is_protobuf(const struct http_request *req)
{
	struct dcm_str type = str__media_type(http_request__header(req, "content-type"));
	const char *plus = type.n ? memchr(type.p, '+', type.n) : NULL;

	return !plus ||
	       str__eq((struct dcm_str){ plus, (uint32_t)(type.p + type.n - plus) }, STR("+proto"));
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

static bool refuse(struct http_response *resp, int status, const char *why)
{
	http_response__problem(resp, status, "the message: %s", why);
	return false;
}

/* Base64, of pieces that each may end with "=" (PROTOCOL-WEB.md): in place, it only becomes shorter. */
static bool decode_text(struct dcm_str *body, struct buf *room)
{
	struct base64_decode_ctx ctx;
	size_t n_out = 0;
	uint8_t *to = buf__reserve(room, body->n);

	if (!to)
		return false;
	base64_decode_init(&ctx);
	for (uint32_t i = 0; i < body->n; i++) {
		uint8_t byte;
		int r = base64_decode_single(&ctx, &byte, body->p[i]);

		if (r < 0)
			return false;
		if (r > 0)
			to[n_out++] = byte;
		/* Behind the padding of one piece another begins. */
		if (body->p[i] == '=' && (i + 1 == body->n || body->p[i + 1] != '=') &&
		    base64_decode_final(&ctx))
			base64_decode_init(&ctx);
	}
	room->n = n_out;
	*body = buf__view(room);
	return base64_decode_final(&ctx) == 1;
}

static bool unpack(struct http_request *req, struct dcm_str packed, uint64_t max_unpacked,
		   struct buf *room, struct http_response *resp)
{
	struct dcm_str coding = http_request__header(req, "grpc-encoding");
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	int r;

	if (!str__eq(coding, STR("gzip"))) {
		http_response__header(resp, "grpc-accept-encoding", "identity,gzip");
		http_response__problem(
			resp, 501,
			"the message is packed by \"%.*s\", which nobody here unpacks; send "
			"it in gzip or as it is",
			STR_ARG(coding));
		return false;
	}
	r = deflate__unpack((const uint8_t *)packed.p, packed.n, max_unpacked, &out, &err);
	/* `packed` may be in the room: it is not touched before. */
	buf__fini(room);
	*room = out;
	if (r < 0) {
		http_response__problem(resp, r == -E2BIG ? 413 : http__status_of(r),
				       "the message: %s", err.text);
		return false;
	}
	req->body = buf__view(room);
	return true;
}

/* A frame that is whole. */
static bool take_message(struct dcm_str frame, struct http_request *req, uint64_t max_unpacked,
			 struct buf *room, struct http_response *resp)
{
	struct dcm_str message = { frame.p + GRPC_HEAD_BYTES, frame.n - GRPC_HEAD_BYTES };
	struct grpc_head head;

	if (!grpc_head__read((const uint8_t *)frame.p, &head))
		return refuse(resp, 400, "its first byte is neither 0 nor 1");
	if (head.is_packed)
		return unpack(req, message, max_unpacked, room, resp);
	if (message.n > max_unpacked)
		return refuse(resp, 413, "it is too large for this method");
	req->body = message;
	return true;
}

int64_t grpc__next(struct dcm_str in, struct http_request *req, uint64_t max_bytes,
		   struct buf *room, struct http_response *resp)
{
	struct grpc_head head;

	if (in.n < GRPC_HEAD_BYTES)
		return 0;
	grpc_head__read((const uint8_t *)in.p, &head);
	if (head.n > max_bytes) {
		refuse(resp, 413, "it is too large for this method");
		return -1;
	}
	if (head.n > in.n - GRPC_HEAD_BYTES)
		return 0;
	in.n = head.n + GRPC_HEAD_BYTES;
	return take_message(in, req, max_bytes, room, resp) ? (int64_t)in.n : -1;
}

bool grpc__open(enum grpc_form form, struct http_request *req, uint64_t max_unpacked,
		struct buf *room, struct http_response *resp)
{
	struct dcm_str body = req->body;
	struct grpc_head head;

	if (form == GRPC_WEB_TEXT && !decode_text(&body, room))
		return refuse(resp, 400, "is not in base64");
	if (body.n < GRPC_HEAD_BYTES)
		return refuse(resp, 400, "there is none; a call has one");
	grpc_head__read((const uint8_t *)body.p, &head);
	if (head.n > body.n - GRPC_HEAD_BYTES)
		return refuse(resp, 400, "it is shorter than its head says");
	if (head.n < body.n - GRPC_HEAD_BYTES)
		return refuse(resp, 501, "another one follows; this method takes one");
	return take_message(body, req, max_unpacked, room, resp);
}

int64_t grpc__timeout_ns(const struct http_request *req)
{
	return grpc_timeout__read(http_request__header(req, "grpc-timeout"));
}

/* ------------------------------------------------------------------------------------------------
 * Responses
 */

enum grpc_status grpc__status_of(int http)
{
	switch (http) {
	case 200:
	case 204:
		return GRPC_OK;
	case 400:
	case 415:
	case 422:
		return GRPC_INVALID_ARGUMENT;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
	case 421:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_NOT_FOUND;
	case 405:
	case 501:
		return GRPC_UNIMPLEMENTED;
	case 409:
		return GRPC_FAILED_PRECONDITION;
	case 412:
		return GRPC_ALREADY_EXISTS;
	case 413:
		return GRPC_RESOURCE_EXHAUSTED;
	case 429:
	case 503:
	case 507:
		return GRPC_UNAVAILABLE;
	case 499:
		return GRPC_CANCELLED;
	case 504:
		return GRPC_DEADLINE_EXCEEDED;
	case 500:
		return GRPC_INTERNAL;
	default:
		return GRPC_UNKNOWN;
	}
}

/* Percent-encoded, but for what is printable (PROTOCOL-HTTP2.md, Status-Message). */
static void put_message(struct buf *b, struct dcm_str text)
{
	for (uint32_t i = 0; i < text.n; i++) {
		uint8_t c = (uint8_t)text.p[i];

		if (c >= ' ' && c <= '~' && c != '%')
			buf__byte(b, c);
		else
			buf__printf(b, "%%%02X", c);
	}
}

void grpc__put_message(struct buf *to, const struct buf *message)
{
	grpc_head__append(to, 0, message->n);
	buf__append(to, message->data, message->n);
}

void grpc__put_status(struct buf *to, const struct http_response *resp)
{
	const enum grpc_status status = grpc__status_of(resp->status);

	buf__printf(to, "grpc-status: %d\r\n", status);
	if (status == GRPC_OK)
		return;
	buf__text(to, "grpc-message: ");
	put_message(to, buf__view(&resp->detail));
	buf__text(to, "\r\n");
}

static void encode_text(struct buf *body)
{
	struct buf text = { 0 };
	char *to = (char *)buf__reserve(&text, BASE64_ENCODE_RAW_LENGTH(body->n));

	if (to) {
		base64_encode_raw(to, body->n, body->data);
		text.n = BASE64_ENCODE_RAW_LENGTH(body->n);
	}
	buf__fini(body);
	*body = text;
}

void grpc__close(enum grpc_form form, struct http_response *resp, struct buf *trailers)
{
	static const char *const types[] = {
		[GRPC_HTTP2] = "application/grpc", [GRPC_WEB] = "application/grpc-web+proto", [GRPC_WEB_TEXT] = "application/grpc-web-text+proto"
	};
	struct buf body = { 0 };

	if (grpc__status_of(resp->status) == GRPC_OK)
		grpc__put_message(&body, &resp->body);
	grpc__put_status(trailers, resp);
	if (form != GRPC_HTTP2) {
		grpc_head__append(&body, GRPC_TRAILERS, trailers->n);
		buf__append(&body, trailers->data, trailers->n);
	}
	if (form == GRPC_WEB_TEXT)
		encode_text(&body);
	body.error = body.error ? body.error : trailers->error;
	buf__fini(&resp->body);
	resp->body = body;
	resp->status = 200;
	snprintf(resp->content_type, sizeof(resp->content_type), "%s", types[form]);
}
