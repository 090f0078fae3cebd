/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http2.c - nghttp2's callbacks
 *
 * A request is a `struct call`, from the first byte of its head to the end of its stream. nghttp2
 * checks what RFC 9113 asks of frames and fields; section numbers are of that.
 */
#include "core/net/http2.h"

#include <errno.h>
#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/net/talk.h"

#define SECOND	   INT64_C(1000000000)
#define REFUSAL_NS (SECOND / 4)
#define QUICK_NS                                                                                   \
	(SECOND / 50) /* of a turn of the loop: what quick handlers may take before others have it */

enum {
	MAX_CALLS = 100,
	CALL_WINDOW = 1 << 20,
	CONNECTION_WINDOW = 8 << 20,
	READ_BYTES = 64 << 10, /* STREAM_READ_BYTES, or more */
	READS_A_RUN = 8,       /* others have their turn, too */
	OUT_BYTES = 64 << 10,
	OUT_FRAMES = 1000, /* that wait in nghttp2: beyond it nothing is read */
	IDLE_S = 60,
	STUCK_S = 60,	    /* without a byte that the client takes */
	EMPTY_FRAMES = 500, /* that bring nothing, at once (nghttp2 ends without a word at 1000), and */
	EMPTY_FRAMES_A_S = 100,
	HEADERS_OUT = 64,
	IDS_KEPT = 128,
	MAX_TALKS = 16, /* streams of gRPC over one connection: one client leaves places to others */
	THROWN_BYTES = 64 << 10, /* of a body that is of no use: a client that ends soon is let end */
	CALL_BYTES = 10 << 10	 /* what a request takes beside its head and its answer */
};

/* Heads and answers of all connections together: beyond it, the one that has the most of them ends. */
#define HELD_BYTES ((uint64_t)128 << 20)

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

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

static const struct listener_options *options(const struct http2 *h)
{
	return h->desk->requests->o;
}

/* ------------------------------------------------------------------------------------------------
 * The desk
 */

static void hold(struct exchange *x)
{
	(void)x; /* calls know it by requests__data() and requests__complete() */
}

static void hand_back(struct exchange *x)
{
	struct http2_desk *d = (struct http2_desk *)x->carrier; /* its first member */

	pthread_mutex_lock(&d->lock);
	x->next = d->done;
	d->done = x;
	pthread_mutex_unlock(&d->lock);
	loop__wake(d->loop);
}

void http2_desk__init(struct http2_desk *d, struct requests *requests, struct loop *loop,
		      struct stats_metric *n_timeouts)
{
	*d = (struct http2_desk){ .carrier = { .answers_early = true, .hold = hold, .hand_back = hand_back },
				  .requests = requests,
				  .loop = loop,
				  .n_timeouts = n_timeouts };
	pthread_mutex_init(&d->lock, NULL);
}

static struct exchange *take_done(struct http2_desk *d)
{
	struct exchange *x;

	pthread_mutex_lock(&d->lock);
	x = d->done;
	d->done = NULL;
	pthread_mutex_unlock(&d->lock);
	return x;
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

/* So much more of it is in memory. */
static void add_held(struct call *c, uint64_t n)
{
	c->n_held += n;
	c->h->n_held += n;
	c->h->desk->n_held += n;
}

static struct call *call_new(struct http2 *h, int32_t id)
{
	struct call *c = NEW(struct call);

	if (!c)
		return NULL;
	c->x = exchange__new(&h->desk->carrier, c);
	if (!c->x) {
		free(c);
		return NULL;
	}
	c->h = h;
	c->id = id;
	c->deadline_ns = now_ns() + options(h)->header_timeout_ns;
	c->next = h->calls;
	if (c->next)
		c->next->prev = c;
	h->calls = c;
	h->n_calls++;
	add_held(c, CALL_BYTES);
	return c;
}

static void call_free(struct call *c)
{
	struct http2 *h = c->h;

	if (c->prev)
		c->prev->next = c->next;
	else
		h->calls = c->next;
	if (c->next)
		c->next->prev = c->prev;
	h->n_calls--;
	h->n_held -= c->n_held;
	h->desk->n_held -= c->n_held;
	/* A lane has it: it comes to the desk, and nobody waits for it there. */
	if (c->in_lane) {
		atomic_store(&c->x->budget.cancelled, 1);
		c->x->stream = NULL;
	} else {
		requests__end(h->desk->requests, c->x);
	}
	buf__fini(&c->held);
	if (!h->calls)
		h->idle_ns = now_ns();
	free(c);
}

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){ .name = (uint8_t *)name,
			     .value = (uint8_t *)value,
			     .namelen = strlen(name),
			     .valuelen = strlen(value) };
}

