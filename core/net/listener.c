/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/listener.c - sockets in, requests to workers, answers out
 *
 * Threads: the accepter (poll over the listening sockets, and a tick of 200 ms for deadlines and
 * departed clients), libmicrohttpd's event thread (parsing, callbacks, sending), and the workers
 * (handlers). A connection is suspended in libmicrohttpd while a worker has its request; `lock`
 * guards the list of connections and the workers' queue.
 */
#include "core/net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/net/exchange.h"

#define SECOND INT64_C(1000000000)
#define MIB    ((size_t)1 << 20)

enum { MAX_ADDRESSES = 16, TICK_MS = 200, BACKLOG = 256 };
enum { LOOKS_FOR_HALF_CLOSE = 2 }; /* ticks after a request: 200 to 400 ms */

/* A slow reader gets a minute and 16 KiB/s for its answer. */
#define ANSWER_BASE_NS	   (60 * SECOND)
#define ANSWER_BYTES_PER_S 16384

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_WORK, PHASE_ANSWER };

struct conn {
	struct conn *prev, *next;
	int fd;
	struct access_peer peer;
	enum phase phase;
	int64_t deadline_ns;
	struct exchange *x; /* while PHASE_WORK */
	uint32_t n_looks;   /* ticks that saw it in this PHASE_WORK */
	bool half_closed;   /* it said early that it sends no more: it reads the answer */
};

/* Requests that wait for one kind of workers. */
struct lane {
	struct exchange *first, *last;
	uint32_t n_waiting;
};
enum { LANE_QUESTIONS, LANE_CONTROL, N_LANES };

struct socket_at {
	int fd;
	char path[108]; /* of a unix socket: removed at the end */
};

struct listener {
	struct listener_options o;
	const struct http_routes *routes;
	const struct log *log;
	struct MHD_Daemon *mhd;
	struct socket_at sockets[MAX_ADDRESSES];
	uint32_t n_sockets;
	int wake_fd;
	pthread_t accepter, *workers;
	uint32_t n_running_workers;
	bool accepter_runs;
	_Atomic bool stopping;

	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct conn *conns;
	struct lane lanes[N_LANES];
	uint32_t n_working;

	struct stats *stats;
	struct stats_metric *n_requests, *n_conns, *n_refused, *n_timeouts;
};

static int64_t now_ns(void)
{
	return clock__mono(&clock__system);
}

/* ------------------------------------------------------------------------------------------------
 * Addresses
 */

static int bind_unix(struct listener *l, const char *address, const char *path, struct dcm_error *err)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct socket_at *s = &l->sockets[l->n_sockets];
	struct stat st;
	int fd, r;

	if (strlen(path) >= sizeof(sun.sun_path))
		return error__set(err, -EINVAL, "server.listen: %s: a socket's path has at most %zu bytes",
				  address, sizeof(sun.sun_path) - 1);
	memcpy(sun.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error__sys(err, -errno, "server.listen: %s", address);
	/* A socket that nobody answers on was left by a process that died. */
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0 || errno != ECONNREFUSED) {
			fd__close(fd);
			return error__set(
				err, -EADDRINUSE,
				"server.listen: %s: another process listens there; stop it, or "
				"choose another path",
				address);
		}
		unlink(path);
		fd__close(fd);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			return error__sys(err, -errno, "server.listen: %s", address);
	}
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0 || chmod(path, 0666) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		r = -errno;
		fd__close(fd);
		return error__sys(err, r, "server.listen: %s", address);
	}
	s->fd = fd;
	memcpy(s->path, sun.sun_path, sizeof(s->path));
	l->n_sockets++;
	return 0;
}

static int bind_tcp(struct listener *l, const char *address, const struct addrinfo *ai,
		    struct dcm_error *err)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, r;

	if (fd < 0)
		return error__sys(err, -errno, "server.listen: %s", address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
		l->sockets[l->n_sockets++].fd = fd;
		return 0;
	}
	r = -errno;
	fd__close(fd);
	if (r == -EADDRINUSE)
		return error__set(err, r,
				  "server.listen: %s: the port is in use by another program; stop "
				  "it, or choose another "
				  "with --listen",
				  address);
	if (r == -EACCES)
		return error__set(err, r, "server.listen: %s: ports below 1024 need CAP_NET_BIND_SERVICE; choose a higher one",
				  address);
	return error__sys(err, r, "server.listen: %s", address);
}

