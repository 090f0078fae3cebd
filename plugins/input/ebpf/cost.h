/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cost.h - how long to rest after work, by what it cost
 *
 * Work that is done again and again is to take 1/COST_CPU of a CPU's time at most. What it waited
 * besides, for a lock of the process that is looked at, for the broker or for a CPU on a busy machine,
 * is to be 1/COST_WAIT of the time: a process that is looked at often is not to wait for us, but a
 * reader that lost its CPU for a moment is not to leave it unread for seconds.
 */
#ifndef DECIMA_EBPF_COST_H
#define DECIMA_EBPF_COST_H

#include <stdint.h>

enum { COST_CPU = 500, COST_WAIT = 10 };

/* wall_ns: from its beginning to its end; cpu_ns: of the thread's, in which no more counts. */
static inline int64_t cost__rest(int64_t wall_ns, int64_t cpu_ns)
{
	const int64_t cpu = cpu_ns < wall_ns ? cpu_ns : wall_ns;

	return cpu * COST_CPU + (wall_ns - cpu) * COST_WAIT;
}

#endif
