/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/destination.c - a storage or an output, and what waits for it
 *
 * The router holds the mutex while it routes one batch, so that a change waits for that at most.
 */
#include "core/pipeline/destination.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"
#include "core/pipeline/destination_private.h"

#define RESERVE_BYTES ((uint64_t)16 << 20)
/* A write that is under way when its writer is to end gets this much more. */
#define GRACE_NS ((int64_t)500 * 1000000)
/* For what waits to get into a spool that ends, though its destination does not. */
#define SPOOL_STOP_NS ((int64_t)5 * 1000000000)
/* Before a destination with a spool: what it may still want to be given once more is on the disk. */
#define BACKED_BYTES ((uint64_t)8 << 20)

/* ---- routing: the router's thread ---- */

/* Who keeps it for good acknowledges it. */
static int take(struct destination *d, struct dcm_batch *part, struct ack *ack)
{
	if (d->meanwhile)
		return queue__push(d->meanwhile, part, ack);
	if (d->spooler)
		return spooler__push(d->spooler, part, ack);
	return d->loses ? -ENOTCONN : queue__push(d->queue, part, d->is_storage ? ack : NULL);
}

/* One destination's part of a batch into its queue. */
void destination__route(struct destination *d, struct dcm_batch *batch, struct ack *ack)
{
	CLEANUP(batch__unrefp) struct dcm_batch *part = NULL;
	struct relabel_counts counts = { 0 };
	uint64_t n_rows;
	bool acknowledges;
	int r;

	pthread_mutex_lock(&d->mutex);
	r = route__apply(&d->route, batch, &part, &counts, NULL);
	if (r == 0 && part)
		r = take(d, part, ack);
	acknowledges = d->is_storage || d->spooler || d->meanwhile;
	pthread_mutex_unlock(&d->mutex);

	d->n_profiles_filtered += counts.n_profiles_filtered;
	relabel_counts__tell(&counts, d->env.log, d->env.stats, d->name, &d->n_rows_undecided);
	if (r == 0)
		return;
	/* -ESHUTDOWN: the queue was closed, so that nobody waits for room in it. */
	n_rows = part ? batch__n_rows(part) : counts.n_rows_no_memory;
	if (d->env.stats && n_rows > 0)
		stats__drop(d->env.stats, d->name,
			    r == -ENOTCONN    ? "not_running"
			    : r == -ESHUTDOWN ? "shutdown"
					      : "no_memory",
			    n_rows);
	if (acknowledges)
		ack__unref(ack__ref(ack), r);
}

/* ---- life ---- */

static void free_destination(struct destination *d)
{
	route__fini(&d->route);
	/* What is given up goes back to the spool. */
	queue__unref(d->queue);
	spooler__free(d->spooler);
	pthread_mutex_destroy(&d->trouble_mutex);
	pthread_mutex_destroy(&d->mutex);
	free(d->name);
	free(d);
}

/* The spool's shows before the destination's own: what the one cannot keep the other never gets. */
static void tell_trouble(struct destination *d, unsigned who, int code, const char *sentence)
{
	pthread_mutex_lock(&d->trouble_mutex);
	d->trouble_code[who] = code;
	snprintf(d->trouble_text[who], sizeof(d->trouble_text[who]), "%s", sentence);
	who = d->trouble_text[TROUBLE_SPOOL][0] ? TROUBLE_SPOOL : TROUBLE_OWN;
	if (d->trouble)
		d->trouble(d->trouble_ctx, d->trouble_code[who], d->trouble_text[who]);
	pthread_mutex_unlock(&d->trouble_mutex);
}

static void on_spool_trouble(void *ctx, int code, const char *sentence)
{
	tell_trouble(ctx, TROUBLE_SPOOL, code, sentence);
}

static void on_own_trouble(void *ctx, int code, const char *sentence)
{
	struct destination *d = ctx;

	if (d->spooler && code < 0)
		spooler__say(d->spooler, sentence);
	tell_trouble(d, TROUBLE_OWN, code, sentence);
}

static void on_refused(void *ctx, const struct dcm_batch *batch, uint32_t profile)
{
	struct destination *d = ctx;

	if (d->spooler)
		spooler__set_aside(d->spooler, batch, profile);
}

/* Whom the destination tells, from now on. NULL: nobody. */
static void set_trouble(struct destination *d, void (*trouble)(void *, int, const char *), void *ctx)
{
	pthread_mutex_lock(&d->trouble_mutex);
	d->trouble = trouble;
	d->trouble_ctx = ctx;
	if (!trouble)
		d->trouble_text[TROUBLE_OWN][0] = '\0';
	else if (d->trouble_text[TROUBLE_SPOOL][0])
		trouble(ctx, d->trouble_code[TROUBLE_SPOOL], d->trouble_text[TROUBLE_SPOOL]);
	pthread_mutex_unlock(&d->trouble_mutex);
}

