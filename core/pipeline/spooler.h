/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spooler.h - the stage before a destination that keeps on disk what it is to get
 *
 *	push -> [queue] -> writer thread: names, spool__append() -> feeder thread: deliver() -> the destination's queue
 *
 * A batch is acknowledged when the spool has it on disk. While the disk refuses, batches wait in the queue, whose
 * policy then decides. A directory that cannot be used is tried again and again, and said so; what comes meanwhile
 * waits in the queue, too. Batches are spooled with their names when the destination wants named ones: what they
 * are looked up in may be gone when they are sent.
 *
 * Threads: push and view from any; the rest from one control thread.
 */
#ifndef DECIMA_PIPELINE_SPOOLER_H
#define DECIMA_PIPELINE_SPOOLER_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/log.h"
#include "core/pipeline/queue.h"
#include "core/pipeline/spool.h"

/* Where, and how much; a directory of "" or NULL: there is no spool. */
struct spool_place {
	const char *directory;
	uint64_t max_bytes;
	int64_t max_age_ns;
	uint64_t bytes_per_s; /* at which batches that had to be read back are delivered at most; 0: no bound */
};

struct spooler;

struct spooler_config {
	const char *name;	  /* of the instance; copied */
	struct spool_place place; /* copied */
	const struct log *log;	  /* NULL: silent */
	struct stats *stats;	  /* NULL: losses are not counted */
	const struct clock *clock;
	/* As of struct writer_config; from the writer's thread. NULL: batches go as they are. */
	int (*resolved)(void *ctx, struct dcm_batch *batch, struct dcm_batch **ret_batch,
			struct dcm_error *err);
	void *resolved_ctx;
	/*
	 * To the destination's queue: 0, or -EAGAIN: no room yet. The ack's status says what became of it. From the
	 * feeder's thread.
	 */
	int (*deliver)(void *ctx, struct dcm_batch *batch, struct ack *ack);
	/* writer.h; "spool: " is before each sentence. */
	void (*trouble)(void *ctx, int code, const char *sentence);
	void *ctx;
};

/* Takes the queue, also on failure. */
int spooler__start(const struct spooler_config *config, struct queue *queue, struct spooler **ret,
		   struct dcm_error *err);
/* As queue__push(). */
int spooler__push(struct spooler *s, struct dcm_batch *batch, struct ack *ack);
/* As queue__move(), from a queue of nobody. */
void spooler__take(struct spooler *s, struct queue *from);
/* What the destination said of its last write: it stands beside a batch that is set aside. */
void spooler__say(struct spooler *s, const char *words);

/* spool.h: one profile of a batch that was delivered. What was said of it was the last. */
void spooler__set_aside(struct spooler *s, const struct dcm_batch *batch, uint32_t profile);

/*
 * Until the deadline, writes what is in the queue into the spool and, while `is_well` says so, delivers what is in
 * the spool. Then nothing is delivered any more. What was may still be settled until spooler__free().
 */
void spooler__stop(struct spooler *s, bool (*is_well)(void *ctx), void *ctx, int64_t deadline_mono_ns);
/*
 * The same for one whose destination stays: what waits to get into the spool goes on in `to`. A write that is under way
 * has until the deadline.
 */
void spooler__leave(struct spooler *s, struct queue *to, int64_t deadline_mono_ns);
/* After one of the two; tells what stays in the directory. NULL works. */
void spooler__free(struct spooler *s);

/* 0 when all that was pushed before is in the spool and nothing is in it that is not settled. -ETIMEDOUT. */
int spooler__flush(struct spooler *s, int64_t deadline_mono_ns);
/* As writer__watch(). */
void spooler__watch(struct spooler *s);

struct spooler_view {
	struct queue_view queue;
	struct spool_view spool;
	const char *directory; /* lives as long as the spooler */
	bool is_open;	       /* the directory could be used */
};
void spooler__view(struct spooler *s, struct spooler_view *ret);

/* Would one made of `place` be the same? */
bool spooler__is_at(const struct spooler *s, const struct spool_place *place);

#endif