/* Names are in lower case (8.2). */
static void lower(char *name)
{
	for (; *name; name++)
		if (*name >= 'A' && *name <= 'Z')
			*name = (char)(*name - 'A' + 'a');
}

/* Those of the response, or of a call that came to nothing: its trailers are all there is. */
static size_t take_headers(struct buf *lines, nghttp2_nv fields[HEADERS_OUT], size_t n)
{
	char *at = NULL, *name, *value;

	while (n < HEADERS_OUT && exchange__next_header(lines, &at, &name, &value)) {
		lower(name);
		fields[n++] = field(name, value);
	}
	return n;
}

/* What stands behind the body, and is the end of the stream. */
static int send_trailers(struct call *c)
{
	nghttp2_nv fields[HEADERS_OUT];

	return nghttp2_submit_trailer(c->h->session, c->id, fields,
				      take_headers(&c->x->trailers, fields, 0));
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t n,
			 uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct call *c = source->ptr;
	const struct buf *body = &c->x->response.body;
	size_t rest = body->n - c->n_sent;

	(void)session;
	(void)id;
	(void)ctx;
	n = n < rest ? n : rest;
	if (n)
		memcpy(to, body->data + c->n_sent, n);
	c->n_sent += n;
	if (c->n_sent < body->n)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (c->x->trailers.n > 0) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (send_trailers(c) < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)n;
}

/* A 204 and a 304 have no body, nor has what HEAD asks for (RFC 9110, 6.4.1). */
static bool has_body(const struct exchange *x)
{
	return x->request.method != HTTP_HEAD && x->response.status != 204 &&
	       x->response.status != 304 && x->response.body.n > 0;
}

