/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/writer.h - the thread between a queue and one storage or output
 *
 * A storage gets what is waiting in groups (up to `max_group` batches or 16 MiB), and so does an output that
 * takes groups (or 4 MiB; half as many after each try that was in vain), others one batch at a time, with a deadline. -EAGAIN, -ENOMEM, and for a storage -ENOSPC and -EIO keep the
 * batches and try again after 100 ms, 200 ms, ... 10 s, each up to a quarter less by chance; meanwhile the queue fills and its policy
 * decides. Any other error loses them as "rejected" (of a group, the batches are tried one by one
 * first). An output that keeps answering so for longer than `give_up_ns` loses the batch as
 * "gave_up".
 *
 * A plugin that does not come back from write() cannot be killed: it keeps its one thread and its
 * queue, and nobody else waits for it. writer__stop() then says -ETIMEDOUT and leaves the thread to
 * itself; what the thread still needs is freed when (if ever) it returns. What it had taken is lost
 * as "abandoned" at that moment, also when it comes back later and has written it.
 *
 * Deadlines are CLOCK_MONOTONIC. Threads: start and stop from one control thread, the rest from
 * any.
 */
#ifndef DECIMA_PIPELINE_WRITER_H
#define DECIMA_PIPELINE_WRITER_H

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/pipeline/queue.h"
#include "core/stats/stats.h"

struct writer;

struct writer_config {
	const char *name;		       /* of the instance; copied */
	const struct dcm_storage_ops *storage; /* one of the two; copied */
	const struct dcm_output_ops *output;
	void *handle;		  /* the plugin's instance */
	uint32_t max_group;	  /* 0: 64 */
	int64_t write_timeout_ns; /* 0: 30 s: how long from now an output's deadline is */
	int64_t give_up_ns;	  /* 0: never */
	uint32_t n_refusals; /* 0: 1: after how many an output's batch, or what it names of it, is lost as "rejected" */
	int64_t stuck_ns; /* 0: 5 s: so far beyond its deadline a write is called stuck */
	/*
	 * DCM_CAP_NAMED: makes the view in the writer's thread; NULL: batches go as they are. Of a group those whose views
	 * take a second together.
	 */
	int (*resolved)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err);
	void *resolved_ctx;
	/*
	 * Each change: `sentence` "" and code 0: writes go well again. From the writer's thread or
	 * that of writer__watch(), with the writer's mutex held: calls nothing of the pipeline.
	 */
	void (*trouble)(void *ctx, int code, const char *sentence);
	/*
	 * An output goes on without one profile of a batch, which is counted as "rejected"; `trouble` has had the
	 * sentence. From the writer's thread. May be NULL.
	 */
	void (*refused)(void *ctx, const struct dcm_batch *batch, uint32_t profile);
	void *trouble_ctx;
};

/* Takes the queue, also on failure. */
int writer__start(const struct writer_config *config, struct queue *queue, struct writer **ret,
		  struct dcm_error *err);
/*
 * Closes the queue, writes what is in it until the deadline, loses the rest as "shutdown", and ends
 * the thread. Waits `grace_ns` more for a write that is under way, and as long as it takes, up to
 * 10 s, for what is not the plugin's doing, names above all; no write begins after the deadline. 0;
 * -ETIMEDOUT: the plugin did not come back, and its instance must not be stopped
 * (instance__abandon()). The writer is gone either way. A storage may still owe `done` for what it
 * took: the instance's drain and stop bring it.
 */
int writer__stop(struct writer *w, int64_t deadline_mono_ns, int64_t grace_ns);
/*
 * Ends the thread and leaves what waits, with what could not be written at the first try, in the
 * queue: another writer goes on with it. A write that is under way has until the deadline, what is
 * not the plugin's doing 10 s more. 0; -ETIMEDOUT as above: the thread keeps the queue, held, with
 * what it has taken out; the caller takes the rest (queue__move()) and orphans it.
 */
int writer__leave(struct writer *w, int64_t deadline_mono_ns);

/* Tells `trouble` when a write is far beyond its deadline. To be called every few seconds. */
void writer__watch(struct writer *w);

/* What it has written and lost, the queue has counted: queue__view(). */
struct writer_view {
	int64_t writing_since_mono_ns; /* 0: not inside the plugin */
	int64_t retry_at_mono_ns;      /* 0: not waiting to try again */
	char trouble[256];	       /* "" when the last write went well */
};
void writer__view(struct writer *w, struct writer_view *ret);

#endif
