/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http1.c - libmicrohttpd's callbacks
 *
 * Threads: libmicrohttpd's event thread (parsing, callbacks, sending), those of the lanes, which hand
 * exchanges back, and the one that hands connections over. A connection is suspended in
 * libmicrohttpd while a lane has its request.
 */
#include "core/net/http1.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"

#define SECOND	   INT64_C(1000000000)
#define POOL_BYTES 65536 /* what a connection has for heads and bodies on their way */

struct http1 {
	struct requests *requests;
	const struct listener_options *o;
	struct MHD_Daemon *mhd;
	struct conns conns;
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

/* ------------------------------------------------------------------------------------------------
 * Exchanges
 */

static struct conn *conn_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void hold(struct exchange *x)
{
	struct MHD_Connection *connection = x->stream;

	conns__enter(conn_of(connection), CONN_WORK, 0, x);
	MHD_suspend_connection(connection);
}

static void hand_back(struct exchange *x)
{
	struct MHD_Connection *connection = x->stream;

	conns__leave_work(conn_of(connection));
	MHD_resume_connection(connection);
}

static const struct exchange_carrier carrier = { .hold = hold, .hand_back = hand_back };

/*
 * The parameters are ours to read, http.c. libmicrohttpd would keep each of them as well, in the memory that it has
 * for a connection, and with some 1,000 of them has none left for an answer: they end here for it. The target is in
 * its own read buffer, in which it cuts at the same place when this returns.
 */
static void *on_request_line(void *ctx, const char *target, struct MHD_Connection *connection)
{
	struct exchange *x = exchange__new(&carrier, connection);
	char *query = strchr(target, '?');

	(void)ctx;
	if (x)
		exchange__set_target(x, str__of(target));
	if (query)
		query[1] = '\0';
	return x;
}

/* Paths are decoded segment by segment in http_routes.c, parameters in http.c. */
static size_t keep_escapes(void *ctx, struct MHD_Connection *connection, char *s)
{
	(void)ctx;
	(void)connection;
	return strlen(s);
}

/* What the head has of each, and more of: RFC 9112 sections 3.2, 5.1 and 6.3. */
struct head {
	struct exchange *x;
	unsigned n_hosts, n_lengths, n_codings;
};

/* RFC 9110 section 5.6.2. */
static bool is_token(const char *name)
{
	size_t n = strspn(name, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"abcdefghijklmnopqrstuvwxyz");

	return n > 0 && name[n] == '\0';
}

/* What ends a line for others alone: a CR by itself, which is in the value here, and its like (section 5.5). */
static bool has_controls(const char *value)
{
	for (; *value; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
			return true;
	return false;
}

/*
 * Of a header that goes on in the next line (obs-fold, RFC 9112 section 5.2) libmicrohttpd 0.9.75 appends that to the name,
 * elsewhere: "Content-Length:", " 4" is a header "Content-Length4", whose body would be the next request, and
 * "X-User-: root", " Name" one that the proxy before us did not see. Else a value is where its name ends,
 * behind the colon and blanks.
 */
static bool is_folded(const char *name, const char *value)
{
	const char *end = name + strlen(name) + 1;
	const uintptr_t gap = (uintptr_t)value - (uintptr_t)end; /* huge where the value is before it */

	return gap >= POOL_BYTES || strspn(end, " \t") < gap;
}

static const char *fault_of_header(const char *name, const char *value)
{
	if (strpbrk(name, " \t"))
		return "a space before a header's colon";
	if (!is_token(name))
		return "a header's name that is no token";
	if (value && is_folded(name, value))
		return "a header that goes on in another line";
	return has_controls(value) ? "a control character in a header" : NULL;
}

static enum MHD_Result take_header(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head *h = ctx;

	(void)kind;
	h->x->fault = fault_of_header(name, value ? value : "");
	if (h->x->fault)
		return MHD_NO;
	h->n_hosts += strcasecmp(name, "host") == 0;
	h->n_lengths += strcasecmp(name, "content-length") == 0;
	h->n_codings += strcasecmp(name, "transfer-encoding") == 0;
	exchange__add_header(h->x, str__of(name), str__of(value));
	return h->x->fault ? MHD_NO : MHD_YES;
}

/* RFC 9112 section 6.1: chunked is the only one that we know, and HTTP/1.0 has none. */
static bool knows_coding(const struct exchange *x)
{
	struct dcm_str coding = http_request__header(&x->request, "transfer-encoding");

	return x->is_http_1_1 && coding.n == 7 && strncasecmp(coding.p, "chunked", 7) == 0;
}

static const char *fault_of(const struct head *h)
{
	if (h->x->fault)
		return h->x->fault;
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

/* Whether there is a body, and how large: RFC 9112 section 6.3. */
static void read_length(struct exchange *x, const struct head *h)
{
	struct dcm_str length = http_request__header(&x->request, "content-length");
	int64_t n = 0;

	if (h->n_lengths && (units__parse_int(length, "", &n) < 0 || n < 0))
		x->fault = "a Content-Length that is no number of bytes";
	x->body_bytes = h->n_codings ? EXCHANGE_UNSAID : (uint64_t)n;
}

static void read_headers(struct exchange *x)
{
	struct head h = { .x = x };

	x->checked = true;
	if (!x->fault)
		MHD_get_connection_values(x->stream, MHD_HEADER_KIND, take_header, &h);
	x->fault = fault_of(&h);
	if (!x->fault)
		read_length(x, &h);
}

static struct MHD_Response *make_response(struct exchange *x)
{
	struct http_response *from = &x->response;
	char *at = NULL, *name, *value;
	struct MHD_Response *r;
	size_t n;
	void *data;

	exchange__finish(x);
	data = buf__take(&from->body, &n);
	r = MHD_create_response_from_buffer(n, data,
					    data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!r) {
		free(data);
		return NULL;
	}
	while (exchange__next_header(&x->response.headers, &at, &name, &value))
		MHD_add_response_header(r, name, value);
	MHD_add_response_header(r, "Content-Type", from->content_type);
	if (x->close)
		MHD_add_response_header(r, "Connection", "close");
	return r;
}

static enum MHD_Result answer(const struct http1 *h, struct exchange *x, struct conn *c)
{
	struct MHD_Connection *connection = x->stream;
	int64_t until = now_ns() + exchange__answer_ns(x, h->o->answer_timeout_ns);
	struct MHD_Response *r = make_response(x);
	enum MHD_Result result;

	conns__enter(c, CONN_ANSWER, until, NULL);
	if (!r)
		return MHD_NO;
	result = MHD_queue_response(connection, (unsigned)x->response.status, r);
	MHD_destroy_response(r);
	return result;
}

/* ------------------------------------------------------------------------------------------------
 * Requests (event thread)
 */

static enum MHD_Result on_head(struct http1 *h, struct exchange *x, struct conn *c, const char *method)
{
	conns__enter(c, CONN_BODY, now_ns() + h->o->body_timeout_ns, NULL);
	read_headers(x);
	if (requests__head(h->requests, x, &c->peer, str__of(method)))
		return MHD_YES;
	/* Answering before the body was read makes libmicrohttpd close the connection. */
	x->close = true;
	return answer(h, x, c);
}

/*
 * A piece of a body. One that goes into a file has to wait when there is enough in memory: a lane
 * writes it, and the piece is offered once more.
 */
static void on_data(struct http1 *h, struct exchange *x, struct conn *c, const char *data, size_t *n)
{
	bool was_written = x->writes;

	if (!requests__data(h->requests, x, data, *n))
		return;
	*n = 0;
	if (was_written || exchange__has_advanced(x))
		conns__enter(c, CONN_BODY, now_ns() + h->o->body_timeout_ns, NULL);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_n, void **request_ctx)
{
	struct http1 *h = ctx;
	struct exchange *x = *request_ctx;
	struct conn *c = conn_of(connection);

	(void)url;
	if (!x || !c)
		return MHD_NO;
	x->is_http_1_1 = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
	if (!x->checked)
		return on_head(h, x, c, method);
	if (*upload_n > 0) {
		on_data(h, x, c, upload, upload_n);
		return MHD_YES;
	}
	if (x->answered)
		return answer(h, x, c);
	return requests__complete(h->requests, x) ? MHD_YES : answer(h, x, c);
}

static void on_done(void *ctx, struct MHD_Connection *connection, void **request_ctx,
		    enum MHD_RequestTerminationCode why)
{
	struct http1 *h = ctx;
	struct conn *c = conn_of(connection);

	(void)why;
	requests__end(h->requests, *request_ctx);
	*request_ctx = NULL;
	if (c)
		conns__enter(c, CONN_HEAD, now_ns() + h->o->header_timeout_ns + 60 * SECOND, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Connections
 */

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http1 *h = ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		/* Without memory it is NULL, and on_request() refuses what comes. */
		*socket_ctx = conns__begin(
			&h->conns,
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
			now_ns() + h->o->header_timeout_ns);
		return;
	}
	if (*socket_ctx)
		conns__remove(*socket_ctx);
}

/* libmicrohttpd begins what it was handed at once, but for want of memory; then it says nothing. */
#define BEGINNING_NS (2 * SECOND)

int http1__take(struct http1 *h, int fd, const struct access_peer *peer)
{
	/* Nobody looks at it: who is there is known already. */
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct conn *c = conns__add(&h->conns, fd, peer, now_ns() + BEGINNING_NS);

	if (!c) {
		fd__close(fd);
		return -ENOMEM;
	}
	/* It owns the descriptor from here on, also when it refuses. */
	if (MHD_add_connection(h->mhd, fd, (struct sockaddr *)&address, sizeof(address)) == MHD_YES)
		return 0;
	conns__remove(c);
	return -EIO;
}

uint32_t http1__n(struct http1 *h)
{
	return conns__n(&h->conns);
}

enum conns_load http1__load(struct http1 *h)
{
	return conns__load(&h->conns);
}

uint32_t http1__tick(struct http1 *h, int64_t now)
{
	return conns__tick(&h->conns, now);
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

__attribute__((format(printf, 2, 0))) static void log_from_mhd(void *ctx, const char *fmt, va_list ap)
{
	static const char answers_itself[] = "Error processing request";
	struct http1 *h = ctx;
	char line[512];

	/*
	 * It says so of each request that it answers with an error by itself, and of no other. There
	 * is no other way to hear of them: the callbacks are left out.
	 */
	if (strncmp(fmt, answers_itself, sizeof(answers_itself) - 1) == 0)
		stats__counter_add(h->requests->n_refused, 1);
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log__line(h->requests->log, DCM_LOG_DEBUG, "server", "%s", line);
}

int http1__new(struct requests *requests, struct http1 **ret, struct dcm_error *err)
{
	struct http1 *h = NEW(struct http1);

	if (!h)
		return error__nomem(err);
	h->requests = requests;
	h->o = requests->o;
	conns__init(&h->conns);
	/*
	 * The logger comes first: it must be in place before the other options are looked at. In its
	 * strict mode 0.9.75 refuses by itself what read_headers() refuses as a problem, and then
	 * sends two heads. Its limit of connections is beyond ours: it looks at it before the ones that
	 * were just handed to it are counted, and locks itself up for good over the first that is too many.
	 */
	h->mhd = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, log_from_mhd, h,
		MHD_OPTION_CONNECTION_LIMIT, 2 * (unsigned)h->o->max_connections + 1024,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_STRICT_FOR_CLIENT,
		0, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_NOTIFY_COMPLETED,
		on_done, h, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, h,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
	if (!h->mhd) {
		http1__free(h);
		return error__set(
			err, -EIO, "server: libmicrohttpd does not start; are descriptors or threads used up?");
	}
	*ret = h;
	return 0;
}

void http1__shut(struct http1 *h)
{
	conns__shut(&h->conns);
}

void http1__stop(struct http1 *h, int64_t until_mono_ns)
{
	if (!h->mhd)
		return;
	conns__flush(&h->conns, until_mono_ns);
	MHD_stop_daemon(h->mhd);
	h->mhd = NULL;
}

void http1__free(struct http1 *h)
{
	if (!h)
		return;
	http1__stop(h, 0);
	conns__fini(&h->conns);
	free(h);
}
