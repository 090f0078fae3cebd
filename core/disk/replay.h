/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/replay.h - what the segments of a write-ahead log say after whatever
 * happened to them
 *
 * scan() reads every segment and notes its valid frames; each() hands them over in the order of
 * their LSNs, each LSN once. The rules, in terms of a segment's head (frames.h):
 *
 *  - Segments are ordered by number. A segment's own frames have LSNs from next_lsn on. Those from
 *    synced_lsn + 1 to tail_lsn are copies of frames whose sync in an earlier segment failed, or
 *    was never proven.
 *  - An earlier segment counts up to the smallest tail_lsn of the later ones only. What it has
 *    beyond was given up by whoever made the later one, and promised to nobody.
 *  - No LSN between a head's tail_lsn and its next_lsn exists.
 *  - durable_lsn is the largest LSN that any frame or head calls synced. A missing frame up to
 *    there is damage: it is counted, told, and stepped over. A missing frame beyond is the torn
 *    end: nothing behind it was promised. A manifest says one as well (noted_lsn): so a segment
 *    that somebody removed is missed, though no other segment tells of it.
 *
 * Reading changes nothing, so a reader may do it beside the daemon that writes. Single-threaded.
 */
#ifndef DECIMA_DISK_REPLAY_H
#define DECIMA_DISK_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/vec.h"
#include "core/disk/frames.h"
#include "core/disk/vfs.h"

#define WAL_DIR	 "wal"
#define WAL_KIND 1u /* in frames_head */
/* A path of a segment, NUL included. */
enum { WAL_PATH_BYTES = 32 };
/* A segment has at most so many bytes; a larger file is none of ours. */
#define WAL_FILE_MAX_BYTES ((size_t)1 << 30)

const char *wal__path(char to[static WAL_PATH_BYTES], uint64_t number);

/* How far a segment goes. */
struct wal_extent {
	uint64_t number;
	/*
	 * Either its bytes with all frames that were synced, of which the file may have fewer; or
	 * the file, open, so that it may be removed.
	 */
	uint64_t bytes;
	struct vfs_file *file;
};
typedef VEC(struct wal_extent) wal_extents;

/*
 * Opens every segment that is there, appended. -ESTALE: one went away meanwhile; or a negative
 * errno with a sentence.
 */
int wal_extents__open(struct vfs *v, wal_extents *ret, struct dcm_error *err);
void wal_extents__fini(wal_extents *e);

/*
 * The next frame is [n_lost] beyond the one before: so many were promised and cannot be read.
 */
typedef void (*replay_lost_fn)(void *ctx, uint64_t n_lost);

struct replay_file {
	uint64_t number;
	bool readable; /* its head is */
	bool gives_up; /* frames of earlier segments: were it not there, they would come back */
	struct frames_head head;
	uint64_t first_lsn, last_lsn; /* of its frames that count; 0, 0 without one */
	uint64_t bytes, end;	      /* of the file; behind its last valid frame */
	/* Privately: zeroes at its end are read too. */
	bool whole;
	/* Frames beyond count for nothing, as the head of files.v[bound_by] says. */
	uint64_t bound_lsn;
	uint32_t bound_by;
};

/* Of it; 0 when its head cannot be read, and so nothing in it. */
static inline uint64_t replay_file__extent(const struct replay_file *f)
{
	return f->readable ? f->end : 0;
}

struct replay_frame {
	uint64_t lsn;
	uint64_t at;
	uint32_t file; /* position in files */
	uint32_t n;
};

struct replay {
	VEC(struct replay_file) files;	 /* by number */
	VEC(struct replay_frame) frames; /* by LSN; a later segment's copy first */
	uint64_t durable_lsn;
	uint64_t max_lsn; /* of all that is mentioned: LSNs from max_lsn + 1 on were never used */
	/* Of each(): */
	uint64_t tail_lsn;    /* last LSN that was handed over or is lost */
	uint64_t n_frames;    /* handed over */
	uint64_t n_lost;      /* LSNs that were promised and cannot be read */
	uint64_t n_bad_bytes; /* in no valid frame and not zero; torn or damaged */
	uint32_t n_bad_files; /* whose head cannot be read: damaged, or never finished */
	/* To be set before scan() by who knows: a frame that was synced. */
	uint64_t noted_lsn;
	/* To be set before each() by who wants to know; gets the context of its replay_fn. */
	replay_lost_fn lost;
	/* Privately: the segment that is in memory. */
	struct buf bytes;
	uint32_t loaded; /* position in files, plus 1 */
};

/*
 * 0, or a negative errno from the file system; -ESTALE: a segment went away meanwhile, so what is
 * sealed has moved on (read the manifest again); -EFBIG: a file that is too large;
 * -EPROTONOSUPPORT: written by a later version. A zeroed struct before; fini() after, in any case.
 */
int replay__scan(struct replay *r, struct vfs *v, struct dcm_error *err);

/*
 * For each frame; the payload is borrowed for the call. Another value than 0 ends the replay, which
 * returns it.
 */
typedef int (*replay_fn)(void *ctx, const struct frame *f);

/*
 * All frames with an LSN above sealed_lsn. `report` may be NULL; it is told of each gap. After a
 * failure (of `each`, or of reading) the counts say what was done until then.
 */
int replay__each(struct replay *r, struct vfs *v, uint64_t sealed_lsn, replay_fn each, void *ctx,
		 dcm_report_fn report, void *report_ctx, struct dcm_error *err);

void replay__fini(struct replay *r);

#endif
