/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/exchange.c - a request's head, its body in a file, its response tagged and packed
 */
#include "core/net/exchange.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/deflate/deflate.h"
#include "core/net/refusal.h"
#include "core/net/talk.h"

#define SECOND INT64_C(1000000000)

/* Answers below a packet are not packed; large ones not at a level that takes longer than sending them. */
enum {
	WRITE_BYTES = 1 << 20,
	TIMED_BYTES = 1 << 20, /* of a body, which have a deadline of their own */
	PACK_MIN_BYTES = 1400,
	PACK_FAST_BYTES = 256 << 10
};

struct exchange *exchange__new(const struct exchange_carrier *carrier, void *stream)
{
	struct exchange *x = NEW(struct exchange);

	if (!x)
		return NULL;
	x->carrier = carrier;
	x->stream = stream;
	x->request.arena = &x->arena;
	x->request.budget = &x->budget;
	x->file.fd = -1;
	x->response.status = 200;
	x->fields = arena__zalloc(&x->arena, EXCHANGE_HEADERS, sizeof(*x->fields));
	if (!x->fields) {
		exchange__free(x);
		return NULL;
	}
	x->request.headers = x->fields;
	return x;
}

void exchange__free(struct exchange *x)
{
	if (!x)
		return;
	http_response__fini(&x->response);
	buf__fini(&x->body);
	buf__fini(&x->message);
	buf__fini(&x->trailers);
	talk__fini(x->talk);
	fd__close(x->file.fd);
	arena__fini(&x->arena);
	free(x);
}

static const char no_memory[] = "no memory for the headers";

void exchange__set_target(struct exchange *x, struct dcm_str target)
{
	x->target = arena__str(&x->arena, target);
	if (!x->target.p)
		x->fault = no_memory;
}

void exchange__add_header(struct exchange *x, struct dcm_str name, struct dcm_str value)
{
	struct dcm_field *f = &x->fields[x->request.n_headers];

	if (x->request.n_headers == EXCHANGE_HEADERS) {
		x->fault = "more than 100 headers";
		return;
	}
	*f = (struct dcm_field){ arena__str(&x->arena, name), arena__str(&x->arena, value) };
	if (!f->name.p || !f->value.p) {
		x->fault = no_memory;
		return;
	}
	for (uint32_t i = 0; i < f->name.n; i++)
		((char *)f->name.p)[i] = (char)tolower((unsigned char)f->name.p[i]);
	x->request.n_headers++;
}

static bool read_method(struct http_request *req, struct dcm_str method)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str__eq(method, str__of(names[i]))) {
			req->method = (enum http_method)i;
			return true;
		}
	return false;
}

bool exchange__read_head(struct exchange *x, struct dcm_str method)
{
	if (!x->fault && http_request__set_target(&x->request, x->target) < 0)
		x->fault = "the target is no path with well-formed %-escapes and at most 256 "
			   "parameters";
	if (x->fault) {
		http_response__problem(&x->response, 400, "the request is malformed: %s", x->fault);
		x->close = true;
		return false;
	}
	if (!read_method(&x->request, method)) {
		http_response__problem(&x->response,
				       501, "the method is none of GET, HEAD, POST, PUT, DELETE, OPTIONS");
		x->close = true;
		return false;
	}
	return true;
}

bool exchange__next_header(struct buf *lines, char **at, char **ret_name, char **ret_value)
{
	/* Without memory for one there is none. */
	if (!lines->data)
		return false;
	for (char *line = strtok_r(*at ? NULL : (char *)lines->data, "\r\n", at); line;
	     line = strtok_r(NULL, "\r\n", at)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		*ret_name = line;
		*ret_value = colon + 2;
		return true;
	}
	return false;
}

/* Text, of which much repeats itself; files are packed already. */
static bool packs_well(const char *type)
{
	static const char *const types[] = { "text/", "application/json", "application/problem+json",
					     "application/vnd.decima.flametree" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strncmp(type, types[i], strlen(types[i])) == 0)
			return true;
	return type[0] == '\0';
}

/*
 * The tag is of what is said, so that nothing has to be known of what it was made of: an answer that
 * has changed has another one. Weak, since it is the same in gzip (RFC 9110, 8.8.1).
 */
