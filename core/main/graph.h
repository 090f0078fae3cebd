/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/graph.h - the running objects: built from a plan, started, reloaded, stopped
 *
 * The one place that wires the layers upward: hosts to queue, symbol store and codecs; destinations
 * to the pipeline; the engine to the first storage. A plugin that fails to open or start is shown
 * as failed, retried where that can help, and stops nothing else.
 *
 * All functions but graph__each() and the getters belong to one control thread.
 */
#ifndef DECIMA_MAIN_GRAPH_H
#define DECIMA_MAIN_GRAPH_H

#include <decima/plugin.h>

#include "core/api/api.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/main/plan.h"
#include "core/pipeline/pipeline.h"
#include "core/query/engine.h"
#include "core/stats/stats.h"
#include "core/symbolize/symbols.h"

struct graph;

struct graph_config {
	const struct log *log;
	struct stats *stats;
	const struct clock *clock;
	const char *data_dir;
	const char *symbols_dir; /* names are taken from there and not put; NULL: from data_dir's, and put */
	struct broker *broker; /* for plugins and names of the kernel; NULL: none */
	struct pages *pages; /* where plugins offer theirs; outlives the graph; NULL: nobody serves */
	struct endpoints *endpoints; /* likewise */
	bool one_shot;		     /* queues block instead of losing */
};

/* Makes every object and opens nothing. Takes the plan (also on failure). */
int graph__new(const struct graph_config *config, struct plan *plan, struct graph **ret,
	       struct dcm_error *err);
/*
 * Opens the inputs that need rights (DCM_CAP_RIGHTS), which the process will give up before
 * graph__start(): from then on none of them is opened, again or for the first time. What fails
 * shows in its state.
 */
void graph__open_with_rights(struct graph *g);
/*
 * Storages, outputs, the pipeline, then inputs. Only what everything needs (threads, memory) is an
 * error.
 */
int graph__start(struct graph *g, struct dcm_error *err);
/*
 * Compares and changes over: instances that are the same are not touched, unless they have failed:
 * these are tried again; changed ones prepare, new ones open, and only when all have, they commit.
 * One that only a restart can change is opened beside the one that runs, unless that has what it
 * needs, or another one has it that only a restart can change; when it cannot be opened or started,
 * the old one goes on, or is started again (what its plugin kept in memory is gone then, and what
 * waited in its queue was written or counted). On failure everything is as it was. Takes the plan
 * when it returns 0.
 */
int graph__reload(struct graph *g, struct plan *plan, struct dcm_error *err);
/*
 * Retries what failed, logs losses, looks after stores, writers, workers and the clock. Returns when it
 * wants to be called again (mono); sooner does no harm, and is needed after a reload and when
 * something was lost (stats__on_loss()).
 */
int64_t graph__tick(struct graph *g);
/*
 * Inputs stop, what they handed in is routed and written until the deadline, the rest is counted as
 * lost. Questions must have ended or been cancelled: a storage that has one inside is abandoned. 0,
 * or -ETIMEDOUT: a thread is inside a plugin that was abandoned, now or at a reload. It may yet
 * wake up and look at the graph and at all that graph_config names, so these must stay until the
 * process ends.
 */
int graph__stop(struct graph *g, int64_t deadline_mono_ns);
/* Only when graph__stop() said 0, or when it was never started. */
void graph__free(struct graph *g);
DEFINE_CLEANUP(struct graph *, graph__free);

/*
 * Stops the inputs alone, and hands on what they held: for one-shot commands, which then flush and
 * ask.
 */
void graph__stop_inputs(struct graph *g, int64_t deadline_mono_ns);
/* Waits until all that was emitted is written: 0 or -ETIMEDOUT. */
int graph__flush(struct graph *g, int64_t deadline_mono_ns);

/* NULL while no storage runs. Any thread. */
struct engine *graph__engine(struct graph *g);
struct pipeline *graph__pipeline(struct graph *g);
struct symbols *graph__symbols(struct graph *g);
/*
 * The settings of now, until the next reload. What only a restart can change (addresses)
 * may be kept: its texts are those of the start and live as long as the graph.
 */
const struct main_settings *graph__settings(struct graph *g);
const char *graph__node(struct graph *g);
/* Appends the configuration of now: plan__effective(). Any thread. */
void graph__effective(struct graph *g, struct buf *out);
/* Hung up when a process that others depend on has died: graph__tick() says which. -1: none is there. */
int graph__watch_fd(const struct graph *g);
/* Why no debug information is read any more, and the remedy; "": it is. Any thread. */
const char *graph__workers_state(const struct graph *g);
/* stat() of the storage that answers questions; false while none does. Any thread. */
bool graph__store_stat(struct graph *g, struct dcm_store_stat *ret);

/*
 * The first storage's backup(), check() and remove(). -ESHUTDOWN while it does not run, -ENOTSUP
 * when it has none. When the storage's part of a backup is made and the names cannot be copied, its
 * directory stays, takes room and is in the way of another try: the sentence says that it is to be
 * removed. Any thread, until graph__stop().
 */
int graph__store_backup(struct graph *g, const char *dir, struct dcm_error *err);
int graph__store_check(struct graph *g, struct dcm_budget *budget, dcm_report_fn report, void *ctx,
		       struct dcm_error *err);
int graph__store_remove(struct graph *g, const struct dcm_select *sel, uint64_t *ret_n_profiles,
			struct dcm_error *err);

/* True when some input has failed; its state, and so the log, says why. */
bool graph__failed_input(struct graph *g);

/* Every instance, for the API: any thread. */
void graph__each(struct graph *g, api_instance_fn fn, void *ctx);
/* Everything that inputs collect from: any thread. */
void graph__each_target(struct graph *g, api_target_fn fn, void *ctx);

#endif
