/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/commit.h - the one order in which the store's files change, and who owns
 * the directory
 *
 *	LOCK                 held by the process that writes; its pid as text
 *	MANIFEST             what counts (manifest.h)
 *	wal/NUMBER.wal       what is in no block yet (wal.h)
 *	blocks/NUMBER.blk    immutable; NUMBER.tmp while it is written
 *	eras/...             dictionaries: their owner's
 *
 * A seal, a compaction and retention are the same change, with or without new blocks, removed
 * blocks and a new sealed_lsn. Its order, each step of which a test leaves out and must then fail:
 *
 *	1. write blocks/NUMBER.tmp, sync it                     commit__write_block()
 *	2. rename it to NUMBER.blk                              commit__write_block()
 *	3. sync blocks/; sync the dictionaries it refers to     commit__apply()
 *	4. write MANIFEST.tmp, sync it, rename it, sync "."     commit__apply()
 *	5. only now remove old blocks and segments of the log   commit__apply()
 *
 * A failure before the rename in 4 changes nothing. When the sync after it fails, the new content
 * is what everybody reads, but a power cut may bring the old one back: then nothing is removed, and
 * the next change, or commit__settle(), writes the manifest anew and removes what has waited.
 * Blocks are removed from the directory only: who has one mapped keeps it. While somebody copies
 * what there was at some moment, step 5 waits (commit__hold()).
 *
 * A segment of the log is made and filled first, and named by the manifest (manifest.h, log_lsn)
 * when that is durable, before it is acknowledged; a manifest whose sealed_lsn has what is in it is
 * durable before it is removed. So one that is named is there, or was lost.
 *
 * A crash leaves at worst: a .tmp, a block that no manifest lists, old blocks and segments that
 * should be gone. open() removes them, after it has written the manifest again: what a process that
 * died has renamed may not be durable yet.
 *
 * When the disk is full, fails, turns read-only, or the directory vanishes: the log refuses
 * (wal.h), changes return the cause, and what is open can still be read. commit__probe() finds out
 * whether the cause has gone, and only takes the directory back when it is the one that it was.
 *
 * Threads: write_block() from any, several at once; apply(), settle(), probe() from any, one after
 * the other (a lock of its own); the log as wal.h says. The manifest may be read between two
 * changes by whoever makes them.
 */
#ifndef DECIMA_STORAGE_LOCAL_COMMIT_H
#define DECIMA_STORAGE_LOCAL_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "plugins/storage/local/manifest.h"
#include "core/disk/vfs.h"
#include "core/disk/wal.h"

#define BLOCKS_DIR "blocks"
#define ERAS_DIR   "eras"
#define LOCK_PATH  "LOCK"
enum { BLOCK_PATH_BYTES = 40 };

/* "blocks/NUMBER.blk" */
const char *commit__block_path(char to[static BLOCK_PATH_BYTES], uint64_t number);

struct commit_options {
	struct wal_options wal; /* its `report` is used for everything here */
	replay_fn each;		/* of the log: frames that are in no block */
	/*
	 * Called with the manifest before the first frame: to open blocks and dictionaries. Another
	 * value than 0 ends open(), which returns it. NULL: none.
	 */
	int (*loaded)(void *ctx, const struct manifest *m, struct dcm_error *err);
	/*
	 * The log's new frames get larger LSNs than this, read after loaded(). NULL: none is known
	 * to be used.
	 */
	const uint64_t *used_lsn;
	void *ctx; /* of both */
};

struct commit_found {
	struct wal_found wal;
	uint32_t n_missing;   /* blocks that are listed and not there: each was reported */
	uint32_t n_removed;   /* files that an interrupted change had left */
	bool new_store;	      /* there was none */
	bool manifest_healed; /* one of its two copies was damaged */
};

struct commit;

/*
 * Takes the directory, or makes a store in an empty one. -EBUSY: another process has it, whose pid
 * the sentence names. -EUCLEAN: there are blocks or segments and no manifest, or it is damaged.
 * Else as wal__open() and manifest__read().
 */
int commit__open(struct vfs *v, const struct commit_options *options,
		 struct commit_found *ret_found, struct commit **ret, struct dcm_error *err);
