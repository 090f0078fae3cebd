/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/tables.h - the memory behind a batch: what a builder fills and a sealed batch keeps
 *
 * Private to core/batch. A builder owns one `struct tables`; sealing moves it, as it is, into the
 * batch, so that no column is copied. The columns carry the names that they have in struct
 * dcm_batch; one list of them (an X macro) makes the members, frees, trims, measures and shows
 * them, so that a new column is one line.
 */
#ifndef DECIMA_BATCH_TABLES_H
#define DECIMA_BATCH_TABLES_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/batch/limits.h"

#define TABLES_COLUMNS(X)                                                                          \
	X(struct dcm_mapping, mappings)                                                            \
	X(struct dcm_function, functions)                                                          \
	X(struct dcm_line, lines)                                                                  \
	X(struct dcm_process, processes)                                                           \
	X(struct dcm_location, locations)                                                          \
	X(struct dcm_hash, location_hashes)                                                        \
	X(struct dcm_span, stacks)                                                                 \
	X(uint32_t, stack_locations)                                                               \
	X(uint32_t, stack_origins)                                                                 \
	X(struct dcm_span, series)                                                                 \
	X(struct dcm_pair, pairs)                                                                  \
	X(struct dcm_hash, series_hashes)                                                          \
	X(struct dcm_span, label_sets)                                                             \
	X(struct dcm_label, labels)                                                                \
	X(struct dcm_type, types)                                                                  \
	X(struct dcm_profile, profiles)                                                            \
	X(uint32_t, row_stacks)                                                                    \
	X(uint32_t, row_labels)                                                                    \
	X(int64_t, values)

struct tables {
	struct intern strings;
#define TABLES_MEMBER(type, name) VEC(type) name;
	TABLES_COLUMNS(TABLES_MEMBER)
#undef TABLES_MEMBER
};

/* Zeroed struct is fine to fini(). */
void tables__fini(struct tables *t);

/* Gives back the room that was not used, and the strings' index: nothing will be added any more. */
void tables__trim(struct tables *t);

/* Bytes allocated for the strings alone, and for everything. */
uint64_t tables__string_bytes(const struct tables *t);
uint64_t tables__bytes(const struct tables *t);

/* Lets the batch's pointers and counts show these tables. */
void tables__show(const struct tables *t, struct dcm_batch *ret);

static inline struct dcm_str tables__str(const struct tables *t, uint32_t id)
{
	return t->strings.texts[id];
}

/* What dcm_batch pointers of this process point at; the public part comes first. */
struct sealed {
	struct dcm_batch pub;
	_Atomic uint32_t refs;
	struct dcm_batch *parent; /* an overlay's */
	struct arena arena;	  /* an overlay's own columns */
	struct tables tables;	  /* of one that a builder made */
};

#endif
