/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/questions.h - the read side of struct dcm_storage_ops, over a store
 *
 * Contracts as written there. All return 0, what `each` returned, or what meter__explain() knows;
 * -EINVAL was ruled out by the caller. Any thread.
 */
#ifndef DECIMA_STORAGE_MEMORY_QUESTIONS_H
#define DECIMA_STORAGE_MEMORY_QUESTIONS_H

#include <decima/plugin.h>

#include "plugins/storage/memory/store.h"

int questions__types(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		     dcm_type_fn each, void *ctx);
int questions__labels(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      dcm_name_fn each, void *ctx);
int questions__values(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      struct dcm_str name, dcm_name_fn each, void *ctx);
int questions__series(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      dcm_series_fn each, void *ctx);
int questions__points(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      int64_t step_ms, const struct dcm_group_by *by, dcm_points_fn each, void *ctx);
int questions__merge(struct store *s, const struct dcm_select *sel, uint32_t n_sel,
		     const struct dcm_group_by *by, const struct dcm_host *host,
		     struct dcm_builder *builder);

/*
 * Removes the rows that match; a profile of which no row is left, or which had none, goes. *ret_n:
 * profiles that lost something. -EAGAIN when the store was rebuilt underneath again and again.
 */
int questions__remove(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		      uint64_t *ret_n);

#endif
