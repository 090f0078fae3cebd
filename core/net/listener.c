/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/listener.c - sockets, the thread that accepts, and how it all ends
 *
 * Threads: the loop's (accepting, TLS, HTTP/2, and a tick for deadlines and departed clients, of 200
 * ms while there is a request and of 2 s while there are connections), libmicrohttpd's, and those of
 * the lanes.
 */
#include "core/net/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/net/callers.h"
#include "core/net/shares.h"
#include "core/net/sockets.h"

#define SECOND INT64_C(1000000000)
#define MIB    ((size_t)1 << 20)

/* A machine that is no more says nothing: one that only watches is asked whether it is there. */
enum { KEEP_IDLE_S = 60, KEEP_STEP_S = 15, KEEP_STEPS = 4 };
enum { TICK_MS = 200, WAITING_TICK_MS = 2000, ACCEPTS_A_TURN = 64, UNIX_CONNECTIONS = 16 };

/* What the loop's thread is asked to do, and says that it has done. */
enum phase { SERVES, SHALL_CLOSE, HAS_CLOSED, SHALL_END };

struct socket_source {
	struct loop_source source;
	struct listener *l;
	const struct sockets_one *socket;
};

struct listener {
	struct listener_options o;
	struct requests requests;
	struct sockets sockets;
	struct socket_source sources[SOCKETS_MAX];
	struct loop loop;
	struct http1 *http1;
	struct tls_server *tls;
	struct callers callers;
	struct shares shares;
	int64_t accepted_ns; /* the last one */
	int64_t told_ns;     /* that there are too many connections */

	pthread_t thread;
	bool thread_runs, has_callers;
	pthread_mutex_t lock; /* guards: */
	pthread_cond_t changed;
	enum phase phase;
	int64_t end_ns; /* of SHALL_END: answers that have not left by then are cut off */

	struct stats *stats;
	struct stats_metric *n_conns, *n_timeouts;
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
 * Accepting
 */

/* Strangers who hold all of the others leave some for the unix sockets. */
static bool is_full(const struct listener *l, const struct sockets_one *s)
{
	return callers__n(&l->callers) >= l->o.max_connections + (s->path[0] ? UNIX_CONNECTIONS : 0);
}

/* With its place in its share, which is NULL when it has none left. */
static struct access_peer peer_of(struct listener *l, const struct sockets_one *s, int fd,
				  const struct sockaddr_storage *from)
{
	struct access_peer peer = { .is_unix = s->path[0], .is_tls = l->tls && !s->path[0] };
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (peer.is_unix)
		peer.uid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 ? cred.uid
										   : UINT32_MAX;
	else
		address__of((const struct sockaddr *)from, &peer.address);
	peer.share = shares__enter(&l->shares, peer.is_unix ? NULL : &peer.address, peer.uid,
				   peer.is_unix ? UINT64_MAX : l->o.max_client_connections);
	return peer;
}

/* Closes it. Is it to be told? Not of each: a line a minute. */
static bool refuse(struct listener *l, int fd)
{
	fd__close(fd);
	stats__counter_add(l->requests.n_refused, 1);
	if (l->told_ns && now_ns() - l->told_ns < 60 * SECOND)
		return false;
	l->told_ns = now_ns();
	return true;
}

static void refuse_client(struct listener *l, const struct sockaddr_storage *from, int fd)
{
	char address[ADDRESS_TEXT];
	struct address from_there;

	if (!refuse(l, fd) || !address__of((const struct sockaddr *)from, &from_there))
		return;
	address__format(&from_there, address);
	log__line(l->requests.log, DCM_LOG_WARNING,
		  "server", "%s has %u connections open, or memory ran out, and further ones are closed: server.max_client_connections",
		  address, l->o.max_client_connections);
}

static void take(struct listener *l, const struct sockets_one *s, int fd,
		 const struct sockaddr_storage *from)
{
	struct access_peer peer = peer_of(l, s, fd, from);
	int on = 1, idle_s = KEEP_IDLE_S, step_s = KEEP_STEP_S, steps = KEEP_STEPS;

	if (!peer.share) {
		refuse_client(l, from, fd);
		return;
	}
	if (!s->path[0]) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &step_s, sizeof(step_s));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &steps, sizeof(steps));
	}
	callers__take(&l->callers, fd, &peer, peer.is_tls);
}

