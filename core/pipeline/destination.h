/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/destination.h - a storage or an output, and what waits for it
 *
 *	route -> select, relabel -> [queue] -> writer thread
 *	or, with a spool:        -> [queue] -> spool on disk -> [queue] -> writer thread
 *
 * A destination whose plugin is away (it has failed, or is being restarted) is a destination all the same: what is
 * routed to it waits, or is lost as "not_running".
 *
 * Threads: route from the pipeline's router, the view from any; the rest from one control thread.
 */
#ifndef DECIMA_PIPELINE_DESTINATION_H
#define DECIMA_PIPELINE_DESTINATION_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/queue.h"
#include "core/pipeline/router.h"
#include "core/pipeline/spooler.h"
#include "core/pipeline/writer.h"
#include "core/stats/stats.h"

struct destination;

/* The pipeline's, which outlives it. */
struct destination_env {
	struct queue_pool *pool;
	const struct log *log; /* NULL: silent */
	struct stats *stats;   /* NULL: not counted */
	const struct clock *clock;
	/* For destinations with `named`. May be NULL. */
	int (*resolved)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err);
	void *ctx;
};

struct destination_config {
	const char *name; /* of the instance; copied */
	const struct dcm_storage_ops *storage;
	const struct dcm_output_ops *output; /* exactly one of the two, with `write` */
	void *handle;
	bool is_away;		  /* not there yet: pipeline__connect() brings `handle` */
	bool named;		  /* DCM_CAP_NAMED */
	enum queue_policy policy; /* not QUEUE_REFUSE */
	uint64_t reserve_bytes;	  /* 0: 16 MiB */
	uint64_t max_bytes;	  /* 0: reserve and the shared rest */
	int64_t write_timeout_ns, give_up_ns; /* writer.h */
	/*
	 * With a directory, a spool is before it (spooler.h): policy and bytes are then of the queue before the spool,
	 * what could not be written at the end stays for the next start, and nothing is lost as "not_running".
	 */
	struct spool_place spool;
	uint32_t n_refusals; /* writer.h; with a spool such batches are set aside, too */
	struct route route;  /* router.h: selector and rules; taken (also on failure) */
	/* writer.h: each change between well and not well. May be NULL. */
	void (*trouble)(void *ctx, int code, const char *sentence);
	void *trouble_ctx;
};
int destination__new(const struct destination_env *env, struct destination_config *config,
		     struct destination **ret, struct dcm_error *err);
/*
 * Nothing is routed to it any more: writes what it has until the deadline, loses the rest as "shutdown", or leaves it in
 * the spool. 0, or -ETIMEDOUT: the plugin is stuck in write (see writer__stop). The destination is gone either way.
 */
int destination__end(struct destination *d, int64_t deadline_mono_ns);

/* Its part of a batch. Holds a reference of the ack when it is one that acknowledges. */
void destination__route(struct destination *d, struct dcm_batch *batch, struct ack *ack);
/* Who waits for room in it (QUEUE_BLOCK) waits no more; what comes is lost. */
void destination__unblock(struct destination *d);

/*
 * Takes the plugin away from a destination that stays, as soon as it has come back from the write
 * that is under way: what waits, and what is routed to it from now on, is kept for the next. 0 or
 * -ETIMEDOUT, as destination__end(); the plugin is off either way. Not with QUEUE_BLOCK.
 */
int destination__disconnect(struct destination *d, int64_t deadline_mono_ns);
/*
 * While the plugin is away: keep what is routed to it, as the queue's policy says (from the
 * beginning), or lose it as "not_running", with all that waits already.
 */
void destination__keep(struct destination *d, bool keeps);
/*
 * The plugin of one that is away is there, and gets what has waited. All of `config` counts but the
 * name. On failure nothing has changed but that the route was taken.
 */
int destination__connect(struct destination *d, struct destination_config *config, struct dcm_error *err);
/* Other selector and rules for a destination that stays. Takes the route. */
void destination__set_route(struct destination *d, struct route *route);
/* Until all that was routed before is written: 0 or -ETIMEDOUT. */
int destination__flush(struct destination *d, int64_t deadline_mono_ns);
/* As writer__watch(). */
void destination__watch(struct destination *d);

/* For pages. Texts live for the call. */
struct pipeline_view {
	const char *name;
	const struct queue_view *queue;
	const struct writer_view *writer;   /* NULL: of the intake, and while the plugin is away */
	const struct spooler_view *spooler; /* NULL: it has none. Its queue is counted in `queue` */
	uint64_t n_profiles_filtered;	    /* by selector or rules */
};
typedef void (*pipeline_view_fn)(void *ctx, const struct pipeline_view *view);
void destination__look(struct destination *d, pipeline_view_fn fn, void *ctx);

#endif
