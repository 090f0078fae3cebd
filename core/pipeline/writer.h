/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/writer.h - the thread between a queue and one storage or output
 *
 * A storage gets what is waiting in groups (up to `max_group` batches or 16 MiB), an output one
 * batch at a time with a deadline. -EAGAIN (and for a storage -ENOSPC, -EIO) keeps the batches and
 * tries again after 100 ms, 200 ms, ... 10 s; meanwhile the queue fills and its policy decides. Any
 * other error loses them as "rejected". An output that keeps answering -EAGAIN for longer than
 * `give_up_ns` loses that batch as "gave_up".
 *
 * A plugin that does not come back from write() cannot be killed: it keeps its one thread and its
 * queue, and nobody else waits for it. writer__stop() then says -ETIMEDOUT and leaves the thread to
 * itself; what the thread still needs is freed when (if ever) it returns.
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
	const struct dcm_storage_ops *storage; /* one of the two; never freed */
	const struct dcm_output_ops *output;
	void *handle;		  /* the plugin's instance */
	uint32_t max_group;	  /* 0: 64 */
	int64_t write_timeout_ns; /* 0: 30 s: how long from now an output's deadline is */
	int64_t give_up_ns;	  /* 0: never */
	const struct clock *clock;
	struct stats *stats;
	/* DCM_CAP_NAMED: makes the view in the writer's thread; NULL: batches go as they are. */
	int (*resolved)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err);
	/*
	 * Each change: sentence "" = writes go well again. From the writer's thread. May be NULL.
	 */
	void (*trouble)(void *ctx, int code, const char *sentence);
	void *ctx;
};

/* Takes the queue. */
int writer__start(const struct writer_config *config, struct queue *queue, struct writer **ret,
		  struct dcm_error *err);
/*
 * Closes the queue, writes what is in it until the deadline, loses the rest as "shutdown", and ends
 * the thread. Waits `grace_ns` more for a write that is under way. 0; -ETIMEDOUT: the plugin did
 * not come back, its instance must not be stopped (instance__abandon()). The writer is gone either
 * way.
 */
int writer__stop(struct writer *w, int64_t deadline_mono_ns, int64_t grace_ns);

struct queue *writer__queue(struct writer *w);

struct writer_view {
	uint64_t n_written_batches, n_written_rows, n_retries;
	int64_t writing_since_mono_ns; /* 0: not inside the plugin */
	int64_t retry_at_mono_ns;      /* 0: not waiting to try again */
	char trouble[256];	       /* last sentence; "" when the last write went well */
};
void writer__view(struct writer *w, struct writer_view *ret);

#endif
