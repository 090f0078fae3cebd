/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/background.c - a thread, and the lock and condition that it shares
 */
#include "plugins/input/ebpf/background.h"

#include "core/base/cond.h"
#include "plugins/input/ebpf/thread.h"

void background__init(struct background *b)
{
	*b = (struct background){ .stopping = false };
	pthread_mutex_init(&b->lock, NULL);
	cond__init(&b->changed);
}

int background__start(struct background *b, const char *name, void *(*run)(void *), void *arg)
{
	int r = thread__start(&b->thread, name, run, arg);

	b->started = r == 0;
	return r;
}

void background__stop(struct background *b)
{
	pthread_mutex_lock(&b->lock);
	b->stopping = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	if (b->started)
		pthread_join(b->thread, NULL);
	b->started = false;
}

void background__fini(struct background *b)
{
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
}
