/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/pipeline.c - from emit() to every storage and output
 *
 * One router thread takes batches from the intake in order. It holds the mutex while it routes one,
 * so that adding, removing or changing a destination waits for one batch at most; the plugins are
 * on the other side of the queues and are never waited for. Only QUEUE_BLOCK, which one-shot
 * commands use, lets a destination hold up the router.
 */
#include "core/pipeline/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"

#define INTAKE_BYTES  ((uint64_t)32 << 20)
#define SHARED_BYTES  ((uint64_t)128 << 20)
#define RESERVE_BYTES ((uint64_t)16 << 20)
/* A write that is under way when its writer is to end gets this much more. */
#define GRACE_NS    ((int64_t)500 * 1000000)
#define INTAKE_NAME "intake"

enum { N_METRICS = 8 };

struct destination {
	struct destination *next;
	struct pipeline *pipeline;
	char *name;
	bool is_storage;
	/* These: the control thread's to change, with the mutex. */
	enum queue_policy policy;
	uint64_t reserve_bytes, max_bytes;
	struct route route;
	struct queue *queue;   /* a reference; another is the writer's */
	struct writer *writer; /* NULL: the plugin is away */
	bool loses;	       /* and what comes does not wait for it */
	bool is_used_up;       /* the queue was closed with its last writer */
	_Atomic uint64_t n_profiles_filtered, n_rows_undecided;
	struct stats_metric *metrics[N_METRICS]; /* [n_metrics] */
	unsigned n_metrics;
};

struct pipeline {
	struct pipeline_config config;
	struct queue_pool *pool;
	struct queue *intake;
	pthread_t router;
	bool is_running;

	pthread_mutex_t mutex; /* of what follows; the router holds it while it routes a batch */
	struct relabel *relabel;
	struct destination *destinations;
	_Atomic uint64_t n_profiles_filtered, n_rows_undecided;
	struct stats_metric *undecided, *filtered; /* NULL: without stats */
};

/* ---- routing: the router's thread ---- */

static void drop(struct pipeline *p, const char *who, const char *reason, uint64_t n)
{
	if (p->config.stats && n > 0)
		stats__drop(p->config.stats, who, reason, n);
}

/* What relabelling and selecting could not tell, or could not bring through. Said once, and counted. */
static void account(struct pipeline *p, const char *who, const struct relabel_counts *counts,
		    _Atomic uint64_t *n_undecided)
{
	drop(p, who, "labels_too_large", counts->n_rows_lost);
	drop(p, who, "regex_undecided", counts->n_rows_undecided_lost);
	if (counts->n_rows_undecided == 0)
		return;
	if (*n_undecided == 0 && p->config.log)
		log__line(p->config.log, DCM_LOG_WARNING, who,
			  "a regular expression of its rules or its selector takes too long to "
			  "match some labels; it counts as no match, and the rows are counted in "
			  "decima_undecided_rows_total: write it simpler, without repeats in "
			  "repeats");
	*n_undecided += counts->n_rows_undecided;
}

/* One destination's part of a batch into its queue. */
static void route_to(struct destination *d, struct dcm_batch *batch, struct ack *ack)
{
	CLEANUP(batch__unrefp) struct dcm_batch *part = NULL;
	struct relabel_counts counts = { 0 };
	int r = route__apply(&d->route, batch, &part, &counts, NULL);

	d->n_profiles_filtered += counts.n_profiles_filtered;
	account(d->pipeline, d->name, &counts, &d->n_rows_undecided);
	if (r == 0 && part)
		r = d->loses ? -ENOTCONN : queue__push(d->queue, part, d->is_storage ? ack : NULL);
	if (r == 0)
		return;
	/* -ESHUTDOWN: the queue was closed, so that nobody waits for room in it. */
	drop(d->pipeline, d->name,
	     r == -ENOTCONN    ? "not_running"
	     : r == -ESHUTDOWN ? "shutdown"
			       : "no_memory",
	     part ? batch__n_rows(part) : counts.n_rows_no_memory);
	if (d->is_storage)
		ack__unref(ack__ref(ack), r);
}

