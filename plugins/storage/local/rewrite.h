/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rewrite.h - a compaction (compact.h) of files into files
 *
 * The new blocks are written and wait; the caller opens them, so that nothing can fail when they
 * become part of the store, and then makes one change of it:
 *
 *	r = rewrite__write(&job, &made, err);
 *	... block_map__open() each of made.blocks; on failure rewrite__discard(), and all is as it was ...
 *	r = commit__apply(c, &(struct commit_change){ .add = made.blocks.v, .n_add = made.blocks.n,
 *						      .remove = ..., }, err);
 *	rewrite_made__fini(&made);
 *
 * There may be no new block at all, when a filter dropped everything. Blocks that lost something to
 * damage are set aside (block_file.h) before the change that removes them.
 *
 * Threads: as commit__write_block(), any, several at once; a job belongs to one.
 */
#ifndef DECIMA_STORAGE_LOCAL_REWRITE_H
#define DECIMA_STORAGE_LOCAL_REWRITE_H

#include "core/base/vec.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/compact.h"

struct rewrite {
	struct commit *commit;
	struct vfs *vfs;
	struct compact_job job;
	uint64_t last_lsn; /* the largest of the job's blocks */
	uint8_t level;	   /* of the new ones */
	int zstd_level;
};

struct rewrite_made {
	VEC(struct manifest_block) blocks;
	uint32_t bad_block; /* after -EBADMSG: which of the job's is damaged */
};
void rewrite_made__fini(struct rewrite_made *m);

/*
 * Into a zeroed one. 0, or as compact__write() and commit__write_block() with a sentence: then no
 * file is left, and only bad_block means something.
 */
int rewrite__write(const struct rewrite *rw, struct rewrite_made *ret, struct dcm_error *err);

/* Removes the files of blocks that will not be applied. */
void rewrite__discard(const struct rewrite *rw, struct rewrite_made *made);

#endif