static void answer(struct call *c)
{
	struct exchange *x = c->x;
	nghttp2_data_provider body = { .source.ptr = c, .read_callback = read_body };
	nghttp2_nv fields[HEADERS_OUT];
	char status[16], length[24];
	size_t n = 0;

	c->deadline_ns = now_ns() + exchange__answer_ns(x);
	c->is_complete = true;
	exchange__finish(x);
	add_held(c, x->response.body.n + x->response.headers.n + x->trailers.n);
	snprintf(status, sizeof(status), "%d", x->response.status);
	snprintf(length, sizeof(length), "%zu", x->response.body.n);
	fields[n++] = field(":status", status);
	fields[n++] = field("content-type", x->response.content_type);
	if (!x->grpc && x->response.status != 204 && x->response.status != 304)
		fields[n++] = field("content-length", length);
	n = take_headers(&x->response.headers, fields, n);
	if (!has_body(x))
		n = take_headers(&x->trailers, fields, n);
	if (nghttp2_submit_response(c->h->session, c->id, fields, n, has_body(x) ? &body : NULL) < 0)
		nghttp2_submit_rst_stream(c->h->session, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
}

/* What a talk says, as it does; nothing more for the moment is no end. */
static ssize_t read_talk(nghttp2_session *session, int32_t id, uint8_t *to, size_t n,
			 uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct call *c = source->ptr;
	struct talk *t = c->x->talk;

	(void)session;
	(void)id;
	(void)ctx;
	n = talk__read(t, to, n);
	if (t->out_at < t->out.n || (!t->is_over && n > 0))
		return (ssize_t)n;
	if (!t->is_over)
		return NGHTTP2_ERR_DEFERRED;
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	return send_trailers(c) < 0 ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : (ssize_t)n;
}

/* A talk may have something new. One that came to nothing before it said a word has an answer like others. */
static void speak(struct call *c)
{
	struct exchange *x = c->x;
	nghttp2_data_provider body = { .source.ptr = c, .read_callback = read_talk };
	nghttp2_nv fields[2] = { field(":status", "200"),
				 field("content-type", "application/grpc") };

	if (c->is_complete || !talk__has_news(x->talk))
		return;
	if (x->talk->is_over && x->response.status >= 400)
		stats__counter_add(c->h->desk->requests->n_refused, 1);
	if (x->talk->is_over && x->response.status >= 400 && !c->speaks &&
	    x->talk->out.n == x->talk->out_at) {
		answer(c);
		return;
	}
	if (x->talk->is_over) {
		c->is_complete = true;
		c->deadline_ns = now_ns() + exchange__answer_ns(x);
		grpc__put_status(&x->trailers, &x->response);
	}
	if (c->speaks)
		nghttp2_session_resume_data(c->h->session, c->id);
	else if (nghttp2_submit_response(c->h->session, c->id, fields, 2, &body) < 0)
		nghttp2_submit_rst_stream(c->h->session, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
	c->speaks = true;
}

/* The body is there, or what is wrong with it is known. */
static void complete(struct call *c)
{
	struct http2_desk *d = c->h->desk;
	int64_t began = now_ns();

	c->is_complete = true;
	c->deadline_ns = INT64_MAX;
	c->x->is_late = d->quick_ns > QUICK_NS;
	c->in_lane = requests__complete(d->requests, c->x);
	d->quick_ns += now_ns() - began;
	if (!c->in_lane)
		answer(c);
}

/* A piece of the body; false: a lane writes the one before, and it has to be offered again. */
static bool offer(struct call *c, const uint8_t *data, size_t n)
{
	c->in_lane = !requests__data(c->h->desk->requests, c->x, (const char *)data, n);
	/* From here on the exchange is the lane's. */
	if (c->in_lane) {
		c->deadline_ns = INT64_MAX;
		return false;
	}
	nghttp2_session_consume(c->h->session, c->id, n);
	if (exchange__has_advanced(c->x))
		c->deadline_ns = now_ns() + options(c->h)->body_timeout_ns;
	if (requests__is_hopeless(c->x))
		c->n_thrown += n;
	return true;
}

/* With a talk, whose times are its own. */
static void go_on(struct call *c)
{
	c->deadline_ns = INT64_MAX;
	if (c->has_ended)
		talk__end(c->x);
	speak(c);
}

static void settle(struct call *c)
{
	if (c->is_complete || c->in_lane)
		return;
	if (c->is_refused && c->has_ended)
		answer(c);
	else if (!c->is_refused && c->x->talk)
		go_on(c);
	else if (!c->is_refused && (c->has_ended || c->n_thrown > THROWN_BYTES))
		complete(c);
}

/* A lane is done with it. */
static void resume(struct call *c)
{
	c->in_lane = false;
	if (c->x->answered) {
		answer(c);
		return;
	}
	c->deadline_ns = now_ns() + options(c->h)->body_timeout_ns;
	if (c->held.n > 0 && !offer(c, c->held.data, c->held.n))
		return;
	buf__fini(&c->held);
	settle(c);
}

void http2_desk__take(struct http2_desk *d, void (*ran)(void *owner))
{
	struct exchange *x, *next;

	d->quick_ns = 0;
	for (x = take_done(d); x; x = next) {
		struct call *c = x->stream;
		void *owner;

		next = x->next;
		if (!c) {
			requests__end(d->requests, x);
			continue;
		}
		owner = c->h->owner;
		resume(c);
		ran(owner);
	}
}

void http2_desk__fini(struct http2_desk *d)
{
	struct exchange *next;

	for (struct exchange *x = take_done(d); x; x = next) {
		next = x->next;
		requests__end(d->requests, x);
	}
	pthread_mutex_destroy(&d->lock);
}

/* ------------------------------------------------------------------------------------------------
 * Frames
 */

static struct call *call_of(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/*
 * A client that has passed over a number may not come back to it (5.1.1). nghttp2 takes it for one of
 * a request that is over, whose frames may still be on their way.
 */
static bool was_passed_over(const struct http2 *h, int32_t id)
{
	uint64_t kept = h->n_ids < IDS_KEPT ? h->n_ids : IDS_KEPT;
	int32_t after = 0;

	for (uint64_t i = 1; i <= kept; i++) {
		int32_t opened = h->ids[(h->n_ids - i) % IDS_KEPT];

		if (opened <= id)
			return opened != id && after != 0;
		after = opened;
	}
	/* Older than all that are kept; or than the first. */
	return after != 0 && kept == h->n_ids;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *ctx)
{
	struct http2 *h = ctx;

	if (hd->type == NGHTTP2_HEADERS && was_passed_over(h, hd->stream_id))
		return nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
	return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct http2 *h = ctx;
	struct call *c;

	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	c = call_new(h, frame->hd.stream_id);
	if (!c)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	h->ids[h->n_ids++ % IDS_KEPT] = frame->hd.stream_id;
	return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, c);
}

static struct dcm_str keep(struct call *c, struct dcm_str s)
{
	struct dcm_str copy = arena__str(&c->x->arena, s);

	if (!copy.p)
		c->x->fault = "no memory for the headers";
	return copy;
}

static void take_field(struct call *c, struct dcm_str name, struct dcm_str value)
{
	struct exchange *x = c->x;

	if (str__eq(name, STR(":method"))) {
		c->method = keep(c, value);
	} else if (str__eq(name, STR(":path"))) {
		exchange__set_target(x, value);
	} else if (str__eq(name, STR(":authority"))) {
		c->authority = keep(c, value);
		exchange__add_header(x, STR("host"), value);
	} else if (str__eq(name, STR("host")) && c->authority.p) {
		/* 8.3.1: they are the same, or the request is malformed. */
		if (!str__eq(value, c->authority))
			x->fault = "Host is not :authority";
	} else if (name.n > 0 && name.p[0] != ':') {
		exchange__add_header(x, name, value);
	}
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *ctx)
{
	struct call *c = call_of(session, frame->hd.stream_id);

	(void)flags;
	(void)ctx;
	/* Trailers say nothing that anyone here asks for. */
	if (!c || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	c->head_bytes += n_name + n_value + 32;
	if (c->head_bytes > EXCHANGE_HEAD_BYTES)
		c->x->fault = "more than 64 KiB of headers";
	if (c->x->fault)
		return 0;
	add_held(c, n_name + n_value);
	take_field(c, (struct dcm_str){ (const char *)name, (uint32_t)n_name },
		   (struct dcm_str){ (const char *)value, (uint32_t)n_value });
	return 0;
}

/* nghttp2 has compared it with what comes, or will. */
static uint64_t body_bytes(const struct call *c)
{
	struct dcm_str length = http_request__header(&c->x->request, "content-length");
	int64_t n;

	if (c->has_ended)
		return 0;
	return units__parse_int(length, "", &n) == 0 && n >= 0 ? (uint64_t)n : EXCHANGE_UNSAID;
}

/* A body that is no large one is let come to its end for a moment, which spares its client a reset. */
static void refuse(struct call *c)
{
	bool is_large = c->x->body_bytes != EXCHANGE_UNSAID && c->x->body_bytes > THROWN_BYTES;

	c->is_refused = true;
	c->deadline_ns = now_ns() + REFUSAL_NS;
	if (c->has_ended || is_large)
		answer(c);
}

static uint32_t count_talks(const struct http2 *h)
{
	uint32_t n = 0;

	for (const struct call *c = h->calls; c; c = c->next)
		n += c->x->talk != NULL;
	return n;
}

static void begin_talk(struct call *c)
{
	if (count_talks(c->h) > MAX_TALKS)
		talk__stop(c->x, 503, "this connection has as many streams open as it may; end one of them first");
	go_on(c);
}

static void on_head(struct call *c)
{
	nghttp2_nv hundred = field(":status", "100");

	c->has_head = true;
	c->deadline_ns = now_ns() + options(c->h)->body_timeout_ns;
	c->x->body_bytes = body_bytes(c);
	if (!requests__head(c->h->desk->requests, c->x, &c->h->peer, c->method))
		refuse(c);
	else if (c->x->talk)
		begin_talk(c);
	else if (c->has_ended)
		complete(c);
	else if (http_request__header(&c->x->request, "expect").n)
		nghttp2_submit_headers(c->h->session, NGHTTP2_FLAG_NONE, c->id, NULL, &hundred, 1, NULL);
}

/* Frames that a client may send without end, and that cost more than they bring. */
static bool brings_nothing(const nghttp2_frame *f)
{
	switch (f->hd.type) {
	case NGHTTP2_RST_STREAM:
	case NGHTTP2_PING:
	case NGHTTP2_SETTINGS:
	case NGHTTP2_PRIORITY:
		return true;
	case NGHTTP2_DATA:
		/* With padding, which counts as its length, or without. */
		return f->hd.length <= f->data.padlen && !(f->hd.flags & NGHTTP2_FLAG_END_STREAM);
	default:
		return false;
	}
}

static bool is_flood(struct http2 *h)
{
	int64_t now = now_ns();
	double refill = (double)(now - h->counted_ns) / 1e9 * EMPTY_FRAMES_A_S;

	h->empty_frames = h->empty_frames > refill ? h->empty_frames - refill : 0;
	h->counted_ns = now;
	h->empty_frames += 1;
	return h->empty_frames > EMPTY_FRAMES;
}

/* One more frame that brings nothing. */
static int stop_flood(struct http2 *h)
{
	if (!is_flood(h))
		return 0;
	stats__counter_add(h->desk->requests->n_refused, 1);
	return nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct call *c;

	if (brings_nothing(frame))
		return stop_flood(ctx);
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	c = call_of(session, frame->hd.stream_id);
	if (!c)
		return 0;
	c->has_ended = c->has_ended || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	if (!c->has_head)
		on_head(c);
	else
		settle(c);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t n, void *ctx)
{
	struct call *c = call_of(session, id);

	(void)flags;
	(void)ctx;
	if (!c || c->is_complete || c->is_refused) {
		nghttp2_session_consume(session, id, n);
		return 0;
	}
	if (c->x->talk) {
		talk__take(c->x, c->h->desk->requests->routes, data, n);
		nghttp2_session_consume(session, id, n);
		speak(c);
		return 0;
	}
	/* Within the window, which opens again when it is taken. */
	if (c->in_lane || !offer(c, data, n))
		buf__append(&c->held, data, n);
	settle(c);
	return c->held.error ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/*
 * 8.1: whose answer is whole, and who still sends, is asked to stop. Resets of what was wrong with a stream count as
 * those of the client do, who makes them (CVE-2025-8671).
 */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct call *c;

	if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
		return stop_flood(ctx);
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	c = call_of(session, frame->hd.stream_id);
	if (c && !c->has_ended)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_NO_ERROR);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
	struct call *c = call_of(session, id);

	(void)code;
	(void)ctx;
	if (!c)
		return 0;
	/* What nobody took counts in the connection's window until it is said to be gone: all its calls share that. */
	if (c->held.n)
		nghttp2_session_consume_connection(session, c->held.n);
	call_free(c);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

static int make_session(struct http2 *h)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	int r;

	if (nghttp2_session_callbacks_new(&callbacks) < 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	r = nghttp2_option_new(&option);
	if (r == 0) {
		nghttp2_option_set_no_auto_window_update(option, 1);
		r = nghttp2_session_server_new2(&h->session, callbacks, h, option);
		nghttp2_option_del(option);
	}
	nghttp2_session_callbacks_del(callbacks);
	return r < 0 ? -ENOMEM : 0;
}

struct http2 *http2__new(struct http2_desk *d, struct stream *stream,
			 const struct access_peer *peer, void *owner)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MAX_CALLS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, CALL_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, EXCHANGE_HEAD_BYTES },
	};
	struct http2 *h = NEW(struct http2);

	if (!h)
		return NULL;
	h->desk = d;
	h->next = d->first;
	if (h->next)
		h->next->prev = h;
	d->first = h;
	h->stream = stream;
	h->peer = *peer;
	h->owner = owner;
	h->idle_ns = h->counted_ns = now_ns();
	if (make_session(h) < 0 ||
	    nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
				    sizeof(settings) / sizeof(settings[0])) < 0 ||
	    nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
						  CONNECTION_WINDOW) < 0) {
		http2__free(h);
		return NULL;
	}
	return h;
}

