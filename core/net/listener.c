/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/listener.c - sockets in, requests to handlers, answers out
 *
 * Threads: the accepter (poll over the listening sockets, and a tick for deadlines and departed
 * clients, of 200 ms while there is a request and of 2 s while there are connections),
 * libmicrohttpd's event thread (parsing, callbacks, sending), and those of the lanes (handlers). A
 * connection is suspended in libmicrohttpd while a lane has its request.
 */
#include "core/net/listener.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/net/conns.h"
#include "core/net/exchange.h"
#include "core/net/lanes.h"
#include "core/net/sockets.h"

#define SECOND INT64_C(1000000000)
#define MIB    ((size_t)1 << 20)

enum {
	TICK_MS = 200,
	WAITING_TICK_MS = 2000,
	MAX_FILES = 4,
	FILES_RETRY_S = 5,
	UNIX_CONNECTIONS = 16,
	N_PUSHERS = 4 /* each waits for a store meanwhile */
};

/* A slow reader gets a minute and 16 KiB/s for its answer. */
#define ANSWER_BASE_NS	   (60 * SECOND)
#define ANSWER_BYTES_PER_S 16384

struct listener {
	struct listener_options o;
	const struct http_routes *routes;
	const struct log *log;
	struct MHD_Daemon *mhd;
	struct sockets sockets;
	struct conns conns;
	struct lanes *lanes;
	int wake_fd;
	pthread_t accepter;
	bool accepter_runs;
	_Atomic bool stopping;
	/* Handed to libmicrohttpd, of those begun there, and of those ended. */
	uint32_t n_handed; /* the accepter's, like the time of the last one */
	int64_t handed_ns;
	_Atomic uint32_t n_begun, n_ended;
	/* Both of the event thread. */
	uint64_t reserved; /* by all requests together, for their bodies in memory */
	uint32_t n_files;  /* bodies that have a file */

	struct stats *stats;
	struct stats_metric *n_requests, *n_conns, *n_refused, *n_timeouts;
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

uint16_t listener__port(const struct listener *l, uint32_t i)
{
	return sockets__port(&l->sockets, i);
}

/* ------------------------------------------------------------------------------------------------
 * Requests (event thread)
 */

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct listener *l = ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		l->n_begun++;
		/* Without memory it is NULL, and on_request() refuses what comes. */
		*socket_ctx = conns__add(
			&l->conns,
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
			now_ns() + l->o.header_timeout_ns);
		stats__gauge_add(l->n_conns, *socket_ctx ? 1 : 0);
		return;
	}
	l->n_ended++;
	if (*socket_ctx) {
		conns__remove(&l->conns, *socket_ctx);
		stats__gauge_add(l->n_conns, -1);
	}
}

static struct conn *conn_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void run_handler(void *ctx, struct exchange *x)
{
	struct listener *l = ctx;

	x->request.body = buf__view(&x->body);
	http_routes__dispatch(l->routes, &x->request, &x->response);
	exchange__tag(x);
	exchange__pack(x);
	stats__counter_add(l->n_requests, 1);
}

static void run_in_lane(void *ctx, struct exchange *x)
{
	if (x->request.file)
		exchange__write(x);
	if (!x->writes)
		run_handler(ctx, x);
}

/* On the thread of a lane. */
static void after_handler(void *ctx, struct exchange *x)
{
	struct listener *l = ctx;

	x->answered = !x->writes;
	conns__leave_work(&l->conns, conn_of(x->connection));
	MHD_resume_connection(x->connection);
}

/*
 * The parameters are ours to read, http.c. libmicrohttpd would keep each of them as well, in the memory that it has
 * for a connection, and with some 1,000 of them has none left for an answer: they end here for it. The target is in
 * its own read buffer, in which it cuts at the same place when this returns.
 */