/* Does what it gets arrive, as far as anybody knows? */
static bool is_well(void *ctx)
{
	struct destination *d = ctx;
	bool well;

	pthread_mutex_lock(&d->trouble_mutex);
	well = d->writer && !d->trouble_text[TROUBLE_OWN][0];
	pthread_mutex_unlock(&d->trouble_mutex);
	return well;
}

static int start_writer(struct destination *d, const struct destination_config *config,
			struct queue *queue, struct writer **ret, struct dcm_error *err)
{
	/* What comes from a spool has its names. */
	bool resolves = config->named && !d->spooler;
	struct writer_config w = {
		.name = d->name,
		.storage = config->storage,
		.output = config->output,
		.handle = config->handle,
		.write_timeout_ns = config->write_timeout_ns,
		.give_up_ns = config->give_up_ns,
		.n_refusals = config->n_refusals,
		.resolved = resolves ? d->env.resolved : NULL,
		.resolved_ctx = d->env.ctx,
		.trouble = on_own_trouble,
		.refused = on_refused,
		.trouble_ctx = d,
	};

	return writer__start(&w, queue__ref(queue), ret, err);
}

static bool has_place(const struct destination_config *config)
{
	return config->spool.directory && config->spool.directory[0];
}

static struct limits given_limits(const struct destination_config *config)
{
	return (struct limits){ .policy = config->policy,
				.reserve_bytes = config->reserve_bytes ? config->reserve_bytes
								       : RESERVE_BYTES,
				.max_bytes = config->max_bytes };
}

/* Of the queue that the writer pops, which has little in it where there is a spool before it. */
static struct limits own_limits(const struct destination_config *config)
{
	if (has_place(config))
		return (struct limits){ .policy = QUEUE_REFUSE,
					.is_backed = true,
					.reserve_bytes = BACKED_BYTES };
	return given_limits(config);
}

static int make_queue(const struct destination *d, const struct limits *limits,
		      const struct queue *before, struct queue **ret)
{
	struct queue_config q = {
		.name = d->name,
		.policy = limits->policy,
		.reserve_bytes = limits->reserve_bytes,
		.max_bytes = limits->max_bytes,
		.is_backed = limits->is_backed,
		.stats = d->env.stats,
		.clock = d->env.clock,
		.before = before,
	};

	return queue__new(d->env.pool, &q, ret);
}

/* As the destination's own members say; what it counts goes on. */
static int make_own_queue(const struct destination *d, const struct limits *limits, struct queue **ret)
{
	return make_queue(d, limits, d->queue, ret);
}

/* What the spool gives: from its feeder's thread, while queues come and go. */
static int deliver(void *ctx, struct dcm_batch *batch, struct ack *ack)
{
	struct destination *d = ctx;
	struct queue *q;
	int r;

	pthread_mutex_lock(&d->mutex);
	q = queue__ref(d->queue);
	pthread_mutex_unlock(&d->mutex);
	r = queue__push(q, batch, ack);
	queue__unref(q);
	/* Another one will come. */
	return r == -ESHUTDOWN ? -EAGAIN : r;
}

/* *ret NULL: it shall have none. */
static int start_spooler(struct destination *d, const struct destination_config *config,
			 struct spooler **ret, struct dcm_error *err)
{
	struct limits limits = given_limits(config);
	struct queue *queue = NULL;
	const struct spooler_config c = {
		.name = d->name,
		.place = config->spool,
		.log = d->env.log,
		.stats = d->env.stats,
		.clock = d->env.clock,
		.resolved = config->named ? d->env.resolved : NULL,
		.resolved_ctx = d->env.ctx,
		.deliver = deliver,
		.trouble = on_spool_trouble,
		.ctx = d,
	};

	*ret = NULL;
	if (!has_place(config))
		return 0;
	if (make_queue(d, &limits, NULL, &queue) < 0)
		return error__nomem(err);
	return spooler__start(&c, queue, ret, err);
}

static int make(const struct destination_env *env, const struct destination_config *config,
		struct destination **ret, struct dcm_error *err)
{
	struct destination *d = NEW(struct destination);
	int r;

	if (!d)
		return error__nomem(err);
	pthread_mutex_init(&d->trouble_mutex, NULL);
	d->env = *env;
	pthread_mutex_init(&d->mutex, NULL);
	d->is_storage = config->storage;
	d->limits = own_limits(config);
	d->trouble = config->trouble;
	d->trouble_ctx = config->trouble_ctx;
	d->name = mem__dup_str(config->name, strlen(config->name));
	r = d->name ? make_own_queue(d, &d->limits, &d->queue) : -ENOMEM;
	if (r == 0)
		r = start_spooler(d, config, &d->spooler, err);
	else
		error__nomem(err);
	if (r < 0) {
		free_destination(d);
		return r;
	}
	*ret = d;
	return 0;
}

