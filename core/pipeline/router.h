/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/router.h - which part of a batch a destination gets
 *
 * A route is a selector over profiles and rules of the destination's own. Pure: no thread, no
 * queue.
 */
#ifndef DECIMA_PIPELINE_ROUTER_H
#define DECIMA_PIPELINE_ROUTER_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/pipeline/relabel.h"

struct route {
	/* Does the destination want this profile? NULL: all of them. From the router's thread. */
	bool (*wants)(void *selector, const struct dcm_batch *batch, uint32_t profile);
	void (*selector_free)(void *selector); /* may be NULL */
	/*
	 * How often, since it was made, the selector could not tell and took a label for no match.
	 * Also from the router's thread; may be NULL.
	 */
	uint64_t (*n_undecided)(const void *selector);
	void *selector;
	struct relabel *relabel; /* NULL: none */
};
void route__fini(struct route *r);

/*
 * *ret: a reference to what the destination gets, or NULL: nothing. An overlay when some profiles
 * are left out or relabelled, else the batch itself. 0, -ENOMEM, -EFBIG.
 */
int route__apply(struct route *r, struct dcm_batch *batch, struct dcm_batch **ret,
		 struct relabel_counts *counts, struct dcm_error *err);

#endif
