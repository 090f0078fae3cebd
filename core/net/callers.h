/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/callers.h - connections that were accepted: TLS, and which protocol each speaks
 *
 * HTTP/2 begins with its preface (RFC 9113, 3.4) or was agreed upon by ALPN; what is no request of HTTP in its first line
 * ends there; all else is libmicrohttpd's (http1.h), over a pair of sockets where TLS was taken off. A connection costs
 * little before it has said something.
 *
 * One thread, that of the loop.
 */
#ifndef DECIMA_NET_CALLERS_H
#define DECIMA_NET_CALLERS_H

#include "core/net/http1.h"
#include "core/net/http2.h"
#include "core/net/tls_server.h"

struct caller;

struct callers {
	struct loop *loop;
	struct requests *requests;
	struct http1 *http1;
	struct tls_server *tls; /* NULL: none */
	struct stats_metric *n_timeouts;
	struct http2_desk desk;
	struct caller *first, *gone; /* gone: freed at the turn's end */
	uint32_t n, n_bridged;
};

/* What is given outlives it. */
void callers__init(struct callers *s, struct loop *loop, struct requests *requests,
		   struct http1 *http1, struct tls_server *tls, struct stats_metric *n_timeouts);
/* Ends all. No handler runs. */
void callers__fini(struct callers *s);

/* Takes a connection with its descriptor, which is closed when memory runs out, and its place in peer->share. `is_tls`: it has to begin with a handshake. */
void callers__take(struct callers *s, int fd, const struct access_peer *peer, bool is_tls);

/* Connections here and at http1, each once. */
uint32_t callers__n(const struct callers *s);
/* What there is to look after: conns.h. */
enum conns_load callers__load(const struct callers *s);
/* After each turn of the loop: answers that have come from lanes. */
void callers__after_turn(struct callers *s);
void callers__tick(struct callers *s, int64_t now_ns);

/* The server is about to end: who has asked nothing yet is parted with, the others ask nothing more. */
void callers__say_goodbye(struct callers *s);
/* True: answers are on their way. */
bool callers__are_busy(const struct callers *s);
/* Shuts all sockets, and touches nothing that a handler may look at. */
void callers__shut(struct callers *s);

#endif