static bool never_well(void *ctx)
{
	(void)ctx;
	return false;
}

int destination__new(const struct destination_env *env, struct destination_config *config,
		     struct destination **ret, struct dcm_error *err)
{
	struct destination *d = NULL;
	struct route route = config->route;
	int r = make(env, config, &d, err);

	config->route = (struct route){ 0 };
	if (r < 0) {
		route__fini(&route);
		return r;
	}
	d->route = route;
	if (!config->is_away)
		r = start_writer(d, config, d->queue, &d->writer, err);
	if (r < 0) {
		if (d->spooler)
			spooler__stop(d->spooler, never_well, NULL, 0);
		free_destination(d);
		return r;
	}
	destination__add_metrics(d);
	*ret = d;
	return 0;
}

static bool same_limits(const struct limits *a, const struct limits *b)
{
	return a->policy == b->policy && a->is_backed == b->is_backed &&
	       a->reserve_bytes == b->reserve_bytes && a->max_bytes == b->max_bytes;
}

/* The queue that fits the new limits, a reference: the one that is there, if it does. */
static int queue_for(struct destination *d, const struct destination_config *config, struct queue **ret)
{
	struct limits limits = own_limits(config);
	struct queue_view view;

	queue__view(d->queue, &view);
	/* What the last plugin still owes an answer for is not the next one's. */
	if (same_limits(&d->limits, &limits) && !d->is_used_up && view.n_popped == 0) {
		*ret = queue__ref(d->queue);
		return 0;
	}
	return make_own_queue(d, &limits, ret);
}

/* What is routed to it while it has neither the old spool nor the new one waits in *ret. */
static int hold_meanwhile(struct destination *d, const struct limits *limits, struct queue **ret)
{
	int r = make_queue(d, limits, NULL, ret);

	if (r < 0)
		return r;
	pthread_mutex_lock(&d->mutex);
	d->meanwhile = *ret;
	pthread_mutex_unlock(&d->mutex);
	return 0;
}

/* What nobody has taken yet goes to `waiting`, or stays in the old spool, for the next start with its directory. */
static void end_spooler(struct destination *d, struct queue *waiting)
{
	struct spooler *old = d->spooler;

	if (!old) {
		queue__move(d->queue, waiting);
		return;
	}
	spooler__leave(old, waiting, clock__mono(&clock__system) + SPOOL_STOP_NS);
	queue__discard(d->queue, "shutdown");
	pthread_mutex_lock(&d->mutex);
	d->spooler = NULL;
	pthread_mutex_unlock(&d->mutex);
	spooler__free(old);
}

/* With the spool that it has now, or none, it goes on with what waited before, and then with what came meanwhile. */
static void go_on(struct destination *d, struct spooler *fresh, struct queue *own,
		  const struct limits *limits, struct queue *waiting)
{
	struct queue *before[] = { waiting, NULL };

	pthread_mutex_lock(&d->mutex);
	before[1] = take_ptr(d->meanwhile);
	d->spooler = fresh;
	if (own) {
		/* A feeder is quick: what it gave already goes along. */
		queue__move(d->queue, own);
		queue__unref(d->queue);
		d->queue = own;
		d->limits = *limits;
		d->is_used_up = false;
	}
	for (int i = 0; i < 2; i++) {
		if (fresh)
			spooler__take(fresh, before[i]);
		else
			queue__move(before[i], d->queue);
	}
	pthread_mutex_unlock(&d->mutex);
}

/* Gives a destination that is away the spool that it shall have, which may be another or none. */
static int change_spooler(struct destination *d, const struct destination_config *config,
			  struct dcm_error *err)
{
	struct limits limits = given_limits(config);
	struct queue *waiting = NULL, *meanwhile = NULL, *own = NULL;
	struct spooler *fresh = NULL;
	int r;

	if (d->spooler ? spooler__is_at(d->spooler, &config->spool) : !has_place(config))
		return 0;
	if (make_queue(d, &limits, NULL, &waiting) < 0 || hold_meanwhile(d, &limits, &meanwhile) < 0) {
		queue__unref(waiting);
		return error__nomem(err);
	}
	destination__remove_metrics(d);
	end_spooler(d, waiting);
	r = start_spooler(d, config, &fresh, err);
	/* One without its spool keeps what it has as any other does. */
	if (fresh)
		limits = own_limits(config);
	if (make_own_queue(d, &limits, &own) < 0 && r == 0)
		r = error__nomem(err);
	go_on(d, fresh, own, &limits, waiting);
	destination__add_metrics(d);
	queue__unref(waiting);
	queue__unref(meanwhile);
	return r;
}

