/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http2.h - HTTP/2 (RFC 9113) by nghttp2: a connection's frames in, exchanges to requests.h, answers out
 *
 * What one connection may do: EXCHANGE_HEADERS headers and EXCHANGE_HEAD_BYTES of them a request, 100 requests
 * at once, and windows of a MiB a request, which open again only when a body's bytes have found their
 * place. A call that is a stream is answered here, message by message (talk.h). Frames that bring nothing (resets, pings, settings, priorities, empty data) are counted: more
 * than some hundred a second end it, as do requests whose heads do not come to an end in time. A client
 * that resets a request, or goes away, cancels its budget.
 * What heads and answers of all connections hold together is bounded, too: beyond 128 MiB the one that has the most of
 * several ends (ENHANCE_YOUR_CALM).
 *
 * One thread, with its loop, but where said otherwise.
 */
#ifndef DECIMA_NET_HTTP2_H
#define DECIMA_NET_HTTP2_H

#include <pthread.h>

#include "core/net/access.h"
#include "core/net/loop.h"
#include "core/net/requests.h"
#include "core/net/stream.h"

/* What all connections have together: where lanes put exchanges that they are done with. */
struct http2_desk {
	struct exchange_carrier carrier;
	struct requests *requests;
	struct loop *loop;
	struct stats_metric *n_timeouts;
	struct http2 *first; /* of all connections */
	int64_t quick_ns;    /* that handlers have taken in this turn of the loop */
	uint64_t n_held;     /* by their requests: heads, and answers that have not left */
	pthread_mutex_t lock;
	struct exchange *done; /* with the lock, by `next` */
};

struct http2;

void http2_desk__init(struct http2_desk *d, struct requests *requests, struct loop *loop,
		      struct stats_metric *n_timeouts);
/* Lanes have handed everything back; what is here is freed. */
void http2_desk__fini(struct http2_desk *d);
/*
 * At the end of each turn of the loop. Answers what has come back. `ran` is called for each connection that has something to send: its
 * http2__run() is due. What nobody waits for any more is freed.
 */
void http2_desk__take(struct http2_desk *d, void (*ran)(void *owner));

/* The stream is the owner's, and outlives the connection. NULL: no memory. */
struct http2 *http2__new(struct http2_desk *d, struct stream *stream,
			 const struct access_peer *peer, void *owner);
/* Requests of it that lanes have are cancelled, and come to the desk. */
void http2__free(struct http2 *h);

/* Reads what has come and writes what there is. 0, and what to wait for; else it has ended. */
int http2__run(struct http2 *h, uint32_t *ret_events);
/* What is late is reset (1: http2__run() is due), or ends the connection: < 0. 0: nothing is. */
int http2__tick(struct http2 *h, int64_t now_ns);
/* True: requests are open. */
bool http2__is_busy(const struct http2 *h);
/* No further request is taken: GOAWAY. http2__run() is due. */
void http2__say_goodbye(struct http2 *h);

#endif
