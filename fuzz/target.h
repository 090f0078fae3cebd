/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/target.h - what holds of every target that a discovery finds: its address first, each label once and with a
 * value, and names that labels may have
 */
#ifndef DECIMA_FUZZ_TARGET_H
#define DECIMA_FUZZ_TARGET_H

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "plugins/input/pprof_scrape/groups.h"

/* What a label's name may be. */
static inline bool target__is_name(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_", s.p[i]) ||
		    !s.p[i])
			return false;
	return s.n > 0;
}

/* Ends the program where it is not so. */
static inline void target__check(const struct group_labels *l)
{
	if (l->n == 0 || !str__eq(l->v[0].name, STR("__address__")))
		abort();
	for (uint32_t i = 1; i < l->n; i++) {
		if (!target__is_name(l->v[i].name) || l->v[i].value.n == 0)
			abort();
		for (uint32_t k = 1; k < i && l->n < 100; k++)
			if (str__eq(l->v[k].name, l->v[i].name))
				abort();
	}
}

#endif
