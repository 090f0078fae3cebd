/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/groups.h - the groups of an answer: by the texts of their labels, or by
 * series
 *
 * Rows of all selections and eras go into the same groups. Threads: one.
 */
#ifndef DECIMA_STORAGE_ANSWER_GROUPS_H
#define DECIMA_STORAGE_ANSWER_GROUPS_H

#include <decima/plugin.h>

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "plugins/storage/dict/dict.h"

#define MATCH_NONE UINT32_MAX /* no group: the row is not taken */

struct group {
	const uint32_t *values; /* [by->n] in texts */
	uint32_t series;	/* when grouped by series, else DCM_NONE */
};

struct groups {
	const struct dcm_group_by *by; /* n may be 0 */
	bool by_series;		       /* each series is a group of its own */
	struct intern texts;
	struct arena arena;
	VEC(struct group) v;
	struct hindex index;
};

int groups__init(struct groups *g, const struct dcm_group_by *by, bool by_series); /* -ENOMEM */
void groups__fini(struct groups *g);
uint64_t groups__bytes(const struct groups *g); /* of memory */

/* values [by->n] in texts. The group's number, made when new; MATCH_NONE when memory ran out. */
uint32_t groups__find_or_make(struct groups *g, const uint32_t *values, uint32_t series);

/*
 * Numbers in the order of their labels' texts, *ret [g->v.n], which the caller frees. `d`: of the
 * series. 0, -ENOMEM, or what ends the question of this budget.
 */
int groups__sort(const struct groups *g, const struct dict *d, const struct dcm_host *host,
		 const struct dcm_budget *budget, uint32_t **ret);

#endif
