/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/pipeline.h - from emit() to every storage and output
 *
 *	emit -> [intake] -> router thread: relabel + labels, learn
 *	     -> for each destination: select, relabel -> [queue] -> writer thread
 *
 * Destinations come and go while it runs (reload); the others notice nothing. A batch is
 * acknowledged (the emitter's done) when every storage that was there when it was routed has made
 * it durable; without any storage, once it is in the outputs' queues. Nothing here waits for a
 * plugin but that plugin's own writer.
 *
 * A destination whose plugin is away (it has failed, or is being restarted) is a destination all
 * the same: what is routed to it waits in its queue, or is lost as "not_running".
 *
 * Threads: pipeline__emit() and the views from any; the rest from one control thread.
 */
#ifndef DECIMA_PIPELINE_PIPELINE_H
#define DECIMA_PIPELINE_PIPELINE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/queue.h"
#include "core/pipeline/relabel.h"
#include "core/pipeline/router.h"
#include "core/pipeline/writer.h"
#include "core/stats/stats.h"

struct pipeline;
struct destination;

struct pipeline_config {
	const struct log *log;	   /* NULL: silent */
	struct stats *stats;	   /* NULL: not counted */
	const struct clock *clock; /* NULL: the system's */
	uint64_t intake_bytes;	   /* 0: 32 MiB: all of the intake's own */
	uint64_t shared_bytes;	   /* 0: 128 MiB: what is shared beyond the reserves */
	/*
	 * Looks up names while the process is there; from the router's thread, before any
	 * destination. May be NULL.
	 */
	void (*learn)(void *ctx, struct dcm_batch *batch);
	/* For destinations with `named`. May be NULL. */
	int (*resolved)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err);
	void *ctx;
};

int pipeline__new(const struct pipeline_config *config, struct pipeline **ret, struct dcm_error *err);
/* Only after pipeline__stop(), or when never started. */
void pipeline__free(struct pipeline *p);
/* Starts the router. What was emitted before waits in the intake. */
int pipeline__start(struct pipeline *p, struct dcm_error *err);

/* host->emit(): 0, -EAGAIN (the intake is full), -ESHUTDOWN, -ENOMEM. */
int pipeline__emit(struct pipeline *p, struct dcm_batch *batch, dcm_done_fn done, void *ctx);

/* The first stage's rules and external labels, from the next batch on. Takes `r` (NULL: none). */
void pipeline__set_relabel(struct pipeline *p, struct relabel *r);

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
	struct route route; /* router.h: selector and rules; taken (also on failure) */
	/* writer.h: each change between well and not well. May be NULL. */
	void (*trouble)(void *ctx, int code, const char *sentence);
	void *trouble_ctx;
};
int pipeline__add(struct pipeline *p, struct destination_config *config, struct destination **ret,
		  struct dcm_error *err);
/*
 * Takes the plugin away from a destination that stays, as soon as it has come back from the write
 * that is under way: what waits, and what is routed to it from now on, is kept for the next. 0 or
 * -ETIMEDOUT, as pipeline__remove(); the plugin is off either way. Not with QUEUE_BLOCK.
 */
int pipeline__disconnect(struct pipeline *p, struct destination *d, int64_t deadline_mono_ns);
/*
 * While the plugin is away: keep what is routed to it, as the queue's policy says (from the
 * beginning), or lose it as "not_running", with all that waits already.
 */
void pipeline__keep(struct pipeline *p, struct destination *d, bool keeps);
/*
 * The plugin of one that is away is there, and gets what has waited. All of `config` counts but the
 * name. On failure nothing has changed but that the route was taken.
 */
int pipeline__connect(struct pipeline *p, struct destination *d, struct destination_config *config,
		      struct dcm_error *err);
/* Other selector and rules for a destination that stays. Takes the route. */
void pipeline__set_route(struct pipeline *p, struct destination *d, struct route *route);
/*
 * Routes nothing to it any more, writes what it has until the deadline, loses the rest as
 * "shutdown". 0, or -ETIMEDOUT: the plugin is stuck in write (see writer__stop). The destination is
 * gone either way.
 */
int pipeline__remove(struct pipeline *p, struct destination *d, int64_t deadline_mono_ns);

/*
 * Waits until all that was emitted before is written everywhere: 0 or -ETIMEDOUT. For one-shot
 * commands and tests.
 */
int pipeline__flush(struct pipeline *p, int64_t deadline_mono_ns);

/*
 * Looks after the writers (writer__watch): to be called every few seconds.
 */
void pipeline__watch(struct pipeline *p);

/*
 * Ends the intake (emit says -ESHUTDOWN), routes what is in it, and joins the router. The
 * destinations remain, to be removed one by one; what is still in the intake at the deadline is
 * lost as "shutdown".
 */
int pipeline__stop(struct pipeline *p, int64_t deadline_mono_ns);

/* For pages: every queue, the intake first (writer NULL, as while a plugin is away). Texts live for the call. */
struct pipeline_view {
	const char *name;
	const struct queue_view *queue;
	const struct writer_view *writer;
	uint64_t n_profiles_filtered; /* by selector or rules */
};
typedef void (*pipeline_view_fn)(void *ctx, const struct pipeline_view *view);
void pipeline__each(struct pipeline *p, pipeline_view_fn fn, void *ctx);

#endif
