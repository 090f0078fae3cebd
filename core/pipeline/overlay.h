/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/overlay.h - builds the overlay batch that relabelling hands on
 *
 * Lists of unknown length grow in vectors that are kept from batch to batch; overlay__finish()
 * copies them into the overlay's own arena. New strings and label sets get ids behind the parent's.
 * Single-threaded.
 */
#ifndef DECIMA_PIPELINE_OVERLAY_H
#define DECIMA_PIPELINE_OVERLAY_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/vec.h"
#include "core/pipeline/outcome.h"

struct edited_set {
	uint64_t stamp;
	uint32_t edits_id, label_set;
};

struct overlay {
	struct dcm_batch *parent, *batch; /* batch: the one that is being made */
	struct arena *arena;		  /* of the batch */
	uint64_t stamp;			  /* counts the overlays made: outcome.stamp */

	VEC(struct dcm_str) strings; /* ids from parent->n_strings on */
	VEC(struct dcm_span) series; /* all of the overlay's */
	VEC(struct dcm_pair) pairs;
	VEC(struct dcm_span) label_sets; /* ids from parent->n_label_sets on */
	VEC(struct dcm_label) labels;	 /* ids from parent->n_labels on */
	VEC(struct dcm_profile) profiles;
	struct hindex string_index, series_index, set_index;
	/* [n_label_sets]: what the last edits made of each; valid when stamp is this overlay's */
	VEC(struct edited_set) edited;
};

/* Zeroed struct is fine for all of these. */
void overlay__fini(struct overlay *o);
int overlay__begin(struct overlay *o, struct dcm_batch *parent);
/* Drops a batch that was begun and not finished. */
void overlay__cancel(struct overlay *o);

/*
 * The overlay's series for an outcome of the parent's series `source`; equal labels become one
 * series. 0 or -ENOMEM.
 */
int overlay__series(struct overlay *o, uint32_t source, struct outcome *outcome, uint32_t *ret);

/*
 * The label set with the outcome's edits; the parent's own id when they change nothing. 0, -ENOMEM,
 * or -EFBIG (more labels than a set may have).
 */
int overlay__label_set(struct overlay *o, uint32_t label_set, const struct outcome *outcome,
		       uint32_t *ret);

/*
 * Arrays for rows that are dealt anew: [n_rows], [n_rows], [n_values] columns of the batch. 0 or
 * -ENOMEM.
 */
struct overlay_rows {
	uint32_t *stacks, *labels;
	int64_t *values;
};
int overlay__rows(struct overlay *o, uint64_t n_rows, uint64_t n_values, struct overlay_rows *ret);

/* Puts everything into the batch and hands it out. 0 or -ENOMEM (then it is cancelled). */
int overlay__finish(struct overlay *o, struct dcm_batch **ret);

#endif
