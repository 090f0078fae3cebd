/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/frames.h - what an append-only log is made of: a head, then frames that
 * prove themselves
 *
 * Pure functions over bytes in memory; files are the business of wal.h (segments) and log_file.h
 * (one file). The layout is in docs/FORMATS.md, "A log of the local store".
 *
 * A frame is a payload with a number (LSN) and a type, all opaque here. Its header has a check of
 * its own, so that a length is never believed before it is known to be ours; every check depends on
 * the file's random salt, so that zeros, garbage, and frames of a file that lay on the same sectors
 * before never verify.
 *
 * A frame also says through which LSN the log was known to be synced when it was written. That
 * tells a torn tail (bytes that nobody was promised) from damage (bytes that somebody was): a hole
 * at an LSN that a later frame calls synced is damage.
 *
 * Frames begin at multiples of 8. A group of frames that is synced together may begin at a multiple
 * of the file's `align`: with the size of a sector, or of a page, no later write touches a sector
 * that has promised bytes.
 */
#ifndef DECIMA_DISK_FRAMES_H
#define DECIMA_DISK_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

enum {
	FRAMES_HEAD_BYTES = 64,
	FRAME_HEAD_BYTES = 32,
	FRAME_ALIGN = 8,
	FRAME_MAX_BYTES = 64 << 20, /* of a payload; at least 1 */
	FRAMES_ALIGN_MAX = 64 << 10,
};

/* No log gets there by counting: one that says so is nobody's. */
#define FRAMES_LSN_LIMIT ((uint64_t)1 << 61)

/* The first bytes of a file. */
struct frames_head {
	uint32_t kind;	 /* which log it is: the caller's; a file of another kind is refused */
	uint32_t align;	 /* power of two, 8 to FRAMES_ALIGN_MAX */
	uint64_t number; /* the file's */
	uint64_t salt;	 /* random, not 0 */
	/*
	 * Of a segment (wal.h says what they are for); 0, 0 and 1 in a file that is the whole log.
	 * synced_lsn: durable before this file was made. tail_lsn: last one that files before it
	 * hold for good. next_lsn: first new one.
	 */
	uint64_t synced_lsn, tail_lsn, next_lsn;
};

struct frame {
	uint64_t lsn;	     /* at least 1 */
	uint64_t synced_lsn; /* at most lsn - 1 */
	uint16_t type;	     /* the caller's */
	const uint8_t *payload;
	uint32_t n; /* bytes of it */
	size_t at;  /* where the frame begins, from the start of the file */
};

/* Where frames begin behind the head. */
static inline size_t frames__begin(const struct frames_head *h)
{
	return h->align > FRAMES_HEAD_BYTES ? h->align : FRAMES_HEAD_BYTES;
}

void frames__put_head(uint8_t to[static FRAMES_HEAD_BYTES], const struct frames_head *h);
/*
 * -EUCLEAN: not a head, or damaged. -EPROTONOSUPPORT: of a version that this program does not know.
 */
int frames__get_head(const uint8_t *p, size_t n, struct frames_head *ret);

/* What a payload of n bytes takes in a file. */
static inline size_t frames__size(uint32_t n)
{
	return FRAME_HEAD_BYTES + (((size_t)n + FRAME_ALIGN - 1) & ~(size_t)(FRAME_ALIGN - 1));
}

/*
 * Appends a frame whose checks are still missing; b->error tells of a failure, and b->n is then as
 * before. frames__seal() puts them in, and the synced mark, for all frames of the buffer, which has
 * nothing else; and may do so again for another file.
 */
void frames__put(struct buf *b, uint64_t lsn, uint16_t type, const void *payload, uint32_t n);
void frames__seal(struct buf *b, const struct frames_head *h, uint64_t synced_lsn);

/*
 * Walks over the valid frames of a file in memory. Anything else is stepped over, and told apart:
 * bytes that are not zero and belong to no frame are counted. A zeroed struct with the first three
 * set begins at the head's end.
 */
struct frames_cursor {
	const uint8_t *p; /* [n] the file from its first byte */
	size_t n;
	struct frames_head head;
	size_t at;  /* where the next look is */
	size_t end; /* of the last valid frame and its padding, also where the file lacks that */
	size_t n_bad_bytes;	 /* not zero, in no frame; of damage and torn frames */
	size_t n_hashed_in_vain; /* privately */
};

/* True and the next frame, whose payload points into the file; false at the end. */
bool frames__next(struct frames_cursor *c, struct frame *ret);

#endif