void commit__close(struct commit *c); /* NULL works */
/*
 * Has another process the directory? -EBUSY with its pid, 0, or why nobody can tell. The lock is
 * taken for a moment; nothing is made.
 */
int commit__look(struct vfs *v, struct dcm_error *err);

struct wal *commit__wal(struct commit *c);
const struct manifest *commit__manifest(const struct commit *c); /* until the next change */

/*
 * Writes a block's bytes into an empty file and fills its entry: bytes, check, times, rows, level,
 * era. Not its number, which is set before. 0 or a negative errno with a sentence.
 */
typedef int (*commit_write_fn)(void *ctx, struct vfs_file *f, struct manifest_block *entry,
			       struct dcm_error *err);

/* Steps 1 and 2. On failure nothing is left. Then either apply() or discard_block(). */
int commit__write_block(struct commit *c, commit_write_fn write, void *ctx,
			struct manifest_block *ret_entry, struct dcm_error *err);
/* The block of an entry that will not be applied. */
void commit__discard_block(struct commit *c, const struct manifest_block *entry);

struct commit_change {
	const struct manifest_block *add; /* [n_add] of write_block() */
	size_t n_add;
	const uint64_t *remove; /* [n_remove] numbers */
	size_t n_remove;
	uint64_t sealed_lsn; /* all frames up to here are in blocks, `add` included; 0: as before */
	/*
	 * Paths of files (or, with a '/' at the end, empty directories) that nobody needs after
	 * this; of eras.
	 */
	const char *const *unlink; /* [n_unlink] */
	size_t n_unlink;
	/* Step 3: makes durable what the new blocks refer to. NULL: nothing. */
	int (*sync)(void *ctx, struct dcm_error *err);
	/* Changes eras and extras of the manifest to be. NULL: nothing. */
	int (*edit)(void *ctx, struct manifest *next, struct dcm_error *err);
	void *ctx; /* of both */
};

/*
 * Steps 3 to 5. 0: the change is made; when it is not durable yet, that was reported, and
 * commit__settle() says so. Otherwise nothing changed, and the blocks in `add` are gone: after a
 * sync that failed nobody knows what their directory holds. -ENOENT: a block to remove is not
 * listed.
 */
int commit__apply(struct commit *c, const struct commit_change *change, struct dcm_error *err);

/*
 * Between a wal__sync() and its acknowledgement: writes the manifest anew when the log asks for it
 * (wal_stat.unnoted), once for each segment and seal. 0, or why it cannot: what was synced is as
 * durable as without it, and the next call tries again.
 */
int commit__note_log(struct commit *c, struct dcm_error *err);

/* 0 when the last change is durable, if need be by writing the manifest again. */
int commit__settle(struct commit *c, struct dcm_error *err);

/* What the store is at one moment. Zeroed is none. */
struct commit_moment {
	struct manifest manifest;
	wal_extents log; /* what it has beyond the manifest's sealed_lsn, and perhaps more */
};
void commit_moment__fini(struct commit_moment *m);

/*
 * The moment, into a zeroed one; all that was acknowledged before is in it. Until release() no file
 * of it is removed, while changes go on: what they make superfluous takes room for so long. Holds
 * are counted. 0 or a negative errno with a sentence, and then nothing is held.
 */
int commit__hold(struct commit *c, struct commit_moment *ret, struct dcm_error *err);
/* Frees the moment too. */
void commit__release(struct commit *c, struct commit_moment *m);
/* Whether anybody holds one. */
bool commit__is_held(struct commit *c);

/*
 * To be called now and then while something refuses, and harmless otherwise. 0: the directory is
 * there and ours, the last change is durable, and the log takes frames. -ESTALE: a directory is
 * there, and it is not this store as it was: only a restart can tell what to do with it. As long as
 * it is not, no block is written and nothing changed in it.
 */
int commit__probe(struct commit *c, struct dcm_error *err);

/*
 * Whether the directories below the store's are there; else commit__probe() says which is not. Any
 * thread. When the log's has gone, nothing more is written to the segment that was in it.
 */
bool commit__is_whole(struct commit *c);

#endif
