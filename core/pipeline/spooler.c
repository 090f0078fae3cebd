/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spooler.c - the stage before a destination that keeps on disk what it is to get
 *
 * The spool is a storage to the writer before it, which groups, waits for a disk that refuses, and tells of it.
 */
#include "core/pipeline/spooler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "core/batch/batch.h"
#include "core/pipeline/writer.h"

#define SECOND	    INT64_C(1000000000)
#define LOOK_NS	    (SECOND / 20) /* how often what nobody tells is looked at */
#define FED_BYTES   ((uint64_t)4 << 20)
#define ASIDE_BYTES ((uint64_t)64 << 20)
#define GROUP_MAX   64 /* writer.h */
/* The feeder is told to end, and waits for nothing but a disk. */
#define FEEDER_END_NS (2 * SECOND)

struct spooler {
	struct spooler_config config;
	char *name, *directory;
	struct queue *queue; /* a reference; another is the writer's */
	struct writer *writer;
	pthread_t feeder;
	_Atomic bool is_stopping;
	_Atomic bool is_stuck; /* a thread is inside for ever, and what it may tell nobody hears */
	int64_t fed_until_ns;  /* the feeder's: when the next that was read back may go */

	pthread_mutex_t opening; /* before `lock`; of who opens the spool, which asks the disk */
	pthread_mutex_t lock;	 /* guards: */
	pthread_cond_t ended;
	bool has_ended;	     /* the feeder */
	struct spool *spool; /* NULL: the directory could not be used yet. A reference */
	struct vfs *vfs;
	struct spooler *next_kept;
};

/* Those of which a thread may never come back, and so for good: listed, so that nobody takes them for lost memory. */
static _Atomic(struct spooler *) kept;

/* ---- the spool, once its directory can be used ---- */

static void on_lost(void *ctx, const char *reason, uint64_t n)
{
	const struct spooler *s = ctx;

	if (s->config.stats && !s->is_stuck)
		stats__drop(s->config.stats, s->name, reason, n);
}

static void on_report(void *ctx, enum dcm_log_level level, const char *text)
{
	const struct spooler *s = ctx;

	if (s->config.log && !s->is_stuck)
		log__line(s->config.log, level, s->name, "%s: %s", s->directory, text);
}

static struct spool *spool_of(struct spooler *s)
{
	struct spool *spool;

	pthread_mutex_lock(&s->lock);
	spool = s->spool ? spool__ref(s->spool) : NULL;
	pthread_mutex_unlock(&s->lock);
	return spool;
}

/* By one thread at a time. */
static int open_spool(struct spooler *s, struct dcm_error *err)
{
	const struct spool_config c = {
		.max_bytes = s->config.place.max_bytes,
		.aside_bytes = ASIDE_BYTES,
		.max_age_ns = s->config.place.max_age_ns,
		.fed_bytes = FED_BYTES,
		.clock = s->config.clock,
		.lost = on_lost,
		.report = on_report,
		.ctx = s,
	};
	struct spool *spool = NULL;
	struct vfs *vfs = NULL;
	int r = vfs_posix__new(s->directory, false, &vfs, err);

	if (r < 0)
		return r;
	r = spool__open(vfs, &c, &spool, err);
	if (r < 0) {
		vfs_posix__free(vfs);
		error__prefix(err, "%s", s->directory);
		return r;
	}
	pthread_mutex_lock(&s->lock);
	s->spool = spool;
	s->vfs = vfs;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* *ret: a reference. */
static int get_spool(struct spooler *s, struct spool **ret, struct dcm_error *err)
{
	int r = 0;

	*ret = spool_of(s);
	if (*ret)
		return 0;
	pthread_mutex_lock(&s->opening);
	*ret = spool_of(s);
	if (!*ret)
		r = open_spool(s, err);
	if (!*ret && r == 0)
		*ret = spool_of(s);
	pthread_mutex_unlock(&s->opening);
	return r;
}

/* ---- into the spool: the writer's thread ---- */

/* As the destination wants them: references, in views[n]. */
static int make_views(struct spooler *s, struct dcm_batch *const *batches, uint32_t n,
		      struct dcm_batch **views, struct dcm_error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (s->config.resolved)
			r = s->config.resolved(s->config.resolved_ctx, batches[i], &views[i], err);
		else
			views[i] = batch__ref(batches[i]);
	}
	return r;
}

static int append(struct spooler *s, struct spool *spool, struct dcm_batch *const *batches,
		  uint32_t n, struct dcm_error *err)
{
	struct dcm_batch *views[GROUP_MAX] = { 0 };
	int r = make_views(s, batches, n, views, err);

	if (r == 0)
		r = spool__append(spool, batches[0], views, n, err);
	for (uint32_t i = 0; i < n; i++)
		batch__unref(views[i]);
	return r;
}

