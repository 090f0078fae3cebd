/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/check.c - questions that cannot be asked
 */
#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/storage/answer/answer.h"

int answer__check_select(const struct dcm_select *sel, bool needs_type, struct dcm_error *err)
{
	if (needs_type && sel->type.n == 0)
		return error__set(err, -EINVAL, "the selection names no type");
	for (uint32_t i = 0; i < sel->n_matchers; i++)
		if ((sel->matchers[i].op == DCM_RE || sel->matchers[i].op == DCM_NRE) &&
		    !sel->matchers[i].regex)
			return error__set(err, -EINVAL, "the matcher of %.*s has no compiled regex",
					  STR_ARG(sel->matchers[i].name));
	return 0;
}

int answer__check_group_by(const struct dcm_group_by *by, struct dcm_error *err)
{
	for (uint32_t i = 0; by && i < by->n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (str__eq(by->labels[i], by->labels[j]))
				return error__set(err, -EINVAL,
						  "the label %.*s stands twice in the grouping",
						  STR_ARG(by->labels[i]));
	return 0;
}

int answer__check_selects(const struct dcm_select *sel, uint32_t n_sel, struct dcm_error *err)
{
	int r = 0;

	if (n_sel < 1 || n_sel > 16)
		return error__set(err, -EINVAL, "between 1 and 16 selections can be merged, not %u",
				  n_sel);
	for (uint32_t i = 0; r == 0 && i < n_sel; i++)
		r = answer__check_select(&sel[i], true, err);
	return r;
}
