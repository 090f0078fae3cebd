/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/destination_private.h - what the parts of a destination share
 *
 * destination.c holds life and routing, destination_metrics.c what is counted. Private to these.
 */
#ifndef DECIMA_PIPELINE_DESTINATION_PRIVATE_H
#define DECIMA_PIPELINE_DESTINATION_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/pipeline/destination.h"

enum { N_METRICS = 12 };
enum { TROUBLE_SPOOL, TROUBLE_OWN, N_TROUBLES };

/* Of the queue that its writer pops. */
struct limits {
	enum queue_policy policy;
	bool is_backed;
	uint64_t reserve_bytes, max_bytes;
};

struct destination {
	struct destination_env env;
	char *name;
	bool is_storage;
	pthread_mutex_t mutex; /* of what follows, which the control thread alone changes */
	struct limits limits;
	struct route route;
	struct spooler *spooler; /* NULL: none */
	struct queue *meanwhile; /* where what is routed to it waits while it gets another; NULL: it does not */
	struct queue *queue;   /* a reference; another is the writer's */
	struct writer *writer; /* NULL: the plugin is away */
	bool loses;	       /* and what comes does not wait for it */
	bool is_used_up;       /* the queue was closed with its last writer */
	_Atomic uint64_t n_profiles_filtered, n_rows_undecided;
	struct stats_metric *metrics[N_METRICS]; /* [n_metrics] */
	unsigned n_metrics;

	pthread_mutex_t trouble_mutex; /* guards what follows; before it may be a writer's */
	void (*trouble)(void *ctx, int code, const char *sentence);
	void *trouble_ctx;
	int trouble_code[N_TROUBLES];
	char trouble_text[N_TROUBLES][256];
};

/* Of the queue before its spool, where it has one, and its own: as if they were one. */
struct queue_view destination__counts(const struct destination *d);

/* They look at the queues without the mutex: whoever changes one takes them off first. */
void destination__add_metrics(struct destination *d);
void destination__remove_metrics(struct destination *d);

#endif