static int spool_write(void *instance, struct dcm_batch *const *batches, uint32_t n,
		       dcm_done_fn done, void *ctx, struct dcm_error *err)
{
	struct spooler *s = instance;
	struct spool *spool = NULL;
	int r = s->is_stuck ? -EAGAIN : get_spool(s, &spool, err);

	if (r == 0)
		r = append(s, spool, batches, n, err);
	spool__unref(spool);
	if (r == 0) {
		done(ctx, 0);
		return 0;
	}
	error__prefix(err, "spool");
	/* A directory and a disk may be put right; what is too large stays so. */
	return r == -EFBIG ? r : -EAGAIN;
}

static const struct dcm_storage_ops into_spool = { .size = sizeof(into_spool), .write = spool_write };

/* ---- out of the spool: the feeder's thread ---- */

/* One that the destination has, until its ack. */
struct fed {
	struct spool *spool; /* a reference */
	struct spool_item item;
};

static void on_settled(void *ctx, int status)
{
	struct fed *f = ctx;

	spool__settle(f->spool, &f->item, status);
	spool__unref(f->spool);
	free(f);
}

static void nap(int64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND }, NULL);
}

/* What was read back goes at the rate that is allowed, so that who comes back is not run over. */
static void keep_rate(struct spooler *s, const struct spool_item *item)
{
	uint64_t rate = s->config.place.bytes_per_s;
	int64_t now = clock__mono(&clock__system);

	if (!item->was_read || rate == 0)
		return;
	if (s->fed_until_ns < now)
		s->fed_until_ns = now;
	while (!s->is_stopping && now < s->fed_until_ns) {
		nap(s->fed_until_ns - now < LOOK_NS ? s->fed_until_ns - now : LOOK_NS);
		now = clock__mono(&clock__system);
	}
	s->fed_until_ns += (int64_t)((double)item->bytes / (double)rate * (double)SECOND);
}

/* Until it has room, or the feeder is to end: then nobody may be there to deliver to. */
static int deliver(struct spooler *s, struct dcm_batch *batch, struct ack *ack)
{
	int r = -EAGAIN;

	while (!s->is_stopping) {
		r = s->config.deliver(s->config.ctx, batch, ack);
		if (r != -EAGAIN && r != -ENOMEM)
			break;
		nap(LOOK_NS);
	}
	return r;
}

static void feed(struct spooler *s, struct spool *spool, struct spool_item *item)
{
	struct fed *f = NEW(struct fed);
	struct ack *ack = f ? ack__new(on_settled, f) : NULL;
	int r = -ENOMEM;

	if (ack) {
		*f = (struct fed){ .spool = spool__ref(spool), .item = *item };
		keep_rate(s, item);
		r = deliver(s, item->batch, ack);
		/* Ours: one that was not taken waits again. */
		ack__unref(ack, r < 0 ? -ECANCELED : 0);
	} else {
		free(f);
		spool__settle(spool, item, -ECANCELED);
		nap(LOOK_NS);
	}
	batch__unref(item->batch);
}

static void *run_feeder(void *arg)
{
	struct spooler *s = arg;

	while (!s->is_stopping) {
		struct spool *spool = NULL;
		struct spool_item item;
		int r = get_spool(s, &spool, NULL);

		if (r == 0)
			r = spool__next(spool, &item);
		if (r == 0)
			feed(s, spool, &item);
		else if (r == -EAGAIN && spool)
			spool__wait(spool, clock__mono(&clock__system) + SECOND);
		else
			nap(LOOK_NS * 4);
		spool__unref(spool);
	}
	pthread_mutex_lock(&s->lock);
	s->has_ended = true;
	pthread_cond_signal(&s->ended);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- life ---- */

static void free_spooler(struct spooler *s)
{
	if (spool__close(s->spool) < 0) {
		s->is_stuck = true;
		return;
	}
	vfs_posix__free(s->vfs);
	queue__unref(s->queue);
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->opening);
	free(s->directory);
	free(s->name);
	free(s);
}

static int start_threads(struct spooler *s, struct dcm_error *err)
{
	const struct writer_config w = { .name = s->name,
					 .storage = &into_spool,
					 .handle = s,
					 .max_group = GROUP_MAX,
					 .trouble = s->config.trouble,
					 .trouble_ctx = s->config.ctx };
	int r = writer__start(&w, queue__ref(s->queue), &s->writer, err);

	if (r < 0)
		return r;
	r = pthread_create(&s->feeder, NULL, run_feeder, s);
	if (r == 0) {
		pthread_setname_np(s->feeder, "feeder");
		return 0;
	}
	writer__stop(s->writer, 0, INT64_MAX);
	return error__sys(err, -r, "%s: no thread for its spool", s->name);
}

int spooler__start(const struct spooler_config *config, struct queue *queue, struct spooler **ret,
		   struct dcm_error *err)
{
	struct spooler *s = NEW(struct spooler);
	struct dcm_error why = DCM_ERROR_INIT;
	int r = -ENOMEM;

	if (!s) {
		queue__unref(queue);
		return error__nomem(err);
	}
	s->config = *config;
	s->queue = queue;
	s->name = mem__dup_str(config->name, strlen(config->name));
	s->directory = mem__dup_str(config->place.directory, strlen(config->place.directory));
	pthread_mutex_init(&s->opening, NULL);
	pthread_mutex_init(&s->lock, NULL);
	cond__init(&s->ended);
	if (s->name && s->directory) {
		if (open_spool(s, &why) < 0)
			on_report(s, DCM_LOG_WARNING, why.text);
		r = start_threads(s, err);
	} else {
		error__nomem(err);
	}
	if (r < 0) {
		free_spooler(s);
		return r;
	}
	*ret = s;
	return 0;
}

