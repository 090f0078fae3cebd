/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/queue.h - queues of batches, bounded in bytes together
 *
 * Every queue belongs to a pool. A queue may always hold its own reserve; what it holds beyond that
 * it takes from the pool's shared rest, first come, first served, up to its own maximum. So a dead
 * output can fill its reserve and the shared rest, and every other queue still has its reserve. A
 * batch counts batch->bytes in each queue that holds it (an overlay counts its parent too), from
 * push until queue__release(): one that is being written is still memory.
 *
 * What happens when there is no room is the queue's policy. A batch that could never fit is lost as
 * "too_large". Losses go to stats as drop(NAME, reason, rows); the reasons are queue_full,
 * too_large, no_memory, shutdown, abandoned, and those that callers give. Each batch that came in
 * is counted once: as out, as lost, or as one that is still there.
 *
 * Threads: any. One mutex per pool, held for list operations only; batches are freed and callbacks
 * made without it.
 */
#ifndef DECIMA_PIPELINE_QUEUE_H
#define DECIMA_PIPELINE_QUEUE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/clock.h"
#include "core/stats/stats.h"

/*
 * Counts down the destinations that a batch must reach; the last one calls the emitter's done()
 * with the first error; with -EMSGSIZE in place of -EFBIG where one of them has taken it.
 */
struct ack;
/* One reference. NULL when memory ran out. done NULL is fine (nothing is called). */
struct ack *ack__new(dcm_done_fn done, void *ctx);
struct ack *ack__ref(struct ack *a); /* NULL is fine */
/* status: 0 or a negative errno of this destination. NULL is fine. */
void ack__unref(struct ack *a, int status);
/* What it is told in the end if nothing worse was: of a part that was lost before anybody could have it. NULL is fine. */
void ack__remark(struct ack *a, int code);
/* Frees the only reference; done() is not called. NULL is fine. */
void ack__cancel(struct ack *a);

struct queue_pool;
/* `shared_bytes`: the rest beside the reserves. Freed when the last queue and the owner let go. */
struct queue_pool *queue_pool__new(uint64_t shared_bytes);
void queue_pool__unref(struct queue_pool *p);

enum queue_policy {
	QUEUE_REFUSE,	   /* push answers -EAGAIN: the intake, whose emitters try again or drop */
	QUEUE_DROP_OLDEST, /* make room by losing the oldest that is not being written */
	QUEUE_DROP_NEWEST, /* lose the one that comes */
	QUEUE_BLOCK,	   /* wait for room: one-shot commands only */
};

struct queue_config {
	const char *name; /* for drops; copied */
	enum queue_policy policy;
	uint64_t reserve_bytes;
	uint64_t max_bytes;  /* 0: reserve and all of the shared rest */
	struct stats *stats; /* NULL: losses are counted in the queue only */
	const struct clock *clock;
	/*
	 * What it gives up at its end ("shutdown", "abandoned") somebody else still has, and hears of it by the ack:
	 * it counts as if it had never come, and not as lost.
	 */
	bool is_backed;
	/* Whose place it takes: counts go on; of the same pool. NULL: from 0. */
	const struct queue *before;
};

struct queue;
int queue__new(struct queue_pool *pool, const struct queue_config *config, struct queue **ret);
struct queue *queue__ref(struct queue *q);
/* With the last reference, whatever is left is lost as "shutdown". NULL is fine. */
void queue__unref(struct queue *q);

struct queue_item {
	struct dcm_batch *batch;
	struct ack *ack; /* NULL: nobody asked. The queue's, while the item is popped */
	uint64_t bytes, rows;
	int64_t pushed_mono_ns;
	uint64_t sequence;	   /* of its push */
	struct queue_entry *entry; /* privately */
};

/*
 * Takes its own references of batch and ack. 0: taken, or lost by the policy (the ack then has its
 * error). -EAGAIN: QUEUE_REFUSE and full. -ESHUTDOWN: closed. -ENOMEM. On these nothing was taken
 * and nothing counted.
 */
int queue__push(struct queue *q, struct dcm_batch *batch, struct ack *ack);

/*
 * The oldest item, its batch now the caller's. 0, -ETIMEDOUT, -ECANCELED: held, or -ESHUTDOWN:
 * closed and empty.
 */
int queue__pop(struct queue *q, int64_t deadline_mono_ns, struct queue_item *ret);
/*
 * Gives back the item's bytes, drops the batch, and settles the ack with `status`. Every popped
 * item comes here, or to queue__put_back().
 */
void queue__release(struct queue *q, struct queue_item *item, int status);
/*
 * Counts the item's rows as lost by this queue's owner (reason "rejected", ...) and releases it
 * with `status`.
 */
void queue__lose(struct queue *q, struct queue_item *item, const char *reason, int status);

/*
 * Of a popped item that goes on, [rows] are lost and counted: it has so many less from now on, and is still one batch.
 */
void queue__lose_part(struct queue *q, struct queue_item *item, uint64_t rows, const char *reason);

/* The item waits again, before all that was pushed after it. */
void queue__put_back(struct queue *q, struct queue_item *item);
/*
 * While held, whoever pops or pauses hears so at once, and all that is queued stays: the one who
 * pops goes, and another one will come. Pushes go on.
 */
void queue__hold(struct queue *q, bool is_held);
/*
 * What waits in one goes on in another, whose policy then decides; without memory it is lost as
 * "no_memory". Nobody pops from `from` meanwhile.
 */
void queue__move(struct queue *from, struct queue *to);

/* Pushes fail from now on; pops empty the queue and then say -ESHUTDOWN. Wakes everybody. */
void queue__close(struct queue *q);
/* Loses what is queued (not what was popped) with that reason and -ECANCELED. */
void queue__discard(struct queue *q, const char *reason);
/*
 * From now on the queue touches neither stats nor the pool's bookkeeping of others: its owner ends,
 * and a thread that does not come back from a plugin still holds it. Discards as "shutdown" first;
 * what was popped and not given back is counted as lost, "abandoned", here and now, and its ack is
 * settled with -ECANCELED: nobody can say what becomes of it, and when it comes back after all,
 * nothing more is counted and nobody hears of it.
 */
void queue__orphan(struct queue *q);
/*
 * For the one who pops, when it must wait before it tries again: returns at `until_mono_ns`, or
 * earlier when queue__wake() or queue__close() came since the last pause, or when it is held.
 */
void queue__pause(struct queue *q, int64_t until_mono_ns);
void queue__wake(struct queue *q);
/*
 * Waits until everything that was pushed before is gone: released or lost. 0 or -ETIMEDOUT. Exact
 * for a queue that one thread pops in order.
 */
int queue__flush(struct queue *q, int64_t deadline_mono_ns);

/* For pages and metrics. A popped item counts until its release. */
struct queue_view {
	uint64_t bytes, reserve_bytes, max_bytes;
	uint64_t n_batches; /* queued */
	uint64_t n_popped;  /* being written */
	/* Of all queues that this one took the place of, too: */
	uint64_t n_in, n_out, n_out_rows; /* out: released with 0 */
	uint64_t n_lost_batches, n_lost_rows;
	uint64_t n_retries;	/* queue__pause() */
	int64_t oldest_mono_ns; /* of what is queued or being written; 0: nothing */
};
void queue__view(struct queue *q, struct queue_view *ret);

#endif
