/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/requests.h - what happens to a request between its head and its answer, whatever carries it
 *
 * A body is read when its head has passed: there is such a route, the caller has the role, and the
 * length is within the route's max_body. Else the answer is there at once. Handlers run on the
 * threads of lanes (lanes.h), so that a slow question delays no health check, and quick ones at once.
 *
 * Threads: the carriers' (http1.h, http2.h), each with exchanges of its own; one calls for an
 * exchange at a time.
 */
#ifndef DECIMA_NET_REQUESTS_H
#define DECIMA_NET_REQUESTS_H

#include <pthread.h>
#include <semaphore.h>

#include "core/base/log.h"
#include "core/net/access.h"
#include "core/net/exchange.h"
#include "core/net/lanes.h"
#include "core/net/listener.h"
#include "core/stats/stats.h"

struct requests {
	const struct listener_options *o;
	const struct http_routes *routes;
	const struct log *log;
	struct lanes *lanes;
	struct stats_metric *n_handled, *n_refused;
	_Atomic bool stopping;

	sem_t turns; /* of pushes that are unpacked and decoded at once */

	pthread_mutex_t lock;	    /* guards: */
	struct access_rules *rules; /* of requests that come; each keeps those it came by */
	uint64_t reserved;	    /* by all requests together, for their bodies in memory */
	uint32_t n_files;	    /* bodies that have a file, */
	uint64_t files_bytes;	    /* and what is set aside on the disk for them */
	uint32_t n_talks;	    /* calls that are streams, */
	uint32_t n_watches;	    /* and those that only watch */
};

/* What is pointed to outlives it. `stats` may be NULL. */
void requests__init(struct requests *r, const struct listener_options *o,
		    const struct http_routes *routes, const struct log *log, struct stats *stats);
int requests__start(struct requests *r, struct dcm_error *err);

/* Other rules for requests that come from now on; takes them from one who uses them. Any thread. */
void requests__set_rules(struct requests *r, struct access_rules *rules);

/*
 * The headers are there. True: a body may come, and requests__complete() follows. False: the
 * response is the answer, and whatever still comes of a body is of no use.
 */
bool requests__head(struct requests *r, struct exchange *x, const struct access_peer *peer,
		    struct dcm_str method);

/*
 * A call that is a stream has a talk (talk.h) from then on, whose pieces go there, and what follows is nothing to it but
 * requests__end().
 *
 * A piece of the body. False: it has to be offered again, when the lane that writes the one before
 * into its file has handed the exchange back. One that cannot be taken is thrown away, and
 * requests__complete() says so.
 */
bool requests__data(struct requests *r, struct exchange *x, const char *data, size_t n);
/* Nothing more of the body needs to be read: the answer is known. */
bool requests__is_hopeless(const struct exchange *x);

/* The body is there. True: a lane has the exchange, and hands it back answered. False: it is answered. */
bool requests__complete(struct requests *r, struct exchange *x);

/* The response has left, or nobody waits for it; frees. No lane has it. */
void requests__end(struct requests *r, struct exchange *x);

/* As lanes__stop(): new requests are told that decima stops. */
int requests__stop(struct requests *r, int64_t deadline_mono_ns);
/* No carrier has an exchange any more. */
void requests__fini(struct requests *r, struct stats *stats);

#endif
