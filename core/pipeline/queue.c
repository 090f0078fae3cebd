/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/queue.c - queues of batches, bounded in bytes together
 *
 * The pool's mutex guards the pool and all of its queues: an operation is a few list links, and
 * whether something fits is then one question and not two. Items that an operation throws out are
 * collected in a list and lost after the mutex was let go, because freeing a batch and calling back
 * take time. Waiting is by CLOCK_MONOTONIC.
 */
#include "core/pipeline/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"

/* ---- acks ---- */

struct ack {
	_Atomic uint32_t refs;
	_Atomic int status;    /* the first error */
	_Atomic int remark;    /* where there is none; 0: it went well */
	_Atomic bool is_taken; /* by one destination at least */
	dcm_done_fn done;
	void *ctx;
};

struct ack *ack__new(dcm_done_fn done, void *ctx)
{
	struct ack *a = NEW(struct ack);

	if (a) {
		a->refs = 1;
		a->done = done;
		a->ctx = ctx;
	}
	return a;
}

struct ack *ack__ref(struct ack *a)
{
	if (a)
		atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
	return a;
}

void ack__unref(struct ack *a, int status)
{
	int none = 0;

	if (!a)
		return;
	if (status < 0)
		atomic_compare_exchange_strong(&a->status, &none, status);
	if (atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (a->status == -EFBIG && a->is_taken)
		a->status = -EMSGSIZE;
	if (a->done)
		a->done(a->ctx, a->status ? a->status : a->remark);
	free(a);
}

void ack__remark(struct ack *a, int code)
{
	if (a)
		a->remark = code;
}

/* A destination has it. */
static void note_taken(struct ack *a)
{
	if (a)
		a->is_taken = true;
}

void ack__cancel(struct ack *a)
{
	free(a);
}

/* ---- pools ---- */

struct queue_pool {
	pthread_mutex_t mutex;
	pthread_cond_t room; /* bytes were given back, or a queue was closed */
	uint32_t refs;
	uint64_t shared_bytes, shared_used;
};

struct queue_pool *queue_pool__new(uint64_t shared_bytes)
{
	struct queue_pool *p = NEW(struct queue_pool);

	if (!p)
		return NULL;
	pthread_mutex_init(&p->mutex, NULL);
	cond__init(&p->room);
	p->refs = 1;
	p->shared_bytes = shared_bytes;
	return p;
}

void queue_pool__unref(struct queue_pool *p)
{
	uint32_t left;

	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	left = --p->refs;
	pthread_mutex_unlock(&p->mutex);
	if (left > 0)
		return;
	pthread_cond_destroy(&p->room);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

/* ---- a queue ---- */

/* What came of all that ever came: of a queue and of those that took its place. */
struct totals {
	_Atomic uint32_t refs;
	/* Under the pool's mutex: */
	uint64_t n_in, n_out, n_out_rows, n_lost_batches, n_lost_rows, n_retries;
};

struct queue_entry {
	struct queue_entry *next, **at; /* at: of one that is popped, what points to it */
	struct queue_item item;
};

struct queue {
	struct queue_pool *pool;
	char *name;
	enum queue_policy policy;
	uint64_t reserve_bytes, max_bytes;
	const struct clock *clock;
	_Atomic uint32_t refs;

	/*
	 * Guards `stats` alone, so that losses are counted without the pool's mutex: whoever reads
	 * the stats asks the queues, which takes that one.
	 */
	pthread_mutex_t stats_mutex;
	struct stats *stats;

	struct totals *totals; /* a reference */
	/* Under the pool's mutex: */
	pthread_cond_t wake; /* something to pop, to notice, or to try again */
	struct queue_entry *first, **last;
	struct queue_entry *popped; /* not of an orphan; in no order */
	uint64_t bytes;		    /* queued and popped */
	uint64_t popped_bytes;
	uint64_t n_queued, n_popped;
	uint64_t n_owed, owed_rows;		 /* popped, and not yet among the totals */
	uint64_t next_sequence, popped_sequence; /* of the oldest popped, while n_popped > 0 */
	int64_t popped_mono_ns;			 /* when that one was pushed */
	bool is_closed, is_woken, is_held;
	bool is_backed;
	bool is_orphan; /* what was owed then is among the totals, whatever becomes of it */
};

/* What an operation threw out; lost() after the mutex. */
struct thrown {
	struct queue_entry *first;
	const char *reason;
	int status;
};

static void totals_unref(struct totals *t)
{
	if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1)
		free(t);
}

static struct totals *totals_of(const struct queue *before)
{
	struct totals *t = before ? before->totals : NEW(struct totals);

	if (t)
		atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

int queue__new(struct queue_pool *pool, const struct queue_config *config, struct queue **ret)
{
	struct queue *q = NEW(struct queue);

	if (!q)
		return -ENOMEM;
	q->name = mem__dup_str(config->name, strlen(config->name));
	q->totals = totals_of(config->before);
	if (!q->name || !q->totals) {
		totals_unref(q->totals);
		free(q->name);
		free(q);
		return -ENOMEM;
	}
	q->policy = config->policy;
	q->reserve_bytes = config->reserve_bytes;
	q->max_bytes = config->max_bytes ? config->max_bytes : UINT64_MAX;
	q->stats = config->stats;
	q->is_backed = config->is_backed;
	q->clock = config->clock ? config->clock : &clock__system;
	q->refs = 1;
	q->last = &q->first;
	cond__init(&q->wake);
	pthread_mutex_init(&q->stats_mutex, NULL);
	q->pool = pool;
	pthread_mutex_lock(&pool->mutex);
	pool->refs++;
	pthread_mutex_unlock(&pool->mutex);
	*ret = q;
	return 0;
}

struct queue *queue__ref(struct queue *q)
{
	atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
	return q;
}

void queue__unref(struct queue *q)
{
	if (!q || atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) != 1)
		return;
	queue__discard(q, "shutdown");
	queue_pool__unref(q->pool);
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->stats_mutex);
	totals_unref(q->totals);
	free(q->name);
	free(q);
}

