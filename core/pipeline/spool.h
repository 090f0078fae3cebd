/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spool.h - batches on disk, in order, until the other side has them
 *
 * A directory (docs/FORMATS.md, "A spool"): the write-ahead log of core/disk with a batch in each frame, the
 * position up to which all is settled, and what was refused, set aside. What append() has taken is there after
 * a power cut. What was settled just before one may come again; before the end of the process alone it does not.
 *
 *	append() -> waiting -> next() -> fed -> settle(0)           gone
 *	               ^                  |  -> settle(refused)     set aside, gone
 *	               +--- settle(-ECANCELED, -EAGAIN, -ENOMEM): not now
 *
 * It is bounded in bytes, in batches and in age: the oldest go first, and each loss is told by reason: spool_full,
 * spool_expired, spool_damaged (of those that nobody can read, and so nobody knows how many rows they had, one for
 * each batch). What was fed when it had to go is still delivered from memory.
 *
 * Threads: append() from one, next() from another, the rest from any.
 */
#ifndef DECIMA_PIPELINE_SPOOL_H
#define DECIMA_PIPELINE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/disk/vfs.h"

struct spool;

struct spool_config {
	uint64_t max_bytes; /* of all that waits; the files may have two segments (of 8 MiB at most) more */
	uint64_t aside_bytes; /* of what was refused and is kept to be looked at */
	int64_t max_age_ns; /* by CLOCK_MONOTONIC; what an earlier process appended, also by the machine's */
	uint64_t fed_bytes; /* memory of batches between next() and settle(); one may be larger */
	const struct clock *clock;
	/* Of rows that are lost, without a lock; of what open() found, from the first next(). May be NULL. */
	void (*lost)(void *ctx, const char *reason, uint64_t n);
	dcm_report_fn report; /* of damage and of failures survived; may be NULL */
	void *ctx;
};

/*
 * Takes over what is in the directory, and makes it where it is empty. -EBUSY: another process has it. Or a negative
 * errno with a sentence. The vfs outlives spool__close().
 */
int spool__open(struct vfs *v, const struct spool_config *config, struct spool **ret,
		struct dcm_error *err);
/*
 * Closes the files and drops the caller's reference. Who still holds one may settle: what was not settled before
 * comes again when the directory is opened again. NULL works. -ETIMEDOUT: somebody is in the disk for too long, and
 * everything stays as it is, the vfs, too, but that nothing is settled any more.
 */
int spool__close(struct spool *s);
/* For one that is known to be so, and is never closed. */
void spool__abandon(struct spool *s);
struct spool *spool__ref(struct spool *s);
void spool__unref(struct spool *s);

/*
 * 0: all [n] are on the disk. -EFBIG: one is larger than FRAME_MAX_BYTES, and none was taken. Else (-ENOSPC, -EIO,
 * -EROFS, -ENOENT, -ENOMEM, ...) the same group, which `group` names by any address, shall come again: that ends
 * what was begun, and takes none twice.
 */
int spool__append(struct spool *s, const void *group, struct dcm_batch *const *batches, uint32_t n,
		  struct dcm_error *err);

struct spool_item {
	uint64_t lsn, rows;
	uint64_t bytes;		 /* in the log */
	uint64_t memory;	 /* of the batch */
	bool was_read;		 /* from the disk: it has waited longer than memory had room for */
	struct dcm_batch *batch; /* a reference, the caller's */
};

/* The oldest that waits. 0; -EAGAIN: none does, or enough are fed; -ENOMEM, -EMFILE, ...: try later. */
int spool__next(struct spool *s, struct spool_item *ret);

/*
 * What became of one that next() gave, whose batch is not looked at. status 0: delivered. -ECANCELED, -EAGAIN, -ENOMEM: nothing, it
 * waits again. Any other: the other side has refused it, with the words that spool__say() has told last.
 */
void spool__settle(struct spool *s, const struct spool_item *item, int status);
void spool__say(struct spool *s, const char *words);
/* One profile of a batch that is fed was refused, with these words; the others are not. */
void spool__set_aside(struct spool *s, const struct dcm_batch *batch, uint32_t profile);

/* Until something may be there for next(), or the deadline (CLOCK_MONOTONIC), or spool__wake(). */
void spool__wait(struct spool *s, int64_t deadline_mono_ns);
void spool__wake(struct spool *s);

struct spool_view {
	uint64_t bytes, n_batches, n_rows; /* not settled */
	int64_t oldest_real_ns; /* when the oldest was appended, as the clock is now; 0: nothing waits */
	uint64_t n_aside, aside_bytes; /* of refused ones that are kept */
};
void spool__view(struct spool *s, struct spool_view *ret);

#endif