void http2__free(struct http2 *h)
{
	if (!h)
		return;
	if (h->prev)
		h->prev->next = h->next;
	else
		h->desk->first = h->next;
	if (h->next)
		h->next->prev = h->prev;
	while (h->calls)
		call_free(h->calls);
	nghttp2_session_del(h->session);
	buf__fini(&h->out);
	free(h);
}

/* 0: more may be there. -EAGAIN: nothing is. Else it has ended. */
static int read_once(struct http2 *h)
{
	uint8_t data[READ_BYTES];
	ssize_t n = stream__read(h->stream, data, sizeof(data));

	if (n <= 0)
		return n < 0 ? (int)n : -ECONNRESET;
	/* What is wrong with frames it answers by itself; less than n is what it has no memory for. */
	return nghttp2_session_mem_recv(h->session, data, (size_t)n) == n ? 0 : -EPROTO;
}

static void gather(struct http2 *h)
{
	const uint8_t *data;
	ssize_t n = 1;

	if (h->out_at == h->out.n) {
		buf__reset(&h->out);
		h->out_at = 0;
	}
	while (n > 0 && h->out.n - h->out_at < OUT_BYTES) {
		n = nghttp2_session_mem_send(h->session, &data);
		if (n > 0)
			buf__append(&h->out, data, (size_t)n);
	}
	if (n < 0)
		h->out.error = -ENOMEM;
}

