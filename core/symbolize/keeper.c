/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/keeper.c - the thread that puts files into the depot
 *
 * Threads: one; `lock` guards the queue. Limits: MAX_OPEN files wait with a descriptor, MAX_WAITING
 * in all, the others by their path; REDUCE_NS for one, whose size the reducer holds.
 */
#include "core/symbolize/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/cond.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/broker/rights.h"
#include "core/broker/sandbox.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/extract.h"

enum { MAX_OPEN = 256, MAX_WAITING = 4096, TEND_S = 10 };
#define REDUCE_NS INT64_C(20000000000)

struct wish {
	struct wish *next;
	enum depot_kind kind;
	int fd; /* -1: opened by its path when its turn comes */
	char build_id[ELF_BUILD_ID_TEXT];
	char *path; /* or NULL */
};

struct keeper {
	struct keeper_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work; /* on CLOCK_MONOTONIC */
	struct wish *first, **last;
	uint32_t n_open;   /* of those in the queue */
	int64_t flushed_s; /* mono */
	_Atomic bool stop;
	struct keeper_stat counts;
};

/* --- one file --- */

unsigned keeper__tells(const struct debuginfo_facts *f)
{
	return (f->has_symtab ? DEPOT_SYMTAB : 0u) | (f->has_dwarf ? DEPOT_DWARF : 0u) |
	       (f->has_go ? DEPOT_GO : 0u);
}

int keeper__reduce(const struct keeper_config *c, const struct symbols_reduction *r)
{
	struct extract_report report;
	struct dcm_error err = DCM_ERROR_INIT;

	if (c->reduce)
		return c->reduce(c->reduce_ctx, r);
	return extract__file_as(r->in_fd, r->out_fd, EXTRACT_FAST, r->build_id, &report, &err);
}

/* stop: ends it early with -ECANCELED. */
static int put(const struct keeper_config *c, enum depot_kind kind, int fd, bool (*stop)(void *ctx),
	       void *stop_ctx)
{
	CLEANUP(mem__freep) struct debuginfo_facts *facts = NEW(struct debuginfo_facts);
	struct depot_put put;
	int rc = facts ? debuginfo__facts(fd, facts) : -ENOMEM;

	if (!rc && !facts->build_id[0])
		rc = -ENODATA;
	if (rc || !depot__wants(c->depot, facts->build_id, kind, keeper__tells(facts)))
		return rc;
	rc = depot__begin(c->depot, &put);
	if (rc)
		return rc;
	rc = keeper__reduce(c, &(struct symbols_reduction){ fd, put.fd, NULL, REDUCE_NS, stop, stop_ctx });
	if (!rc)
		return depot__end(c->depot, &put, facts->build_id, kind, keeper__tells(facts));
	depot__abort(c->depot, &put, rc);
	return rc;
}

/* --- the thread --- */

static void free_wish(struct wish *w)
{
	if (!w)
		return;
	fd__close(w->fd);
	free(w->path);
	free(w);
}

static bool stops(void *ctx)
{
	const struct keeper *k = ctx;

	return atomic_load(&k->stop);
}

/* The next one; NULL when nothing has come for a while, or it is time to stop. */
static struct wish *pop(struct keeper *k)
{
	const struct timespec until = cond__after(TEND_S * INT64_C(1000000000));
	struct wish *w;

	pthread_mutex_lock(&k->lock);
	while (!k->first && !stops(k) && pthread_cond_timedwait(&k->work, &k->lock, &until) != ETIMEDOUT)
		;
	w = stops(k) ? NULL : k->first;
	if (w) {
		k->first = w->next;
		if (!k->first)
			k->last = &k->first;
		k->n_open -= w->fd >= 0;
	}
	pthread_mutex_unlock(&k->lock);
	return w;
}

/*
 * The file of a wish that could not keep its descriptor, if its path still leads to it. Here that
 * may be anything: a process named it, in a root of its own maybe.
 */
static int open_again(const struct keeper *k, const struct wish *w)
{
	CLEANUP(fd__closep) int fd = rights__open_named(k->config.broker, w->path);
	char id[ELF_BUILD_ID_TEXT];

	if (fd < 0 || elf__build_id(fd, id) || strcmp(id, w->build_id) != 0)
		return -1;
	return take_fd(fd);
}

