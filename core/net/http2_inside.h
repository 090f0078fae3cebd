/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http2_inside.h - what the parts of HTTP/2 share: http2.c (connections and their frames), http2_call.c (one request)
 *
 * The thread of the loop's, all of it.
 */
#ifndef DECIMA_NET_HTTP2_INSIDE_H
#define DECIMA_NET_HTTP2_INSIDE_H

#include <nghttp2/nghttp2.h>

#include "core/base/clock.h"
#include "core/net/http2.h"

enum { IDS_KEPT = 128 };

struct call {
	struct http2 *h;
	struct call *prev, *next;
	struct exchange *x;
	int32_t id;
	struct dcm_str method, authority; /* in x->arena */
	size_t head_bytes;
	bool has_head;	/* and requests__head() was asked */
	bool has_ended; /* the client sends no more of it */
	bool in_lane;
	bool is_refused;     /* by its head */
	bool is_complete;    /* requests__complete() was asked, or needs not be; a talk is over */
	bool speaks;	     /* the head of a talk's answer is sent */
	size_t n_thrown;     /* of the body, since it is hopeless: requests__is_hopeless() */
	struct buf held;     /* of the body: not taken yet, while a lane writes */
	size_t n_sent;	     /* of the response's body */
	uint64_t n_held;     /* what it has in memory: CALL_BYTES, head and answer */
	int64_t deadline_ns; /* INT64_MAX: its handler's budget has one */
};

struct http2 {
	struct http2_desk *desk;
	struct http2 *prev, *next; /* at the desk */
	struct stream *stream;
	struct access_peer peer;
	void *owner;
	nghttp2_session *session;
	struct call *calls;
	uint32_t n_calls;
	uint64_t n_held;  /* by them */
	bool is_given_up; /* its calls are gone, and nothing more goes to nghttp2 */
	struct buf out;	  /* [out_at, n) is to be written */
	size_t out_at;
	int64_t idle_ns;  /* since when nothing was asked */
	int64_t stuck_ns; /* since when the client takes nothing; 0: it does */
	double empty_frames;
	int64_t counted_ns;
	bool says_goodbye;
	int32_t ids[IDS_KEPT]; /* of the last requests, the n-th at n % IDS_KEPT */
	uint64_t n_ids;
};

static inline int64_t http2__now_ns(void)
{
	return clock__mono(&clock__system);
}

static inline const struct listener_options *http2__options(const struct http2 *h)
{
	return h->desk->requests->o;
}

/* NULL: no memory. */
struct call *http2_call__new(struct http2 *h, int32_t id);
/* Off its connection; a handler that has it is cancelled. */
void http2_call__free(struct call *c);

/* One field of its head, and the head's end. */
void http2_call__field(struct call *c, struct dcm_str name, struct dcm_str value);
void http2_call__head(struct call *c);
/* A piece of its body, where it is wanted. -ENOMEM. */
int http2_call__data(struct call *c, const uint8_t *data, size_t n);
/* What there is to do now that something has come, or has ended. */
void http2_call__settle(struct call *c);
/* A lane is done with it. */
void http2_call__resume(struct call *c);
/* What a talk has to say goes out. */
void http2_call__speak(struct call *c);
/* Is it a talk that is not over? */
bool http2_call__goes_on(const struct call *c);
/* 0: nothing is late. 1: there is something to send. -ETIMEDOUT: its connection can say nothing more. */
int http2_call__tick(struct call *c, int64_t now_ns);

#endif
