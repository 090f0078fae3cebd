/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/manifest.h - which files make the store, as of one instant
 *
 * MANIFEST is replaced whole by rename, and is the only thing that says what counts: a block that
 * it does not list does not exist, a frame of the log up to its sealed_lsn is in a block. It has
 * the content twice, each copy with its own check, so that a damaged sector costs nothing. The
 * layout is in docs/FORMATS.md, "The manifest of the local store".
 *
 * What a block is, only its name (a number) and its size and check say here; `extra` records are
 * bytes of whoever needs something to change in the same instant as the list (filters of deletions,
 * batch ids that were seen, ...).
 *
 * A value type: zeroed is empty, fini() frees. Single-threaded.
 */
#ifndef DECIMA_STORAGE_LOCAL_MANIFEST_H
#define DECIMA_STORAGE_LOCAL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/vec.h"
#include "core/disk/vfs.h"

#define MANIFEST_PATH	   "MANIFEST"
#define MANIFEST_TMP_PATH  "MANIFEST.tmp"
#define MANIFEST_MAX_BYTES ((size_t)256 << 20)

struct manifest_block {
	uint64_t number;	   /* blocks/NUMBER.blk; never used again */
	uint8_t id[16];		   /* of the block's header: is that file this block? */
	uint64_t bytes;		   /* of the file */
	uint64_t check;		   /* of its content, as its writer computes it */
	int64_t first_ms, last_ms; /* start times of its profiles, inclusive */
	uint64_t n_rows, n_profiles, n_chunks;
	uint32_t era;
	uint32_t flags; /* of the block's writer */
	uint8_t level;	/* 0: sealed; +1 for each compaction */
	/*
	 * The last frame of the log that is in it, of a compacted one the largest of what went in.
	 * Of two profiles of one series at one time the one in the block with the larger last_lsn
	 * was written later; blocks of one seal share none. Who compacts keeps it so (compact.h).
	 */
	uint64_t last_lsn;
};
/*
 * The order in which blocks were written: negative, 0 or positive as a was written before b, is b,
 * or after. The order of pieces in answers, and of inputs in compact_job.
 */
int manifest_block__compare(const struct manifest_block *a, const struct manifest_block *b);

struct manifest_era {
	uint32_t number;  /* eras/NUMBER */
	uint32_t flags;	  /* of the era's owner */
	int64_t begin_ms; /* of the time it covers; the next one's begin ends it */
	uint64_t n_records; /* of its logs, that were durable when this was written: fewer is damage */
};

/* Bytes of somebody else. At most one of a type. */
struct manifest_extra {
	uint32_t type;
	uint32_t n;
	uint8_t *bytes; /* [n], malloc'ed, the manifest's */
};

struct manifest {
	uint64_t store_hi, store_lo; /* random, made with the store: is this directory the one it was? */
	uint64_t generation;	     /* of this content; +1 with each replacement */
	uint64_t sealed_lsn;	     /* frames up to here are in blocks */
	uint64_t next_block;	     /* the smallest number that no block ever had */
	/*
	 * A frame of the log that was synced: what is in no block up to here and in no segment was
	 * lost with one. 0: unknown.
	 */
	uint64_t log_lsn;
	VEC(struct manifest_block) blocks; /* by number, ascending */
	VEC(struct manifest_era) eras;	   /* by number, ascending */
	VEC(struct manifest_extra) extras; /* by type, ascending */
};

void manifest__fini(struct manifest *m);
/* An independent copy into a zeroed one. 0 or -ENOMEM (nothing to free). */
int manifest__copy(struct manifest *to, const struct manifest *m);

/* Position of the block, or -1. */
ptrdiff_t manifest__find(const struct manifest *m, uint64_t number);
/* Keeps the order. -ENOMEM; -EEXIST when the number is there already. */
int manifest__add_block(struct manifest *m, const struct manifest_block *b);
/* -ENOENT when it is not there. */
int manifest__remove_block(struct manifest *m, uint64_t number);
/* Replaces the extra of that type by a copy; n 0 removes it. -ENOMEM. */
int manifest__set_extra(struct manifest *m, uint32_t type, const void *p, size_t n);
const struct manifest_extra *manifest__extra(const struct manifest *m, uint32_t type); /* NULL: none */

/* The file's bytes, appended to an empty buffer: b->error tells. */
void manifest__encode(const struct manifest *m, struct buf *b);
/*
 * Into a zeroed one. Refuses what encode() cannot have written. *ret_damaged: one of the two copies
 * was. -EUCLEAN: both are. -EPROTONOSUPPORT: of a later version. -ENOMEM.
 */
int manifest__decode(struct manifest *m, const uint8_t *p, size_t n, bool *ret_damaged,
		     struct dcm_error *err);

/*
 * MANIFEST into a zeroed one; as decode(), -ENOENT when there is none, or another errno of the file
 * system.
 */
int manifest__read(struct manifest *m, struct vfs *v, bool *ret_damaged, struct dcm_error *err);

/*
 * Replaces MANIFEST: writes MANIFEST.tmp, syncs it, renames it, syncs the directory. On failure
 * *ret_replaced tells whether the rename was tried: then either one may be what is read, before and
 * after a power cut, so nothing that one of them needs may be removed before a later write()
 * succeeded.
 */
int manifest__write(const struct manifest *m, struct vfs *v, bool *ret_replaced, struct dcm_error *err);

#endif
