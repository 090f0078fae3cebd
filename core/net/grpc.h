/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/grpc.h - gRPC and gRPC-Web around a request and its response: frames, compression, statuses
 *
 * A method is a route with `grpc`, at POST /PACKAGE.SERVICE/METHOD, whose handler takes one message as
 * body and answers with one: it knows nothing of what stands here. One whose body goes into a file
 * (to_file) takes any number of messages, and finds them there in their frames. Sources: grpc/grpc, doc/PROTOCOL-HTTP2.md,
 * PROTOCOL-WEB.md, http-grpc-status-mapping.md, statuscodes.md. No threads of its own.
 */
#ifndef DECIMA_NET_GRPC_H
#define DECIMA_NET_GRPC_H

#include "core/base/grpc_head.h"
#include "core/net/http.h"

/* How a request is in gRPC, by its Content-Type. */
enum grpc_form { GRPC_NONE, GRPC_HTTP2, GRPC_WEB, GRPC_WEB_TEXT };
enum grpc_form grpc__form(const struct http_request *req);
/* Does its Content-Type say that messages are protobuf, by "+proto", or by nothing behind the form? "+json" is read by nobody here. */
bool grpc__is_protobuf(const struct http_request *req);

/* The statuses that a call can come to here (statuscodes.md). */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16
};
/*
 * What a status of HTTP is among them. What clients do again is UNAVAILABLE alone: so is all that passes, and nothing else.
 */
enum grpc_status grpc__status_of(int http);

/*
 * The one message of a body, unpacked, as req->body: a view into what was there, or `room`. False: the
 * response says what is wrong with it. `max_unpacked` bytes at most.
 */
bool grpc__open(enum grpc_form form, struct http_request *req, uint64_t max_unpacked,
		struct buf *room, struct http_response *resp);

/*
 * The first message of `in`, of a stream, as above: how long it is in its frame. 0: not all of it is there yet.
 * -1: the response says what is wrong.
 */
int64_t grpc__next(struct dcm_str in, struct http_request *req, uint64_t max_bytes,
		   struct buf *room, struct http_response *resp);
/* A message in its frame; and what a call came to, "name: value\r\n" each. */
void grpc__put_message(struct buf *to, const struct buf *message);
void grpc__put_status(struct buf *to, const struct http_response *resp);

/*
 * Makes the answer of a handler, or a problem, one of gRPC: status 200, the message in a frame, and what
 * it came to: in `trailers` ("name: value\r\n" each) over HTTP/2, at the end of the body in gRPC-Web.
 */
void grpc__close(enum grpc_form form, struct http_response *resp, struct buf *trailers);

/* ns that "grpc-timeout" grants, INT64_MAX without one; -1: it is none. */
int64_t grpc__timeout_ns(const struct http_request *req);

#endif