static void accept_some(struct loop_source *source, uint32_t events)
{
	struct socket_source *from = (struct socket_source *)source; /* its first member */
	struct listener *l = from->l;

	(void)events;
	l->accepted_ns = now_ns();
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
		socklen_t n = sizeof(address);
		int fd = accept4(source->fd, (struct sockaddr *)&address, &n,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			/* Out of descriptors: it stays in the backlog, until a tick looks again. */
			if (errno == EMFILE || errno == ENFILE)
				loop__await(&l->loop, source, 0);
			return;
		}
		if (is_full(l, from->socket)) {
			if (refuse(l, fd))
				log__line(l->requests.log, DCM_LOG_WARNING,
					  "server", "%u connections are open, and further ones are closed: server.max_connections",
					  l->o.max_connections);
			continue;
		}
		take(l, from->socket, fd, &address);
	}
}

/* ------------------------------------------------------------------------------------------------
 * The loop's thread
 */

/*
 * How long nothing needs to be looked after, when nothing happens. Without connections there is nothing to
 * time out, and -1: sleep until one comes. One that was just handed over joins http1's a moment later. It
 * looks at all connections, and so is asked at ticks alone.
 */
static int quiet_ms(const struct listener *l)
{
	enum conns_load load = callers__load(&l->callers);

	if (load == CONNS_BUSY || now_ns() - l->accepted_ns <= 2 * SECOND)
		return TICK_MS;
	return load == CONNS_NONE ? -1 : WAITING_TICK_MS;
}

static void tick(struct listener *l, enum phase phase)
{
	callers__tick(&l->callers, now_ns());
	for (uint32_t i = 0; phase == SERVES && i < l->sockets.n; i++)
		loop__await(&l->loop, &l->sources[i].source, EPOLLIN);
}

static enum phase phase_of(struct listener *l, int64_t *ret_end_ns)
{
	enum phase phase;

	pthread_mutex_lock(&l->lock);
	phase = l->phase;
	*ret_end_ns = l->end_ns;
	pthread_mutex_unlock(&l->lock);
	return phase;
}

