/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/projection.h - label sets that rules cannot tell apart, within one batch
 *
 * Thousands of label sets differ in a thread's number that no rule reads. Each set gets the number
 * of its projection (outcome__project()), so that rules are asked once for each series and
 * projection. Single-threaded.
 */
#ifndef DECIMA_PIPELINE_PROJECTION_H
#define DECIMA_PIPELINE_PROJECTION_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/vec.h"

struct projections {
	VEC(uint32_t) of_set; /* [n_label_sets]; UINT32_MAX: not asked yet */
	VEC(struct dcm_str) texts;
	struct arena arena; /* of the texts */
	struct hindex index;
	struct buf text;
};

/* Zeroed struct is fine. */
void projections__fini(struct projections *p);
/* For another batch. 0 or -ENOMEM. */
int projections__begin(struct projections *p, const struct dcm_batch *batch);
/* Numbers count up from 0. `use` as in outcome.h. 0 or -ENOMEM. */
int projections__of(struct projections *p, const struct dcm_batch *batch, uint32_t label_set,
		    const uint8_t *use, uint32_t *ret);

#endif
