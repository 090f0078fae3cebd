/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/exchange.c - a request's head checked and read, a response handed to libmicrohttpd
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

/* Answers below a packet are not packed; large ones not at a level that takes longer than sending them. */
enum {
	MAX_HEADERS = 100,
	WRITE_BYTES = 1 << 20,
	PACK_MIN_BYTES = 1400,
	PACK_FAST_BYTES = 256 << 10
};

struct exchange *exchange__new(struct MHD_Connection *connection, const char *target)
{
	struct exchange *x = NEW(struct exchange);

	if (!x)
		return NULL;
	x->connection = connection;
	x->request.arena = &x->arena;
	x->request.budget = &x->budget;
	x->file.fd = -1;
	x->response.status = 200;
	x->target = arena__str(&x->arena, str__of(target));
	if (!x->target.p) {
		exchange__free(x);
		return NULL;
	}
	return x;
}

void exchange__free(struct exchange *x)
{
	if (!x)
		return;
	http_response__fini(&x->response);
	buf__fini(&x->body);
	fd__close(x->file.fd);
	arena__fini(&x->arena);
	free(x);
}

/* What the head may hold of each: RFC 9112 sections 3.2, 5.1 and 6.3. */
struct head {
	struct exchange *x;
	struct dcm_field *fields;
	unsigned n_hosts, n_lengths, n_codings;
	const char *fault;
};

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head *h = ctx;
	struct http_request *req = &h->x->request;
	struct dcm_str lower = arena__str(&h->x->arena, str__of(name));

	(void)kind;
	if (req->n_headers == MAX_HEADERS)
		h->fault = "more than 100 headers";
	if (!lower.p)
		h->fault = "no memory for the headers";
	if (h->fault)
		return MHD_NO;
	for (uint32_t i = 0; i < lower.n; i++) {
		char *c = (char *)lower.p + i;

		if (*c == ' ' || *c == '\t')
			h->fault = "a space before a header's colon";
		*c = (char)tolower((unsigned char)*c);
	}
	h->n_hosts += str__eq(lower, STR("host"));
	h->n_lengths += str__eq(lower, STR("content-length"));
	h->n_codings += str__eq(lower, STR("transfer-encoding"));
	h->fields[req->n_headers++] = (struct dcm_field){ lower, str__of(value) };
	return MHD_YES;
}

/* RFC 9112 section 6.1: chunked is the only one that we know, and HTTP/1.0 has none. */
static bool knows_coding(const struct exchange *x)
{
	struct dcm_str coding = http_request__header(&x->request, "transfer-encoding");

	return x->is_http_1_1 && coding.n == 7 && strncasecmp(coding.p, "chunked", 7) == 0;
}

static const char *fault_of(const struct head *h)
{
	if (h->fault)
		return h->fault;
	if (memchr(h->x->target.p, ' ', h->x->target.n))
		return "a space within the target";
	if (h->n_hosts == 0 && h->x->is_http_1_1)
		return "no Host header";
	if (h->n_hosts > 1)
		return "two Host headers";
	if (h->n_lengths > 1)
		return "two Content-Length headers";
	if (h->n_codings > 1)
		return "two Transfer-Encoding headers";
	if (h->n_lengths && h->n_codings)
		return "Content-Length beside Transfer-Encoding";
	if (h->n_codings && !knows_coding(h->x))
		return "a transfer coding other than chunked, or one in HTTP/1.0";
	return NULL;
}

/* Whether there is a body, and how large: RFC 9112 section 6.3. False for what is no number. */
static bool read_length(struct exchange *x, const struct head *h)
{
	struct dcm_str length = http_request__header(&x->request, "content-length");
	int64_t n = 0;

	if (h->n_lengths && (units__parse_int(length, "", &n) < 0 || n < 0))
		return false;
	x->body_bytes = h->n_codings ? EXCHANGE_CHUNKED : (uint64_t)n;
	return true;
}

static bool read_method(struct http_request *req, const char *method)
{
	static const char *const names[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(method, names[i]) == 0) {
			req->method = (enum http_method)i;
			return true;
		}
	return false;
}

bool exchange__read_head(struct exchange *x, const char *method)
{
	struct head h = { .x = x,
			  .fields = arena__zalloc(&x->arena, MAX_HEADERS, sizeof(struct dcm_field)) };
	const char *fault;

	x->checked = true;
	x->request.headers = h.fields;
	if (!h.fields)
		h.fault = "no memory for the headers";
	else
		MHD_get_connection_values(x->connection, MHD_HEADER_KIND, take_header, &h);
	fault = fault_of(&h);
	if (!fault && !read_length(x, &h))
		fault = "a Content-Length that is no number of bytes";
	if (!fault && http_request__set_target(&x->request, x->target) < 0)
		fault = "the target is no path with well-formed %-escapes and at most 256 "
			"parameters";
	if (fault) {
		http_response__problem(&x->response, 400, "the request is malformed: %s", fault);
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

/* "Name: value\r\n" lines, as http_response__header() wrote them. */
static void add_headers(struct MHD_Response *r, struct buf *lines)
{
	char *at = (char *)lines->data, *save = NULL;

	for (char *line = at ? strtok_r(at, "\r\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\r\n", &save)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		MHD_add_response_header(r, line, colon + 2);
	}
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

	if (!r->has_tag || r->status != 200 || r->body.error || r->headers.error)
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

	if (r->body.error || r->body.n < PACK_MIN_BYTES || !packs_well(r->content_type) ||
	    http_response__find(r, "Content-Encoding").n)
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

enum MHD_Result exchange__send(struct exchange *x)
{
	size_t n;
	void *data;
	struct MHD_Response *r;
	enum MHD_Result result;

	if (x->response.body.error || x->response.headers.error) {
		buf__fini(&x->response.headers);
		http_response__problem(&x->response, 503, "out of memory for the answer; try again later");
	}
	data = buf__take(&x->response.body, &n);
	r = MHD_create_response_from_buffer(n, data,
					    data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!r) {
		free(data);
		return MHD_NO;
	}
	add_headers(r, &x->response.headers);
	MHD_add_response_header(r, "Content-Type",
				x->response.content_type[0] ? x->response.content_type
							    : "application/json");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (!MHD_get_response_header(r, "Cache-Control"))
		MHD_add_response_header(r, "Cache-Control", "no-store");
	if (x->close)
		MHD_add_response_header(r, "Connection", "close");
	result = MHD_queue_response(x->connection, (unsigned)x->response.status, r);
	MHD_destroy_response(r);
	return result;
}

/* ------------------------------------------------------------------------------------------------
 * A body that goes into a file
 */

/* Without a name, so that nothing is left of it, whatever happens. */
static int open_nameless(const char *dir)
{
	char path[PATH_MAX];
	int fd;

	if (!dir)
		return -ENOTSUP;
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	/* Not every file system has these. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		if (snprintf(path, sizeof(path), "%s/body-XXXXXX", dir) >= (int)sizeof(path))
			return -ENAMETOOLONG;
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	return fd < 0 ? -errno : fd;
}

void exchange__begin_file(struct exchange *x, const char *dir, uint64_t max_bytes)
{
	x->file_bytes = max_bytes;
	x->request.file = &x->file;
	x->body.limit = 0; /* there is never more than WRITE_BYTES and a piece */
	if (x->body_bytes != EXCHANGE_CHUNKED && x->body_bytes > max_bytes) {
		x->file.error = -EFBIG;
		return;
	}
	x->file.fd = open_nameless(dir);
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