/* "HOST:PORT", "[V6]:PORT", ":PORT" (every address of the machine). */
static int bind_name(struct listener *l, const char *address, struct dcm_error *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	const char *colon = strrchr(address, ':');
	struct addrinfo *list = NULL;
	char host[256];
	int64_t port;
	size_t n;
	int r;

	n = colon ? (size_t)(colon - address) : 0;
	/* getaddrinfo() takes 99999 for 34463. */
	if (!colon || n >= sizeof(host) || units__parse_int(str__of(colon + 1), "", &port) < 0 ||
	    port < 0 || port > 65535)
		return error__set(err, -EINVAL, "server.listen: \"%s\" is no address; write HOST:PORT, [IPV6]:PORT or unix:/PATH",
				  address);
	memcpy(host, address, n);
	host[n] = '\0';
	if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	}
	r = getaddrinfo(host[0] ? host : NULL, colon + 1, &hints, &list);
	if (r != 0)
		return error__set(err, -EINVAL, "server.listen: %s: %s", address, gai_strerror(r));
	r = 0;
	for (struct addrinfo *ai = list; ai && r == 0; ai = ai->ai_next) {
		if (l->n_sockets == MAX_ADDRESSES)
			r = error__set(err, -E2BIG, "server.listen: more than %d addresses",
				       MAX_ADDRESSES);
		else
			r = bind_tcp(l, address, ai, err);
	}
	freeaddrinfo(list);
	return r;
}

static int bind_all(struct listener *l, struct dcm_error *err)
{
	for (uint32_t i = 0; i < l->o.n_addresses; i++) {
		const char *a = l->o.addresses[i];
		int r;

		if (l->n_sockets == MAX_ADDRESSES)
			return error__set(err, -E2BIG, "server.listen: more than %d addresses",
					  MAX_ADDRESSES);
		r = strncmp(a, "unix:", 5) == 0 ? bind_unix(l, a, a + 5, err) : bind_name(l, a, err);
		if (r < 0)
			return r;
	}
	return 0;
}

uint16_t listener__port(const struct listener *l, uint32_t i)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof(ss);

	if (i >= l->n_sockets || getsockname(l->sockets[i].fd, (struct sockaddr *)&ss, &n) < 0)
		return 0;
	if (ss.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&ss)->sin_port);
	if (ss.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&ss)->sin6_port);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Connections (event thread; the list is shared with the tick)
 */

static void enter(struct listener *l, struct conn *c, enum phase phase, int64_t timeout_ns,
		  struct exchange *x)
{
	pthread_mutex_lock(&l->lock);
	c->phase = phase;
	c->deadline_ns = now_ns() + timeout_ns;
	c->x = x;
	if (phase == PHASE_HEAD && l->stopping)
		pthread_cond_broadcast(&l->idle);
	pthread_mutex_unlock(&l->lock);
}

static void read_peer(struct conn *c)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);
	int domain = 0;
	socklen_t domain_n = sizeof(domain);

	getsockopt(c->fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_n);
	c->peer.is_unix = domain == AF_UNIX;
	c->peer.uid = UINT32_MAX;
	if (c->peer.is_unix && getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0)
		c->peer.uid = cred.uid;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct listener *l = ctx;
	struct conn *c = *socket_ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		c = NEW(struct conn);
		*socket_ctx = c;
		if (!c)
			return; /* begin() refuses what comes on it */
		c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		read_peer(c);
		c->deadline_ns = now_ns() + l->o.header_timeout_ns;
		pthread_mutex_lock(&l->lock);
		c->next = l->conns;
		if (c->next)
			c->next->prev = c;
		l->conns = c;
		pthread_mutex_unlock(&l->lock);
		stats__gauge_add(l->n_conns, 1);
	} else if (c) {
		pthread_mutex_lock(&l->lock);
		if (c->prev)
			c->prev->next = c->next;
		else
			l->conns = c->next;
		if (c->next)
			c->next->prev = c->prev;
		pthread_mutex_unlock(&l->lock);
		free(c);
		stats__gauge_add(l->n_conns, -1);
	}
}

static struct conn *conn_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* ------------------------------------------------------------------------------------------------
 * Workers
 */

