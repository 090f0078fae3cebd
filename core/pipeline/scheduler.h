/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/scheduler.h - work that comes round: inputs' collect()
 *
 * Each task has a small thread of its own, so that one that hangs delays no other. A task says at
 * the end of each run when it wants to run again; the time counts from that end. With `manual`
 * there are no threads, and a test that drives a fake clock calls scheduler__run_due().
 */
#ifndef DECIMA_PIPELINE_SCHEDULER_H
#define DECIMA_PIPELINE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/instance.h"
#include "core/stats/stats.h"

struct scheduler;
struct task;

struct scheduler_config {
	const struct clock *clock; /* NULL: the system's */
	bool manual;
	const struct log *log; /* for errors of collect; may be NULL */
	struct stats *stats;   /* may be NULL */
};
int scheduler__new(const struct scheduler_config *config, struct scheduler **ret);
/* Every task was removed before. */
void scheduler__free(struct scheduler *s);

/*
 * Nanoseconds until the next run (at least 1 ms), or a negative number: never again. On the task's
 * thread.
 */
typedef int64_t (*task_fn)(void *ctx);

/*
 * name (at most 15 bytes are shown as the thread's); first run after first_ns. 0, -ENOMEM, -EAGAIN
 * (no thread).
 */
int scheduler__add(struct scheduler *s, const char *name, int64_t first_ns, task_fn fn, void *ctx,
		   struct task **ret);
/*
 * No run begins from now on; waits for one that is under way until the deadline, and for half a
 * second at least. 0, or -ETIMEDOUT: it is stuck, and what it uses must stay. The task is gone
 * either way. Not from the task itself.
 */
int scheduler__remove(struct scheduler *s, struct task *t, int64_t deadline_mono_ns);
/* Runs it as soon as it can. */
void scheduler__kick(struct scheduler *s, struct task *t);

/*
 * An input's collect() every interval_ns(), asked anew each time (the first windows may be short).
 * Errors are logged when the sentence changes, and counted in
 * decima_collect_errors_total{instance}. The input has `collect`.
 */
int scheduler__add_input(struct scheduler *s, struct instance *input, struct task **ret);

/* manual: runs, in the caller's thread, every task that is due once; returns how many. */
unsigned scheduler__run_due(struct scheduler *s);

#endif
