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

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "plugins/input/pprof_scrape/delta.h"
#include "plugins/input/pprof_scrape/loop.h"
#include "plugins/input/pprof_scrape/options.h"

struct job;
struct fetch; /* scrape.c */

struct labels {
	struct dcm_label_text *v; /* [n] */
	uint32_t n;
};
struct dcm_str labels__get(const struct labels *l, struct dcm_str name); /* "" for none */

struct target {
	struct job *job;
	struct arena arena; /* of all texts */
	struct labels discovered, labels;
	struct dcm_str name;	/* first part of the types */
	struct dcm_str address; /* of the host, as HOST:PORT */
	struct dcm_str url;
	const struct profile_plan *plan; /* the job's */
	struct dcm_hash identity; /* of URL, labels, interval, timeout: equal ones are one target */
	int64_t interval_ns, timeout_ns;
	int64_t covers_ns; /* what a profile takes before its answer begins: the seconds asked for */
	bool is_dropped;

	/* Below: what happens to it, on the loop's thread; read by others under the job's lock. */
	struct loop_timer timer;
	struct fetch *fetch; /* what is under way; NULL: nothing */
	int64_t asked_real_ns;
	struct delta delta;
	int64_t delta_real_ns; /* when its base was made; 0: there is none */
	uint32_t health;       /* enum dcm_health */
	int64_t last_real_ns, duration_ns, next_real_ns;
	uint64_t bytes, samples, n_asked, n_failed;
	uint32_t n_failures; /* in a row */
	char error[320];
};

/*
 * The target of labels [n] (of an address and its group, sorted or not, the first of a name counts)
 * and a profile of the job. One that rules drop is made too, and says so. 0; -EINVAL: it has no
 * address or a bad one, or limits forbid it; -ENOMEM.
 */
struct target_source {
	const struct dcm_host *host;
	struct job *job;
	const struct job_options *options;
	const struct profile_plan *plan;
	const struct dcm_rules *rules; /* NULL: none */
	int64_t interval_ns, timeout_ns;
	const struct dcm_label_text *labels; /* [n_labels] */
	uint32_t n_labels;
};
int target__new(const struct target_source *from, struct target **ret, struct dcm_error *err);
void target__free(struct target *t); /* NULL is fine; no call of it is under way, no timer set */
DEFINE_CLEANUP(struct target *, target__free);

/* When it is asked next, from `now` on: its place in the interval follows from its identity. */
int64_t target__next_ns(const struct target *t, int64_t now_real_ns);

#endif