/* ---- bytes: all of these under the mutex ---- */

static uint64_t beyond_reserve(const struct queue *q, uint64_t bytes)
{
	return bytes > q->reserve_bytes ? bytes - q->reserve_bytes : 0;
}

/* May the queue hold `bytes` in all, given what the other queues hold of the shared rest? */
static bool may_hold(const struct queue *q, uint64_t bytes)
{
	uint64_t others = q->pool->shared_used - beyond_reserve(q, q->bytes);

	return bytes <= q->max_bytes && beyond_reserve(q, bytes) <= q->pool->shared_bytes - others;
}

static void set_bytes(struct queue *q, uint64_t bytes)
{
	q->pool->shared_used += beyond_reserve(q, bytes) - beyond_reserve(q, q->bytes);
	q->bytes = bytes;
}

static bool could_ever_fit(const struct queue *q, uint64_t bytes)
{
	return bytes <= q->max_bytes && beyond_reserve(q, bytes) <= q->pool->shared_bytes;
}

static struct queue_entry *take_first(struct queue *q)
{
	struct queue_entry *e = q->first;

	q->first = e->next;
	if (!q->first)
		q->last = &q->first;
	e->next = NULL;
	q->n_queued--;
	return e;
}

/* ---- losing ---- */

/* Is it this item's turn to be counted? With the mutex. */
static bool take_owed(struct queue *q, const struct queue_item *item)
{
	if (q->is_orphan)
		return false;
	q->n_owed--;
	q->owed_rows -= item->rows;
	return true;
}

/* Does somebody else still have what is given up for that reason? */
static bool is_backed(const struct queue *q, const char *reason)
{
	return q->is_backed && (strcmp(reason, "shutdown") == 0 || strcmp(reason, "abandoned") == 0);
}

/*
 * Counts a lost item, without the pool's mutex. The other one is held all the while, so that
 * queue__orphan() counts what this does not.
 */
