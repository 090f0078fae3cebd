/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block.h - one immutable file of chunks
 *
 * Sections follow each other, each holding one kind of piece of all chunks, so that a question over
 * a long range reads rollups and stacks from end to end and nothing in between:
 *
 *	header | rows | profiles | stacks | rollups | pages | types | chunks | footer
 *
 * Chunks are sorted by (series, first type); one series may have several, of different types. The
 * footer, at the end, says where the sections stand: a file without it was not finished. A block
 * never changes after it was written; blocks may overlap in time, and every answer is a sum over
 * them.
 *
 * Threads: an open block is read by any number. A writer belongs to one thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_BLOCK_H
#define DECIMA_STORAGE_LOCAL_BLOCK_H

#include <decima/plugin.h>

#include "plugins/storage/local/chunk.h"

enum { BLOCK_ID_BYTES = 16, BLOCK_ROWS_MAX = 1u << 30 };

/* What is known of a block without reading it: the manifest keeps it too. */
struct block_info {
	uint8_t id[BLOCK_ID_BYTES]; /* random */
	uint32_t era;		    /* of whose dictionary the numbers are */
	uint32_t level;		    /* 0: sealed from the log; each compaction adds one */
	int64_t first_ms, last_ms;  /* start times of profiles, inclusive */
	uint64_t n_rows, n_profiles, n_chunks;
	uint64_t bytes; /* of the file */
	uint64_t check; /* of its footer, and so of all checksums in it: equal content, equal check */
};

/* -------------------------------------------------------------------------------------------------
 * Writing: new, chunks in order, finish. After an error nothing but free is allowed.
 */

/* Takes the next bytes of the file. 0 or a negative errno. */
typedef int (*block_put_fn)(void *ctx, const void *p, size_t n);

struct block_options {
	uint8_t id[BLOCK_ID_BYTES];
	uint32_t era, level;
	int zstd_level; /* of rows; 0: as they are, which reads several times faster */
};

struct block_writer;
struct block_writer *block_writer__new(const struct block_options *o, block_put_fn put, void *ctx); /* NULL: memory */
void block_writer__free(struct block_writer *w);

/*
 * 0, -ENOMEM, -EFBIG beyond BLOCK_ROWS_MAX (the block is as before: finish it and begin another),
 * or put()'s.
 */
int block_writer__chunk(struct block_writer *w, const struct chunk_source *from);

/* Bytes that are kept in memory until the end: all but rows. */
size_t block_writer__waiting(const struct block_writer *w);

/* Ends the file. The caller makes it last. */
int block_writer__finish(struct block_writer *w, struct block_info *ret);

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

struct vfs;

struct block {
	struct block_info info;
	const uint8_t *sections[5]; /* rows, profiles, stacks, rollups, pages */
	uint64_t section_bytes[5];
	const struct chunk_type *types; /* [n_types] */
	uint64_t n_types;
	const struct chunk_entry *chunks; /* [info.n_chunks] */
	uint64_t seed;
	struct vfs *vfs; /* whose vfs__n_lost() tells that mapped bytes are lost; NULL: they are not mapped */
};

/*
 * A file's bytes [n], aligned to 8, which the block refers to from now on. Checks header, footer,
 * and the checksums of the directory, which is all that is read. 0, or with a sentence -EBADMSG, or
 * -EPROTONOSUPPORT for what a later version wrote.
 */
int block__open(struct block *b, const void *p, size_t n, struct dcm_error *err);

/* Chunk `at` of info.n_chunks. 0, or -EBADMSG when its entry does not fit the file. */
int block__chunk(const struct block *b, uint64_t at, struct chunk *ret);
/*
 * The same with an entry that the caller has copied, so that it stays what it is when the file's
 * bytes are lost.
 */
int block__chunk_of(const struct block *b, const struct chunk_entry *e, struct chunk *ret);

/*
 * The first chunk of the series or, when it has none, of the next larger one; n_chunks: behind the
 * last.
 */
uint64_t block__find(const struct block *b, uint32_t series);

#endif