static void run_handler(struct listener *l, struct exchange *x)
{
	x->request.body = buf__view(&x->body);
	http_routes__dispatch(l->routes, &x->request, &x->response);
	stats__counter_add(l->n_requests, 1);
}

static void work(struct listener *l, struct lane *lane)
{
	pthread_mutex_lock(&l->lock);
	for (;;) {
		struct exchange *x;

		while (!lane->first && !l->stopping)
			pthread_cond_wait(&l->work, &l->lock);
		x = lane->first;
		if (!x)
			break;
		lane->first = x->next;
		lane->n_waiting--;
		l->n_working++;
		pthread_mutex_unlock(&l->lock);
		run_handler(l, x);
		pthread_mutex_lock(&l->lock);
		x->answered = true;
		conn_of(x->connection)->x = NULL;
		l->n_working--;
		pthread_cond_broadcast(&l->idle);
		MHD_resume_connection(x->connection);
	}
	pthread_mutex_unlock(&l->lock);
}

static void *work_on_questions(void *ctx)
{
	struct listener *l = ctx;

	work(l, &l->lanes[LANE_QUESTIONS]);
	return NULL;
}

static void *work_on_control(void *ctx)
{
	struct listener *l = ctx;

	work(l, &l->lanes[LANE_CONTROL]);
	return NULL;
}

/* Suspends the connection and queues the request; false when too many wait. */
static bool give_to_worker(struct listener *l, struct lane *lane, struct exchange *x)
{
	struct conn *c = conn_of(x->connection);
	bool room;

	pthread_mutex_lock(&l->lock);
	room = lane->n_waiting < l->o.max_waiting && !l->stopping;
	if (room) {
		MHD_suspend_connection(x->connection);
		c->phase = PHASE_WORK;
		c->x = x;
		c->n_looks = 0;
		c->half_closed = false;
		x->next = NULL;
		if (lane->first)
			lane->last->next = x;
		else
			lane->first = x;
		lane->last = x;
		lane->n_waiting++;
		/* Workers of both lanes wait for it. */
		pthread_cond_broadcast(&l->work);
	}
	pthread_mutex_unlock(&l->lock);
	return room;
}

/* ------------------------------------------------------------------------------------------------
 * Requests (event thread)
 */

static void *on_request_line(void *ctx, const char *target, struct MHD_Connection *connection)
{
	struct listener *l = ctx;

	return exchange__new(connection, target, l->o.max_body_bytes);
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

	enter(l, c, PHASE_ANSWER, timeout, NULL);
	if (x->response.status >= 400)
		stats__counter_add(l->n_refused, 1);
	return exchange__send(x);
}

static enum MHD_Result on_head(struct listener *l, struct exchange *x, struct conn *c, const char *method)
{
	enter(l, c, PHASE_BODY, l->o.body_timeout_ns, NULL);
	if (!exchange__read_head(x, method) ||
	    !access__check(l->o.rules, &c->peer, &x->request, &x->response)) {
		/* Answering before the body was read makes libmicrohttpd close the connection. */
		x->answered = true;
		x->close = true;
		return answer(l, x, c);
	}
	return MHD_YES;
}

static enum MHD_Result on_complete(struct listener *l, struct exchange *x, struct conn *c)
{
	const struct http_route *route = http_routes__find(l->routes, x->request.method, x->request.path);
	struct lane *lane = &l->lanes[route && route->control ? LANE_CONTROL : LANE_QUESTIONS];

