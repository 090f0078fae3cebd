/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_http2.c - a connection of HTTP/2 with anybody, from its preface to its end
 *
 * The first byte says in which pieces the rest comes, and by its highest bit whether the client reads nothing until all was said.
 * What we say is frames that a server may send, heads begin with a status or are trailers, and when the connection is gone, so is all that was held for it. Handlers are
 * quick, and anybody's: no other thread has a part in it.
 */
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/api/descriptors.h"
#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/net/http2.h"
#include "fuzz/verdict.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define METHOD	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"

enum {
	FRAME_HEAD = 9,
	FRAME_BYTES = 16384, /* the most that one has without being asked for more */
	PAGE_BYTES = 70000,  /* beyond a stream's first window */
	MAX_INPUT = 64 << 10
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the server ---- */

static void page(void *ctx, const struct http_request *req, struct http_response *resp)
{
	static const uint8_t bytes[PAGE_BYTES];

	(void)ctx;
	(void)req;
	buf__append(&resp->body, bytes, sizeof(bytes));
	resp->has_tag = true;
}

static void echo(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	buf__str(&resp->body, req->body);
}

static struct http_routes *make_routes(void)
{
	struct http_routes *routes = http_routes__new();
	const struct http_route rows[] = {
		{ .method = HTTP_GET, .pattern = "/page", .handler = page, .quick = true },
		{ .method = HTTP_POST,
		  .pattern = "/echo",
		  .handler = echo,
		  .quick = true,
		  .grpc = true,
		  .max_body = 4096 },
		{ .method = HTTP_POST,
		  .pattern = METHOD,
		  .handler = api__reflection,
		  .ctx = routes,
		  .quick = true,
		  .grpc = true,
		  .streams = HTTP_TALKS,
		  .max_body = 256,
		  .descriptors = { (const char *)descriptors_reflection, sizeof(descriptors_reflection) } },
	};

	verdict__expect(routes, "no memory");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		verdict__expect(http_routes__add(routes, &rows[i]) == 0, "no memory");
	return routes;
}

struct server {
	struct requests requests;
	struct loop loop;
	struct http2_desk desk;
};

static struct server *make_server(void)
{
	static const char *const origins[] = { "http://apps.example" };
	static struct access_rules rules = { .anonymous = HTTP_ROLE_ADMIN,
					     .origins = origins,
					     .n_origins = 1 };
	static const struct listener_options options = { .rules = &rules,
							 .bodies_max_bytes = 1 << 20,
							 .header_timeout_ns = INT64_MAX / 8,
							 .body_timeout_ns = INT64_MAX / 8,
							 .answer_timeout_ns = INT64_MAX / 8,
							 .request_timeout_ns = INT64_MAX / 8,
							 .request_max_bytes = 1 << 20 };
	static struct server server;