/* 0: all is written. -EAGAIN: the client takes no more now. Else it has ended. */
static int write_all(struct http2 *h)
{
	for (;;) {
		ssize_t n;

		gather(h);
		if (h->out.error)
			return h->out.error;
		if (h->out_at == h->out.n)
			break;
		n = stream__write(h->stream, h->out.data + h->out_at, h->out.n - h->out_at);
		if (n == -EAGAIN && h->stuck_ns == 0)
			h->stuck_ns = now_ns();
		if (n <= 0)
			return n < 0 ? (int)n : -ECONNRESET;
		h->stuck_ns = 0;
		h->out_at += (size_t)n;
	}
	buf__fini(&h->out);
	h->out_at = 0;
	return 0;
}

/*
 * Windows of the client's own making, and heads that are a byte for what was said before, let a few
 * kilobytes hold megabytes. A connection with one request may: HTTP/1 has no more. So whoever makes
 * many connections of it has the largest, and who asks as others do is left alone.
 */
static struct http2 *find_largest(const struct http2_desk *d)
{
	struct http2 *largest = NULL;

	for (struct http2 *h = d->first; h; h = h->next)
		if (h->n_calls > 1 && (!largest || h->n_held > largest->n_held))
			largest = h;
	return largest;
}

/* Not within a callback of nghttp2. Its owner hears of it by the next http2__run() or http2__tick(). */
static void relieve(struct http2_desk *d)
{
	struct http2 *h;

	while (d->n_held > HELD_BYTES && (h = find_largest(d))) {
		stats__counter_add(d->requests->n_refused, 1);
		nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
		write_all(h);
		h->is_given_up = true;
		while (h->calls)
			call_free(h->calls);
	}
}

