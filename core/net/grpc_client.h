/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/grpc_client.h - one call of gRPC to a server, and its answer
 *
 * Over HTTP/2. The answer is one message; the request is one, or a stream of them. Sources: as of grpc.h.
 */
#ifndef DECIMA_NET_GRPC_CLIENT_H
#define DECIMA_NET_GRPC_CLIENT_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/net/http.h"

struct grpc_call {
	const char *server;  /* http(s)://HOST:PORT, or unix:/PATH/TO/SOCKET: with that colon */
	const char *method;  /* "/PACKAGE.SERVICE/METHOD" */
	const char *bearer;  /* token, or NULL */
	const char *ca_file; /* PEM file of the authorities to trust; NULL: the system's */
	const char *cert_file, *key_file; /* PEM files of our certificate and its key; NULL: we show none */
	const struct buf *message; /* the request; or */
	const struct http_file *stream; /* any number of them, each in its frame (core/base/grpc_head.h) */
	void (*sent)(void *ctx, uint64_t n); /* told at intervals how much has left; may be NULL */
	void *sent_ctx;
	int64_t timeout_ns;
	size_t max_bytes; /* of the answer */
};

/*
 * 0, and the answer's message is appended to ret; or what the server's status comes to, whose sentence is
 * in err: -EINVAL (it takes the request for wrong), -ENOENT, -EEXIST, -EBUSY (not in this state of things),
 * -EACCES, -EAGAIN (may be tried again), -EFBIG, -ENOSYS, -ETIMEDOUT, -EPROTO for any other, and when what
 * answers does not speak gRPC; or no answer came. Blocks; any thread.
 */
int grpc_client__call(const struct grpc_call *call, struct buf *ret, struct dcm_error *err);

#endif