static void count_lost(struct queue *q, const struct queue_item *item, bool is_popped, const char *reason)
{
	bool counts;

	pthread_mutex_lock(&q->stats_mutex);
	pthread_mutex_lock(&q->pool->mutex);
	counts = !is_popped || take_owed(q, item);
	if (counts && is_backed(q, reason)) {
		q->totals->n_in--;
		counts = false;
	}
	if (counts) {
		q->totals->n_lost_batches++;
		q->totals->n_lost_rows += item->rows;
	}
	pthread_mutex_unlock(&q->pool->mutex);
	if (counts && q->stats)
		stats__drop(q->stats, q->name, reason, item->rows);
	pthread_mutex_unlock(&q->stats_mutex);
}

static void lost(struct queue *q, const struct thrown *t)
{
	struct queue_entry *e = t->first;

	while (e) {
		struct queue_entry *next = e->next;

		count_lost(q, &e->item, false, t->reason);
		batch__unref(e->item.batch);
		ack__unref(e->item.ack, t->status);
		free(e);
		e = next;
	}
}

/* Throws out everything that is queued, with the mutex. */
static struct queue_entry *take_all(struct queue *q)
{
	struct queue_entry *all = q->first;
	uint64_t bytes = 0;

	for (struct queue_entry *e = all; e; e = e->next)
		bytes += e->item.bytes;
	q->first = NULL;
	q->last = &q->first;
	q->n_queued = 0;
	set_bytes(q, q->bytes - bytes);
	pthread_cond_broadcast(&q->pool->room);
	return all;
}

void queue__discard(struct queue *q, const char *reason)
{
	struct thrown t = { .reason = reason, .status = -ECANCELED };

	pthread_mutex_lock(&q->pool->mutex);
	t.first = take_all(q);
	pthread_mutex_unlock(&q->pool->mutex);
	lost(q, &t);
}

/* Of what was popped: the batches are with a thread that may never come back, and somebody waits for the acks. */
static void settle_popped(struct queue_entry *e)
{
	while (e) {
		struct queue_entry *next = e->next;

		ack__unref(e->item.ack, -ECANCELED);
		free(e);
		e = next;
	}
}

void queue__orphan(struct queue *q)
{
	struct thrown t = { .reason = "shutdown", .status = -ECANCELED };
	struct queue_entry *popped;
	uint64_t n, rows;

	queue__close(q);
	pthread_mutex_lock(&q->stats_mutex);
	pthread_mutex_lock(&q->pool->mutex);
	t.first = take_all(q);
	q->is_orphan = true;
	popped = take_ptr(q->popped);
	n = q->n_owed;
	rows = q->owed_rows;
	q->n_owed = q->owed_rows = 0;
	if (q->is_backed) {
		q->totals->n_in -= n;
		n = 0;
	} else {
		q->totals->n_lost_batches += n;
		q->totals->n_lost_rows += rows;
	}
	pthread_mutex_unlock(&q->pool->mutex);
	if (q->stats && n > 0)
		stats__drop(q->stats, q->name, "abandoned", rows);
	pthread_mutex_unlock(&q->stats_mutex);
	/* The oldest first: who is told of it may have them come again. */
	settle_popped(popped);
	lost(q, &t);
	pthread_mutex_lock(&q->stats_mutex);
	q->stats = NULL;
	pthread_mutex_unlock(&q->stats_mutex);
}

/* ---- push ---- */

/* The oldest leave until `bytes` more fit; only when that leads to anything. */
static void make_room(struct queue *q, uint64_t bytes, struct thrown *t)
{
	struct queue_entry **end = &t->first;

	if (!may_hold(q, q->popped_bytes + bytes))
		return;
	while (q->first && !may_hold(q, q->bytes + bytes)) {
		struct queue_entry *e = take_first(q);

		set_bytes(q, q->bytes - e->item.bytes);
		*end = e;
		end = &e->next;
		pthread_cond_broadcast(&q->pool->room);
	}
}