int spooler__push(struct spooler *s, struct dcm_batch *batch, struct ack *ack)
{
	return queue__push(s->queue, batch, ack);
}

void spooler__take(struct spooler *s, struct queue *from)
{
	queue__move(from, s->queue);
}

void spooler__say(struct spooler *s, const char *words)
{
	struct spool *spool = spool_of(s);

	if (spool)
		spool__say(spool, words);
	spool__unref(spool);
}

void spooler__set_aside(struct spooler *s, const struct dcm_batch *batch, uint32_t profile)
{
	struct spool *spool = spool_of(s);

	if (spool)
		spool__set_aside(spool, batch, profile);
	spool__unref(spool);
}

static bool is_empty(struct spooler *s)
{
	struct spooler_view v;

	spooler__view(s, &v);
	return v.spool.n_batches == 0;
}

/* ---- the end ---- */

/* A thread that is in a disk that does not come back keeps all that it may look at. */
static void abandon(struct spooler *s)
{
	struct spool *spool = spool_of(s);

	s->is_stuck = true;
	if (spool)
		spool__abandon(spool);
	spool__unref(spool);
}

static void end_feeder(struct spooler *s)
{
	const int64_t until = clock__mono(&clock__system) + FEEDER_END_NS;
	const struct timespec ts = { .tv_sec = until / SECOND, .tv_nsec = until % SECOND };
	struct spool *spool = spool_of(s);
	bool has_ended;
	int r = 0;

	s->is_stopping = true;
	if (spool)
		spool__wake(spool);
	spool__unref(spool);
	pthread_mutex_lock(&s->lock);
	while (!s->has_ended && r == 0)
		r = pthread_cond_timedwait(&s->ended, &s->lock, &ts);
	has_ended = s->has_ended;
	pthread_mutex_unlock(&s->lock);
	if (has_ended) {
		pthread_join(s->feeder, NULL);
	} else {
		pthread_detach(s->feeder);
		abandon(s);
	}
}

void spooler__stop(struct spooler *s, bool (*is_well)(void *ctx), void *ctx, int64_t deadline_mono_ns)
{
	if (writer__stop(s->writer, deadline_mono_ns, LOOK_NS) < 0)
		abandon(s);
	while (!s->is_stuck && !is_empty(s) && is_well(ctx) && clock__mono(&clock__system) < deadline_mono_ns)
		nap(LOOK_NS);
	end_feeder(s);
}

void spooler__leave(struct spooler *s, struct queue *to, int64_t deadline_mono_ns)
{
	bool is_stuck = writer__leave(s->writer, deadline_mono_ns) < 0;

	queue__move(s->queue, to);
	if (is_stuck) {
		queue__orphan(s->queue);
		abandon(s);
	}
	end_feeder(s);
}

/* Nobody looks there before somebody gives an output the directory again. */
static void tell_what_stays(const struct spooler *s)
{
	struct spool_view v = { 0 };
	char text[192], bytes[48];

	if (s->spool)
		spool__view(s->spool, &v);
	if (v.n_batches == 0)
		return;
	units__format_size((int64_t)v.bytes, bytes);
	snprintf(
		text, sizeof(text),
		"%llu batches (%s) stay here; they go out when an output has this spool_path again",
		(unsigned long long)v.n_batches, bytes);
	on_report((void *)(uintptr_t)s, DCM_LOG_WARNING, text);
}

void spooler__free(struct spooler *s)
{
	if (!s)
		return;
	if (s->is_stuck) {
		s->next_kept = atomic_exchange(&kept, s);
		return;
	}
	tell_what_stays(s);
	free_spooler(s);
}

int spooler__flush(struct spooler *s, int64_t deadline_mono_ns)
{
	int r = queue__flush(s->queue, deadline_mono_ns);

	while (r == 0 && !is_empty(s)) {
		if (clock__mono(&clock__system) >= deadline_mono_ns)
			return -ETIMEDOUT;
		nap(LOOK_NS);
	}
	return r;
}

void spooler__watch(struct spooler *s)
{
	writer__watch(s->writer);
}

void spooler__view(struct spooler *s, struct spooler_view *ret)
{
	*ret = (struct spooler_view){ .directory = s->directory };
	queue__view(s->queue, &ret->queue);
	pthread_mutex_lock(&s->lock);
	ret->is_open = s->spool != NULL;
	if (s->spool)
		spool__view(s->spool, &ret->spool);
	pthread_mutex_unlock(&s->lock);
}

bool spooler__is_at(const struct spooler *s, const struct spool_place *place)
{
	return place->directory && strcmp(s->directory, place->directory) == 0 &&
	       s->config.place.max_bytes == place->max_bytes &&
	       s->config.place.max_age_ns == place->max_age_ns &&
	       s->config.place.bytes_per_s == place->bytes_per_s;
}
