/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/engine.h - questions to a store: parsed, bounded, answered, named
 *
 * The engine stands between whoever asks (the API, the command line) and one store. It parses
 * selectors, admits at most so many questions at once (the others wait for their turn until their
 * deadline), gives each a deadline and a budget, has the store merge, and names the answer. Trees
 * and tables are then made of the named answer:
 *
 *	struct question q = { .selector = STR("process_cpu:...{job=\"api\"}"),
 *			      .from_ms = a, .to_ms = b };
 *	struct flame *f;
 *	int r = engine__flame(e, &q, FRAMES_FUNCTION, NULL, &f, &err);
 *
 * Values are those of the type that was asked for, exactly as stored: `samples:count` counts
 * samples, whatever its period. (Parca multiplies samples by a cpu period; that is for the API that
 * imitates it, which finds the period in the answer's profile: it is that of the profiles merged
 * when they agree, else 0.)
 *
 * Errors beside the store's own (-ETIMEDOUT, -ECANCELED, -E2BIG): -EINVAL, the question is wrong
 * and the sentence says where; -EAGAIN, too many questions wait already; -ENOMEM. Without data the
 * answer is empty, and that is no error.
 *
 * A regex, of a selector or a filter, that cannot tell whether a text matches (core/config/regex.h)
 * takes it for no match. The answer lacks something then, or has too much: the budget's `gap` is
 * told so before the call returns.
 *
 * Any thread may ask, several at once.
 */
#ifndef DECIMA_QUERY_ENGINE_H
#define DECIMA_QUERY_ENGINE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/query/filter.h"
#include "core/query/flame.h"
#include "core/query/frames.h"
#include "core/query/selector.h"
#include "core/query/top.h"
#include "core/stats/stats.h"

/*
 * Makes an overlay with the names that are known now (see symbols__resolve()); the engine unrefs
 * it.
 */
typedef int (*engine_name_fn)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_named,
			      struct dcm_error *err);

struct engine_config {
	const struct dcm_host *host; /* builders and the clock; outlives the engine */
	const struct dcm_storage_ops *ops;
	void *instance; /* of the store; outlives the engine */
	/*
	 * Counts the questions that are in the store now, for whoever must not pull it away; or
	 * NULL.
	 */
	_Atomic uint32_t *n_inside;
	engine_name_fn name; /* NULL: answers stay as stored */
	void *name_ctx;
	uint32_t max_questions; /* answered at once; 0: 8 */
	uint32_t max_waiting;	/* for their turn; 0: 64 */
	int64_t max_time_ns;	/* for those who bring no deadline; 0: 60 s */
	uint64_t max_bytes;	/* of memory, for those who bring no bound; 0: 512 MiB */
	/* Counts the texts of which no regex of a question could tell; outlives the engine; or NULL. */
	struct stats_metric *undecided;
};

struct engine;
int engine__new(const struct engine_config *config, struct engine **ret, struct dcm_error *err);
/* Nobody asks any more. */
void engine__free(struct engine *e);
DEFINE_CLEANUP(struct engine *, engine__free);

/* Texts are borrowed for the call. */
struct question {
	struct dcm_str selector; /* lists: may be empty or without a type */
	int64_t from_ms, to_ms;	 /* [from, to); to <= from selects nothing */
	bool diff;		 /* compares with the second selection, side B */
	struct dcm_str selector_b;
	int64_t from_b_ms, to_b_ms;
	const struct dcm_str *group_by; /* [n_group_by]; a name that comes twice counts once */
	uint32_t n_group_by;
	/* NULL: none; the options of a tree or table may name another */
	const struct filter *filter;
	/*
	 * The asker cancels and watches through it; a deadline or bound of 0 is set to the engine's
	 * default. NULL: the defaults, and nobody can cancel.
	 */
	struct dcm_budget *budget;
};

/*
 * The lists of struct dcm_storage_ops. `each` is called while the question's turn lasts: it must
 * not ask the engine anything.
 */
int engine__types(struct engine *e, const struct question *q, dcm_type_fn each, void *ctx,
		  struct dcm_error *err);
int engine__labels(struct engine *e, const struct question *q, dcm_name_fn each, void *ctx,
		   struct dcm_error *err);
int engine__values(struct engine *e, const struct question *q, struct dcm_str name,
		   dcm_name_fn each, void *ctx, struct dcm_error *err);
int engine__time_series(struct engine *e, const struct question *q, int64_t step_ms,
			dcm_points_fn each, void *ctx, struct dcm_error *err);

/*
 * The named, filtered answer as a batch (a profile a group, a type a side): what pprof and other
 * formats are encoded from. ret_filtered may be NULL. Sides of a diff must have one sample unit.
 *
 * Time and duration of its profiles are those of what was merged: from the start of the first to the
 * last end of those that begin in the last minute, or the sum of their durations where that is less.
 * (Of a diff, or of a store that tells no sides, they are as the store's merge() has them.)
 */
int engine__merge(struct engine *e, const struct question *q, struct dcm_batch **ret_batch,
		  int64_t ret_filtered[2], struct dcm_error *err);

/*
 * The frames of the named answer before any filter, from which any number of trees and tables can
 * be made. Those of a diff say how its sides compare.
 */
int engine__frames(struct engine *e, const struct question *q, enum frames_group group,
		   struct frames **ret, struct dcm_error *err);
/* For who has used q->filter himself on such frames, each filter once: tells what it could not. */
void engine__filtered(struct engine *e, const struct question *q);

/*
 * One tree or table; q->filter applies when the options name none. Callers and callees: see
 * flame_options.side.
 */
int engine__flame(struct engine *e, const struct question *q, enum frames_group group,
		  const struct flame_options *options, struct flame **ret, struct dcm_error *err);
int engine__top(struct engine *e, const struct question *q, enum frames_group group,
		const struct top_options *options, struct top **ret, struct dcm_error *err);

/*
 * The sample unit of the question's type ("nanoseconds"): a view into its selector text; "" when it
 * does not parse.
 */
struct dcm_str engine__unit(const struct question *q);

struct engine_stat {
	uint64_t asked, failed, refused; /* refused: -EAGAIN; all three since the start */
	uint32_t running, waiting;	 /* now */
};
void engine__stat(struct engine *e, struct engine_stat *ret);

#endif
