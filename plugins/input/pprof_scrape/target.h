/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/target.h - one profile of one address: its labels, its URL, how it goes
 *
 * What discovery found becomes, for each profile of the job, a set of labels; rules run over it; what
 * is left says where to ask and which labels the profiles have. The labels with a meaning are
 * Prometheus' (__address__, __scheme__, __param_NAME, __scrape_interval__, __scrape_timeout__) and
 * Parca's (__name__: the profile, __profile_path__).
 */
#ifndef DECIMA_PPROF_SCRAPE_TARGET_H
#define DECIMA_PPROF_SCRAPE_TARGET_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/pprof_scrape/delta.h"
#include "plugins/input/pprof_scrape/labels.h"
#include "plugins/input/pprof_scrape/loop.h"
#include "plugins/input/pprof_scrape/options.h"

struct job;
struct fetch; /* scrape.c */

/* What has happened to a target: goes over to the one that is found again after a reload. */
struct target_state {
	struct fetch *fetch; /* what is under way; NULL: nothing */
	int64_t asked_real_ns;
	struct delta delta;
	int64_t delta_real_ns;	/* when its base was made; 0: there is none */
	uint32_t health;	/* enum dcm_health */
	uint32_t n_failures;	/* in a row */
	bool names_itself;	/* its last profile has the names that it said (names.h) */
	uint32_t unasked_names; /* so many profiles more are taken without asking for them */
	int64_t last_real_ns, duration_ns, next_real_ns;
	uint64_t bytes, samples, n_asked, n_failed;
	char *error; /* a sentence; NULL: none, or no memory for it */
};

struct target {
	struct job *job;
	const struct profile_plan *plan; /* the job's */
	struct labels *found, *labels;	 /* what discovery said; what profiles have */
	struct text *name;		 /* first part of the types */
	struct text *url;
	bool is_delta; /* by its path: what its types call counted from a start is of the time since it was last asked for */
	struct dcm_hash identity; /* of URL, labels, interval, timeout: equal ones are one target */
	uint64_t spread; /* where in the interval it is asked: by the identity and this machine's name, as two may scrape the same */
	int64_t interval_ns, timeout_ns;
	int64_t covers_ns; /* what a profile takes before its answer begins: the seconds asked for */

	/* On the loop's thread; read by others under the job's lock. */
	struct loop_timer timer;
	struct target_state state;
};

/* What is the same for all targets of one profile of a job. */
struct target_source {
	const struct dcm_host *host;
	struct job *job;
	struct texts *texts;
	const struct job_options *options;
	const struct profile_plan *plan;
	const struct dcm_rules *rules; /* NULL: none */
	int64_t interval_ns, timeout_ns;
	struct labels *defaults; /* target__defaults() */
};

/* The labels that a job and a profile give where discovery says nothing else. NULL: no memory. */
struct labels *target__defaults(const struct target_source *from);

/*
 * The target of what was found, which is held. 1; 0: rules drop it, there is no target; -EINVAL: it has
 * no address or a bad one, or limits forbid it; -ENOMEM.
 */
int target__new(const struct target_source *from, struct labels *found, struct target **ret,
		struct dcm_error *err);
void target__free(struct target *t); /* NULL is fine; no call of it is under way, no timer set */
DEFINE_CLEANUP(struct target *, target__free);

/* Why it failed, or does not have the profile; "" for none. */
const char *target__error(const struct target *t);
void target__set_error(struct target *t, const char *sentence); /* NULL: none */

/* When it is asked next, from `now` on: its place in the interval follows from its identity and this machine's name. */
int64_t target__next_ns(const struct target *t, int64_t now_real_ns);

#endif
