/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/hidden.h - states that are still in a block, and are not there any more
 *
 * Of two states (gauge, cumulative) of one series and type at one time the one that was written
 * later counts. The older one stays in its block until that is written anew; it must go then,
 * before the newer one may be removed, or it would come back.
 *
 * Threads: one a list.
 */
#ifndef DECIMA_STORAGE_LOCAL_HIDDEN_H
#define DECIMA_STORAGE_LOCAL_HIDDEN_H

#include "core/base/vec.h"
#include "plugins/storage/answer/view.h"
#include "plugins/storage/local/block.h"

struct hidden_profile {
	const struct block *block; /* NULL: in a head */
	uint32_t series, type;	   /* of its era */
	int64_t time_ms;
	uint32_t n_rows;
	bool taken;
};

/* Zeroed is empty. */
struct hidden {
	VEC(struct hidden_profile)
	v; /* sorted; of several alike in one block the first that were written are meant */
};

/*
 * Those of a view that was taken (look.h), with everything in it. 0 or -ENOMEM; pieces that cannot
 * be read have none.
 */
int hidden__find(struct hidden *h, struct view *v);
void hidden__fini(struct hidden *h);

/* Is the next profile of that place one? Each is found once. */
bool hidden__take(struct hidden *h, const struct hidden_profile *like);

#endif
