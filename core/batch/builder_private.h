/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/builder_private.h - what the parts of a builder share: its state, room, indexes
 *
 * builder.c holds life, limits and sealing; builder_frames.c and builder_rows.c are the adds. Each
 * add goes the same way: find() by hash; when it is new, builder__passed() a check, take ROOM() in
 * every column, builder__enter() the index, and append. Private to these.
 */
#ifndef DECIMA_BATCH_BUILDER_PRIVATE_H
#define DECIMA_BATCH_BUILDER_PRIVATE_H

#include <stdbool.h>

#include "core/base/hash.h"
#include "core/batch/builder.h"
#include "core/batch/tables.h"

enum index_of {
	IX_MAPPINGS,
	IX_FUNCTIONS,
	IX_PROCESSES,
	IX_LOCATIONS,
	IX_STACKS,
	IX_SERIES,
	IX_LABEL_SETS,
	IX_TYPES, /* to a profile that has this list of types */
	N_INDEXES
};

/*
 * Stacks whose locations stand behind those of all stacks, one after the other, but that are none
 * yet.
 */
struct waiting_stacks {
	struct {
		uint64_t hash;
		uint32_t n;
	} v[BUILDER_STACKS_AHEAD]; /* a ring: the oldest at `oldest` */
	uint32_t oldest, n;
	uint32_t n_locations; /* of all of them */
};

struct dcm_builder {
	int code;	  /* of the first failure */
	uint32_t n_types; /* of the profile that rows go to */
	bool leaves_hashes;
	struct tables t;
	struct hindex indexes[N_INDEXES];
	struct waiting_stacks waiting;
	uint64_t seed;
	uint64_t bytes; /* of columns and indexes; strings count for themselves */
	uint64_t max_bytes;
	struct dcm_batch_id next_id;
	struct dcm_error error; /* the sentence to `code` */
};

#define unlikely(x) __builtin_expect(!!(x), 0)

/* Keeps the code of a check that has filled b->error. Returns whether the entry was fine. */
static inline bool builder__passed(struct dcm_builder *b, int r)
{
	if (r < 0)
		b->code = r;
	return r == 0;
}

/* These fail the builder, and return false so that callers can too. */
bool builder__fail_nomem(struct dcm_builder *b);
bool builder__fail_full(struct dcm_builder *b); /* over max_bytes */
bool builder__fail_long(struct dcm_builder *b); /* over ENTRIES_MAX */

/* What max_bytes still allows. */
uint64_t builder__bytes_left(const struct dcm_builder *b);

/* Room for `need` elements in the column behind v and cap, within max_bytes; use ROOM(). */
bool builder__grow(struct dcm_builder *b, void **v, size_t *cap, size_t need, size_t size);

/* True when the column has room for `more`. */
#define ROOM(b, column, more)                                                                      \
	((column)->cap - (column)->n >= (more) ||                                                  \
	 builder__grow(b, (void **)&(column)->v, &(column)->cap, (column)->n + (more),             \
		       sizeof(*(column)->v)))

/* For columns whose numbers are ids or offsets, and that no index bounds. */
#define ROOM_BOUNDED(b, column, more)                                                              \
	(ROOM(b, column, more) && ((column)->n + (more) <= ENTRIES_MAX || builder__fail_long(b)))

/* Enters the row that is about to be appended to a table of n. */
bool builder__enter(struct dcm_builder *b, enum index_of which, uint64_t h, size_t n);

/* The rows since the last profile began are its own. */
void builder__end_profile(struct dcm_builder *b);

/*
 * The row for which equal() is true, among those with this hash. Inlined, so that equal() is too.
 */
typedef bool (*equal_fn)(const struct tables *t, uint32_t row, const void *key);

static inline __attribute__((always_inline)) uint32_t find(const struct dcm_builder *b,
							   enum index_of which, uint64_t h,
							   equal_fn equal, const void *key)
{
	const struct hindex *ix = &b->indexes[which];
	uint32_t row, at = hindex__first(ix, h, &row);

	while (row != HINDEX_NONE && !equal(&b->t, row, key))
		at = hindex__next(ix, h, at, &row);
	return row;
}

#endif
