/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/batch.h - a sealed batch: references, overlays, and the questions every reader asks
 *
 * The tables are those of <decima/plugin.h>. A batch is made by a builder (builder.h) or as an
 * overlay over another one: a batch with some columns of its own that keeps its parent alive for
 * the rest. Relabelling and naming are overlays, so that what was sealed is never copied and never
 * changed. References are atomic; everything else may be read by any number of threads.
 *
 * An overlay's maker keeps the rules of builder.h by himself. Two things are looser than in what a
 * builder sealed: equal entries may have several ids (two series that a dropped label made one, a
 * name that was a string already), and spans need not follow each other. Whoever compares entries
 * of an overlay compares texts or hashes, not ids.
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
 * A new batch that shows the parent's tables (and id) and may be given columns of its own,
 * allocated from *ret_arena (which lives as long as the overlay), until its maker hands it to
 * somebody else. Takes its own reference to the parent. The maker calls batch__account() last,
 * which sets `bytes`: its own and the parent's, and takes its origin where its stacks are others. NULL when memory ran out. Who gives series other
 * labels gives series_hashes too: identity__series() in identity.h.
 */
struct dcm_batch *batch__overlay(struct dcm_batch *parent, struct arena **ret_arena);
void batch__account(struct dcm_batch *overlay);

static inline struct dcm_str batch__str(const struct dcm_batch *b, uint32_t id)
{
	return b->strings[id];
}

/* Rows of all profiles. An overlay that leaves profiles out has fewer than its tables (n_rows). */
uint64_t batch__n_rows(const struct dcm_batch *b);

/* Series label or "" when the series has none of that name. */
struct dcm_str batch__series_label(const struct dcm_batch *b, uint32_t series, struct dcm_str name);

/*
 * Content hash of everything that can be asked of the batch: its profiles with their series, types,
 * times, and for each stack and label set the sum of the values; stacks by all that their locations
 * say but for `unnamed` (why there is no name is kept beside a location, and a merge keeps one
 * reason of several). Equal for equal content, whatever the order of tables, profiles and rows, and
 * however values are spread over rows of one stack and label set; rows that sum up to 0 count as
 * absent. The id and what no row uses are not part of it. For tests and for `decima convert
 * --check`; allocates nothing that lasts.
 */
struct dcm_hash batch__content(const struct dcm_batch *b);

#endif
