/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http2.c - connections of HTTP/2: nghttp2's callbacks, and what all connections have together
 *
 * nghttp2 checks what RFC 9113 asks of frames and fields; section numbers are of that.
 */
#include "core/net/http2_inside.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/net/talk.h"

#define SECOND INT64_C(1000000000)

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
	EMPTY_FRAMES_A_S = 100
};

/* Heads and answers of all connections together: beyond it, the one that has the most of them ends. */
#define HELD_BYTES ((uint64_t)128 << 20)

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
		http2_call__resume(c);
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
	c = http2_call__new(h, frame->hd.stream_id);
	if (!c)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	h->ids[h->n_ids++ % IDS_KEPT] = frame->hd.stream_id;
	return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, c);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t n_name, const uint8_t *value, size_t n_value, uint8_t flags, void *ctx)
{
	struct call *c = call_of(session, frame->hd.stream_id);

	(void)flags;
	(void)ctx;
	/* Trailers say nothing that anyone here asks for. */
	if (c && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		http2_call__field(c, (struct dcm_str){ (const char *)name, (uint32_t)n_name },
				  (struct dcm_str){ (const char *)value, (uint32_t)n_value });
	return 0;
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
	int64_t now = http2__now_ns();
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
		http2_call__head(c);
	else
		http2_call__settle(c);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		   size_t n, void *ctx)
{
	struct call *c = call_of(session, id);

	(void)flags;
	(void)ctx;
	if (c)
		return http2_call__data(c, data, n) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
	nghttp2_session_consume(session, id, n);
	return 0;
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
	http2_call__free(c);
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
	h->idle_ns = h->counted_ns = http2__now_ns();
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
		http2_call__free(h->calls);
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
			h->stuck_ns = http2__now_ns();
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
			http2_call__free(h->calls);
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
	if (!h->calls && now - h->idle_ns > http2__options(h)->header_timeout_ns + IDLE_S * SECOND) {
		nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
		due = 1;
	}
	for (struct call *c = h->calls; c; c = next) {
		int r;

		next = c->next;
		r = http2_call__tick(c, now);
		if (r < 0)
			return r;
		due |= r;
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
		if (http2_call__goes_on(c)) {
			talk__stop(c->x, 503, "decima is stopping; call again when it is back");
			http2_call__speak(c);
		}
}