	requests__init(&server.requests, &options, make_routes(), NULL, NULL);
	verdict__expect(loop__init(&server.loop, NULL) == 0, "no loop");
	http2_desk__init(&server.desk, &server.requests, &server.loop, NULL);
	return &server;
}

/* ---- what it says ---- */

struct heard {
	struct buf bytes;
	size_t at;
	nghttp2_hd_inflater *fields;
	unsigned n_fields; /* of the head */
	bool in_head;	   /* the next frame goes on with it */
};

/* A block of fields, whole or a part: an answer's begins with its status, and no other has one. */
static void read_fields(struct heard *h, const uint8_t *data, size_t n, bool is_last)
{
	int flags = 0;

	do {
		nghttp2_nv field;
		ssize_t r = nghttp2_hd_inflate_hd2(h->fields, &field, &flags, data, n, is_last);

		verdict__expect(r >= 0, "fields that nobody can read");
		data += r;
		n -= (size_t)r;
		if (!(flags & NGHTTP2_HD_INFLATE_EMIT))
			break;
		verdict__expect(field.namelen > 0, "a field without a name");
		verdict__expect(field.name[0] != ':' || (h->n_fields == 0 && field.namelen == 7 &&
							 memcmp(field.name, ":status", 7) == 0),
				"a status that is not the first field, or something else for it");
		h->n_fields++;
		for (size_t i = 0; i < field.valuelen; i++)
			verdict__expect(field.value[i] != '\r' && field.value[i] != '\n' &&
						field.value[i],
					"a value with a line's end");
	} while (n > 0 || is_last);
	if (flags & NGHTTP2_HD_INFLATE_FINAL)
		nghttp2_hd_inflate_end_headers(h->fields);
}

static void read_frame(struct heard *h, const uint8_t *frame, size_t n)
{
	const uint8_t type = frame[3], flags = frame[4];

	verdict__expect(n <= FRAME_BYTES, "a frame that is too long");
	verdict__expect(type <= NGHTTP2_CONTINUATION && type != NGHTTP2_PRIORITY &&
				type != NGHTTP2_PUSH_PROMISE,
			"a frame that no server sends");
	verdict__expect(h->in_head == (type == NGHTTP2_CONTINUATION), "a head that is torn apart");
	if (type != NGHTTP2_HEADERS && type != NGHTTP2_CONTINUATION)
		return;
	verdict__expect(!(flags & (NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY)),
			"a head with more than fields");
	if (type == NGHTTP2_HEADERS)
		h->n_fields = 0;
	h->in_head = !(flags & NGHTTP2_FLAG_END_HEADERS);
	read_fields(h, frame + FRAME_HEAD, n, !h->in_head);
}

/* All that has come by now. */
static void hear(struct heard *h, int fd)
{
	uint8_t some[4096];
	ssize_t n;

	while ((n = read(fd, some, sizeof(some))) > 0)
		buf__append(&h->bytes, some, (size_t)n);
	while (h->bytes.n - h->at >= FRAME_HEAD) {
		const uint8_t *frame = h->bytes.data + h->at;

		n = (ssize_t)frame[0] << 16 | (ssize_t)frame[1] << 8 | frame[2];
		if (h->bytes.n - h->at < FRAME_HEAD + (size_t)n)
			break;
		read_frame(h, frame, (size_t)n);
		h->at += FRAME_HEAD + (size_t)n;
	}
}

/* ---- a connection ---- */

struct talk_over {
	struct server *s;
	struct http2 *h;
	int fd; /* the client's end */
	bool has_ended;
	struct heard heard;
};

/* The client says that much, and the server has its turn. */
static void say(struct talk_over *t, const uint8_t *data, size_t n)
{
	uint32_t events;

	/* A server that reads no more is none to wait for. */
	if (write(t->fd, data, n) < 0 || t->has_ended)
		return;
	t->has_ended = http2__run(t->h, &events) < 0;
	http2_desk__take(&t->s->desk, NULL);
}

static void talk(struct talk_over *t, const uint8_t *data, size_t size)
{
	const size_t step = (data[0] & 0x7f) * 8U + 1;
	const bool is_deaf = data[0] & 0x80;

	say(t, (const uint8_t *)PREFACE, sizeof(PREFACE) - 1);
	for (size_t at = 1; at < size && !t->has_ended; at += step) {
		say(t, data + at, size - at < step ? size - at : step);
		if (!is_deaf)
			hear(&t->heard, t->fd);
	}
	/* What was not read until now makes room for more. */
	for (int i = 0; i < 4; i++) {
		hear(&t->heard, t->fd);
		say(t, (const uint8_t *)"", 0);
	}
	if (!t->has_ended && http2__tick(t->h, INT64_MAX / 4) >= 0)
		say(t, (const uint8_t *)"", 0);
	if (!t->has_ended) {
		http2__say_goodbye(t->h);
		say(t, (const uint8_t *)"", 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct server *server;
	const struct access_peer peer = { .is_unix = true };
	struct stream stream = { 0 };
	struct talk_over t = { 0 };
	int ends[2];

	if (size < 1 || size > MAX_INPUT)
		return 0;
	if (!server)
		server = make_server();
	verdict__expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0,
			"no sockets");
	stream.fd = ends[0];
	t = (struct talk_over){ .s = server,
				.h = http2__new(&server->desk, &stream, &peer, NULL),
				.fd = ends[1] };
	verdict__expect(t.h && nghttp2_hd_inflate_new(&t.heard.fields) == 0, "no memory");
	talk(&t, data, size);
	http2__free(t.h);
	verdict__expect(server->desk.n_held == 0 && !server->desk.first,
			"something is held for nobody");
	verdict__expect(server->requests.reserved == 0 && server->requests.n_talks == 0,
			"room that nobody has");
	hear(&t.heard, t.fd);
	verdict__expect(t.heard.bytes.n >= FRAME_HEAD, "not even its settings");
	nghttp2_hd_inflate_del(t.heard.fields);
	buf__fini(&t.heard.bytes);
	stream__close(&stream);
	close(ends[1]);
	return 0;
}
