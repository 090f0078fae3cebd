/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/wal.h - the write-ahead log: what was acknowledged and lies nowhere else yet
 *
 * The local store's, until its blocks have it, and that of spools, until the other side has it. In the
 * words below it is the store's: what is sealed is what the owner needs no more.
 *
 * Segments wal/NUMBER.wal of frames (frames.h), preallocated, so that a full disk shows when a
 * segment is made and not in the middle of one, and written with zeroes a stretch ahead of the frames
 * (wal.c). A frame is the caller's: a type and opaque bytes.
 * Use:
 *
 *	wal__open()    hands over every frame above the manifest's sealed_lsn, then takes new ones
 *	wal__append()  numbers a frame and keeps it in memory; it is not safe yet
 *	wal__sync()    returns when the frame is safe: acknowledge after it, and only when it returned 0
 *	wal__cut()     before a seal: the LSN up to which the closed head has everything
 *	wal__forget()  after the manifest with that sealed_lsn is durable: segments that nobody needs go
 *	wal__noted()   after a manifest with that log_lsn is durable
 *
 * Group commit, leader and follower: who finds no sync in flight becomes the leader, writes all
 * that waits with one write and one sync, and wakes the others; who arrives meanwhile waits in
 * memory and is in the next group. A group begins at a multiple of `align`, so that no later write
 * touches a sector that has acknowledged frames.
 *
 * When a write or sync fails, the segment is never written or synced again. The group is still in
 * memory and is written to a new segment, at once. When that fails too, the log refuses:
 *
 *	taking --(a new segment failed as well)--> refusing --(wal__probe() succeeded)--> taking
 *
 * While it refuses, wal__append() and wal__sync() return the cause (-ENOSPC, -EIO, -EROFS, -ENOENT:
 * the directory was removed, ...) with a sentence; nothing that was appended before is lost, it
 * waits in memory and becomes durable with the first probe that succeeds. Nobody is acknowledged
 * meanwhile. Whoever owns the log calls wal__probe() now and then (a second apart is fine): each
 * probe tries one new segment and removes it when it fails. Reading what is sealed does not depend
 * on any of this. A seal helps too: wal__forget() of everything drops what waits, because a block
 * has it.
 *
 * A segment that somebody removes is missed because the manifest names one of its frames that are
 * in no block (log_lsn), or a later segment does. So a manifest is written when the first group of
 * a segment is durable, and when that frame may be sealed before others of its segment: wal_stat
 * says so, and who acknowledges sees to it first (commit__note_log()).
 *
 * Any thread, several at once, but open and close. Calls of the vfs are made without the lock:
 * append never waits for the disk. `report` is called by whatever thread met the event, without a
 * lock held.
 */
#ifndef DECIMA_DISK_WAL_H
#define DECIMA_DISK_WAL_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/disk/replay.h"
#include "core/disk/vfs.h"

struct wal_options {
	uint64_t segment_bytes; /* of a segment; one is larger when a group alone is. 64 MiB is good */
	uint64_t pending_max_bytes; /* that wait in memory; more is refused with -EAGAIN */
	/*
	 * Segments get numbers from here on: larger than any that an earlier process used, also for
	 * one that was removed, since a power cut may bring it back. commit__open() sets it.
	 */
	uint64_t first_number;
	uint64_t used_lsn; /* LSNs up to here, though they may be in no segment, are not used again */
	uint64_t noted_lsn;   /* as of struct replay */
	uint32_t align;	      /* of groups: 8 to 64 KiB, a power of two; 4096 is good */
	replay_lost_fn lost;  /* of frames, with the context of the replay; may be NULL */
	dcm_report_fn report; /* of damage met, and of failures survived; may be NULL */
	void *report_ctx;
};

/* What open() found. */
struct wal_found {
	uint64_t n_frames;    /* handed over */
	uint64_t n_lost;      /* that were acknowledged and are damaged: each gap was reported */
	uint64_t n_bad_bytes; /* torn or damaged, in no frame */
	uint32_t n_files, n_bad_files;
};

struct wal_stat {
	uint64_t last_lsn;	/* of the last frame appended */
	uint64_t synced_lsn;	/* all up to here are durable */
	uint64_t proven_lsn;	/* the last frame that this process knows to be; 0: none yet */
	bool unnoted;		/* ... and the manifest shall name, before more is acknowledged */
	uint64_t pending_bytes; /* in memory, not durable */
	uint64_t n_groups;	/* written and synced since open */
	uint64_t n_failures;	/* writes or syncs that failed since open, survived or not */
	uint32_t n_files;	/* segments on the disk, this one included */
	uint32_t n_held;	/* of them nobody needs but those who hold() */
	int refusing;		/* 0, or the negative errno that append returns */
};

struct wal;

/*
 * Replays and takes over. Frames whose sync nobody can vouch for (the process may have died before
 * its own) are written again and synced before this returns. When the disk refuses that, open still
 * succeeds and the log refuses (see above), so that what is there can be read. 0, or as
 * replay__scan(), or what `each` returned, or -ENOMEM. The directory wal/ is there.
 */
int wal__open(struct vfs *v, const struct wal_options *options, uint64_t sealed_lsn, replay_fn each,
	      void *ctx, struct wal_found *ret_found, struct wal **ret, struct dcm_error *err);
/* Writes nothing: what was not synced is given up. NULL works. */
void wal__close(struct wal *w);

/*
 * Takes a copy of the payload, 1 to FRAME_MAX_BYTES bytes. LSNs ascend, not always by one. -EINVAL
 * (size), -EAGAIN (too much waits), -EOVERFLOW (FRAMES_LSN_LIMIT), -ENOMEM, or the cause of
 * refusing: the frame is then not there.
 */
int wal__append(struct wal *w, uint16_t type, const void *payload, size_t n, uint64_t *ret_lsn,
		struct dcm_error *err);

/*
 * Returns when all frames up to lsn are durable, or with the cause of refusing: they then still
 * wait.
 */
int wal__sync(struct wal *w, uint64_t lsn, struct dcm_error *err);

/*
 * The last LSN so far; the next group begins a new segment, so that forget() can remove the one
 * before.
 */
uint64_t wal__cut(struct wal *w);

/*
 * All frames up to sealed_lsn are durable elsewhere. Frames that wait are dropped when all of them
 * are. 0, or the first failure to remove a segment; it is tried again by the next call.
 */
int wal__forget(struct wal *w, uint64_t sealed_lsn, struct dcm_error *err);

/* A manifest with this proven_lsn is durable. */
void wal__noted(struct wal *w, uint64_t lsn);

/*
 * When refusing, tries whether the cause has gone. 0: the log takes frames, and all that waited is
 * durable.
 */
int wal__probe(struct wal *w, struct dcm_error *err);

/*
 * What the log has at this moment, appended; until release() no segment of it is removed. Holds are
 * counted. 0 or -ENOMEM, and then nothing is held.
 */
int wal__hold(struct wal *w, wal_extents *ret);
/* What should have gone meanwhile goes with the next forget(). */
void wal__release(struct wal *w);

void wal__stat(struct wal *w, struct wal_stat *ret);

#endif
