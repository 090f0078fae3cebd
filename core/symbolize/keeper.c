/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/keeper.c - the thread that puts files into the depot
 *
 * Threads: one; `lock` guards the queue. Limits: MAX_WAITING files wait, each with a descriptor;
 * REDUCE_NS for one, whose size the reducer holds.
 */
#include "core/symbolize/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/broker/sandbox.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/extract.h"

enum { MAX_WAITING = 256, TEND_S = 60 };
#define REDUCE_NS INT64_C(20000000000) /* the end of the process waits for it */

struct wish {
	struct wish *next;
	enum depot_kind kind;
	int fd;
};

struct keeper {
	struct keeper_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work; /* on CLOCK_MONOTONIC */
	struct wish *first, **last;
	bool stop;
	struct keeper_stat counts;
};

/* --- one file --- */

unsigned keeper__tells(const struct debuginfo_facts *f)
{
	return (f->has_symtab ? DEPOT_SYMTAB : 0u) | (f->has_dwarf ? DEPOT_DWARF : 0u) |
	       (f->has_go ? DEPOT_GO : 0u);
}

static int reduce(const struct keeper_config *c, int in_fd, int out_fd)
{
	struct extract_report report;
	struct dcm_error err = DCM_ERROR_INIT;

	if (c->reduce)
		return c->reduce(c->reduce_ctx, in_fd, out_fd, REDUCE_NS);
	return extract__file(in_fd, out_fd, EXTRACT_FAST, &report, &err);
}

int keeper__put(const struct keeper_config *c, enum depot_kind kind, int fd)
{
	struct debuginfo_facts *facts = NEW(struct debuginfo_facts);
	struct depot_put put;
	int rc = facts ? debuginfo__facts(fd, facts) : -ENOMEM;

	if (!rc && !facts->build_id[0])
		rc = -ENODATA;
	if (!rc && depot__wants(c->depot, facts->build_id, kind, keeper__tells(facts))) {
		rc = depot__begin(c->depot, &put);
		if (!rc) {
			rc = reduce(c, fd, put.fd);
			if (rc)
				depot__abort(c->depot, &put, rc);
			else
				rc = depot__end(c->depot, &put, facts->build_id, kind,
						keeper__tells(facts));
		}
	}
	free(facts);
	return rc;
}

/* --- the thread --- */

static void free_wish(struct wish *w)
{
	if (w)
		fd__close(w->fd);
	free(w);
}

/* The next one; NULL when nothing has come for a while, or it is time to stop. */
static struct wish *pop(struct keeper *k, bool *ret_stop)
{
	struct timespec until;
	struct wish *w;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += TEND_S;
	pthread_mutex_lock(&k->lock);
	while (!k->first && !k->stop && pthread_cond_timedwait(&k->work, &k->lock, &until) != ETIMEDOUT)
		;
	w = k->stop ? NULL : k->first;
	if (w) {
		k->first = w->next;
		if (!k->first)
			k->last = &k->first;
	}
	*ret_stop = k->stop;
	pthread_mutex_unlock(&k->lock);
	return w;
}

static void *run(void *ctx)
{
	struct keeper *k = ctx;
	bool stop = false;

	/* It is made before the process gives its rights up. */
	sandbox__keep_capabilities(0);
	while (!stop) {
		depot__tend(k->config.depot);
		struct wish *w = pop(k, &stop);
		int rc = w ? keeper__put(&k->config, w->kind, w->fd) : 0;

		free_wish(w);
		pthread_mutex_lock(&k->lock);
		k->counts.n_waiting -= w != NULL;
		k->counts.n_failed += rc && rc != -ENODATA;
		pthread_mutex_unlock(&k->lock);
	}
	return NULL;
}

void keeper__add(struct keeper *k, enum depot_kind kind, int fd)
{
	struct wish *w = NEW(struct wish);
	bool taken = false;

	if (w) {
		w->kind = kind;
		w->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	}
	pthread_mutex_lock(&k->lock);
	if (w && w->fd >= 0 && k->counts.n_waiting < MAX_WAITING) {
		*k->last = w;
		k->last = &w->next;
		k->counts.n_waiting++;
		pthread_cond_signal(&k->work);
		taken = true;
	}
	k->counts.n_dropped += !taken;
	pthread_mutex_unlock(&k->lock);
	if (!taken)
		free_wish(w);
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
	if (rc)
		destroy(k);
	else
		*ret = k;
	return rc;
}

void keeper__free(struct keeper *k)
{
	if (!k)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_signal(&k->work);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	destroy(k);
}
