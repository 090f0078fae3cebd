/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/talk.h - a call whose messages come and go one at a time: streams of gRPC, over HTTP/2
 *
 * What comes is answered message by message by the handler of a route with `streams`, on the carrier's
 * thread; what it says stands in frames until it is sent. A client that asks and does not read what it is
 * answered is told so (RESOURCE_EXHAUSTED) when TALK_OUT_BYTES wait for it. One that says nothing for TALK_IDLE_NS ends a
 * talk; whoever watches may be silent as long as he likes.
 *
 * Thread: the carrier's.
 */
#ifndef DECIMA_NET_TALK_H
#define DECIMA_NET_TALK_H

#include "core/net/exchange.h"

enum { TALK_OUT_BYTES = 256 << 10 };
#define TALK_IDLE_NS INT64_C(300000000000)
#define TALK_LOOK_NS INT64_C(1000000000)

struct talk {
	struct http_talk seen; /* by the handler */
	const struct http_route *route;
	struct buf in; /* less than a message, in its frame */
	struct buf out;
	size_t out_at;	      /* [out_at, n) of it is to be sent */
	uint32_t n_messages;  /* that came */
	bool is_over;	      /* what it came to is the response, behind what is in `out` */
	int64_t last_said_ns; /* by the client */
	int64_t looked_ns;
};

/* Has the exchange one, in its arena. False: no memory. */
bool talk__begin(struct exchange *x, const struct http_route *route);
void talk__fini(struct talk *t);

/* Each may have made it say something, or be over. */
void talk__take(struct exchange *x, const struct http_routes *routes, const uint8_t *data, size_t n);
/* The client says no more. */
void talk__end(struct exchange *x);
/* It is over for a reason of ours. */
void talk__stop(struct exchange *x, int status, const char *why);
/* Time has passed. True: there is something new. */
bool talk__look(struct exchange *x, const struct http_routes *routes, int64_t now_ns);

static inline bool talk__has_news(const struct talk *t)
{
	return t->is_over || t->out.n > t->out_at;
}

/* Up to n bytes of what it says; 0: there is nothing (any more). */
size_t talk__read(struct talk *t, uint8_t *to, size_t n);

#endif