/* The first stage. *ret NULL: nothing is left of the batch. */
static int relabel_first(struct pipeline *p, struct dcm_batch *batch, struct dcm_batch **ret)
{
	struct relabel_counts counts = { 0 };
	int r = 0;

	pthread_mutex_lock(&p->mutex);
	if (p->relabel)
		r = relabel__apply(p->relabel, batch, ret, &counts, NULL);
	else
		*ret = batch__ref(batch);
	pthread_mutex_unlock(&p->mutex);
	p->n_profiles_filtered += counts.n_profiles_filtered;
	account(p, INTAKE_NAME, &counts, &p->n_rows_undecided);
	return r;
}

static void route(struct pipeline *p, struct queue_item *item)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;

	if (relabel_first(p, item->batch, &batch) < 0) {
		queue__lose(p->intake, item, "no_memory", -ENOMEM);
		return;
	}
	if (batch && p->config.learn)
		p->config.learn(p->config.ctx, batch);
	pthread_mutex_lock(&p->mutex);
	for (struct destination *d = p->destinations; batch && d; d = d->next)
		route_to(d, batch, item->ack);
	pthread_mutex_unlock(&p->mutex);
	queue__release(p->intake, item, 0);
}

static void *run_router(void *arg)
{
	struct pipeline *p = arg;
	struct queue_item item;

	while (queue__pop(p->intake, INT64_MAX, &item) == 0)
		route(p, &item);
	return NULL;
}

/* ---- the metrics of the intake; those of destinations are below ---- */

static double read_intake_undecided(void *ctx)
{
	return (double)((struct pipeline *)ctx)->n_rows_undecided;
}

static double read_intake_filtered(void *ctx)
{
	return (double)((struct pipeline *)ctx)->n_profiles_filtered;
}

#define UNDECIDED_NAME "decima_undecided_rows_total"
#define UNDECIDED_HELP                                                                             \
	"Rows for which a regular expression of rules or selector could not be decided, and "      \
	"counted as no match."
#define FILTERED_NAME "decima_filtered_profiles_total"
#define FILTERED_HELP "Profiles that the selector or the rules left out."

static struct stats_metric *add_intake_metric(struct pipeline *p, const char *name,
					      const char *help, stats_read_fn read)
{
	const struct stats_def def = { STATS_COUNTER, name, help, NULL, read, p };
	const struct stats_label label = { "instance", INTAKE_NAME };

	return p->config.stats ? stats__register(p->config.stats, &def, &label, 1) : NULL;
}

/* ---- the object ---- */

int pipeline__new(const struct pipeline_config *config, struct pipeline **ret, struct dcm_error *err)
{
	struct queue_config intake = { .name = INTAKE_NAME, .policy = QUEUE_REFUSE };
	struct pipeline *p = NEW(struct pipeline);

	if (!p)
		return error__nomem(err);
	p->config = *config;
	if (!p->config.clock)
		p->config.clock = &clock__system;
	intake.reserve_bytes = intake.max_bytes = config->intake_bytes ? config->intake_bytes
								       : INTAKE_BYTES;
	intake.stats = config->stats;
	intake.clock = p->config.clock;
	pthread_mutex_init(&p->mutex, NULL);
	p->pool = queue_pool__new(config->shared_bytes ? config->shared_bytes : SHARED_BYTES);
	if (!p->pool || queue__new(p->pool, &intake, &p->intake) < 0) {
		pipeline__free(p);
		return error__nomem(err);
	}
	p->undecided = add_intake_metric(p, UNDECIDED_NAME, UNDECIDED_HELP, read_intake_undecided);
	p->filtered = add_intake_metric(p, FILTERED_NAME, FILTERED_HELP, read_intake_filtered);
	*ret = p;
	return 0;
}

