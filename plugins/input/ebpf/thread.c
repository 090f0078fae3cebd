/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/thread.c - threads that take no signals, and the clocks to wait by
 */
#include "plugins/input/ebpf/thread.h"

#include <signal.h>

int thread__start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		pthread_setname_np(*ret, name);
	return -r;
}

static int64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t thread__mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t thread__cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
