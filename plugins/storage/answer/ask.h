/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/ask.h - asking a store: the questions of struct dcm_storage_ops as its ops
 * have them
 *
 * A store's instance begins with a struct ask, and its ops have ASK_OPS. Each function below checks
 * what is asked, has the store fill a view, and answers from it (answer.h); contracts as written at
 * struct dcm_storage_ops.
 *
 * Threads: any, several at once.
 */
#ifndef DECIMA_STORAGE_ANSWER_ASK_H
#define DECIMA_STORAGE_ANSWER_ASK_H

#include <decima/plugin.h>

#include "plugins/storage/answer/view.h"

struct ask {
	const struct dcm_host *host;
	/*
	 * Fills what view__init() began with what is stored at one moment, and seals it. 0,
	 * -ENOMEM, or the budget's -ETIMEDOUT or -ECANCELED; the view is ended after a failure too.
	 */
	int (*take)(void *instance, struct view *v);
	struct crew *crew;   /* who may help with merges and time series; NULL: nobody */
	struct stock *stock; /* of memory for their sums; NULL: none is kept */
};

int ask__types(void *instance, const struct dcm_select *sel, dcm_type_fn each, void *ctx,
	       struct dcm_error *err);
int ask__labels(void *instance, const struct dcm_select *sel, dcm_name_fn each, void *ctx,
		struct dcm_error *err);
int ask__values(void *instance, const struct dcm_select *sel, struct dcm_str name, dcm_name_fn each,
		void *ctx, struct dcm_error *err);
int ask__series(void *instance, const struct dcm_select *sel, dcm_series_fn each, void *ctx,
		struct dcm_error *err);
int ask__time_series(void *instance, const struct dcm_select *sel, int64_t step_ms,
		     const struct dcm_group_by *by, dcm_points_fn each, void *ctx,
		     struct dcm_error *err);
int ask__merge(void *instance, const struct dcm_select *sel, uint32_t n_sel,
	       const struct dcm_group_by *by, const struct dcm_host *host,
	       struct dcm_builder *answer, struct dcm_error *err);

/* In the initialiser of a struct dcm_storage_ops: every question. */
#define ASK_OPS                                                                                    \
	.types = ask__types, .labels = ask__labels, .values = ask__values, .series = ask__series,  \
	.time_series = ask__time_series, .merge = ask__merge

#endif