void pipeline__free(struct pipeline *p)
{
	if (!p)
		return;
	if (p->config.stats) {
		stats__unregister(p->config.stats, p->undecided);
		stats__unregister(p->config.stats, p->filtered);
	}
	queue__unref(p->intake);
	queue_pool__unref(p->pool);
	relabel__free(p->relabel);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

int pipeline__start(struct pipeline *p, struct dcm_error *err)
{
	int r = pthread_create(&p->router, NULL, run_router, p);

	if (r > 0)
		return error__sys(err, -r, "pipeline: no thread for the router");
	pthread_setname_np(p->router, "router");
	p->is_running = true;
	return 0;
}

int pipeline__emit(struct pipeline *p, struct dcm_batch *batch, dcm_done_fn done, void *ctx)
{
	struct ack *ack = done ? ack__new(done, ctx) : NULL;
	int r;

	if (done && !ack)
		return -ENOMEM;
	r = queue__push(p->intake, batch, ack);
	if (r < 0)
		ack__cancel(ack);
	else
		ack__unref(ack, 0);
	return r;
}

void pipeline__set_relabel(struct pipeline *p, struct relabel *r)
{
	struct relabel *old;

	pthread_mutex_lock(&p->mutex);
	old = p->relabel;
	p->relabel = r;
	pthread_mutex_unlock(&p->mutex);
	relabel__free(old);
}

/* ---- metrics of a destination ---- */

static double read_bytes(void *ctx)
{
	struct queue_view v;

	queue__view(((struct destination *)ctx)->queue, &v);
	return (double)v.bytes;
}

static double read_batches(void *ctx)
{
	struct queue_view v;

	queue__view(((struct destination *)ctx)->queue, &v);
	return (double)(v.n_batches + v.n_popped);
}

static double read_oldest(void *ctx)
{
	const struct destination *d = ctx;
	struct queue_view v;

	queue__view(d->queue, &v);
	return v.oldest_mono_ns
		       ? (double)(clock__mono(d->pipeline->config.clock) - v.oldest_mono_ns) / 1e9
		       : 0;
}

static struct queue_view counts_of(void *destination)
{
	struct queue_view v;

	queue__view(((struct destination *)destination)->queue, &v);
	return v;
}

static double read_written_batches(void *ctx)
{
	return (double)counts_of(ctx).n_out;
}

static double read_written_rows(void *ctx)
{
	return (double)counts_of(ctx).n_out_rows;
}

static double read_retries(void *ctx)
{
	return (double)counts_of(ctx).n_retries;
}

static double read_filtered(void *ctx)
{
	return (double)((struct destination *)ctx)->n_profiles_filtered;
}

static double read_undecided(void *ctx)
{
	return (double)((struct destination *)ctx)->n_rows_undecided;
}

/* They look at the queue without the mutex: whoever changes it takes them off first. */
static void add_metrics(struct destination *d)
{
	const struct stats_def defs[] = {
		{ STATS_GAUGE, "decima_queue_bytes",
		  "Memory of the batches that wait or are being written.", NULL, read_bytes, d },
		{ STATS_GAUGE, "decima_queue_batches", "Batches that wait or are being written.",
		  NULL, read_batches, d },
		{ STATS_GAUGE, "decima_queue_oldest_seconds",
		  "How long the oldest of them has waited.", NULL, read_oldest, d },
		{ STATS_COUNTER, "decima_written_batches_total", "Batches that were written.", NULL,
		  read_written_batches, d },
		{ STATS_COUNTER, "decima_written_rows_total", "Rows that were written.", NULL,
		  read_written_rows, d },
		{ STATS_COUNTER, "decima_write_retries_total",
		  "Writes that were put off to a later try.", NULL, read_retries, d },
		{ STATS_COUNTER, FILTERED_NAME, FILTERED_HELP, NULL, read_filtered, d },
		{ STATS_COUNTER, UNDECIDED_NAME, UNDECIDED_HELP, NULL, read_undecided, d },
	};
	const struct stats_label label = { "instance", d->name };

	for (size_t i = 0; d->pipeline->config.stats && i < sizeof(defs) / sizeof(defs[0]); i++)
		d->metrics[d->n_metrics++] = stats__register(d->pipeline->config.stats, &defs[i],
							     &label, 1);
}

static void remove_metrics(struct destination *d)
{
	while (d->n_metrics > 0)
		stats__unregister(d->pipeline->config.stats, d->metrics[--d->n_metrics]);
}

/* ---- destinations ---- */

static void free_destination(struct destination *d)
{
	route__fini(&d->route);
	queue__unref(d->queue);
	free(d->name);
	free(d);
}

static int start_writer(struct destination *d, const struct destination_config *config,
			struct queue *queue, struct writer **ret, struct dcm_error *err)
{
	struct writer_config w = {
		.name = d->name,
		.storage = config->storage,
		.output = config->output,
		.handle = config->handle,
		.write_timeout_ns = config->write_timeout_ns,
		.give_up_ns = config->give_up_ns,
		.resolved = config->named ? d->pipeline->config.resolved : NULL,
		.resolved_ctx = d->pipeline->config.ctx,
		.trouble = config->trouble,
		.trouble_ctx = config->trouble_ctx,
	};

	return writer__start(&w, queue__ref(queue), ret, err);
}

/* As the destination's own members say; what it counts goes on. */
static int make_queue(const struct destination *d, struct queue **ret)
{
	struct queue_config q = {
		.name = d->name,
		.policy = d->policy,
		.reserve_bytes = d->reserve_bytes ? d->reserve_bytes : RESERVE_BYTES,
		.max_bytes = d->max_bytes,
		.stats = d->pipeline->config.stats,
		.clock = d->pipeline->config.clock,
		.before = d->queue,
	};

	return queue__new(d->pipeline->pool, &q, ret);
}

static int make_destination(struct pipeline *p, const struct destination_config *config,
			    struct destination **ret)
{
	struct destination *d = NEW(struct destination);

	if (!d)
		return -ENOMEM;
	d->pipeline = p;
	d->is_storage = config->storage;
	d->policy = config->policy;
	d->reserve_bytes = config->reserve_bytes;
	d->max_bytes = config->max_bytes;
	d->name = mem__dup_str(config->name, strlen(config->name));
	if (!d->name || make_queue(d, &d->queue) < 0) {
		free_destination(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

int pipeline__add(struct pipeline *p, struct destination_config *config, struct destination **ret,
		  struct dcm_error *err)
{
	struct destination *d = NULL, **at;
	struct route route = config->route;
	int r = make_destination(p, config, &d);

	config->route = (struct route){ 0 };
	if (r < 0) {
		route__fini(&route);
		return error__nomem(err);
	}
	d->route = route;
	if (!config->is_away)
		r = start_writer(d, config, d->queue, &d->writer, err);
	if (r < 0) {
		free_destination(d);
		return r;
	}
	add_metrics(d);
	pthread_mutex_lock(&p->mutex);
	for (at = &p->destinations; *at; at = &(*at)->next)
		;
	*at = d;
	pthread_mutex_unlock(&p->mutex);
	*ret = d;
	return 0;
}

/* The queue that fits the new limits, a reference: the one that is there, if it does. */
static int queue_for(struct destination *d, const struct destination_config *config, struct queue **ret)
{
	struct destination like = *d;
	struct queue_view view;
	bool same = d->policy == config->policy && d->reserve_bytes == config->reserve_bytes &&
		    d->max_bytes == config->max_bytes;

	queue__view(d->queue, &view);
	/* What the last plugin still owes an answer for is not the next one's. */
	if (same && !d->is_used_up && view.n_popped == 0) {
		*ret = queue__ref(d->queue);
		return 0;
	}
	like.policy = config->policy;
	like.reserve_bytes = config->reserve_bytes;
	like.max_bytes = config->max_bytes;
	return make_queue(&like, ret);
}

int pipeline__connect(struct pipeline *p, struct destination *d, struct destination_config *config,
		      struct dcm_error *err)
{
	struct route route = config->route;
	struct writer *writer = NULL;
	struct queue *queue = NULL;
	int r = queue_for(d, config, &queue);

	config->route = (struct route){ 0 };
	if (r == 0) {
		queue__hold(queue, false);
		r = start_writer(d, config, queue, &writer, err);
	} else {
		error__nomem(err);
	}
	if (r < 0) {
		route__fini(&route);
		queue__unref(queue);
		return r;
	}
	remove_metrics(d);
	pthread_mutex_lock(&p->mutex);
	if (queue != d->queue)
		queue__move(d->queue, queue);
	queue__unref(d->queue);
	d->queue = queue;
	d->writer = writer;
	d->policy = config->policy;
	d->reserve_bytes = config->reserve_bytes;
	d->max_bytes = config->max_bytes;
	d->is_used_up = d->loses = false;
	pthread_mutex_unlock(&p->mutex);
	add_metrics(d);
	pipeline__set_route(p, d, &route);
	return 0;
}

void pipeline__keep(struct pipeline *p, struct destination *d, bool keeps)
{
	pthread_mutex_lock(&p->mutex);
	d->loses = !keeps;
	pthread_mutex_unlock(&p->mutex);
	if (!keeps)
		queue__discard(d->queue, "not_running");
}

void pipeline__set_route(struct pipeline *p, struct destination *d, struct route *route)
{
	struct route old;

	pthread_mutex_lock(&p->mutex);
	old = d->route;
	d->route = *route;
	pthread_mutex_unlock(&p->mutex);
	*route = (struct route){ 0 };
	route__fini(&old);
}

/* The thread that hangs keeps the queue with what it has taken; what waits goes on in another one. */
static void leave_queue(struct destination *d)
{
	struct queue *fresh = NULL, *old = d->queue;

	if (make_queue(d, &fresh) < 0)
		fresh = queue__ref(old); /* it will be closed: what comes is lost, and counted */
	remove_metrics(d);
	pthread_mutex_lock(&d->pipeline->mutex);
	if (fresh != old)
		queue__move(old, fresh);
	d->queue = fresh;
	d->is_used_up = fresh == old;
	pthread_mutex_unlock(&d->pipeline->mutex);
	add_metrics(d);
	queue__orphan(old);
	queue__unref(old);
}

int pipeline__disconnect(struct pipeline *p, struct destination *d, int64_t deadline_mono_ns)
{
	struct writer *writer = d->writer;
	int r;

	assert(d->policy != QUEUE_BLOCK);
	if (!writer)
		return 0;
	pthread_mutex_lock(&p->mutex);
	d->writer = NULL;
	pthread_mutex_unlock(&p->mutex);
	r = writer__leave(writer, deadline_mono_ns + GRACE_NS);
	if (r < 0)
		leave_queue(d);
	return r;
}

int pipeline__remove(struct pipeline *p, struct destination *d, int64_t deadline_mono_ns)
{
	struct destination **at;
	int r = 0;

	/* The router may be waiting for room in it, with the mutex. */
	if (d->policy == QUEUE_BLOCK)
		queue__close(d->queue);
	pthread_mutex_lock(&p->mutex);
	for (at = &p->destinations; *at != d; at = &(*at)->next)
		;
	*at = d->next;
	pthread_mutex_unlock(&p->mutex);
	remove_metrics(d);
	if (d->writer)
		r = writer__stop(d->writer, deadline_mono_ns, GRACE_NS);
	free_destination(d);
	return r;
}

/* ---- the whole ---- */

int pipeline__flush(struct pipeline *p, int64_t deadline_mono_ns)
{
	int r = queue__flush(p->intake, deadline_mono_ns);

	for (struct destination *d = p->destinations; r == 0 && d; d = d->next)
		r = queue__flush(d->queue, deadline_mono_ns);
	return r;
}

void pipeline__watch(struct pipeline *p)
{
	pthread_mutex_lock(&p->mutex);
	for (struct destination *d = p->destinations; d; d = d->next)
		if (d->writer)
			writer__watch(d->writer);
	pthread_mutex_unlock(&p->mutex);
}

int pipeline__stop(struct pipeline *p, int64_t deadline_mono_ns)
{
	int r = 0;

	queue__close(p->intake);
	if (p->is_running)
		r = queue__flush(p->intake, deadline_mono_ns);
	if (r < 0 || !p->is_running)
		queue__discard(p->intake, "shutdown");
	/*
	 * Only this thread changes the list, so it may be read without the mutex, which a blocked
	 * router has.
	 */
	for (struct destination *d = p->destinations; r < 0 && d; d = d->next)
		if (d->policy == QUEUE_BLOCK)
			queue__close(d->queue);
	if (p->is_running)
		pthread_join(p->router, NULL);
	p->is_running = false;
	return r;
}

void pipeline__each(struct pipeline *p, pipeline_view_fn fn, void *ctx)
{
	struct queue_view queue;
	struct writer_view writer;
	struct pipeline_view v = { .name = INTAKE_NAME, .queue = &queue };

	v.n_profiles_filtered = p->n_profiles_filtered;
	queue__view(p->intake, &queue);
	fn(ctx, &v);
	pthread_mutex_lock(&p->mutex);
	for (struct destination *d = p->destinations; d; d = d->next) {
		v = (struct pipeline_view){ .name = d->name,
					    .queue = &queue,
					    .writer = d->writer ? &writer : NULL,
					    .n_profiles_filtered = d->n_profiles_filtered };
		queue__view(d->queue, &queue);
		if (d->writer)
			writer__view(d->writer, &writer);
		fn(ctx, &v);
	}
	pthread_mutex_unlock(&p->mutex);
}
