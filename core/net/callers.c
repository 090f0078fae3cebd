/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/callers.c - handshake, first bytes, and what follows: HTTP/2, or a bridge to libmicrohttpd
 */
#include "core/net/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/base/mem.h"

#define SECOND INT64_C(1000000000)

/* Bytes on their way in one direction over a bridge. */
struct flow {
	uint8_t *data; /* [STREAM_READ_BYTES]; NULL: nothing is on its way */
	size_t at, n;
	bool has_ended; /* nothing more comes */
	bool is_shut;	/* and the other side knows */
};

enum stage { SHAKES_HANDS, SAYS_HELLO, SPEAKS_HTTP2, IS_BRIDGED, IS_HEARD_OUT, IS_GONE };

/* How long, and how much, what comes behind the last words is read. */
#define HEARD_OUT_NS SECOND
enum { HEARD_OUT_MAX = 1 << 20, HEARD_A_RUN = 16 };

struct caller {
	struct callers *all;
	struct caller *prev, *next;
	enum stage stage;
	struct access_peer peer;
	struct stream stream;
	struct loop_source outer; /* the stream's socket */
	int64_t deadline_ns;	  /* of the first two stages, and of the last */
	size_t heard_out;	  /* bytes of it */
	struct http2 *http2;
	struct loop_source inner; /* of a bridge: our end of the pair, fd */
	struct flow in, out;
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

static struct caller *of_outer(struct loop_source *s)
{
	return (struct caller *)((char *)s - offsetof(struct caller, outer));
}

static struct caller *of_inner(struct loop_source *s)
{
	return (struct caller *)((char *)s - offsetof(struct caller, inner));
}

static void unlink_caller(struct caller *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		c->all->first = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->all->n--;
}

/* Its memory stays until the turn ends: an event may be waiting for it. */
static void part(struct caller *c)
{
	struct callers *s = c->all;

	if (c->stage == IS_GONE)
		return;
	loop__remove(s->loop, &c->outer);
	loop__remove(s->loop, &c->inner);
	s->n_bridged -= c->stage == IS_BRIDGED;
	c->stage = IS_GONE;
	http2__free(c->http2);
	c->http2 = NULL;
	stream__close(&c->stream);
	fd__close(c->inner.fd);
	free(c->in.data);
	free(c->out.data);
	share__give(c->peer.share, SHARE_CONNECTIONS, 1);
	unlink_caller(c);
	c->next = s->gone;
	s->gone = c;
}

static void bury(struct callers *s)
{
	while (s->gone) {
		struct caller *c = s->gone;

		s->gone = c->next;
		free(c);
	}
}

/* ------------------------------------------------------------------------------------------------
 * HTTP/2
 */

/*
 * Where it is closed while something of the client's is unread, TCP sends a reset, which takes from him what he has not
 * read yet: GOAWAY, with its reason (RFC 9112, 9.6, says it of HTTP/1). So that is read and forgotten, until he ends.
 */
static void hear_out(struct caller *c)
{
	uint8_t forgotten[4096];

	for (int i = 0; i < HEARD_A_RUN; i++) {
		ssize_t n = stream__read(&c->stream, forgotten, sizeof(forgotten));

		if (n == -EAGAIN)
			break;
		c->heard_out += n > 0 ? (size_t)n : 0;
		if (n <= 0 || c->heard_out > HEARD_OUT_MAX) {
			part(c);
			return;
		}
	}
	if (loop__await(c->all->loop, &c->outer, EPOLLIN) < 0)
		part(c);
}

static void heard_more(struct loop_source *s, uint32_t events)
{
	struct caller *c = of_outer(s);

	(void)events;
	if (c->stage == IS_HEARD_OUT)
		hear_out(c);
}

static void end_kindly(struct caller *c)
{
	http2__free(c->http2);
	c->http2 = NULL;
	c->stage = IS_HEARD_OUT;
	c->deadline_ns = now_ns() + HEARD_OUT_NS;
	c->outer.ready = heard_more;
	stream__end_writing(&c->stream);
	hear_out(c);
}

static void run_http2(struct caller *c)
{
	uint32_t events = 0;
	int r;

	if (c->stage != SPEAKS_HTTP2)
		return;
	r = http2__run(c->http2, &events);
	if (r == -ENOBUFS) /* it has taken more than its share */
		part(c);
	else if (r < 0)
		end_kindly(c);
	else if (loop__await(c->all->loop, &c->outer, events) < 0)
		part(c);
}

static void ran(void *owner)
{
	run_http2(owner);
}

static void http2_ready(struct loop_source *s, uint32_t events)
{
	(void)events;
	run_http2(of_outer(s));
}

static void begin_http2(struct caller *c)
{
	c->http2 = http2__new(&c->all->desk, &c->stream, &c->peer, c);
	if (!c->http2) {
		part(c);
		return;
	}
	c->stage = SPEAKS_HTTP2;
	c->outer.ready = http2_ready;
	run_http2(c);
}

/* ------------------------------------------------------------------------------------------------
 * Bridges: between a TLS session and libmicrohttpd
 */

static bool is_empty(const struct flow *f)
{
	return f->at == f->n;
}

/* Its memory is there only while something is on its way. */
static void drop_empty(struct flow *f)
{
	if (!is_empty(f))
		return;
	free(f->data);
	*f = (struct flow){ .has_ended = f->has_ended, .is_shut = f->is_shut };
}

static bool has_room(struct flow *f)
{
	if (f->has_ended || !is_empty(f))
		return false;
	if (!f->data)
		f->data = mem__zalloc(STREAM_READ_BYTES, 1);
	f->at = f->n = 0;
	return f->data;
}

/* 0, or a negative errno: the connection is at its end. */
static int fill(struct flow *f, struct stream *from)
{
	ssize_t n;

	if (!has_room(f))
		return f->has_ended || f->data ? 0 : -ENOMEM;
	n = stream__read(from, f->data, STREAM_READ_BYTES);
	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	f->has_ended = n == 0;
	f->n = (size_t)n;
	return 0;
}

static int pour(struct flow *f, struct stream *to)
{
	while (!is_empty(f)) {
		ssize_t n = stream__write(to, f->data + f->at, f->n - f->at);

		if (n < 0)
			return n == -EAGAIN ? 0 : (int)n;
		f->at += (size_t)n;
	}
	if (f->has_ended && !f->is_shut)
		stream__end_writing(to);
	f->is_shut = f->has_ended;
	return 0;
}

/* Until neither side has anything more, or takes anything more. */
static int carry(struct caller *c)
{
	struct stream inner = { .fd = c->inner.fd };
	int r = 0;

	for (int i = 0; i < 8 && r == 0; i++) {
		bool moved;

		r = fill(&c->in, &c->stream);
		if (r == 0)
			r = fill(&c->out, &inner);
		moved = !is_empty(&c->in) || !is_empty(&c->out);
		if (r == 0)
			r = pour(&c->in, &inner);
		if (r == 0)
			r = pour(&c->out, &c->stream);
		if (!moved)
			break;
	}
	return r;
}

static uint32_t events_for(const struct flow *reads, const struct flow *writes)
{
	return (is_empty(reads) && !reads->has_ended ? EPOLLIN : 0U) |
	       (is_empty(writes) ? 0U : EPOLLOUT);
}

static void run_bridge(struct caller *c)
{
	struct loop *loop = c->all->loop;

	if (c->stage != IS_BRIDGED)
		return;
	/* libmicrohttpd closes when it is done; whatever the client still says then, nobody hears. */
	if (carry(c) < 0 || (c->out.has_ended && is_empty(&c->out))) {
		part(c);
		return;
	}
	drop_empty(&c->in);
	drop_empty(&c->out);
	if (loop__await(loop, &c->outer, events_for(&c->in, &c->out)) < 0 ||
	    loop__await(loop, &c->inner, events_for(&c->out, &c->in)) < 0)
		part(c);
}

static void outer_ready(struct loop_source *s, uint32_t events)
{
	(void)events;
	run_bridge(of_outer(s));
}

static void inner_ready(struct loop_source *s, uint32_t events)
{
	(void)events;
	run_bridge(of_inner(s));
}

static void begin_bridge(struct caller *c)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		part(c);
		return;
	}
	c->inner = (struct loop_source){ .fd = pair[0], .events = EPOLLIN, .ready = inner_ready };
	c->outer.ready = outer_ready;
	c->stage = IS_BRIDGED;
	c->all->n_bridged++;
	if (http1__take(c->all->http1, pair[1], &c->peer) < 0) {
		part(c);
		return;
	}
	/* It counts there. */
	share__give(c->peer.share, SHARE_CONNECTIONS, 1);
	c->peer.share = NULL;
	if (loop__add(c->all->loop, &c->inner) < 0)
		part(c);
	else
		run_bridge(c);
}

