/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/thread.h - threads that take no signals, and the clocks to wait by
 */
#ifndef DECIMA_EBPF_THREAD_H
#define DECIMA_EBPF_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Starts a named thread with every signal blocked. 0 or a negative errno. */
int thread__start(pthread_t *ret, const char *name, void *(*run)(void *), void *arg);

/* Waits on condition variables and poll() run by the machine's clock, whatever the host's says. */
int64_t thread__mono_ns(void);
int64_t thread__cpu_ns(void); /* of the calling thread */

static inline struct timespec thread__timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

#endif
