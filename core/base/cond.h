/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/cond.h - conditions whose timed waits end at a monotonic time
 */
#ifndef DECIMA_BASE_COND_H
#define DECIMA_BASE_COND_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/*
 * As pthread_cond_init(), but setting the real clock moves no deadline. Ends with
 * pthread_cond_destroy().
 */
void cond__init(pthread_cond_t *cond);

/* The end of a timed wait of such a condition, ns (at least 0) from now. */
struct timespec cond__after(int64_t ns);

#endif