void exchange__tag(struct exchange *x)
{
	struct http_response *r = &x->response;
	struct dcm_hash h;
	char tag[48];

	if (x->grpc || !r->has_tag || r->status != 200 || r->body.error || r->headers.error)
		return;
	h = hash__bytes128(r->body.data ? (const void *)r->body.data : "", r->body.n);
	/* Beside the body: what was left out of a file stands in a header alone. */
	h.lo = hash__bytes(r->headers.data ? (const void *)r->headers.data : "", r->headers.n, h.lo);
	snprintf(tag, sizeof(tag), "\"%016" PRIx64 "%016" PRIx64 "\"", h.hi, h.lo);
	http_response__header(r, "ETag", "W/%s", tag);
	http_response__header(r, "Cache-Control", "private, no-cache");
	if (!http_request__knows(&x->request, tag))
		return;
	r->status = 304;
	buf__reset(&r->body);
	http_response__header(r, "Vary", "Accept-Encoding");
}

void exchange__pack(struct exchange *x)
{
	struct http_response *r = &x->response;
	struct buf packed = { 0 };

	if (x->grpc || r->status >= 400 || r->body.error || r->body.n < PACK_MIN_BYTES ||
	    !packs_well(r->content_type) || http_response__find(r, "Content-Encoding").n)
		return;
	http_response__header(r, "Vary", "Accept-Encoding");
	if (!http_request__takes_gzip(&x->request))
		return;
	/* Without memory for it the answer goes as it is. */
	if (deflate__pack(r->body.data, r->body.n, r->body.n < PACK_FAST_BYTES ? 6 : 1, &packed) < 0) {
		buf__fini(&packed);
		return;
	}
	buf__fini(&r->body);
	r->body = packed;
	http_response__header(r, "Content-Encoding", "gzip");
}

bool exchange__has_advanced(struct exchange *x)
{
	uint64_t step = x->max_body / 4 < TIMED_BYTES ? x->max_body / 4 : TIMED_BYTES;

	if (!x->max_body || x->request.file || x->body.n < x->timed_bytes + step)
		return false;
	x->timed_bytes = x->body.n;
	return true;
}

int64_t exchange__answer_ns(const struct exchange *x, int64_t timeout_ns)
{
	return timeout_ns + (int64_t)(x->response.body.n >> 10) * (timeout_ns >> 10);
}

void exchange__finish(struct exchange *x)
{
	struct http_response *r = &x->response;

	if (r->body.error || r->headers.error) {
		buf__fini(&r->headers);
		http_response__problem(r, 503, "out of memory for the answer; try again later");
	}
	if (x->grpc)
		grpc__close(x->grpc, r, &x->trailers);
	else
		refusal__say(x->refusal, &x->request, r);
	if (!r->content_type[0])
		snprintf(r->content_type, sizeof(r->content_type), "application/json");
	if (!http_response__find(r, "Cache-Control").n)
		http_response__header(r, "Cache-Control", "no-store");
	http_response__header(r, "X-Content-Type-Options", "nosniff");
}

/* ------------------------------------------------------------------------------------------------
 * A body that goes into a file
 */

void exchange__begin_file(struct exchange *x, const char *dir, uint64_t max_bytes)
{
	x->file_bytes = max_bytes;
	x->request.file = &x->file;
	x->body.limit = 0; /* there is never more than WRITE_BYTES and a piece */
	if (x->body_bytes != EXCHANGE_UNSAID && x->body_bytes > max_bytes) {
		x->file.error = -EFBIG;
		return;
	}
	x->file.fd = dir ? fd__open_nameless(dir) : -ENOTSUP;
	if (x->file.fd < 0)
		x->file.error = x->file.fd;
}

bool exchange__take(struct exchange *x, const char *data, size_t n)
{
	if (!x->file.error && x->body.n >= WRITE_BYTES)
		return false;
	if (!x->file.error && x->file.n + x->body.n + n > x->file_bytes)
		x->file.error = -EFBIG;
	if (!x->file.error)
		buf__append(&x->body, data, n);
	if (!x->file.error)
		x->file.error = x->body.error;
	return true;
}

void exchange__write(struct exchange *x)
{
	if (!x->file.error)
		x->file.error = fd__write_all(x->file.fd, x->body.data, x->body.n);
	x->file.n += x->file.error ? 0 : x->body.n;
	buf__reset(&x->body);
}