static void set_phase(struct listener *l, enum phase phase, int64_t end_ns)
{
	pthread_mutex_lock(&l->lock);
	l->phase = phase;
	l->end_ns = end_ns;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void close_sockets(struct listener *l)
{
	for (uint32_t i = 0; i < l->sockets.n; i++)
		loop__remove(&l->loop, &l->sources[i].source);
	sockets__close(&l->sockets);
	callers__say_goodbye(&l->callers);
	set_phase(l, HAS_CLOSED, 0);
}

static void *serve(void *ctx)
{
	struct listener *l = ctx;
	int64_t next_tick = now_ns(), end_ns = 0;
	int wait_ms = TICK_MS;
	enum phase phase;

	while ((phase = phase_of(l, &end_ns)) != SHALL_END ||
	       (callers__are_busy(&l->callers) && now_ns() < end_ns)) {
		if (phase == SHALL_CLOSE)
			close_sockets(l);
		/* Here, after wait_ms was found: when it is for ever, what libmicrohttpd closed meanwhile counts. */
		stats__gauge_set(l->n_conns, callers__n(&l->callers));
		loop__turn(&l->loop, wait_ms);
		callers__after_turn(&l->callers);
		wait_ms = TICK_MS;
		if (now_ns() < next_tick)
			continue;
		tick(l, phase);
		wait_ms = quiet_ms(l);
		next_tick = now_ns() + TICK_MS * INT64_C(1000000);
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

static void set_defaults(struct listener_options *o)
{
	o->base_path = o->base_path ? o->base_path : "";
	o->max_connections = o->max_connections ? o->max_connections : 512;
	if (!o->max_client_connections)
		o->max_client_connections = (uint32_t)share__most(o->max_connections);
	o->n_workers = o->n_workers ? o->n_workers : 4;
	o->max_waiting = o->max_waiting ? o->max_waiting : 64;
	o->bodies_max_bytes = o->bodies_max_bytes ? o->bodies_max_bytes : 64 * MIB;
	o->header_timeout_ns = o->header_timeout_ns ? o->header_timeout_ns : 10 * SECOND;
	o->body_timeout_ns = o->body_timeout_ns ? o->body_timeout_ns : 30 * SECOND;
	o->answer_timeout_ns = o->answer_timeout_ns ? o->answer_timeout_ns : 60 * SECOND;
	o->request_timeout_ns = o->request_timeout_ns ? o->request_timeout_ns : 60 * SECOND;
	o->request_max_bytes = o->request_max_bytes ? o->request_max_bytes : 1024 * MIB;
}

static void count(struct listener *l, struct stats *stats)
{
	l->n_timeouts = stats__counter(
		stats, "decima_http_timeouts_total",
		"Connections and requests given up because they were too slow.", STATS_NO_LABELS);
	l->n_conns = stats__gauge(stats, "decima_http_connections", "Open connections.", STATS_NO_LABELS);
}

int listener__new(const struct listener_options *o, const struct http_routes *routes,
		  const struct log *log, struct stats *stats, struct listener **ret,
		  struct dcm_error *err)
{
	struct listener *l = NEW(struct listener);
	int r;

	if (!l) {
		if (o->rules->free)
			o->rules->free(o->rules);
		return error__nomem(err);
	}
	l->o = *o;
	set_defaults(&l->o);
	l->stats = stats;
	l->loop = (struct loop){ .epoll_fd = -1, .wake_fd = -1 };
	pthread_mutex_init(&l->lock, NULL);
	cond__init(&l->changed);
	requests__init(&l->requests, &l->o, routes, log, stats);
	if (stats)
		count(l, stats);
	r = shares__init(&l->shares, l->o.max_connections);
	if (r < 0)
		error__nomem(err);
	else
		r = o->tls ? tls_server__new(o->tls, log, &l->tls, err) : 0;
	if (r == 0)
		r = sockets__bind(&l->sockets, o->addresses, o->n_addresses, err);
	if (r < 0) {
		listener__free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void listener__set_rules(struct listener *l, struct access_rules *rules)
{
	requests__set_rules(&l->requests, rules);
}

static int watch_sockets(struct listener *l, struct dcm_error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->sockets.n; i++) {
		l->sources[i] = (struct socket_source){
			.source = { .fd = l->sockets.v[i].fd, .events = EPOLLIN, .ready = accept_some },
			.l = l,
			.socket = &l->sockets.v[i],
		};
		r = loop__add(&l->loop, &l->sources[i].source);
	}
	return r < 0 ? error__sys(err, r, "server: no descriptor for its loop") : 0;
}

int listener__start(struct listener *l, struct dcm_error *err)
{
	int r = loop__init(&l->loop, err);

	if (r == 0)
		r = http1__new(&l->requests, &l->http1, err);
	if (r == 0)
		r = requests__start(&l->requests, err);
	if (r < 0)
		return r;
	callers__init(&l->callers, &l->loop, &l->requests, l->http1, l->tls, l->n_timeouts);
	l->has_callers = true;
	r = watch_sockets(l, err);
	if (r < 0)
		return r;
	r = -pthread_create(&l->thread, NULL, serve, l);
	if (r < 0)
		return error__sys(err, r, "server: cannot start a thread");
	l->thread_runs = true;
	pthread_setname_np(l->thread, "listener");
	return 0;
}

/* Nobody is accepted any more when it returns, and who has asked nothing is gone. */
static void close_doors(struct listener *l)
{
	set_phase(l, SHALL_CLOSE, 0);
	loop__wake(&l->loop);
	pthread_mutex_lock(&l->lock);
	while (l->phase != HAS_CLOSED)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

static void end_thread(struct listener *l, int64_t end_ns)
{
	if (!l->thread_runs)
		return;
	set_phase(l, SHALL_END, end_ns);
	loop__wake(&l->loop);
	pthread_join(l->thread, NULL);
	l->thread_runs = false;
}

int listener__stop(struct listener *l, int64_t deadline_mono_ns)
{
	int64_t end;

	if (!l)
		return 0;
	if (l->thread_runs && l->phase == SERVES)
		close_doors(l);
	if (requests__stop(&l->requests, deadline_mono_ns) < 0) {
		end_thread(l, 0);
		callers__shut(&l->callers);
		http1__shut(l->http1);
		return -ETIMEDOUT;
	}
	/*
	 * Answers that are ready get a second to leave; a reader that is slower than that is cut
	 * off. Those of HTTP/1 may have to pass the loop's thread.
	 */
	end = now_ns() + SECOND;
	if (l->http1)
		http1__stop(l->http1, end);
	end_thread(l, end);
	return 0;
}

void listener__free(struct listener *l)
{
	if (!l || listener__stop(l, 0) < 0)
		return;
	if (l->has_callers)
		callers__fini(&l->callers);
	http1__free(l->http1);
	requests__fini(&l->requests, l->stats);
	shares__fini(&l->shares);
	sockets__close(&l->sockets);
	tls_server__free(l->tls);
	loop__fini(&l->loop);
	if (l->stats) {
		stats__unregister(l->stats, l->n_timeouts);
		stats__unregister(l->stats, l->n_conns);
	}
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
}
