/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/store.h - the store: a log, heads of what is in it, blocks, and the eras of
 * both
 *
 * A write puts its batches into one frame of the log, so that all of them are there after a crash
 * or none, and into the heads (head.h); it is acknowledged when the frame is durable. A seal
 * (upkeep.h) closes the heads and makes blocks of them. A batch that was seen is not stored again,
 * but acknowledged as late as a new one. Which batches were seen stands in the manifest, as of its
 * sealed_lsn; the log has the later ones.
 *
 * What starts more than a day after the clock, or is too old already (age.h), is refused: counted,
 * not stored, and for the sender it is done.
 *
 * When the disk refuses, writes are refused with the cause, and questions go on. A write that was
 * in the log's memory when the disk failed is neither refused nor acknowledged: its `done` comes
 * when a probe has brought it to the disk.
 *
 * Threads: write() from one at a time, the rest from any. `lock` guards what a question looks at,
 * is held for moments, and no file is touched under it: dictionaries are read before it is taken
 * (eras.h). `work` is held by the one seal, removal, retention or exchange of blocks (rework.h) that
 * is under way, and is taken first.
 */
#ifndef DECIMA_STORAGE_LOCAL_STORE_H
#define DECIMA_STORAGE_LOCAL_STORE_H

#include <pthread.h>

#include <decima/plugin.h>

#include "plugins/storage/dict/growth.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/disk_use.h"
#include "plugins/storage/local/filters.h"
#include "plugins/storage/local/head.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/kept.h"
#include "plugins/storage/local/losses.h"
#include "plugins/storage/local/stored.h"
#include "plugins/storage/streams/seen.h"

enum {
	/*
	 * Of the log: which profiles were taken, as the two times of struct heads_window, 8 bytes
	 * each; and for each batch its length, 4 bytes, and "batch" bytes. Read only.
	 */
	STORE_FRAME_BATCHES = 1,
	STORE_FRAME_ROWS = 2, /* rows_frame.h */
	STORE_MAX_ERAS = 1024,
	/* With so many a dictionary grows beyond its bound, rather than that writes are refused. */
	STORE_MANY_ERAS = STORE_MAX_ERAS / 2,
};

struct store_options {
	uint64_t max_bytes;   /* of files; 0: no bound */
	int64_t retention_ms; /* 0: none */
	/*
	 * int64_t ns by type's text, or its beginning up to a colon: kept so long instead.
	 * Borrowed.
	 */
	struct dcm_map retention_by_type;
	/* int64_t bytes of blocks, by the same: a type's oldest go beyond it. Borrowed. */
	struct dcm_map max_bytes_by_type;
	int64_t seal_ms;	 /* the oldest that a head's first profile gets, by the clock */
	uint64_t head_max_bytes; /* sealed then; twice as much refuses writes */
	uint64_t log_max_bytes;	 /* that a start may have to read: sealed then, too; 0: no bound */
	uint64_t dictionary_max_bytes; /* of memory (eras.h); 0: no bound */
	uint32_t max_series;	/* of one dictionary, as streams__plan() has it; 0: no bound */
	uint64_t era_max_bytes; /* of one dictionary: then another is begun; 0: no bound */
	uint64_t segment_bytes; /* of the log */
	uint32_t align;		/* of its groups */
	dcm_report_fn report;	/* of damage and trouble; any thread */
	void *report_ctx;
};

/* What was written, waits for the disk, and will be told so. */
struct store_waiting {
	uint64_t lsn;
	dcm_done_fn done;
	void *ctx;
};

struct store {
	const struct dcm_host *host;
	struct vfs *vfs;
	struct store_options options; /* limits and intervals under `lock`: they may be configured anew */
	struct commit *commit;	      /* NULL when it is only read */
	bool only_read;		      /* opened by reader.h: nothing is written */
	bool half_manifest;	      /* then: one of the manifest's two copies is damaged */
	pthread_mutex_t work;
	pthread_cond_t reworked; /* of `work`: blocks were written anew, or were not */
	uint64_t rework_bytes; /* with `work`: of blocks that are being so: the new ones take no more room */
	VEC(char *)
	strays; /* with `work`: files of eras that a process which died has left, and nobody lists */

