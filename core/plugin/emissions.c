/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/emissions.c - the `done` callbacks that are owed to one instance
 *
 * The register is counted: one reference is its owner's, each entry has one. An entry belongs to
 * whoever will call emission__done() on it, settled or not.
 */
#include "core/plugin/emissions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/mem.h"

struct emission {
	struct emissions *all;
	struct emission *next, **link; /* in the list of those owed; link NULL: settled */
	dcm_done_fn done;
	void *ctx;
};

struct emissions {
	pthread_mutex_t mutex;
	pthread_cond_t quiet; /* no callback is running any more */
	struct emission *owed;
	uint64_t refs, n_running;
	bool is_settled;
};

struct emissions *emissions__new(void)
{
	struct emissions *all = NEW(struct emissions);

	if (!all)
		return NULL;
	pthread_mutex_init(&all->mutex, NULL);
	pthread_cond_init(&all->quiet, NULL);
	all->refs = 1;
	return all;
}

void emissions__unref(struct emissions *all)
{
	uint64_t left;

	if (!all)
		return;
	pthread_mutex_lock(&all->mutex);
	left = --all->refs;
	pthread_mutex_unlock(&all->mutex);
	if (left > 0)
		return;
	pthread_cond_destroy(&all->quiet);
	pthread_mutex_destroy(&all->mutex);
	free(all);
}

int emissions__add(struct emissions *all, dcm_done_fn done, void *ctx, struct emission **ret)
{
	struct emission *e = NEW(struct emission);

	if (!e)
		return -ENOMEM;
	e->all = all;
	e->done = done;
	e->ctx = ctx;
	pthread_mutex_lock(&all->mutex);
	if (all->is_settled) {
		pthread_mutex_unlock(&all->mutex);
		free(e);
		return -ESHUTDOWN;
	}
	all->refs++;
	e->next = all->owed;
	e->link = &all->owed;
	if (e->next)
		e->next->link = &e->next;
	all->owed = e;
	pthread_mutex_unlock(&all->mutex);
	*ret = e;
	return 0;
}

/* Out of the list, with the mutex; false: it was settled before. */
static bool take(struct emission *e)
{
	if (!e->link)
		return false;
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	e->link = NULL;
	return true;
}

static void release(struct emission *e)
{
	struct emissions *all = e->all;

	free(e);
	emissions__unref(all);
}

bool emission__cancel(struct emission *e)
{
	bool was_owed;

	pthread_mutex_lock(&e->all->mutex);
	was_owed = take(e);
	pthread_mutex_unlock(&e->all->mutex);
	release(e);
	return was_owed;
}

/* Calls one that was taken out of the list. With the mutex, which is let go meanwhile. */
static void call(struct emissions *all, dcm_done_fn done, void *ctx, int status)
{
	all->n_running++;
	pthread_mutex_unlock(&all->mutex);
	done(ctx, status);
	pthread_mutex_lock(&all->mutex);
	if (--all->n_running == 0)
		pthread_cond_broadcast(&all->quiet);
}

void emission__done(void *emission, int status)
{
	struct emission *e = emission;
	struct emissions *all = e->all;

	pthread_mutex_lock(&all->mutex);
	if (take(e))
		call(all, e->done, e->ctx, status);
	pthread_mutex_unlock(&all->mutex);
	release(e);
}

void emissions__settle(struct emissions *all)
{
	pthread_mutex_lock(&all->mutex);
	all->is_settled = true;
	while (all->owed) {
		struct emission *e = all->owed;
		dcm_done_fn done = e->done;
		void *ctx = e->ctx;

		/* The entry may be freed by its late emission__done() from here on. */
		take(e);
		call(all, done, ctx, -ECANCELED);
	}
	while (all->n_running > 0)
		pthread_cond_wait(&all->quiet, &all->mutex);
	pthread_mutex_unlock(&all->mutex);
}

void emissions__reopen(struct emissions *all)
{
	pthread_mutex_lock(&all->mutex);
	all->is_settled = false;
	pthread_mutex_unlock(&all->mutex);
}