static bool may_read(const struct http2 *h)
{
	return nghttp2_session_want_read(h->session) &&
	       nghttp2_session_get_outbound_queue_size(h->session) < OUT_FRAMES;
}

static int read_some(struct http2 *h)
{
	int r = 0;

	for (int i = 0; i < READS_A_RUN && r == 0 && may_read(h); i++) {
		r = read_once(h);
		relieve(h->desk);
		if (h->is_given_up)
			return -ENOBUFS;
	}
	return r;
}

int http2__run(struct http2 *h, uint32_t *ret_events)
{
	int r;

	relieve(h->desk);
	if (h->is_given_up)
		return -ENOBUFS;
	r = read_some(h);
	if (h->is_given_up)
		return r;
	if (r < 0 && r != -EAGAIN) {
		/* What it had to say about that. */
		write_all(h);
		return r;
	}
	r = write_all(h);
	if (r < 0 && r != -EAGAIN)
		return r;
	if (r == 0 && !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session))
		return -ECONNRESET;
	*ret_events = (may_read(h) ? EPOLLIN : 0U) | (r == -EAGAIN ? EPOLLOUT : 0U);
	return 0;
}

static bool goes_on(const struct call *c)
{
	return c->x->talk && !c->is_refused && !c->is_complete;
}

int http2__tick(struct http2 *h, int64_t now)
{
	struct call *next;
	int due = 0;

	if (h->is_given_up)
		return -ENOBUFS;
	if (h->stuck_ns && now - h->stuck_ns > STUCK_S * SECOND) {
		stats__counter_add(h->desk->n_timeouts, 1);
		return -ETIMEDOUT;
	}
	if (!h->calls && now - h->idle_ns > options(h)->header_timeout_ns + IDLE_S * SECOND) {
		nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
		due = 1;
	}
	for (struct call *c = h->calls; c; c = next) {
		next = c->next;
		if (goes_on(c) && talk__look(c->x, h->desk->requests->routes, now)) {
			speak(c);
			due = 1;
		}
		if (now <= c->deadline_ns)
			continue;
		due = 1;
		if (c->is_refused && !c->is_complete) {
			answer(c);
			continue;
		}
		c->deadline_ns = INT64_MAX;
		stats__counter_add(h->desk->n_timeouts, 1);
		/* In the middle of a head nothing else can be said. */
		if (!c->has_head)
			return -ETIMEDOUT;
		nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
	}
	return due;
}

bool http2__is_busy(const struct http2 *h)
{
	return h->calls || h->out.n > h->out_at;
}

void http2__say_goodbye(struct http2 *h)
{
	if (!h->says_goodbye)
		nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
				      nghttp2_session_get_last_proc_stream_id(h->session),
				      NGHTTP2_NO_ERROR, NULL, 0);
	h->says_goodbye = true;
	for (struct call *c = h->calls; c; c = c->next)
		if (goes_on(c)) {
			talk__stop(c->x, 503, "decima is stopping; call again when it is back");
			speak(c);
		}
}
