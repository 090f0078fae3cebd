/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/job.h - one scrape configuration at work: what was found, what is asked
 *
 * Discoveries hand over groups of targets in sources of their own, each whole each time. From all of
 * them a job makes its targets; those that are the same as before go on undisturbed, with their
 * place in the interval and what they counted.
 *
 * On the loop's thread, but for job__targets().
 */
#ifndef DECIMA_PPROF_SCRAPE_JOB_H
#define DECIMA_PPROF_SCRAPE_JOB_H

#include <pthread.h>

#include <decima/plugin.h>

#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/discovery.h"
#include "plugins/input/pprof_scrape/groups.h"
#include "plugins/input/pprof_scrape/labels.h"
#include "plugins/input/pprof_scrape/memory.h"
#include "plugins/input/pprof_scrape/meters.h"
#include "plugins/input/pprof_scrape/target.h"

/* What was found, and is no target that could be asked. */
struct dropped {
	struct labels *found;
	uint32_t plan;	  /* of the job's */
	struct text *why; /* limits forbid it, or it has no address: a sentence; NULL: rules drop it */
};
void dropped__fini(struct dropped *d);

struct job {
	const struct dcm_host *host;
	struct loop *loop;
	struct meters meters;
	struct memory *memory;		   /* the instance's, */
	struct texts *texts;		   /* as these */
	struct job_options own;		   /* the configuration's, with the limits that hold */
	const struct job_options *options; /* the same */
	int64_t interval_ns, timeout_ns;
	struct profile_plan plans[PROFILES_MAX];
	struct labels *defaults[PROFILES_MAX]; /* target__defaults() of each plan */
	uint32_t n_plans;
	struct dcm_rules *rules;
	struct dcm_http_client *client;
	uint32_t n_calls; /* of it, that are not answered yet */

	bool is_live; /* targets are made of what was found; before, it is only gathered */
	bool is_made; /* the targets are made of what was found; until then they may be another job's */
	VEC(struct discovery *) discoveries;
	struct source sources; /* a ring of those that have something, from here on */
	struct source adopted; /* what another job had found, until its own discoveries have looked */
	struct loop_timer forget; /* set while that has something: when it goes at the latest */
	struct loop_timer sync;	  /* set while something has changed that targets do not show yet */
	int64_t synced_mono_ns;

	pthread_mutex_t lock; /* of the lists, and of what targets say of how they go */
	VEC(struct target *) targets;
	VEC(struct dropped) dropped;
	VEC(struct dcm_label_text) view; /* room for the labels of any of them, twice */
	uint64_t n_found;		 /* addresses of which some profile is asked */
	bool is_over_limit; /* there are more than target_limit: none of them is asked */
	char trouble[320];  /* a target that cannot be, or too many; "" for none */
};

/*
 * Compiles rules and makes the client; nothing is asked yet. Options are borrowed. 0, -EINVAL,
 * -ENOMEM.
 */
struct job_config {
	const struct dcm_host *host;
	struct loop *loop;
	struct memory *memory;
	struct texts *texts;
	const struct scrape_options *all;
	const struct job_options *options;
};
int job__new(const struct job_config *config, struct job **ret, struct dcm_error *err);
/* Nothing is looked for or asked any more; calls are posted as having ended (loop__run_posted()). Twice is fine. */
void job__end(struct job *j);
/* Ends it; n_calls is 0, or no answer is handed over any more. */
void job__free(struct job *j); /* NULL is fine */
DEFINE_CLEANUP(struct job *, job__free);

/* Begins to look for targets. 0, -EINVAL, -ENOMEM. */
int job__start(struct job *j, struct dcm_error *err);
/*
 * Begins to ask what was found. What targets of a job that it replaces (NULL: none) were found by counts as found here too, by the rules of
 * this one, until each of its discoveries has had a look that went well, and for two minutes at most. Targets that are the
 * same go on, with what they counted and with what is under way.
 */
void job__go_live(struct job *j, struct job *old);
/* Looks for nothing any more, stops the targets that it still has, and has no use for its options. */
void job__retire(struct job *j);

/* discovery__found() and discovery__lost() are for kinds. 0; -ENOMEM: what was there stays. */
int job__found(struct job *j, struct source *s, struct groups *found);
void job__lost(struct job *j, struct source *s);

/* For discovery.c: a look went well. */
void job__looked(struct job *j);
/* For sync.h: what the targets of a plan are made of; a target that nobody asks any more goes. */
struct target_source job__source_of(struct job *j, uint32_t plan);
void job__stop_target(struct target *t);
void job__free_dropped(struct job *j);

/* Any thread. */
void job__targets(struct job *j, dcm_target_fn each, void *ctx);
struct job_counts {
	uint32_t targets[N_HEALTHS], n_dropped;
	bool is_looking; /* a discovery has not said all that there is, or targets do not show it yet */
};
/* Shows how many there are of each, and adds them. */
void job__count(struct job *j, struct job_counts *to);
/* A discovery that fails, what keeps targets out, or a target that is down: one sentence; false: there is none. */
bool job__trouble(struct job *j, char ret[static 512]);

#endif
