/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/scheduler.h - inputs' collect(), which comes round
 *
 * Each input has a small thread of its own, so that one that hangs delays no other. Its next
 * collect() comes interval_ns() after the end of the last. With `manual` there are no threads, and
 * a test that drives a fake clock calls scheduler__run_due().
 */
#ifndef DECIMA_PIPELINE_SCHEDULER_H
#define DECIMA_PIPELINE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/instance.h"

struct scheduler;
struct task;

struct scheduler_config {
	const struct clock *clock; /* NULL: the system's */
	bool manual;
	const struct log *log; /* for errors of collect; may be NULL */
};
int scheduler__new(const struct scheduler_config *config, struct scheduler **ret);
/* Every task was removed before. */
void scheduler__free(struct scheduler *s);

/*
 * The input, which has `collect`, is opened and started, and stays so until its task is removed.
 * interval_ns() is asked before the first collect() and after each (the first windows may be
 * short): at least 1 ms, or negative after a collect(): never again. Errors are logged when the
 * sentence changes, else once a minute, and counted in decima_collect_errors_total{instance}. 0,
 * -ENOMEM, -EAGAIN (no thread).
 */
int scheduler__add(struct scheduler *s, struct instance *input, struct task **ret);
/*
 * No run begins from now on; waits for one that is under way until the deadline, and for half a
 * second at least. 0, or -ETIMEDOUT: it is stuck, and what it uses must stay. The task is gone
 * either way. Not from the task itself.
 */
int scheduler__remove(struct scheduler *s, struct task *t, int64_t deadline_mono_ns);

/* manual: runs, in the caller's thread, every task that is due once; returns how many. */
unsigned scheduler__run_due(struct scheduler *s);

#endif
