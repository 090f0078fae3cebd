/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http1.h - HTTP/1.1 by libmicrohttpd: connections in, exchanges to requests.h, answers out
 *
 * One event thread owns the connections. Absolute deadlines for headers, bodies and answers are kept
 * here, and the descriptor of whoever exceeds them is shut; a client that goes away cancels its
 * request's budget (conns.h).
 *
 * libmicrohttpd takes no answer in the middle of a body, so a chunked one that grows too large is
 * thrown away to its end, or to its deadline.
 *
 * What libmicrohttpd 0.9.75 lets through is refused before a handler sees it: Content-Length beside
 * Transfer-Encoding, two Content-Lengths, a transfer coding other than chunked, a space before a
 * header's colon, a header that goes on in another line, a name that is no token, a control character in a
 * value, no Host or two of them. Not seen from here: what stands behind a NUL in a value, and LF for CRLF. What it refuses by itself (docs/API.md) is counted.
 */
#ifndef DECIMA_NET_HTTP1_H
#define DECIMA_NET_HTTP1_H

#include "core/net/conns.h"
#include "core/net/requests.h"

struct http1;
int http1__new(struct requests *requests, struct http1 **ret, struct dcm_error *err);

/*
 * Takes a connection whose first bytes are unread, and its descriptor, which is closed when it
 * cannot: -EIO. `peer` is who is at its other end. One thread.
 */
int http1__take(struct http1 *h, int fd, const struct access_peer *peer);

/* Connections that were taken and have not ended. The thread of http1__take(). */
uint32_t http1__n(struct http1 *h);

/* What there is to look after, and looking after it: conns__load(), conns__tick(). Any thread. */
enum conns_load http1__load(struct http1 *h);
uint32_t http1__tick(struct http1 *h, int64_t now_ns);

/* Shuts all connections at once: handlers may still run. */
void http1__shut(struct http1 *h);
/* Waits until every answer has left, until then, and ends the thread. No handler runs. */
void http1__stop(struct http1 *h, int64_t until_mono_ns);
void http1__free(struct http1 *h);

#endif
