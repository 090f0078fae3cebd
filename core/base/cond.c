/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/cond.c - conditions whose timed waits end at a monotonic time
 */
#include "core/base/cond.h"

#include <time.h>

void cond__init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}