/* Finds room by the policy, with the mutex. 0; -EAGAIN: there is none; -ESHUTDOWN. */
static int find_room(struct queue *q, uint64_t bytes, struct thrown *t)
{
	while (!q->is_closed && !may_hold(q, q->bytes + bytes)) {
		if (q->policy == QUEUE_DROP_OLDEST)
			make_room(q, bytes, t);
		if (q->policy != QUEUE_BLOCK)
			break;
		pthread_cond_wait(&q->pool->room, &q->pool->mutex);
	}
	if (q->is_closed)
		return -ESHUTDOWN;
	return may_hold(q, q->bytes + bytes) ? 0 : -EAGAIN;
}

static void append(struct queue *q, struct queue_entry *e)
{
	e->item.sequence = q->next_sequence++;
	*q->last = e;
	q->last = &e->next;
	q->n_queued++;
	q->totals->n_in++;
	set_bytes(q, q->bytes + e->item.bytes);
	pthread_cond_signal(&q->wake);
}

/* The new one is the one that is lost. */
static int lose_new(struct queue *q, struct queue_entry *e, const char *reason, int status)
{
	pthread_mutex_lock(&q->pool->mutex);
	q->totals->n_in++;
	pthread_mutex_unlock(&q->pool->mutex);
	lost(q, &(struct thrown){ .first = e, .reason = reason, .status = status });
	return 0;
}

static int push(struct queue *q, struct dcm_batch *batch, struct ack *ack, int64_t pushed_mono_ns)
{
	struct thrown out = { .reason = "queue_full", .status = -ENOBUFS };
	struct queue_entry *e = NEW(struct queue_entry);
	bool fits;
	int r;

	if (!e)
		return -ENOMEM;
	e->item = (struct queue_item){ .batch = batch__ref(batch),
				       .ack = ack__ref(ack),
				       .bytes = batch->bytes,
				       .rows = batch__n_rows(batch),
				       .pushed_mono_ns = pushed_mono_ns };
	pthread_mutex_lock(&q->pool->mutex);
	fits = could_ever_fit(q, batch->bytes);
	r = q->is_closed ? -ESHUTDOWN : fits ? find_room(q, batch->bytes, &out) : -EAGAIN;
	if (r == 0)
		append(q, e);
	pthread_mutex_unlock(&q->pool->mutex);
	lost(q, &out);

	if (r == 0)
		return 0;
	if (r == -EAGAIN && (!fits || q->policy != QUEUE_REFUSE))
		return fits ? lose_new(q, e, "queue_full", -ENOBUFS)
			    : lose_new(q, e, "too_large", -EFBIG);
	batch__unref(batch);
	/* Not settled: the caller still has its own reference, and was told no. */
	ack__unref(ack, 0);
	free(e);
	return r;
}

int queue__push(struct queue *q, struct dcm_batch *batch, struct ack *ack)
{
	return push(q, batch, ack, clock__mono(q->clock));
}

/* ---- pop ---- */

/* Waits on a condition until the deadline: 0 or -ETIMEDOUT. */
static int wait_until(pthread_cond_t *c, pthread_mutex_t *m, int64_t deadline_mono_ns)
{
	struct timespec ts = { .tv_sec = deadline_mono_ns / 1000000000,
			       .tv_nsec = deadline_mono_ns % 1000000000 };

	if (deadline_mono_ns == INT64_MAX)
		return -pthread_cond_wait(c, m);
	if (deadline_mono_ns <= 0)
		return -ETIMEDOUT;
	return -pthread_cond_timedwait(c, m, &ts);
}

/* With the mutex. */
static void note_popped(struct queue *q, struct queue_entry *e)
{
	if (q->n_popped++ == 0) {
		q->popped_sequence = e->item.sequence;
		q->popped_mono_ns = e->item.pushed_mono_ns;
	}
	q->popped_bytes += e->item.bytes;
	q->n_owed++;
	q->owed_rows += e->item.rows;
	e->item.entry = e;
	e->next = q->popped;
	if (e->next)
		e->next->at = &e->next;
	e->at = &q->popped;
	q->popped = e;
}

/* With the mutex. The item's entry, which is in no list any more; NULL: queue__orphan() has had it. */
static struct queue_entry *take_popped(struct queue *q, const struct queue_item *item)
{
	struct queue_entry *e = item->entry;

