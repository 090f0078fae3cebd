/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/listener.h - the server's sockets: accepts, bounds, and hands requests to the routes
 *
 * One thread accepts, takes TLS off, and speaks HTTP/2 (callers.h); another, libmicrohttpd's, HTTP/1.1
 * (http1.h); a few workers run the handlers (requests.h). There are absolute deadlines for handshakes,
 * headers, bodies and answers; a client that goes away cancels its request's budget.
 */
#ifndef DECIMA_NET_LISTENER_H
#define DECIMA_NET_LISTENER_H

#include "core/base/log.h"
#include "core/net/access.h"
#include "core/net/http.h"
#include "core/net/tls_server.h"
#include "core/stats/stats.h"

struct listener;

struct listener_options {
	const char *const *addresses; /* [n_addresses]: "127.0.0.1:7070", "[::1]:7070", ":7070", "unix:/PATH" */
	uint32_t n_addresses;
	const struct tls_server_options *tls; /* of all addresses but unix sockets; outlives it. NULL: none */
	const char *base_path; /* "/x/y": paths below it are also answered without it; NULL, "": none */
	struct access_rules *rules; /* taken from one who uses them, also when there will be no listener; see access.h */
	uint32_t max_connections;	 /* 16 more over unix sockets. 0: 512 */
	uint32_t max_client_connections; /* of one address; 0: three quarters of them */
	uint32_t n_workers;   /* for questions; `control` routes and files have their own. 0: 4 */
	uint32_t max_waiting; /* requests that wait for a worker; beyond it 503. 0: 64 */
	uint64_t bodies_max_bytes; /* of all requests' bodies in memory together; beyond it 503. 0: 64 MiB */
	const char *body_dir; /* where bodies go that are files; outlives it. NULL: none is taken */
	int64_t header_timeout_ns; /* 0: 10 s, from the connection's or last answer's end (idle: 60 s more) */
	int64_t body_timeout_ns; /* for each MiB of a body, and each quarter of what its route takes. 0: 30 s */
	int64_t answer_timeout_ns; /* until a client has taken the answer; and as long again for each MiB. 0: 60 s */
	int64_t request_timeout_ns; /* deadline of a handler's budget. 0: 60 s */
	uint64_t request_max_bytes; /* memory of a handler's budget. 0: 1 GiB */
};

/*
 * Binds the addresses (nothing is accepted yet). Errors name the address and what holds it.
 * `routes` must outlive the listener and not change.
 */
int listener__new(const struct listener_options *o, const struct http_routes *routes,
		  const struct log *log, struct stats *stats, struct listener **ret,
		  struct dcm_error *err);
int listener__start(struct listener *l, struct dcm_error *err);

/* Other rules for requests that come from now on; takes them. Any thread. */
void listener__set_rules(struct listener *l, struct access_rules *rules);

/*
 * Stops accepting, lets running requests end until the deadline, cancels what still runs, and
 * closes. -ETIMEDOUT: a handler has not come back a second after that. The log names its route,
 * nobody is served any more, and whatever handlers look at must stay where it is; another call
 * tries again, without logging.
 */
int listener__stop(struct listener *l, int64_t deadline_mono_ns);
/*
 * Stops it first. With a handler that does not come back all its memory stays until the process
 * ends.
 */
void listener__free(struct listener *l);

/* Port of the i-th address as bound (for ":0" in tests); 0 for a unix socket. */
uint16_t listener__port(const struct listener *l, uint32_t i);

#endif
