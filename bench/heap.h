/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/heap.h - memory is kept and given back as the daemon does (core/main/daemon.c), before the first thread
 */
#ifndef DECIMA_BENCH_HEAP_H
#define DECIMA_BENCH_HEAP_H

#include <malloc.h>

static inline void heap__as_the_daemon(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 24 << 20);
	mallopt(M_ARENA_MAX, 2);
}

#endif
