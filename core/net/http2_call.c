/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http2_call.c - one request of a connection of HTTP/2: from the first byte of its head to the end of its stream
 *
 * Section numbers are of RFC 9113.
 */
#include "core/net/http2_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/net/talk.h"

#define SECOND	   INT64_C(1000000000)
#define REFUSAL_NS (SECOND / 4)
/* Of a turn of the loop: what quick handlers may take before others have it. */
#define QUICK_NS (SECOND / 50)

enum {
	HEADERS_OUT = 64,
	MAX_TALKS = 16, /* streams of gRPC over one connection: one client leaves places to others */
	THROWN_BYTES = 64 << 10, /* of a body that is of no use: a client that ends soon is let end */
	CALL_BYTES = 10 << 10	 /* what a request takes beside its head and its answer */
};

/* So much more of it is in memory. */
static void add_held(struct call *c, uint64_t n)
{
	c->n_held += n;
	c->h->n_held += n;
	c->h->desk->n_held += n;
}

struct call *http2_call__new(struct http2 *h, int32_t id)
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
	c->deadline_ns = http2__now_ns() + http2__options(h)->header_timeout_ns;
	c->next = h->calls;
	if (c->next)
		c->next->prev = c;
	h->calls = c;
	h->n_calls++;
	add_held(c, CALL_BYTES);
	return c;
}

void http2_call__free(struct call *c)
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
		h->idle_ns = http2__now_ns();
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

	c->deadline_ns = http2__now_ns() +
			 exchange__answer_ns(x, http2__options(c->h)->answer_timeout_ns);
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
void http2_call__speak(struct call *c)
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
		c->deadline_ns = http2__now_ns() +
				 exchange__answer_ns(x, http2__options(c->h)->answer_timeout_ns);
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
	int64_t began = http2__now_ns();

	c->is_complete = true;
	c->deadline_ns = INT64_MAX;
	c->x->is_late = d->quick_ns > QUICK_NS;
	c->in_lane = requests__complete(d->requests, c->x);
	d->quick_ns += http2__now_ns() - began;
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
		c->deadline_ns = http2__now_ns() + http2__options(c->h)->body_timeout_ns;
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
	http2_call__speak(c);
}

void http2_call__settle(struct call *c)
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
void http2_call__resume(struct call *c)
{
	c->in_lane = false;
	if (c->x->answered) {
		answer(c);
		return;
	}
	c->deadline_ns = http2__now_ns() + http2__options(c->h)->body_timeout_ns;
	if (c->held.n > 0 && !offer(c, c->held.data, c->held.n))
		return;
	buf__fini(&c->held);
	http2_call__settle(c);
}

/* ------------------------------------------------------------------------------------------------
 * The head
 */

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

void http2_call__field(struct call *c, struct dcm_str name, struct dcm_str value)
{
	c->head_bytes += name.n + value.n + 32;
	if (c->head_bytes > EXCHANGE_HEAD_BYTES)
		c->x->fault = "more than 64 KiB of headers";
	if (c->x->fault)
		return;
	add_held(c, name.n + value.n);
	take_field(c, name, value);
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
	c->deadline_ns = http2__now_ns() + REFUSAL_NS;
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

void http2_call__head(struct call *c)
{
	nghttp2_nv hundred = field(":status", "100");

	c->has_head = true;
	c->deadline_ns = http2__now_ns() + http2__options(c->h)->body_timeout_ns;
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

/* ------------------------------------------------------------------------------------------------
 * The body, and time
 */

int http2_call__data(struct call *c, const uint8_t *data, size_t n)
{
	nghttp2_session *session = c->h->session;

	if (c->is_complete || c->is_refused) {
		nghttp2_session_consume(session, c->id, n);
		return 0;
	}
	if (c->x->talk) {
		talk__take(c->x, c->h->desk->requests->routes, data, n);
		nghttp2_session_consume(session, c->id, n);
		http2_call__speak(c);
		return 0;
	}
	/* Within the window, which opens again when it is taken. */
	if (c->in_lane || !offer(c, data, n))
		buf__append(&c->held, data, n);
	http2_call__settle(c);
	return c->held.error;
}

bool http2_call__goes_on(const struct call *c)
{
	return c->x->talk && !c->is_refused && !c->is_complete;
}

int http2_call__tick(struct call *c, int64_t now_ns)
{
	int due = 0;

	if (http2_call__goes_on(c) && talk__look(c->x, c->h->desk->requests->routes, now_ns)) {
		http2_call__speak(c);
		due = 1;
	}
	if (now_ns <= c->deadline_ns)
		return due;
	if (c->is_refused && !c->is_complete) {
		answer(c);
		return 1;
	}
	c->deadline_ns = INT64_MAX;
	stats__counter_add(c->h->desk->n_timeouts, 1);
	/* In the middle of a head nothing else can be said. */
	if (!c->has_head)
		return -ETIMEDOUT;
	nghttp2_submit_rst_stream(c->h->session, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
	return 1;
}
