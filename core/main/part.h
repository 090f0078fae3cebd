/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/part.h - an instance, and what it hangs on in the pipeline: a destination, or a task
 *
 * Control thread only, but part__runs().
 */
#ifndef DECIMA_MAIN_PART_H
#define DECIMA_MAIN_PART_H

#include "core/base/log.h"
#include "core/main/plan.h"
#include "core/pipeline/pipeline.h"
#include "core/pipeline/scheduler.h"
#include "core/plugin/instance.h"

struct part_env {
	const struct host_services *services;
	struct pipeline *pipeline;
	struct scheduler *scheduler;
	const struct log *log;
	bool one_shot; /* queues block */
};

struct part {
	enum dcm_kind kind;
	const struct plugin *plugin;
	char *name, *object;
	struct instance *instance;
	const void *config; /* the plugin's struct; lives with the instance's settings */
	const struct destination_options *destination_options; /* the same; NULL for inputs */
	struct destination *destination; /* from the first start, even a failed one, to the stop */
	char spool_directory[4096];	 /* "": it has none */
	struct task *task;
	_Atomic uint32_t n_inside; /* of a storage: calls by others than its writer, see part__stop() */
	_Atomic bool started;
};

/* Takes the settings out of `from`. Nothing is opened. */
int part__new(const struct part_env *env, struct plan_instance *from, struct part **ret,
	      struct dcm_error *err);
/* Only when stopped or never started (one that is merely open is stopped first). */
void part__free(struct part *p);

/* Takes what is exclusive; part__start() does it too when it was not done. */
int part__open(struct part *p, struct dcm_error *err);
/* The same for one that may be given up again: a failure is in *err and nowhere else. */
int part__try_open(struct part *p, struct dcm_error *err);
bool part__is_open(const struct part *p);
/*
 * Opens and starts the instance and hangs it on. On failure the instance's state says why, and err
 * (which may be NULL).
 */
int part__start(struct part *p, const struct part_env *env, struct dcm_error *err);
/*
 * For one that was to start and does not run: what is routed to it waits in its queue while it will
 * be tried again by itself, and is lost as "not_running" when not, or when it shall not be.
 */
void part__stand_by(struct part *p, const struct part_env *env, bool will_be_tried);
/*
 * Takes it off, drains, stops. A plugin that does not come back from its work is abandoned, and so
 * is a storage that has not come back from a question: whoever asks must have been told to stop. 0,
 * or -ETIMEDOUT: it was abandoned, with a thread inside that may look at all that a plugin can
 * reach, the host's services above all.
 */
int part__stop(struct part *p, const struct part_env *env, int64_t deadline_mono_ns);
/*
 * The same to start again soon, or to let another take its place: what is routed to it meanwhile
 * waits in its queue.
 */
int part__pause(struct part *p, const struct part_env *env, int64_t deadline_mono_ns);
/* What hangs on `from`, which does not run, hangs on `to` from now on, which has nothing yet. */
void part__hand_over(struct part *from, struct part *to);

/* A thread is inside and stays there: what it is must not be freed. */
bool part__is_abandoned(const struct part *p);
/* Started and not failed. Any thread that keeps the part alive. */
bool part__runs(const struct part *p);
/* Could not be opened or started. */
bool part__has_failed(const struct part *p);

/*
 * A new configuration: *ret is NULL when it is the same. -EBUSY: only another part in its place can
 * do it. After another error the old one goes on.
 */
struct part_change;
int part__prepare(struct part *p, struct plan_instance *to, struct part_change **ret,
		  struct dcm_error *err);
void part__commit(struct part *p, struct part_change *c);
void part__abort(struct part *p, struct part_change *c);
/* Does the plugin's own configuration differ, or only how it is fed? */
bool part__is_changed(const struct part *p, const struct plan_instance *to);

#endif
