/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/check.h - the rules that every entry of a sealed batch keeps
 *
 * The builder asks here once for each new entry, before it goes into the tables. Because tables
 * only grow, what was right then is right when the batch is sealed. Each function returns 0, or
 * -EINVAL or -E2BIG with a sentence that names the entry by the index it would have had, the field,
 * and the fault: "location 4: mapping 9 is not one of the 3 added". Private to core/batch.
 */
#ifndef DECIMA_BATCH_CHECK_H
#define DECIMA_BATCH_CHECK_H

#include "core/batch/tables.h"

int check__mapping(const struct tables *t, const struct dcm_mapping *m, struct dcm_error *err);
int check__function(const struct tables *t, const struct dcm_function *f, struct dcm_error *err);
int check__location(const struct tables *t, const struct dcm_location *l,
		    const struct dcm_line *lines, uint32_t n_lines, struct dcm_error *err);
int check__stack(const struct tables *t, const uint32_t *locations, uint32_t n, struct dcm_error *err);
/* Of labels as the caller gave them: only that the ids exist and that they are not too many. */
int check__pair_ids(const struct tables *t, const struct dcm_pair *pairs, uint32_t n,
		    struct dcm_error *err);
int check__label_ids(const struct tables *t, const struct dcm_label *labels, uint32_t n,
		     struct dcm_error *err);
/*
 * Of one name, once labels with an empty value are out and the others are sorted; previous:
 * DCM_NONE for the first.
 */
int check__label_name(const struct tables *t, const char *entry, size_t i, uint32_t name,
		      uint32_t previous, struct dcm_error *err);
int check__profile(const struct tables *t, const struct dcm_profile *head,
		   const struct dcm_type *types, uint32_t n_types, struct dcm_error *err);
int check__row(const struct tables *t, uint32_t stack, uint32_t label_set, struct dcm_error *err);

#endif