	if (q->is_orphan)
		return NULL;
	*e->at = e->next;
	if (e->next)
		e->next->at = e->at;
	return e;
}

int queue__pop(struct queue *q, int64_t deadline_mono_ns, struct queue_item *ret)
{
	struct queue_entry *e;
	int r = 0;

	pthread_mutex_lock(&q->pool->mutex);
	while (!q->first && !q->is_closed && !q->is_held && r != -ETIMEDOUT)
		r = wait_until(&q->wake, &q->pool->mutex, deadline_mono_ns);
	if (q->is_held || !q->first) {
		r = q->is_held ? -ECANCELED : q->is_closed ? -ESHUTDOWN : -ETIMEDOUT;
		pthread_mutex_unlock(&q->pool->mutex);
		return r;
	}
	e = take_first(q);
	note_popped(q, e);
	*ret = e->item;
	pthread_mutex_unlock(&q->pool->mutex);
	return 0;
}

/*
 * In two steps: the bytes first, so that an emitter who hears of it finds room, and the item last,
 * so that whoever flushes knows that everybody has heard.
 */
static void give_back(struct queue *q, struct queue_item *item, int status)
{
	struct queue_entry *e;

	pthread_mutex_lock(&q->pool->mutex);
	e = take_popped(q, item);
	q->popped_bytes -= item->bytes;
	set_bytes(q, q->bytes - item->bytes);
	pthread_cond_broadcast(&q->pool->room);
	pthread_mutex_unlock(&q->pool->mutex);
	batch__unref(item->batch);
	if (e && status == 0)
		note_taken(e->item.ack);
	if (e)
		ack__unref(e->item.ack, status);
	free(e);
	pthread_mutex_lock(&q->pool->mutex);
	q->n_popped--;
	pthread_cond_broadcast(&q->pool->room);
	pthread_mutex_unlock(&q->pool->mutex);
	*item = (struct queue_item){ 0 };
}

void queue__release(struct queue *q, struct queue_item *item, int status)
{
	pthread_mutex_lock(&q->pool->mutex);
	if (take_owed(q, item) && status == 0) {
		q->totals->n_out++;
		q->totals->n_out_rows += item->rows;
	}
	pthread_mutex_unlock(&q->pool->mutex);
	give_back(q, item, status);
}

void queue__lose(struct queue *q, struct queue_item *item, const char *reason, int status)
{
	count_lost(q, item, true, reason);
	give_back(q, item, status);
}

void queue__lose_part(struct queue *q, struct queue_item *item, uint64_t rows, const char *reason)
{
	bool counts;

	pthread_mutex_lock(&q->stats_mutex);
	pthread_mutex_lock(&q->pool->mutex);
	counts = !q->is_orphan;
	item->rows -= rows;
	if (counts) {
		item->entry->item.rows -= rows;
		q->owed_rows -= rows;
		q->totals->n_lost_rows += rows;
	}
	pthread_mutex_unlock(&q->pool->mutex);
	if (counts && q->stats)
		stats__drop(q->stats, q->name, reason, rows);
	pthread_mutex_unlock(&q->stats_mutex);
}

/* ---- from one who pops to the next ---- */

/* By sequence, with the mutex. */
static void insert(struct queue *q, struct queue_entry *e)
{
	struct queue_entry **at = &q->first;

	while (*at && (*at)->item.sequence < e->item.sequence)
		at = &(*at)->next;
	e->next = *at;
	*at = e;
	if (!e->next)
		q->last = &e->next;
	q->n_queued++;
}

void queue__put_back(struct queue *q, struct queue_item *item)
{
	struct queue_entry *e = NULL;

	pthread_mutex_lock(&q->pool->mutex);
	if (take_owed(q, item)) {
		e = take_popped(q, item);
		q->n_popped--;
		q->popped_bytes -= item->bytes;
		insert(q, e);
		pthread_cond_signal(&q->wake);
	}
	pthread_mutex_unlock(&q->pool->mutex);
	if (e)
		*item = (struct queue_item){ 0 };
	else
		give_back(q, item, -ECANCELED);
}

