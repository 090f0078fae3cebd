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

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"

#define INTAKE_BYTES ((uint64_t)32 << 20)
#define SHARED_BYTES ((uint64_t)128 << 20)
#define INTAKE_NAME  "intake"

struct pipeline {
	struct pipeline_config config;
	struct queue_pool *pool;
	struct queue *intake;
	pthread_t router;
	bool is_running;

	pthread_mutex_t mutex; /* of what follows; the router holds it while it routes a batch */
	struct relabel *relabel;
	VEC(struct destination *) destinations; /* in the order in which they came */
	_Atomic uint64_t n_profiles_filtered, n_rows_undecided;
	struct stats_metric *undecided, *filtered; /* NULL: without stats */
};

/* ---- routing: the router's thread ---- */

/* The first stage. *ret NULL: nothing is left of the batch. *ret_code: what who emitted it is told if all else goes well. */
static int relabel_first(struct pipeline *p, struct dcm_batch *batch, struct dcm_batch **ret, int *ret_code)
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
	relabel_counts__tell(&counts, p->config.log, p->config.stats, INTAKE_NAME, &p->n_rows_undecided);
	*ret_code = counts.n_rows_lost ? -E2BIG : 0;
	return r;
}

static void route(struct pipeline *p, struct queue_item *item)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	bool is_kept;
	int code;

	if (relabel_first(p, item->batch, &batch, &code) < 0) {
		queue__lose(p->intake, item, "no_memory", -ENOMEM);
		return;
	}
	if (batch && p->config.learn)
		p->config.learn(p->config.ctx, batch);
	pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; batch && i < p->destinations.n; i++)
		destination__route(p->destinations.v[i], batch, item->ack);
	is_kept = !batch || p->destinations.n > 0;
	pthread_mutex_unlock(&p->mutex);
	ack__remark(item->ack, code);
	if (is_kept)
		queue__release(p->intake, item, 0);
	else
		queue__lose(p->intake, item, "no_destination", -ENODEV);
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
	vec__fini(&p->destinations);
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

/* ---- destinations ---- */

int pipeline__add(struct pipeline *p, struct destination_config *config, struct destination **ret,
		  struct dcm_error *err)
{
	const struct destination_env env = { .pool = p->pool,
					     .log = p->config.log,
					     .stats = p->config.stats,
					     .clock = p->config.clock,
					     .resolved = p->config.resolved,
					     .ctx = p->config.ctx };
	struct destination *d = NULL;
	bool ok;
	int r = destination__new(&env, config, &d, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&p->mutex);
	ok = vec__push(&p->destinations, d);
	pthread_mutex_unlock(&p->mutex);
	if (!ok) {
		destination__end(d, 0);
		return error__nomem(err);
	}
	*ret = d;
	return 0;
}

int pipeline__remove(struct pipeline *p, struct destination *d, int64_t deadline_mono_ns)
{
	size_t i = 0;

	/* The router may be waiting for room in it, with the mutex. */
	destination__unblock(d);
	pthread_mutex_lock(&p->mutex);
	while (p->destinations.v[i] != d)
		i++;
	memmove(&p->destinations.v[i], &p->destinations.v[i + 1], (--p->destinations.n - i) * sizeof(d));
	pthread_mutex_unlock(&p->mutex);
	return destination__end(d, deadline_mono_ns);
}

/* ---- the whole ---- */

int pipeline__flush(struct pipeline *p, int64_t deadline_mono_ns)
{
	int r = queue__flush(p->intake, deadline_mono_ns);

	for (size_t i = 0; r == 0 && i < p->destinations.n; i++)
		r = destination__flush(p->destinations.v[i], deadline_mono_ns);
	return r;
}

void pipeline__watch(struct pipeline *p)
{
	pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; i < p->destinations.n; i++)
		destination__watch(p->destinations.v[i]);
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
	for (size_t i = 0; r < 0 && i < p->destinations.n; i++)
		destination__unblock(p->destinations.v[i]);
	if (p->is_running)
		pthread_join(p->router, NULL);
	p->is_running = false;
	return r;
}

void pipeline__each(struct pipeline *p, pipeline_view_fn fn, void *ctx)
{
	struct queue_view queue;
	const struct pipeline_view intake = { .name = INTAKE_NAME,
					      .queue = &queue,
					      .n_profiles_filtered = p->n_profiles_filtered };

	queue__view(p->intake, &queue);
	fn(ctx, &intake);
	pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; i < p->destinations.n; i++)
		destination__look(p->destinations.v[i], fn, ctx);
	pthread_mutex_unlock(&p->mutex);
}