int destination__connect(struct destination *d, struct destination_config *config, struct dcm_error *err)
{
	struct route route = config->route;
	struct writer *writer = NULL;
	struct queue *queue = NULL;
	int r = change_spooler(d, config, err);

	config->route = (struct route){ 0 };
	if (r == 0 && queue_for(d, config, &queue) < 0)
		r = error__nomem(err);
	if (r == 0) {
		set_trouble(d, config->trouble, config->trouble_ctx);
		queue__hold(queue, false);
		r = start_writer(d, config, queue, &writer, err);
	}
	if (r < 0) {
		route__fini(&route);
		queue__unref(queue);
		return r;
	}
	destination__remove_metrics(d);
	pthread_mutex_lock(&d->mutex);
	if (queue != d->queue)
		queue__move(d->queue, queue);
	queue__unref(d->queue);
	d->queue = queue;
	d->writer = writer;
	d->limits = own_limits(config);
	d->is_used_up = d->loses = false;
	pthread_mutex_unlock(&d->mutex);
	destination__add_metrics(d);
	destination__set_route(d, &route);
	return 0;
}

void destination__keep(struct destination *d, bool keeps)
{
	pthread_mutex_lock(&d->mutex);
	d->loses = !keeps;
	pthread_mutex_unlock(&d->mutex);
	if (!keeps && !d->spooler)
		queue__discard(d->queue, "not_running");
}

void destination__set_route(struct destination *d, struct route *route)
{
	struct route old;

	pthread_mutex_lock(&d->mutex);
	old = d->route;
	d->route = *route;
	pthread_mutex_unlock(&d->mutex);
	*route = (struct route){ 0 };
	route__fini(&old);
}

/*
 * The thread that hangs keeps the queue with what it has taken; what waits goes on in another one, or comes from the
 * spool again, behind what the thread has.
 */
static void leave_queue(struct destination *d)
{
	struct queue *fresh = NULL, *old = d->queue;

	if (make_own_queue(d, &d->limits, &fresh) < 0)
		fresh = queue__ref(old); /* it will be closed: what comes is lost, and counted */
	destination__remove_metrics(d);
	pthread_mutex_lock(&d->mutex);
	if (fresh != old && !d->spooler)
		queue__move(old, fresh);
	d->queue = fresh;
	d->is_used_up = fresh == old;
	pthread_mutex_unlock(&d->mutex);
	destination__add_metrics(d);
	queue__orphan(old);
	queue__unref(old);
}

int destination__disconnect(struct destination *d, int64_t deadline_mono_ns)
{
	struct writer *writer = d->writer;
	int r;

	assert(d->limits.policy != QUEUE_BLOCK);
	set_trouble(d, NULL, NULL);
	if (!writer)
		return 0;
	pthread_mutex_lock(&d->mutex);
	d->writer = NULL;
	pthread_mutex_unlock(&d->mutex);
	r = writer__leave(writer, deadline_mono_ns + GRACE_NS);
	if (r < 0)
		leave_queue(d);
	return r;
}

int destination__end(struct destination *d, int64_t deadline_mono_ns)
{
	int r = 0;

	destination__remove_metrics(d);
	if (d->spooler) {
		spooler__stop(d->spooler, is_well, d, deadline_mono_ns);
		/* What would be tried again and again until then can as well wait on the disk. */
		deadline_mono_ns = is_well(d) ? deadline_mono_ns : clock__mono(&clock__system);
	}
	if (d->writer)
		r = writer__stop(d->writer, deadline_mono_ns, GRACE_NS);
	free_destination(d);
	return r;
}

void destination__unblock(struct destination *d)
{
	if (d->limits.policy == QUEUE_BLOCK)
		queue__close(d->queue);
}

int destination__flush(struct destination *d, int64_t deadline_mono_ns)
{
	int r = d->spooler ? spooler__flush(d->spooler, deadline_mono_ns) : 0;

	return r < 0 ? r : queue__flush(d->queue, deadline_mono_ns);
}

void destination__watch(struct destination *d)
{
	pthread_mutex_lock(&d->mutex);
	if (d->spooler)
		spooler__watch(d->spooler);
	if (d->writer)
		writer__watch(d->writer);
	pthread_mutex_unlock(&d->mutex);
}

void destination__look(struct destination *d, pipeline_view_fn fn, void *ctx)
{
	struct queue_view queue;
	struct writer_view writer;
	struct spooler_view spooler;
	struct pipeline_view v = { .name = d->name,
				   .queue = &queue,
				   .n_profiles_filtered = d->n_profiles_filtered };

	pthread_mutex_lock(&d->mutex);
	queue = destination__counts(d);
	if (d->spooler) {
		spooler__view(d->spooler, &spooler);
		v.spooler = &spooler;
	}
	if (d->writer) {
		writer__view(d->writer, &writer);
		v.writer = &writer;
	}
	fn(ctx, &v);
	pthread_mutex_unlock(&d->mutex);
}