/* ------------------------------------------------------------------------------------------------
 * The first bytes
 */

/* To libmicrohttpd, as it is: nothing has been read. */
static void hand_over(struct caller *c)
{
	int fd = c->stream.fd;

	loop__remove(c->all->loop, &c->outer);
	c->stream.fd = -1;
	if (http1__take(c->all->http1, fd, &c->peer) < 0)
		stats__counter_add(c->all->requests->n_refused, 1);
	part(c);
}

/* Of a first line; one that is longer without having told what it is, libmicrohttpd judges. */
#define HELLO_BYTES 256
enum hello { HELLO_IS_SHORT, HELLO_HTTP1, HELLO_HTTP2, HELLO_NEITHER };

/*
 * No method of HTTP/1 begins like the preface. What asks for a path is a request of HTTP/1, if maybe a malformed one, which
 * is told so; a line that neither does that nor names a version of HTTP is no request at all, so an invalid preface, which
 * ends the connection without an answer (RFC 9113, 3.4). An empty line may come before a request (RFC 9112, 2.2).
 */
static enum hello tell(const char *text, size_t n)
{
	static const char preface[] = "PRI";
	const char *blank = memchr(text, ' ', n), *end = memchr(text, '\n', n);

	if (memcmp(text, preface, n < 3 ? n : 3) == 0)
		return n < 3 ? HELLO_IS_SHORT : HELLO_HTTP2;
	if (blank && blank + 1 < text + n && blank[1] == '/')
		return HELLO_HTTP1;
	if (!end)
		return n < HELLO_BYTES ? HELLO_IS_SHORT : HELLO_HTTP1;
	return end - text <= 1 || memmem(text, (size_t)(end - text), "HTTP/", 5) ? HELLO_HTTP1
										 : HELLO_NEITHER;
}

