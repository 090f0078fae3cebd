/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/answer.h - the questions of struct dcm_storage_ops, answered from a sealed
 * view
 *
 * Contracts as written there. All return 0, what `each` returned, or what meter__explain() knows;
 * -EINVAL is ruled out by answer__check_select() and its like. Pieces that turn out to be damaged
 * are left out, and the view's owner hears of each. One thread a view.
 */
#ifndef DECIMA_STORAGE_ANSWER_ANSWER_H
#define DECIMA_STORAGE_ANSWER_ANSWER_H

#include <decima/plugin.h>

#include "plugins/storage/answer/view.h"

/* -EINVAL with a sentence. `needs_type`: an empty type does not mean every type. */
int answer__check_select(const struct dcm_select *sel, bool needs_type, struct dcm_error *err);
int answer__check_group_by(const struct dcm_group_by *by, struct dcm_error *err);
/* Of merge: between 1 and 16 selections. */
int answer__check_selects(const struct dcm_select *sel, uint32_t n_sel, struct dcm_error *err);

/* Views of one selection. */
int answer__types(struct view *v, dcm_type_fn each, void *ctx);
int answer__labels(struct view *v, dcm_name_fn each, void *ctx);
int answer__values(struct view *v, struct dcm_str name, dcm_name_fn each, void *ctx);
int answer__series(struct view *v, dcm_series_fn each, void *ctx);
int answer__points(struct view *v, int64_t step_ms, const struct dcm_group_by *by,
		   dcm_points_fn each, void *ctx);

/* Of as many selections as the view has. */
int answer__merge(struct view *v, const struct dcm_group_by *by, struct dcm_builder *builder);

#endif