	pthread_rwlock_t lock;	     /* --- guards: --- */
	struct heads active;	     /* take writes */
	struct heads sealing;	     /* on their way into blocks; older than the active ones */
	VEC(struct stored *) blocks; /* as they were written: by last_lsn, then number */
	VEC(struct era *) eras;
	loss_list lost;			/* as in the manifest */
	struct lost_frames lost_frames; /* that no seal has put there yet */
	struct filters *filters; /* what was removed and is still in blocks; changed with `work` too */
	uint32_t n_replayed; /* of the filters: heads have lost what they take; while the log is replayed */
	struct dcm_error *replay_err; /* then too: says why it ended */
	uint64_t filtered_lsn;	      /* of the newest filter when the store was opened */
	uint32_t next_era;
	uint32_t listed_eras; /* smaller numbers are in the manifest that was read, or have gone */
	char full_growth[GROWTH_BYTES]; /* what filled the last dictionary that became full */
	struct seen seen;
	struct extras_store sealing_seen; /* what it was, and next_era, when they were closed */
	uint64_t last_lsn;		  /* of frames in the heads */
	uint64_t sealing_lsn;		  /* of those in `sealing` */
	int64_t newest_ms;		  /* INT64_MIN: there was never a profile */
	int64_t aged_ms;		  /* age.h: to where its time has come; INT64_MIN: unset */
	int64_t aged_at_ns;		  /* mono, when that was */
	int64_t active_since_ns;   /* mono, of the first write to the active heads; 0: none */
	uint64_t active_log_bytes; /* that the log has of them */

	struct kept kept; /* has a lock of its own */
	struct disk_use disk;

	pthread_mutex_t waiting_lock;
	VEC(struct store_waiting) waiting;

	_Atomic uint64_t n_asked; /* questions and seals: what eras' asked_at counts in */
	_Atomic bool log_filled; /* log_max_bytes were reached: whoever wakes the upkeep unsets it */
	_Atomic bool stopping;	 /* blocks are not written anew to the end: it would be long */

	_Atomic uint64_t n_expired;		    /* profiles that were removed for their age */
	_Atomic uint64_t n_too_old, n_too_new;	    /* profiles that were refused when they came */
	_Atomic uint64_t n_full;		    /* dictionaries that became full */
	_Atomic uint64_t rows_folded, rows_refused; /* for which max_series had no room */
	_Atomic uint64_t rows_evicted;		    /* rows removed for lack of room */
	_Atomic uint64_t n_aside, aside_bytes;	    /* files of damaged blocks (quarantine.h) */
	int64_t room_comes_until_ns;	/* with `work`, mono: what went for room is waited for */
	uint64_t room_was_bytes;	/* with `work`: free, when it went */
	_Atomic uint64_t n_unreadable;	/* how often something damaged was met */
	_Atomic uint64_t n_frames_lost; /* of the log, that were acknowledged */
};

/* Of that number; NULL: none. */
struct era *store__find_era(const struct store *s, uint32_t number);

/*
 * Takes the directory, reads the manifest and replays the log. The host and the vfs outlive the
 * store. 0, or as commit__open().
 */
int store__open(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		struct commit_found *ret_found, struct store **ret, struct dcm_error *err);
/* Writes that wait are told -ECANCELED. NULL works. */
void store__close(struct store *s);

/*
 * As dcm_storage_ops.write: 0 and `done` (may be NULL) when it is durable; or -EAGAIN, -ENOMEM,
 * -EFBIG (a batch that no frame holds), -EOVERFLOW (times that need more than STORE_MAX_ERAS eras),
 * or what the disk says, with a sentence.
 */
int store__write(struct store *s, struct dcm_batch *const *batches, uint32_t n, dcm_done_fn done,
		 void *ctx, struct dcm_error *err);

/*
 * For who opens: a store without files; what the manifest lists (into an empty one); and a
 * replay_fn of the log. As commit_options' `loaded` and `each`, with the store as the context.
 */
struct store *store__new(const struct dcm_host *host, struct vfs *v, const struct store_options *o);
int store__take_manifest(void *store, const struct manifest *m, struct dcm_error *err);
int store__replay_frame(void *store, const struct frame *f);
void store__replay_lost(void *store, uint64_t n_lost); /* its replay_lost_fn */

/* After the last frame of a replay: what was removed after it. 0 or -ENOMEM. */
int store__end_replay(struct store *s);

/* How large a dictionary may become until another is begun for its time; with the lock. */
uint64_t store__era_max_bytes(const struct store *s);

/* What most series that are being written have, in words (growth.h). */
void store__growth(struct store *s, char ret[static GROWTH_BYTES]);

/* Tells those whose writes have become durable. */
void store__acknowledge(struct store *s);

/* Brings the blocks into the order in which they were written. With the lock for writing. */
void store__sort_blocks(struct store *s);

/*
 * Finds an era by its number in blocks. 0 and a reference, as long as which it is loaded, or a
 * negative errno.
 */
int store__era(struct store *s, uint32_t number, struct era **ret, struct dcm_error *err);

#endif