static void hello_ready(struct loop_source *s, uint32_t events)
{
	struct caller *c = of_outer(s);
	char text[HELLO_BYTES];
	ssize_t n = recv(s->fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);
	enum hello hello;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		part(c);
		return;
	}
	hello = tell(text, (size_t)n);
	if (hello == HELLO_HTTP1) {
		hand_over(c);
	} else if (hello == HELLO_NEITHER) {
		stats__counter_add(c->all->requests->n_refused, 1);
		end_kindly(c);
	} else if (hello == HELLO_HTTP2) {
		if (loop__await(c->all->loop, s, EPOLLIN) == 0)
			begin_http2(c);
		else
			part(c);
	}
}

static bool agreed_on_http2(const struct caller *c)
{
	gnutls_datum_t protocol = { NULL, 0 };

	return gnutls_alpn_get_selected_protocol(c->stream.tls, &protocol) == 0 &&
	       protocol.size == 2 && memcmp(protocol.data, "h2", 2) == 0;
}

static void handshake_ready(struct loop_source *s, uint32_t events)
{
	struct caller *c = of_outer(s);
	int r = stream__handshake(&c->stream, &events);

	if (r == -EAGAIN && loop__await(c->all->loop, s, events) == 0)
		return;
	if (r < 0) {
		stats__counter_add(c->all->requests->n_refused, 1);
		part(c);
		return;
	}
	c->peer.role = tls_server__role(c->all->tls, c->stream.tls);
	if (loop__await(c->all->loop, s, EPOLLIN) < 0)
		part(c);
	else if (agreed_on_http2(c))
		begin_http2(c);
	else
		begin_bridge(c);
}

