/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/conns.h - the open connections of HTTP/1: what each is at, its deadline, and whether its
 * client is still there
 *
 * A client that has closed its connection cancels its question; one that has only shut down its
 * side of it reads the answer. TCP tells both with the same segment, and sends a reset to whoever
 * writes to the first. So who has half-closed in the middle of a question is sent "100 Continue",
 * which a client of HTTP/1.1 reads and forgets (RFC 9110 section 15.2.1), and is gone when a reset
 * comes back. Clients of HTTP/1.0 know no such answers (section 15.2): their questions run to
 * the end. A unix socket tells the two apart by itself.
 *
 * Threads: who hands connections over adds; the event thread begins, enters and removes; a worker
 * leaves; anyone ticks.
 */
#ifndef DECIMA_NET_CONNS_H
#define DECIMA_NET_CONNS_H

#include <pthread.h>

#include "core/net/access.h"
#include "core/net/exchange.h"

enum conn_phase { CONN_HANDED, CONN_HEAD, CONN_BODY, CONN_WORK, CONN_ANSWER };

struct conns;

struct conn {
	struct conns *all;
	struct conn *prev, *next;
	int fd; /* libmicrohttpd's */
	struct access_peer peer;
	enum conn_phase phase;
	int64_t deadline_ns;
	struct exchange *x; /* of CONN_WORK, until its handler is done */
	int64_t probe_at_ns, probe_wait_ns;
};

struct conns {
	pthread_mutex_t lock; /* guards what follows, and every conn */
	pthread_cond_t quiet;
	struct conn *first;
	uint32_t n;
};

void conns__init(struct conns *s);
void conns__fini(struct conns *s); /* when all were removed, but for some in CONN_HANDED */

/*
 * One that is being handed to libmicrohttpd, where it begins soon, or not at all when memory runs
 * out there: then a tick removes it after this deadline. NULL when memory ran out.
 */
struct conn *conns__add(struct conns *s, int fd, const struct access_peer *peer, int64_t deadline_ns);
/* It has begun: the last that was added with this descriptor. NULL: a tick has given it up. */
struct conn *conns__begin(struct conns *s, int fd, int64_t deadline_ns);
void conns__remove(struct conn *c);
uint32_t conns__n(struct conns *s);

/* `x` is given with CONN_WORK, whose deadline is the exchange's own affair. */
void conns__enter(struct conn *c, enum conn_phase phase, int64_t deadline_ns, struct exchange *x);
/* The handler is done with its exchange. */
void conns__leave_work(struct conn *c);

/* What there is to look after: nothing, clients that may ask something, or what they have asked. */
enum conns_load { CONNS_NONE, CONNS_WAITING, CONNS_BUSY };
enum conns_load conns__load(struct conns *s);
/*
 * Cancels the questions of clients that have gone, and shuts the connections that are late, whose
 * number it returns.
 */
uint32_t conns__tick(struct conns *s, int64_t now_ns);
/* Waits until every answer has left. */
void conns__flush(struct conns *s, int64_t until_mono_ns);
/* Shuts all: nothing more comes or goes on them. */
void conns__shut(struct conns *s);

#endif
