/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spool_private.h - what the parts of a spool share: its state, the index, who has the disk
 *
 * spool.c holds life, the index and what follows it on the disk; spool_append.c the way in, spool_feed.c the way out.
 * Private to these.
 */
#ifndef DECIMA_PIPELINE_SPOOL_PRIVATE_H
#define DECIMA_PIPELINE_SPOOL_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/vec.h"
#include "core/disk/lookup.h"
#include "core/disk/wal.h"
#include "core/pipeline/aside.h"
#include "core/pipeline/position.h"
#include "core/pipeline/spool.h"

#define SPOOL_KEPT_BYTES ((uint64_t)4 << 20) /* of batches in memory that are on the disk, too */

enum {
	FRAME_BATCH = 1,
	RECORD_HEAD_BYTES = 16, /* before the batch in a frame: i64 when, u32 rows, u32 0 */
	SEGMENT_ALIGN = 4096,
	WORDS_MAX = 256,
};

enum state { WAITING, FED, SETTLED };
enum loss { LOST_FULL, LOST_EXPIRED, LOST_DAMAGED, N_LOSSES };

struct entry {
	uint64_t lsn;
	int64_t mono_ns; /* when it was appended; of an earlier process's, below 0 perhaps */
	uint64_t bytes;	 /* in the log */
	uint64_t rows;
	struct dcm_batch *batch; /* a reference; NULL: on the disk only */
	enum state state;
};

/* Of a group whose end the disk has not let us see: see spool__append(). */
struct begun {
	const void *group; /* NULL: none */
	VEC(struct entry) entries;
};

struct spool {
	_Atomic uint32_t refs;
	struct vfs *vfs;
	struct spool_config config;
	struct vfs_file *lock_file;
	uint64_t segment_bytes;
	struct wal *wal;
	struct begun begun;   /* append()'s */
	struct lookup lookup; /* next()'s */
	unsigned n_failures;  /* next()'s: of the disk, in a row */
	struct aside aside;

	/* Of who has the disk: see spool__take_disk(). */
	struct position position;
	bool has_told; /* that the position cannot be noted */

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t changed, disk_is_free;
	bool disk_is_taken;
	VEC(struct entry) entries; /* from `head` on, by LSN */
	size_t head, next;	   /* before `next` nothing waits */
	uint64_t bytes, rows;	   /* of all entries */
	uint64_t left_bytes;	   /* of those that left since segments were removed */
	uint64_t kept_bytes, fed_bytes;
	uint64_t settled_lsn;	 /* all up to here are */
	bool has_moved;		 /* ... and the disk does not know */
	uint64_t loose_rows;	 /* of those that are fed and in no entry any more */
	uint64_t lost[N_LOSSES]; /* not told yet */
	bool is_closed, is_woken;
	char words[WORDS_MAX]; /* of the other side, the last */
};

void spool__tell(const struct spool *s, enum dcm_log_level level, const char *text);

/*
 * What is noted on the disk, and removed from it, is so by one at a time, who waits for the disk without the lock. False
 * at the deadline, INT64_MAX: there is none.
 */
bool spool__take_disk(struct spool *s, int64_t deadline_mono_ns);
void spool__give_disk(struct spool *s);
/* By who has it. */
void spool__note_position(struct spool *s, uint64_t settled_lsn);

/*
 * Lets the lock go, and then does what is not done under it: losses are told, and the disk follows the index. Who
 * counts losses may have a lock of its own, with which it asks for a view.
 */
void spool__unlock(struct spool *s);

/* ---- with the lock ---- */

/* By LSN; NULL: it has left. */
struct entry *spool__find(struct spool *s, uint64_t lsn);
/* Its batch is no more in memory. */
void spool__unkeep(struct spool *s, struct entry *e);
/* What is settled at the front leaves. */
void spool__move_on(struct spool *s);
/* Those that wait and are too old leave; before them may be some that are fed. */
void spool__expire(struct spool *s);
/* ... and the oldest, until the rest keeps the bounds; the newest stays, whatever its size. */
void spool__keep_bounds(struct spool *s);

#endif