void callers__take(struct callers *s, int fd, const struct access_peer *peer, bool is_tls)
{
	struct caller *c = NEW(struct caller);

	if (!c) {
		share__give(peer->share, SHARE_CONNECTIONS, 1);
		fd__close(fd);
		return;
	}
	*c = (struct caller){ .all = s,
			      .stage = is_tls ? SHAKES_HANDS : SAYS_HELLO,
			      .peer = *peer,
			      .stream.fd = fd,
			      .inner.fd = -1,
			      .deadline_ns = now_ns() + s->requests->o->header_timeout_ns };
	/* The first bytes stay unread until there are enough: told once of each that comes. */
	c->outer = (struct loop_source){ .fd = fd,
					 .events = is_tls ? EPOLLIN : EPOLLIN | EPOLLET,
					 .ready = is_tls ? handshake_ready : hello_ready };
	c->next = s->first;
	if (c->next)
		c->next->prev = c;
	s->first = c;
	s->n++;
	if ((is_tls && tls_server__begin(s->tls, fd, &c->stream.tls) < 0) ||
	    loop__add(s->loop, &c->outer) < 0)
		part(c);
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

void callers__init(struct callers *s, struct loop *loop, struct requests *requests,
		   struct http1 *http1, struct tls_server *tls, struct stats_metric *n_timeouts)
{
	*s = (struct callers){
		.loop = loop, .requests = requests, .http1 = http1, .tls = tls, .n_timeouts = n_timeouts
	};
	http2_desk__init(&s->desk, requests, loop, n_timeouts);
}

void callers__fini(struct callers *s)
{
	while (s->first)
		part(s->first);
	bury(s);
	http2_desk__fini(&s->desk);
}

uint32_t callers__n(const struct callers *s)
{
	return s->n - s->n_bridged + http1__n(s->http1);
}

enum conns_load callers__load(const struct callers *s)
{
	enum conns_load load = http1__load(s->http1);

	if (load == CONNS_NONE && s->first)
		load = CONNS_WAITING;
	for (const struct caller *c = s->first; c && load != CONNS_BUSY; c = c->next)
		if (c->stage == SHAKES_HANDS || (c->stage == SPEAKS_HTTP2 && http2__is_busy(c->http2)))
			load = CONNS_BUSY;
	return load;
}

void callers__after_turn(struct callers *s)
{
	http2_desk__take(&s->desk, ran);
	bury(s);
}

/* A bridge has its deadlines in http1. */
static void look_after(struct caller *c, int64_t now)
{
	int r;

	if (c->stage == SPEAKS_HTTP2) {
		r = http2__tick(c->http2, now);
		if (r < 0)
			part(c);
		else if (r > 0)
			run_http2(c);
	} else if (c->stage != IS_BRIDGED && now > c->deadline_ns) {
		stats__counter_add(c->all->n_timeouts, c->stage != IS_HEARD_OUT);
		part(c);
	}
}

void callers__tick(struct callers *s, int64_t now)
{
	for (struct caller *c = s->first, *next; c; c = next) {
		next = c->next;
		look_after(c, now);
	}
	stats__counter_add(s->n_timeouts, http1__tick(s->http1, now));
	bury(s);
}

void callers__say_goodbye(struct callers *s)
{
	for (struct caller *c = s->first, *next; c; c = next) {
		next = c->next;
		if (c->stage == SPEAKS_HTTP2) {
			http2__say_goodbye(c->http2);
			run_http2(c);
		} else if (c->stage != IS_BRIDGED) {
			part(c);
		}
	}
	bury(s);
}

/* Where libmicrohttpd has ended, a bridge is there as long as its client has not got all. */
bool callers__are_busy(const struct callers *s)
{
	for (const struct caller *c = s->first; c; c = c->next)
		if (c->stage == IS_BRIDGED || (c->stage == SPEAKS_HTTP2 && http2__is_busy(c->http2)))
			return true;
	return false;
}

void callers__shut(struct callers *s)
{
	for (const struct caller *c = s->first; c; c = c->next)
		shutdown(c->stream.fd, SHUT_RDWR);
}
