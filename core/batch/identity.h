/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/identity.h - content hashes: what makes two locations, stacks or series the same one
 *
 * xxh3-128 over fixed little-endian layouts, which docs/FORMATS.md writes down: equal on every
 * machine and in every version, so that stores and peers may keep them. Reads tables only; any
 * thread.
 */
#ifndef DECIMA_BATCH_IDENTITY_H
#define DECIMA_BATCH_IDENTITY_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"

/*
 * Hashes of all locations and series of the batch into [n_locations] and [n_series]. The batch's own
 * *_hashes are not read. 0 or -ENOMEM.
 */
int identity__compute(const struct dcm_batch *b, struct dcm_hash *ret_locations,
		      struct dcm_hash *ret_series);

/*
 * Of one stack, from the batch's location_hashes. A batch does not have them: who wants them is rare, and they would be a
 * tenth of the time that a scraped profile takes.
 */
struct dcm_hash identity__stack(const struct dcm_batch *b, uint32_t stack);

/*
 * The same, a part at a time, of tables that only grow: what belongs to entries before `from` was computed before and
 * stands in the columns, which hold everything. The hashes of mappings and functions are kept for the next time. -ENOMEM:
 * it is of no more use. One thread at a time.
 */
struct identity;
struct identity_from {
	uint32_t location, series;
};
struct identity *identity__new(void); /* NULL: no memory */
void identity__free(struct identity *i);
DEFINE_CLEANUP(struct identity *, identity__free);
int identity__extend(struct identity *i, const struct dcm_batch *b, struct identity_from from,
		     struct dcm_hash *locations, struct dcm_hash *series);

/*
 * Of one series; for overlays that give series other labels. Its pairs must be sorted by name, at
 * most 256.
 */
struct dcm_hash identity__series(const struct dcm_batch *b, uint32_t series);

#endif