static void tell_lost(struct keeper *k, const char *build_id)
{
	if (k->config.lost)
		k->config.lost(k->config.lost_ctx, build_id);
}

static void keep(struct keeper *k, struct wish *w)
{
	bool gone = false;
	int rc = 0;

	if (w->fd < 0) {
		w->fd = open_again(k, w);
		gone = w->fd < 0;
	}
	if (gone)
		tell_lost(k, w->build_id);
	else
		rc = put(&k->config, w->kind, w->fd, stops, k);
	pthread_mutex_lock(&k->lock);
	k->counts.n_waiting--;
	k->counts.n_dropped += gone;
	k->counts.n_failed += rc && rc != -ENODATA && rc != -ECANCELED;
	pthread_mutex_unlock(&k->lock);
	free_wish(w);
}

/* What is due beside the files. */
static void tend(struct keeper *k)
{
	int64_t now_s = clock__mono(&clock__system) / 1000000000;

	if (k->config.scribe && (stops(k) || now_s - k->flushed_s >= TEND_S)) {
		scribe__flush(k->config.scribe);
		k->flushed_s = now_s;
	}
	depot__tend(k->config.depot);
}

static void *run(void *ctx)
{
	struct keeper *k = ctx;

	/* It is made before the process gives its rights up. */
	sandbox__keep_capabilities(0);
	while (!stops(k)) {
		tend(k);
		struct wish *w = pop(k);
		if (w)
			keep(k, w);
	}
	tend(k);
	return NULL;
}

static struct wish *new_wish(const struct keeper_file *file)
{
	struct wish *w = NEW(struct wish);
	size_t n = strnlen(file->build_id, sizeof(w->build_id) - 1);

	if (!w)
		return NULL;
	w->kind = file->kind;
	memcpy(w->build_id, file->build_id, n);
	w->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
	if (file->path.n && file->path.p[0] == '/')
		w->path = mem__dup_str(file->path.p, file->path.n);
	return w;
}

/* Into the queue, with or without its descriptor. Under the lock. */
static bool push(struct keeper *k, struct wish *w)
{
	if (w->fd >= 0 && k->n_open >= MAX_OPEN) {
		close(w->fd);
		w->fd = -1;
	}
	if ((w->fd < 0 && !w->path) || k->counts.n_waiting >= MAX_WAITING)
		return false;
	k->n_open += w->fd >= 0;
	*k->last = w;
	k->last = &w->next;
	k->counts.n_waiting++;
	pthread_cond_signal(&k->work);
	return true;
}

void keeper__add(struct keeper *k, const struct keeper_file *file)
{
	struct wish *w = new_wish(file);
	bool taken;

	pthread_mutex_lock(&k->lock);
	taken = w && push(k, w);
	k->counts.n_dropped += !taken;
	pthread_mutex_unlock(&k->lock);
	if (taken)
		return;
	free_wish(w);
	tell_lost(k, file->build_id);
}

void keeper__stat(struct keeper *k, struct keeper_stat *ret)
{
	pthread_mutex_lock(&k->lock);
	*ret = k->counts;
	pthread_mutex_unlock(&k->lock);
}

static void destroy(struct keeper *k)
{
	while (k->first) {
		struct wish *w = k->first;

		k->first = w->next;
		free_wish(w);
	}
	pthread_cond_destroy(&k->work);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

int keeper__new(const struct keeper_config *config, struct keeper **ret)
{
	struct keeper *k = NEW(struct keeper);
	int rc;

	if (!k)
		return -ENOMEM;
	k->config = *config;
	k->last = &k->first;
	pthread_mutex_init(&k->lock, NULL);
	cond__init(&k->work);
	rc = -pthread_create(&k->thread, NULL, run, k);
	if (rc) {
		destroy(k);
		return rc;
	}
	pthread_setname_np(k->thread, "keeper");
	*ret = k;
	return 0;
}

void keeper__free(struct keeper *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	atomic_store(&k->stop, true);
	pthread_cond_signal(&k->work);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	destroy(k);
}
