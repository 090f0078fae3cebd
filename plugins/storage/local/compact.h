/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact.h - several blocks of one era become one
 *
 * Series by series chunks are merged by time: of equal times the profile of the earlier block comes
 * first, so that "the later one counts" stays true for each type, all of whose profiles come to
 * stand in chunks of one list of types. Nothing is added up, and nothing is dropped but what a
 * filter says: a type's profile is after a compaction what it was before, though perhaps no longer
 * beside the same other types. What is gained is that a question looks at fewer pieces, that stacks
 * and rollups stand once for the longer time, and that rows may be compressed.
 *
 *	c = compact__new(&job);
 *	do
 *		r = compact__write(c, &options, put, ctx, &info);	one block each time; most jobs make one
 *	while (r > 0);
 *	compact__free(c);
 *
 * Memory: one chunk's rows (COMPACT_CHUNK_BYTES; longer ones are cut into several), what the block
 * writer needs for them, the block's small sections (COMPACT_WAITING_BYTES, then the block ends),
 * and a reader for each chunk whose time is just being merged: below 64 MiB where no more than a
 * few chunks of a series overlap.
 *
 * Threads: a compaction belongs to one thread, the blocks may be read by others. Inputs that lie
 * are errors and no more.
 */
#ifndef DECIMA_STORAGE_LOCAL_COMPACT_H
#define DECIMA_STORAGE_LOCAL_COMPACT_H

#include <stdbool.h>

#include "plugins/storage/local/block.h"

enum {
	COMPACT_MAX_BLOCKS = 64,
	COMPACT_CHUNK_BYTES = 16 << 20,
	COMPACT_WAITING_BYTES = 16 << 20,
};

/* -------------------------------------------------------------------------------------------------
 * What does not come along
 */

enum compact_verdict {
	COMPACT_KEEP, /* all of it */
	COMPACT_DROP, /* all of it */
	COMPACT_ASK,  /* one step finer */
};

/*
 * What a filter is asked about: the first members always hold, time_ms for profiles and rows, the
 * last two for rows.
 */
struct compact_place {
	uint32_t era;
	uint32_t block; /* of the job's */
	const struct chunk *chunk;
	unsigned type; /* counts within the chunk: its number is chunk->types[type].type */
	int64_t time_ms;
	uint32_t stack, label_set;
};

/*
 * Each gives an enum compact_verdict or a negative errno, which ends the compaction. They are asked
 * from coarse to fine: chunk() once for each type of each chunk; profile() in time order for each
 * profile of a type that was answered ASK; row() for each row of a profile that was: its ASK counts
 * as KEEP. A profile that has no rows is asked for one with stack DCM_NONE and label set 0. A
 * profile of which no row is left, or whose last type went, is gone.
 */
struct compact_filter {
	int (*chunk)(void *ctx, const struct compact_place *p); /* NULL: all is kept, and the others are not asked */
	int (*profile)(void *ctx, const struct compact_place *p);
	int (*row)(void *ctx, const struct compact_place *p);
	void *ctx;
};

/* -------------------------------------------------------------------------------------------------
 * The work
 */

/* What could not be read of a block. */
struct compact_lost {
	uint64_t n_chunks; /* of which something is missing; each list of types that was cut off counts */
	uint64_t n_profiles, n_rows; /* of each type: what has four types counts four times */
};

struct compact_job {
	/*
	 * All of one era, as they were written: by last_lsn (manifest.h), then by number. Open
	 * until compact__free().
	 */
	const struct block *const *blocks;
	uint32_t n_blocks;		     /* 1 .. COMPACT_MAX_BLOCKS */
	const struct compact_filter *filter; /* NULL: everything comes along */
	/*
	 * [n_blocks], zeroed: damaged chunks are left out from where they cannot be read, and
	 * counted here. NULL: they end the compaction with -EBADMSG, and compact__bad_block() says
	 * whose they were.
	 */
	struct compact_lost *lost;
	/* Asked before each chunk is put together; true ends it with -ECANCELED. NULL: never. */
	bool (*cancelled)(void *ctx);
	void *ctx;
};

struct compact;
struct compact *compact__new(const struct compact_job *job); /* NULL: memory. Refers to what the job refers to. */
void compact__free(struct compact *c);

/*
 * Writes the next block. 1: there is more, for another one; 0: that was the last; or -ENOMEM,
 * -EBADMSG, -ECANCELED, put()'s or the filter's, after which only compact__free() is allowed. A
 * last block may have no chunks (n_chunks 0) when a filter dropped them: nobody needs it.
 */
int compact__write(struct compact *c, const struct block_options *o, block_put_fn put, void *ctx,
		   struct block_info *ret);

/* After -EBADMSG: which of the job's blocks is damaged. */
uint32_t compact__bad_block(const struct compact *c);

#endif
