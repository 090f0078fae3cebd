/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/background.h - a thread, and the lock and condition that it shares
 *
 *	background__init(&x->bg);
 *	background__start(&x->bg, "ebpf-x", run, x);
 *	...
 *	background__stop(&x->bg);
 *	... what the thread used goes ...
 *	background__fini(&x->bg);
 *
 * run() holds the lock but for its long work, waits on `changed` when there is none, and returns
 * when it finds `stopping`. Who gives it work does so with the lock, and signals `changed`.
 */
#ifndef DECIMA_EBPF_BACKGROUND_H
#define DECIMA_EBPF_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

struct background {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* timed waits: thread__mono_ns() */
	bool stopping;		/* with the lock */
	bool started;		/* the owner's thread's, as `thread` */
	pthread_t thread;
};

void background__init(struct background *b);
/* As thread__start(). */
int background__start(struct background *b, const char *name, void *(*run)(void *), void *arg);
/* Returns when the thread has ended, or was never started. */
void background__stop(struct background *b);
/* Of one that was stopped. */
void background__fini(struct background *b);

#endif