	x->budget.deadline_mono_ns = now_ns() + l->o.request_timeout_ns;
	x->budget.max_bytes = l->o.request_max_bytes;
	x->response.body.limit = l->o.request_max_bytes;
	if (x->body.error == -EFBIG) {
		http_response__problem(&x->response, 413, "the body is larger than %zu bytes",
				       l->o.max_body_bytes);
	} else if (x->body.error) {
		http_response__problem(&x->response, 503, "out of memory for the body; try again later");
	} else if (!route || route->quick) {
		run_handler(l, x);
	} else if (give_to_worker(l, lane, x)) {
		return MHD_YES;
	} else {
		http_response__header(&x->response, "Retry-After", "1");
		if (l->stopping)
			http_response__problem(&x->response, 503,
					       "decima is stopping; ask it again when it is back");
		else
			http_response__problem(&x->response, 503,
					       "%u questions wait already; try again in a second",
					       l->o.max_waiting);
	}
	x->answered = true;
	return answer(l, x, c);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_n, void **request_ctx)
{
	struct listener *l = ctx;
	struct exchange *x = *request_ctx;
	struct conn *c = conn_of(connection);

	(void)url;
	(void)version;
	if (!x || !c)
		return MHD_NO;
	if (!x->checked)
		return on_head(l, x, c, method);
	if (*upload_n > 0) {
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
	struct conn *c = conn_of(connection);

	(void)why;
	exchange__free(*request_ctx);
	*request_ctx = NULL;
	if (c)
		enter(l, c, PHASE_HEAD, l->o.header_timeout_ns + 60 * SECOND, NULL);
}

/* ------------------------------------------------------------------------------------------------
 * Accepting, and the tick
 */

static void accept_some(struct listener *l, const struct socket_at *s)
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
		/*
		 * It owns the descriptor from here on, also when it refuses because there are too
		 * many.
		 */
		if (MHD_add_connection(l->mhd, fd, (struct sockaddr *)&ss, n) != MHD_YES)
			stats__counter_add(l->n_refused, 1);
	}
}

/*
 * TCP does not tell a client that has gone from one that only sends no more. Who half-closes does so
 * with the request, and reads the answer; who gives up does so later.
 */
static bool client_has_gone(struct conn *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	c->n_looks++;
	if (poll(&p, 1, 0) <= 0)
		return false;
	if (p.revents & (POLLHUP | POLLERR))
		return true;
	c->half_closed |= c->n_looks <= LOOKS_FOR_HALF_CLOSE;
	return !c->half_closed;
}

static void tick(struct listener *l)
{
	int64_t now = now_ns();

	pthread_mutex_lock(&l->lock);
	for (struct conn *c = l->conns; c; c = c->next) {
		if (c->phase == PHASE_WORK) {
			if (c->x && client_has_gone(c))
				atomic_store(&c->x->budget.cancelled, 1);
		} else if (now > c->deadline_ns) {
			shutdown(c->fd, SHUT_RDWR);
			c->deadline_ns = INT64_MAX;
			stats__counter_add(l->n_timeouts, 1);
		}
	}
	pthread_mutex_unlock(&l->lock);
}

