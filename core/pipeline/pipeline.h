/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/pipeline.h - from emit() to every storage and output
 *
 *	emit -> [intake] -> router thread: relabel + labels, learn -> each destination (destination.h)
 *
 * Destinations come and go while it runs (reload); the others notice nothing. A batch is
 * acknowledged (the emitter's done) when every storage that was there when it was routed has made
 * it durable, and every spool; without any of them, once it is in the outputs' queues; without those, too, it
 * is lost (no_destination, -ENODEV). Of a series whose labels the first rules made too many (labels_too_large) it is told -E2BIG. Nothing here waits for a
 * plugin but that plugin's own writer.
 *
 * Threads: pipeline__emit() and the views from any; the rest from one control thread.
 */
#ifndef DECIMA_PIPELINE_PIPELINE_H
#define DECIMA_PIPELINE_PIPELINE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/pipeline/destination.h"
#include "core/pipeline/relabel.h"
#include "core/stats/stats.h"

struct pipeline;

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

int pipeline__add(struct pipeline *p, struct destination_config *config, struct destination **ret,
		  struct dcm_error *err);
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

/* For pages: every queue, the intake first. */
void pipeline__each(struct pipeline *p, pipeline_view_fn fn, void *ctx);

#endif
