/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact_plan.h - which blocks to compact next
 *
 * Time is cut into windows, two hours long for level 1 and a UTC day for level 2; a block belongs
 * to the window in which its last profile starts. When a window and its grace have passed, the
 * blocks of lower levels in it become one of its level. What comes late makes small blocks in a
 * window that is done: they are merged with each other, and with blocks of the window's level that
 * are at most four times as long as all that is new, so that no row is copied often.
 *
 * Order: of two profiles of one series at one time the one in the block with the larger last_lsn
 * counts as the later, and a compacted block takes the largest last_lsn of what went in. So a block
 * is left out when another one, which is not compacted with it, overlaps it in time and was written
 * between it and the latest of the plan. After that one's turn it fits again, or never: it then
 * stays as it is, and every answer is right. Blocks that lie within one window are never left out:
 * a seal writes what is late into blocks of its own windows.
 *
 * Pure functions of the manifest; the caller keeps it still.
 */
#ifndef DECIMA_STORAGE_LOCAL_COMPACT_PLAN_H
#define DECIMA_STORAGE_LOCAL_COMPACT_PLAN_H

#include "plugins/storage/local/compact.h"
#include "plugins/storage/local/manifest.h"

enum { COMPACT_LEVELS = 2 };

/* By level, less 1. */
struct compact_rules {
	int64_t window_ms[COMPACT_LEVELS];
	int64_t grace_ms[COMPACT_LEVELS]; /* after a window's end, before its blocks are compacted */
	int zstd_level[COMPACT_LEVELS];	  /* of rows; 0: none */
};
extern const struct compact_rules compact_default_rules;

struct compact_plan {
	struct manifest_block inputs[COMPACT_MAX_BLOCKS]; /* [n] in the order of compact_job.blocks */
	uint32_t n;
	uint32_t era;
	uint8_t level;
	int zstd_level;
	uint64_t last_lsn; /* of the block to be */
	uint64_t n_rows;   /* of all inputs: what it will cost */
};

/* Whether a block can be read; those that cannot are left out. */
typedef bool (*compact_usable_fn)(void *ctx, uint64_t number);

/* 1 and what to do first, 0 when there is nothing to do, or -ENOMEM. `usable` NULL: all are. */
int compact_plan__choose(struct compact_plan *ret, const struct manifest *m,
			 const struct compact_rules *rules, int64_t now_ms,
			 compact_usable_fn usable, void *ctx);

#endif