static void *accept_all(void *ctx)
{
	struct listener *l = ctx;
	struct pollfd p[MAX_ADDRESSES + 1];
	int64_t next_tick = now_ns(), last_accept = next_tick;

	for (uint32_t i = 0; i < l->n_sockets; i++)
		p[i] = (struct pollfd){ .fd = l->sockets[i].fd, .events = POLLIN };
	p[l->n_sockets] = (struct pollfd){ .fd = l->wake_fd, .events = POLLIN };
	while (!l->stopping) {
		bool idle;

		pthread_mutex_lock(&l->lock);
		/* One that was just accepted joins the list a moment later, on the event thread. */
		idle = !l->conns && now_ns() - last_accept > 2 * SECOND;
		pthread_mutex_unlock(&l->lock);
		/* Without connections there is nothing to time out: sleep until one comes. */
		if (poll(p, l->n_sockets + 1, idle ? -1 : TICK_MS) > 0)
			for (uint32_t i = 0; i < l->n_sockets; i++)
				if (p[i].revents) {
					accept_some(l, &l->sockets[i]);
					last_accept = now_ns();
				}
		if (now_ns() >= next_tick) {
			tick(l);
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
	struct listener *l = ctx;
	char line[512];

	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log__line(l->log, DCM_LOG_DEBUG, "server", "%s", line);
}

static void set_defaults(struct listener_options *o)
{
	o->max_connections = o->max_connections ? o->max_connections : 512;
	o->n_workers = o->n_workers ? o->n_workers : 4;
	o->max_waiting = o->max_waiting ? o->max_waiting : 64;
	o->max_body_bytes = o->max_body_bytes ? o->max_body_bytes : 64 * MIB;
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
	pthread_condattr_t monotonic;
	int r;

	if (!l)
		return error__nomem(err);
	l->o = *o;
	set_defaults(&l->o);
	l->routes = routes;
	l->log = log;
	l->stats = stats;
	l->wake_fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->idle, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (stats)
		count(l, stats);
	r = bind_all(l, err);
	if (r < 0) {
		listener__free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static int start_threads(struct listener *l, struct dcm_error *err)
{
	int r;

	l->workers = mem__zalloc((size_t)l->o.n_workers + 1, sizeof(*l->workers));
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!l->workers || l->wake_fd < 0)
		return error__nomem(err);
	for (uint32_t i = 0; i <= l->o.n_workers; i++) {
		r = -pthread_create(&l->workers[i], NULL, i ? work_on_questions : work_on_control, l);
		if (r < 0)
			return error__sys(err, r, "server: cannot start a thread");
		l->n_running_workers++;
	}
	r = -pthread_create(&l->accepter, NULL, accept_all, l);
	if (r < 0)
		return error__sys(err, r, "server: cannot start a thread");
	l->accepter_runs = true;
	return 0;
}

int listener__start(struct listener *l, struct dcm_error *err)
{
	/* The logger comes first: it must be in place before the other options are looked at. */
	l->mhd = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET |
					  MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
				  0, NULL, NULL, on_request, l, MHD_OPTION_EXTERNAL_LOGGER, log_from_mhd,
				  l, MHD_OPTION_CONNECTION_LIMIT, (unsigned)l->o.max_connections,
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)65536,
				  MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
				  on_connection, l, MHD_OPTION_NOTIFY_COMPLETED, on_done, l,
				  MHD_OPTION_URI_LOG_CALLBACK, on_request_line, l,
				  MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
	if (!l->mhd)
		return error__set(
			err, -EIO, "server: libmicrohttpd does not start; are descriptors or threads used up?");
	return start_threads(l, err);
}

/* Waits until no request is with a worker; at the deadline their budgets are cancelled. */
static void wait_for_workers(struct listener *l, int64_t deadline_mono_ns)
{
	pthread_mutex_lock(&l->lock);
	while (l->lanes[LANE_QUESTIONS].n_waiting + l->lanes[LANE_CONTROL].n_waiting + l->n_working > 0) {
		struct timespec ts;
		int64_t until = deadline_mono_ns;

		if (until <= now_ns()) {
			for (struct conn *c = l->conns; c; c = c->next)
				if (c->x)
					atomic_store(&c->x->budget.cancelled, 1);
			until = now_ns() + SECOND / 10;
		}
		ts = (struct timespec){ until / SECOND, until % SECOND };
		pthread_cond_timedwait(&l->idle, &l->lock, &ts);
	}
	pthread_mutex_unlock(&l->lock);
}

static bool answers_leave(const struct listener *l)
{
	for (const struct conn *c = l->conns; c; c = c->next)
		if (c->phase == PHASE_WORK || c->phase == PHASE_ANSWER)
			return true;
	return false;
}

/* Answers that are ready get a second to leave; a reader that is slower than that is cut off. */
static void wait_for_answers(struct listener *l)
{
	int64_t until = now_ns() + SECOND;
	struct timespec ts = { until / SECOND, until % SECOND };

	pthread_mutex_lock(&l->lock);
	while (answers_leave(l) && pthread_cond_timedwait(&l->idle, &l->lock, &ts) == 0)
		;
	pthread_mutex_unlock(&l->lock);
}

void listener__stop(struct listener *l, int64_t deadline_mono_ns)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	if (l->wake_fd >= 0)
		eventfd_write(l->wake_fd, 1);
	if (l->accepter_runs)
		pthread_join(l->accepter, NULL);
	l->accepter_runs = false;
	if (l->n_running_workers)
		wait_for_workers(l, deadline_mono_ns);
	for (uint32_t i = 0; i < l->n_running_workers; i++)
		pthread_join(l->workers[i], NULL);
	l->n_running_workers = 0;
	wait_for_answers(l);
	if (l->mhd)
		MHD_stop_daemon(l->mhd);
	l->mhd = NULL;
	for (uint32_t i = 0; i < l->n_sockets; i++) {
		fd__close(l->sockets[i].fd);
		if (l->sockets[i].path[0])
			unlink(l->sockets[i].path);
	}
	l->n_sockets = 0;
}

void listener__free(struct listener *l)
{
	if (!l)
		return;
	listener__stop(l, 0);
	if (l->stats) {
		stats__unregister(l->stats, l->n_requests);
		stats__unregister(l->stats, l->n_refused);
		stats__unregister(l->stats, l->n_timeouts);
		stats__unregister(l->stats, l->n_conns);
	}
	fd__close(l->wake_fd);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->work);
	pthread_cond_destroy(&l->idle);
	free(l->workers);
	free(l);
}
