/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/retain.h - which blocks go: by age, by type, by bytes
 *
 * A block goes whole when all that it holds is too old, and, oldest first, while the store has more
 * bytes than it may. Of a block with types that are kept for different times, the types that are
 * over for good are taken out by writing it anew (compact.h with retain_filter), one block at a
 * time. What is too old in a block with something that is not stays in answers until the block goes.
 *
 * An era's dictionary goes with its last block.
 *
 * Pure functions of the manifest; the caller keeps it still.
 */
#ifndef DECIMA_STORAGE_LOCAL_RETAIN_H
#define DECIMA_STORAGE_LOCAL_RETAIN_H

#include "core/base/vec.h"
#include "plugins/storage/local/compact.h"
#include "plugins/storage/local/manifest.h"

struct retain_rules {
	/*
	 * Profiles of this type of this era that start before the returned time are gone; INT64_MIN
	 * keeps all. For a block of which the types are not known it is asked for DCM_NONE. NULL:
	 * all are kept.
	 */
	int64_t (*cutoff_ms)(void *ctx, uint32_t era, uint32_t type);
	void *ctx;
	uint64_t max_bytes; /* of blocks, dictionaries and what else there is; 0: no bound */
	/*
	 * The file system lacks so much room, and what is removed for it leaves blocks of so many
	 * bytes: when the store is small, somebody else takes the room.
	 */
	uint64_t lacking_bytes, spared_bytes;
};

/* What the manifest does not say. */
struct retain_facts {
	/* The types that occur in a block, ascending; *ret_n 0: nobody knows. */
	const uint32_t *(*types)(void *ctx, uint64_t number, size_t *ret_n);
	uint64_t (*era_bytes)(void *ctx, uint32_t era); /* of its dictionary; freed with its last block */
	bool (*era_is_held)(void *ctx, uint32_t era); /* by something else than blocks: the log */
	void *ctx;
	uint64_t other_bytes; /* the log, and whatever retention cannot free */
	/*
	 * Another name keeps the block's file, so its room would not become free. Asked when
	 * something lacks.
	 */
	bool (*is_shared)(void *ctx, uint64_t number);
};

struct retain_choice {
	VEC(uint64_t) expired; /* numbers of blocks that are too old */
	VEC(uint64_t) evicted; /* that are too many; none is in both */
	uint64_t n_profiles;   /* in both */
	uint64_t rewrite;      /* a block of which a type is over for good; 0: none */
	VEC(uint32_t) eras;    /* that have no block after this and are not held */
	uint64_t bytes;	       /* what is left, of everything */
};
void retain_choice__fini(struct retain_choice *c);

/* Into a zeroed one. 0 or -ENOMEM (then only fini() is allowed). */
int retain__choose(struct retain_choice *ret, const struct manifest *m,
		   const struct retain_rules *rules, const struct retain_facts *facts);

/*
 * A filter that drops what is too old, for any compaction: of every block that is written anew
 * nothing old comes along. `rules` must outlive it.
 */
struct compact_filter retain_filter(const struct retain_rules *rules);

/* What a block has of something that has a bound of its own. */
struct retain_portion {
	int64_t first_ms, last_ms; /* of the block */
	uint64_t bytes;
};
/*
 * Before which time there is too much: the newest blocks stay that have max_bytes together, with the
 * one that exceeds them, and nothing in their time goes. INT64_MIN: nothing is too much. Sorts `v`.
 */
int64_t retain__bound(struct retain_portion *v, size_t n, uint64_t max_bytes);

#endif