static void *on_request_line(void *ctx, const char *target, struct MHD_Connection *connection)
{
	struct exchange *x = exchange__new(connection, target);
	char *query = strchr(target, '?');

	(void)ctx;
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

static enum MHD_Result answer(struct listener *l, struct exchange *x, struct conn *c)
{
	int64_t timeout = ANSWER_BASE_NS + (int64_t)(x->response.body.n / ANSWER_BYTES_PER_S) * SECOND;

	conns__enter(&l->conns, c, CONN_ANSWER, now_ns() + timeout, NULL);
	if (x->response.status >= 400)
		stats__counter_add(l->n_refused, 1);
	return exchange__send(x);
}

/* Sets memory aside for a body that is on its way; false: the response says why not. */
static bool reserve_body(struct listener *l, struct exchange *x, const struct http_route *route)
{
	bool chunked = x->body_bytes == EXCHANGE_CHUNKED;
	uint64_t n = chunked ? route->max_body : x->body_bytes;

	if (route->max_body == 0) {
		http_response__problem(&x->response, 413,
				       "%s takes no body; send the request without one", route->pattern);
		return false;
	}
	if (n > route->max_body) {
		http_response__problem(&x->response, 413,
				       "the body has %" PRIu64
				       " bytes, and %s takes at most %" PRIu64,
				       n, route->pattern, route->max_body);
		return false;
	}
	if (n > l->o.bodies_max_bytes - l->reserved) {
		http_response__header(&x->response, "Retry-After", "1");
		http_response__problem(&x->response,
				       503, "other requests' bodies take the memory; try again in a second");
		return false;
	}
	x->reserved = n;
	x->body.limit = (size_t)n;
	l->reserved += n;
	return true;
}

/* Makes a file for a body that is on its way; false: the response, mostly the handler's, says why not. */
static bool admit_file(struct listener *l, struct exchange *x, const struct http_route *route)
{
	if (l->n_files >= MAX_FILES) {
		http_response__header(&x->response, "Retry-After", "%d", FILES_RETRY_S);
		http_response__problem(&x->response, 503,
				       "%d files are being sent already; try again in a moment",
				       MAX_FILES);
		return false;
	}
	exchange__begin_file(x, l->o.body_dir, route->max_body);
	l->n_files += x->file.fd >= 0;
	if (x->file.error)
		run_handler(l, x);
	return !x->file.error;
}

/*
 * Whoever may not send the body, or sends too large a one, hears so before he does. Requests without a
 * body are refused by on_complete(), so that their connections stay; but an empty file is one.
 */
static bool admit_body(struct listener *l, struct exchange *x)
{
	const struct http_route *route = http_routes__find(l->routes, x->request.method, x->request.path);

	if (x->body_bytes == 0 && !(route && route->to_file))
		return true;
	route = http_routes__admit(l->routes, &x->request, &x->response);
	if (route && route->to_file)
		return admit_file(l, x, route);
	return route && reserve_body(l, x, route);
}

/* Cuts the base path off; false: it alone was asked for, and pages know their place by the slash behind it. */
static bool cut_base(const struct listener *l, struct exchange *x)
{
	struct dcm_str base = str__of(l->o.base_path), *path = &x->request.path;

	if (base.n == 0 || !str__starts(*path, base))
		return true;
	if (path->n == base.n) {
		http_response__header(&x->response, "Location", "%s/", l->o.base_path);
		x->response.status = 308;
		return false;
	}
	if (path->p[base.n] == '/') {
		path->p += base.n;
		path->n -= base.n;
	}
	return true;
}

static enum MHD_Result on_head(struct listener *l, struct exchange *x, struct conn *c, const char *method)
{
	conns__enter(&l->conns, c, CONN_BODY, now_ns() + l->o.body_timeout_ns, NULL);
	if (!exchange__read_head(x, method) || !cut_base(l, x) ||
	    !access__check(l->o.rules, &c->peer, &x->request, &x->response) || !admit_body(l, x)) {
		/* Answering before the body was read makes libmicrohttpd close the connection. */
		x->answered = true;
		x->close = true;
		return answer(l, x, c);
	}
	return MHD_YES;
}

/* Queues the request; false when too many wait. */
static bool give_to_lane(struct listener *l, struct exchange *x, struct conn *c, enum lane lane)
{
	conns__enter(&l->conns, c, CONN_WORK, 0, x);
	return lanes__give(l->lanes, lane, x);
}

static enum MHD_Result on_complete(struct listener *l, struct exchange *x, struct conn *c)
{
	const struct http_route *route = http_routes__find(l->routes, x->request.method, x->request.path);
	enum lane lane = x->request.file	      ? LANE_FILES
			 : route && route->control    ? LANE_CONTROL
			 : route && route->push	      ? LANE_PUSHES
			 : route && route->takes_time ? LANE_TIME
						      : LANE_QUESTIONS;

	x->budget.deadline_mono_ns = now_ns() + l->o.request_timeout_ns;
	x->budget.max_bytes = l->o.request_max_bytes;
	x->response.body.limit = l->o.request_max_bytes;
	if (x->body.error == -EFBIG) {
		http_response__problem(&x->response, 413,
				       "the body has more than the %" PRIu64 " bytes that %s takes",
				       x->reserved, route->pattern);
	} else if (x->body.error) {
		http_response__problem(&x->response, 503, "out of memory for the body; try again later");
	} else if (!route || route->quick) {
		run_handler(l, x);
	} else if (give_to_lane(l, x, c, lane)) {
		return MHD_YES;
	} else {
		http_response__header(&x->response, "Retry-After", "1");
		if (l->stopping)
			http_response__problem(&x->response, 503,
					       "decima is stopping; ask it again when it is back");
		else
			http_response__problem(&x->response, 503,
					       "%u requests wait already; try again in a second",
					       l->o.max_waiting);
	}
	x->answered = true;
	return answer(l, x, c);
}

/*
 * A piece of a body that goes into a file. When there is enough in memory, a lane writes it, and
 * the piece is offered once more.
 */
static void on_file_data(struct listener *l, struct exchange *x, struct conn *c, const char *data,
			 size_t *n)
{
	bool was_written = x->writes;

	x->writes = !exchange__take(x, data, *n);
	if (x->writes && give_to_lane(l, x, c, LANE_FILES))
		return;
	/* The answer has to wait for the rest, which is thrown away. */
	if (x->writes)
		x->file.error = -EAGAIN;
	if (x->writes || was_written)
		conns__enter(&l->conns, c, CONN_BODY, now_ns() + l->o.body_timeout_ns, NULL);
	x->writes = false;
	*n = 0;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_n, void **request_ctx)
{
	struct listener *l = ctx;
	struct exchange *x = *request_ctx;
	struct conn *c = conn_of(connection);

	(void)url;
	if (!x || !c)
		return MHD_NO;
	x->is_http_1_1 = strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
	if (!x->checked)
		return on_head(l, x, c, method);
	if (*upload_n > 0 && x->request.file) {
		on_file_data(l, x, c, upload, upload_n);
		return MHD_YES;
	}
	if (*upload_n > 0) {
		if (x->reserved)
			buf__append(&x->body, upload, *upload_n);
		*upload_n = 0;
		return MHD_YES;
	}
	if (!x->answered)
		return on_complete(l, x, c);
	return answer(l, x, c);
}

static void on_done(void *ctx, struct MHD_Connection *connection, void **request_ctx,
		    enum MHD_RequestTerminationCode why)
{
	struct listener *l = ctx;
	struct exchange *x = *request_ctx;
	struct conn *c = conn_of(connection);

	(void)why;
	l->reserved -= x ? x->reserved : 0;
	if (x && x->file.fd >= 0)
		l->n_files--;
	exchange__free(x);
	*request_ctx = NULL;
	if (c)
		conns__enter(&l->conns, c, CONN_HEAD,
			     now_ns() + l->o.header_timeout_ns + 60 * SECOND, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Accepting, and the tick
 */

/*
 * libmicrohttpd 0.9.75 has a limit of its own, but looks at it before the connections that were just
 * handed to it are counted, and locks itself up for good over the first that is too many. Strangers
 * who hold all of the others leave these for the unix socket.
 */
static bool is_full(const struct listener *l, const struct sockets_one *s)
{
	uint32_t most = l->o.max_connections + (s->path[0] ? UNIX_CONNECTIONS : 0);
	uint32_t ended = l->n_ended, begun = l->n_begun;
	int32_t between = (int32_t)(l->n_handed - begun);

	return begun - ended + (uint32_t)(between > 0 ? between : 0) >= most;
}

static void accept_some(struct listener *l, const struct sockets_one *s)
{
	for (int i = 0; i < 64; i++) {
		struct sockaddr_storage ss = { 0 };
		socklen_t n = sizeof(ss);
		int fd = accept4(s->fd, (struct sockaddr *)&ss, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			/*
			 * Out of descriptors: the connection stays in the backlog; do not spin on
			 * it.
			 */
			if (errno == EMFILE || errno == ENFILE)
				poll(NULL, 0, TICK_MS);
			return;
		}
		if (is_full(l, s)) {
			fd__close(fd);
			stats__counter_add(l->n_refused, 1);
			continue;
		}
		/* It owns the descriptor from here on, also when it refuses. */
		if (MHD_add_connection(l->mhd, fd, (struct sockaddr *)&ss, n) != MHD_YES) {
			stats__counter_add(l->n_refused, 1);
			continue;
		}
		l->n_handed++;
		l->handed_ns = now_ns();
	}
}

/*
 * Without connections there is nothing to time out, and -1: sleep until one comes. One that was
 * just accepted joins the list a moment later, on the event thread.
 */
static int tick_ms(struct listener *l, int64_t last_accept)
{
	enum conns_load load = conns__load(&l->conns);

	if (load == CONNS_BUSY || now_ns() - last_accept <= 2 * SECOND)
		return TICK_MS;
	return load == CONNS_NONE ? -1 : WAITING_TICK_MS;
}

static void *accept_all(void *ctx)
{
	struct listener *l = ctx;
	struct pollfd p[SOCKETS_MAX + 1];
	int64_t next_tick = now_ns(), last_accept = next_tick;
	uint32_t n = l->sockets.n;

	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = l->sockets.v[i].fd, .events = POLLIN };
	p[n] = (struct pollfd){ .fd = l->wake_fd, .events = POLLIN };
	while (!l->stopping) {
		/* One for which memory ran out after it was handed over has neither begun nor ended. */
		if (now_ns() - l->handed_ns > 2 * SECOND)
			l->n_handed = l->n_begun;
		if (poll(p, n + 1, tick_ms(l, last_accept)) > 0)
			for (uint32_t i = 0; i < n; i++)
				if (p[i].revents) {
					accept_some(l, &l->sockets.v[i]);
					last_accept = now_ns();
				}
		if (now_ns() >= next_tick) {
			stats__counter_add(l->n_timeouts, conns__tick(&l->conns, now_ns()));
			next_tick = now_ns() + TICK_MS * INT64_C(1000000);
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

__attribute__((format(printf, 2, 0))) static void log_from_mhd(void *ctx, const char *fmt, va_list ap)
{
	static const char answers_itself[] = "Error processing request";
	struct listener *l = ctx;
	char line[512];

	/*
	 * It says so of each request that it answers with an error by itself, and of no other. There
	 * is no other way to hear of them: the callbacks are left out.
	 */
	if (strncmp(fmt, answers_itself, sizeof(answers_itself) - 1) == 0)
		stats__counter_add(l->n_refused, 1);
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log__line(l->log, DCM_LOG_DEBUG, "server", "%s", line);
}

static void set_defaults(struct listener_options *o)
{
	o->max_connections = o->max_connections ? o->max_connections : 512;
	o->n_workers = o->n_workers ? o->n_workers : 4;
	o->max_waiting = o->max_waiting ? o->max_waiting : 64;
	o->bodies_max_bytes = o->bodies_max_bytes ? o->bodies_max_bytes : 64 * MIB;
	o->header_timeout_ns = o->header_timeout_ns ? o->header_timeout_ns : 10 * SECOND;
	o->body_timeout_ns = o->body_timeout_ns ? o->body_timeout_ns : 30 * SECOND;
	o->request_timeout_ns = o->request_timeout_ns ? o->request_timeout_ns : 60 * SECOND;
	o->request_max_bytes = o->request_max_bytes ? o->request_max_bytes : 1024 * MIB;
}

static void count(struct listener *l, struct stats *stats)
{
	l->n_requests = stats__counter(stats, "decima_http_requests_total",
				       "Requests that reached a handler.", STATS_NO_LABELS);
	l->n_refused = stats__counter(stats, "decima_http_refused_total",
				      "Requests and connections answered with an error or closed.",
				      STATS_NO_LABELS);
	l->n_timeouts = stats__counter(stats, "decima_http_timeouts_total",
				       "Connections closed because they were too slow.",
				       STATS_NO_LABELS);
	l->n_conns = stats__gauge(stats, "decima_http_connections", "Open connections.", STATS_NO_LABELS);
}

int listener__new(const struct listener_options *o, const struct http_routes *routes,
		  const struct log *log, struct stats *stats, struct listener **ret,
		  struct dcm_error *err)
{
	struct listener *l = NEW(struct listener);
	int r;

	if (!l)
		return error__nomem(err);
	l->o = *o;
	if (!l->o.base_path)
		l->o.base_path = "";
	set_defaults(&l->o);
	l->routes = routes;
	l->log = log;
	l->stats = stats;
	l->wake_fd = -1;
	conns__init(&l->conns);
	if (stats)
		count(l, stats);
	r = sockets__bind(&l->sockets, o->addresses, o->n_addresses, err);
	if (r < 0) {
		listener__free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static int start_threads(struct listener *l, struct dcm_error *err)
{
	int r = lanes__new(
		&(struct lanes_config){
			.n_threads = { [LANE_QUESTIONS] = l->o.n_workers, [LANE_PUSHES] = N_PUSHERS, [LANE_CONTROL] = 1, [LANE_FILES] = 1, [LANE_TIME] = 2 },
			.max_waiting = l->o.max_waiting,
			.handle = run_in_lane,
			.done = after_handler,
			.ctx = l },
		&l->lanes, err);

	if (r < 0)
		return r;
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0)
		return error__sys(err, -errno, "server: no descriptor");
	r = -pthread_create(&l->accepter, NULL, accept_all, l);
	if (r < 0)
		return error__sys(err, r, "server: cannot start a thread");
	l->accepter_runs = true;
	pthread_setname_np(l->accepter, "accepter");
	return 0;
}

int listener__start(struct listener *l, struct dcm_error *err)
{
	/*
	 * The logger comes first: it must be in place before the other options are looked at. In its
	 * strict mode 0.9.75 refuses by itself what exchange__read_head() refuses as a problem, and then
	 * sends two heads.
	 */
	l->mhd = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
			MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, l, MHD_OPTION_EXTERNAL_LOGGER, log_from_mhd, l,
		MHD_OPTION_CONNECTION_LIMIT, 2 * (unsigned)l->o.max_connections + UNIX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536, MHD_OPTION_STRICT_FOR_CLIENT, 0,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, l, MHD_OPTION_NOTIFY_COMPLETED,
		on_done, l, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, l,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
	if (!l->mhd)
		return error__set(
			err, -EIO, "server: libmicrohttpd does not start; are descriptors or threads used up?");
	return start_threads(l, err);
}

static void name_stuck(void *ctx, const struct exchange *x)
{
	struct listener *l = ctx;
	const struct http_route *route = http_routes__find(l->routes, x->request.method, x->request.path);

	log__line(l->log, DCM_LOG_WARNING, "server",
		  "a request to %s has not come back, though it was cancelled; it is left behind",
		  route ? route->pattern : "nowhere");
}

int listener__stop(struct listener *l, int64_t deadline_mono_ns)
{
	bool again = l && l->stopping;

	if (!l)
		return 0;
	l->stopping = true;
	if (l->wake_fd >= 0)
		eventfd_write(l->wake_fd, 1);
	if (l->accepter_runs)
		pthread_join(l->accepter, NULL);
	l->accepter_runs = false;
	sockets__close(&l->sockets);
	if (l->lanes && lanes__stop(l->lanes, deadline_mono_ns) < 0) {
		if (!again)
			lanes__each(l->lanes, name_stuck, l);
		conns__shut(&l->conns);
		return -ETIMEDOUT;
	}
	/*
	 * Answers that are ready get a second to leave; a reader that is slower than that is cut
	 * off.
	 */
	conns__flush(&l->conns, now_ns() + SECOND);
	if (l->mhd)
		MHD_stop_daemon(l->mhd);
	l->mhd = NULL;
	return 0;
}

void listener__free(struct listener *l)
{
	if (!l || listener__stop(l, 0) < 0)
		return;
	if (l->stats) {
		stats__unregister(l->stats, l->n_requests);
		stats__unregister(l->stats, l->n_refused);
		stats__unregister(l->stats, l->n_timeouts);
		stats__unregister(l->stats, l->n_conns);
	}
	lanes__free(l->lanes);
	conns__fini(&l->conns);
	fd__close(l->wake_fd);
	free(l);
}
