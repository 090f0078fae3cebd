/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/batch.h - a sealed batch: references, overlays, and the questions every reader asks
 *
 * The tables are those of <decima/plugin.h>. A batch is made by a builder (builder.h) or as an overlay over another
 * one: a batch with some columns of its own that keeps its parent alive for the rest. Relabelling and naming are
 * overlays, so that what was sealed is never copied and never changed. References are atomic; everything else may be
 * read by any number of threads.
 */
#ifndef DECIMA_BATCH_BATCH_H
#define DECIMA_BATCH_BATCH_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"

/* Adds a reference and returns the batch. */
struct dcm_batch *batch__ref(struct dcm_batch *b);
/* Drops one; the last frees the batch and drops its parent's. NULL is fine. */
void batch__unref(struct dcm_batch *b);
DEFINE_CLEANUP(struct dcm_batch *, batch__unref);

/*
 * A new batch that shows the parent's tables (and id) and may be given columns of its own, allocated from *ret_arena
 * (which lives as long as the overlay), until its maker hands it to somebody else. The maker calls
 * batch__account() last, which sets `bytes`. NULL when memory ran out.
 */
struct dcm_batch *batch__overlay(struct dcm_batch *parent, struct arena **ret_arena);
void batch__account(struct dcm_batch *overlay);

static inline struct dcm_str batch__str(const struct dcm_batch *b, uint32_t id)
{
	return b->strings[id];
}

/* Series label or "" when the series has none of that name. */
struct dcm_str batch__series_label(const struct dcm_batch *b, uint32_t series, struct dcm_str name);

/*
 * Content hash of everything that can be asked of the batch (types, series, rows with their stacks' frames and sample
 * labels), whatever the order of its tables: equal for equal content. For tests and for `decima convert --check`.
 */
struct dcm_hash batch__content(const struct dcm_batch *b);

#endif