void queue__hold(struct queue *q, bool is_held)
{
	pthread_mutex_lock(&q->pool->mutex);
	q->is_held = is_held;
	pthread_cond_broadcast(&q->wake);
	pthread_mutex_unlock(&q->pool->mutex);
}

static void lose_moved(struct queue *from, const struct queue_item *item)
{
	if (from->is_backed)
		return;
	pthread_mutex_lock(&from->pool->mutex);
	from->totals->n_in++;
	pthread_mutex_unlock(&from->pool->mutex);
	count_lost(from, item, false, "no_memory");
}

void queue__move(struct queue *from, struct queue *to)
{
	struct queue_entry *e, *next;
	int r;

	pthread_mutex_lock(&from->pool->mutex);
	/* They come in again, perhaps to the same totals. */
	from->totals->n_in -= from->n_queued;
	e = take_all(from);
	pthread_mutex_unlock(&from->pool->mutex);
	for (; e; e = next) {
		next = e->next;
		r = push(to, e->item.batch, e->item.ack, e->item.pushed_mono_ns);
		if (r < 0)
			lose_moved(from, &e->item);
		batch__unref(e->item.batch);
		ack__unref(e->item.ack, r);
		free(e);
	}
}

/* ---- closing, waiting, looking ---- */

void queue__close(struct queue *q)
{
	pthread_mutex_lock(&q->pool->mutex);
	q->is_closed = true;
	q->is_woken = true;
	pthread_cond_broadcast(&q->wake);
	pthread_cond_broadcast(&q->pool->room);
	pthread_mutex_unlock(&q->pool->mutex);
}

void queue__wake(struct queue *q)
{
	pthread_mutex_lock(&q->pool->mutex);
	q->is_woken = true;
	pthread_cond_broadcast(&q->wake);
	pthread_mutex_unlock(&q->pool->mutex);
}

void queue__pause(struct queue *q, int64_t until_mono_ns)
{
	int r = 0;

	pthread_mutex_lock(&q->pool->mutex);
	if (!q->is_orphan)
		q->totals->n_retries++;
	while (!q->is_woken && !q->is_held && r != -ETIMEDOUT)
		r = wait_until(&q->wake, &q->pool->mutex, until_mono_ns);
	q->is_woken = false;
	pthread_mutex_unlock(&q->pool->mutex);
}

/* Is anything left that came before `sequence`? With the mutex. */
static bool is_flushed(const struct queue *q, uint64_t sequence)
{
	return (!q->first || q->first->item.sequence >= sequence) &&
	       (q->n_popped == 0 || q->popped_sequence >= sequence);
}

int queue__flush(struct queue *q, int64_t deadline_mono_ns)
{
	uint64_t sequence;
	int r = 0;

	pthread_mutex_lock(&q->pool->mutex);
	sequence = q->next_sequence;
	while (!is_flushed(q, sequence) && r != -ETIMEDOUT)
		r = wait_until(&q->pool->room, &q->pool->mutex, deadline_mono_ns);
	r = is_flushed(q, sequence) ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&q->pool->mutex);
	return r;
}

void queue__view(struct queue *q, struct queue_view *ret)
{
	pthread_mutex_lock(&q->pool->mutex);
	*ret = (struct queue_view){
		.bytes = q->bytes,
		.reserve_bytes = q->reserve_bytes,
		.max_bytes = q->max_bytes,
		.n_batches = q->n_queued,
		.n_popped = q->n_popped,
		.n_in = q->totals->n_in,
		.n_out = q->totals->n_out,
		.n_out_rows = q->totals->n_out_rows,
		.n_lost_batches = q->totals->n_lost_batches,
		.n_lost_rows = q->totals->n_lost_rows,
		.n_retries = q->totals->n_retries,
		.oldest_mono_ns = q->n_popped ? q->popped_mono_ns
				  : q->first  ? q->first->item.pushed_mono_ns
					      : 0,
	};
	if (q->max_bytes == UINT64_MAX)
		ret->max_bytes = q->reserve_bytes + q->pool->shared_bytes;
	pthread_mutex_unlock(&q->pool->mutex);
}
