/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_file.h - blocks as files that the manifest lists
 *
 * The manifest says which block a file must be (id, bytes, check of its footer), so a file that was
 * swapped, cut off or damaged at its ends is found when it is opened; a damaged chunk when it is
 * read.
 *
 * A damaged block is set aside, not removed: quarantine/NUMBER.blk is the same file, for people who
 * want to look at it or to get more out of it. Nothing reads it; quarantine.h says when it goes.
 *
 * Threads: an open block_map is read by any; the rest belongs to whoever calls.
 */
#ifndef DECIMA_STORAGE_LOCAL_BLOCK_FILE_H
#define DECIMA_STORAGE_LOCAL_BLOCK_FILE_H

#include "plugins/storage/local/block.h"
#include "plugins/storage/local/manifest.h"
#include "core/disk/vfs.h"

#define QUARANTINE_DIR "quarantine"

/* -------------------------------------------------------------------------------------------------
 * Writing, within a commit_write_fn
 *
 *	struct block_file out = { .file = f };
 *	... a block writer with block_file__put, &out ...
 *	r = block_file__end(&out);
 *	block_file__fini(&out);
 */

struct block_file {
	struct vfs_file *file;
	uint64_t written;
	struct buf waiting;
};

int block_file__put(void *ctx, const void *p, size_t n); /* a block_put_fn; ctx: struct block_file */
int block_file__end(struct block_file *to); /* writes what waits; 0 or a negative errno */
void block_file__fini(struct block_file *to);

/* A random id. 0 or vfs_ops.random()'s. */
int block_file__make_id(struct vfs *v, uint8_t ret[static BLOCK_ID_BYTES]);

/* What the block says of itself into its entry. The number and last_lsn stay as they are. */
void block_file__describe(const struct block_info *info, struct manifest_block *entry);

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

struct block_map {
	struct block block;
	struct vfs_map file;
};

/*
 * Maps the file of an entry and checks that it is the entry's block. 0; -EBADMSG with a sentence
 * when it is not, or is damaged; another errno when it cannot be read now (-ENOENT, -ENOMEM,
 * -EMFILE, ...). The file may be removed meanwhile.
 */
int block_map__open(struct block_map *m, struct vfs *v, const struct manifest_block *entry,
		    struct dcm_error *err);
void block_map__close(struct block_map *m); /* zeroed works */

/* After each chunk, of so many bytes. Another value than 0 ends the reading, and is returned: a negative errno. */
typedef int (*block_read_fn)(void *ctx, uint64_t n_bytes);

/*
 * Reads every chunk from end to end. Returns how many are damaged, and the first of them in
 * *ret_first; or -ENOMEM, or what `each` (may be NULL) says. For the check of a whole store: it costs what
 * reading the file costs.
 */
int64_t block__verify(const struct block *b, block_read_fn each, void *ctx, uint64_t *ret_first);
/* The same of one chunk: 0, -EBADMSG or -ENOMEM. */
int block__verify_chunk(const struct block *b, uint64_t at);

/*
 * Makes quarantine/NUMBER.blk another name of the block's file, durably; the caller then takes the
 * block out of the manifest. 0, also when it is there already, or a negative errno with a sentence.
 */
int block_file__set_aside(struct vfs *v, uint64_t number, struct dcm_error *err);

#endif
