/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/balance.h - the samples of one CPU held against the time that it was busy
 *
 * What the sampling program counts of itself cannot tell of runs that never were: the kernel passes
 * over a perf event's program while another BPF program runs, or bpf(2) changes a map, on that CPU;
 * it stops a timer that fires too often; and a timer that is more than a period late fires once. So
 * runs are held against what others say: for how long the event's timer was on (read(2) of it
 * counts nanoseconds, of idle CPUs too), less the time that the CPU was idle or not there.
 *
 * What is missing beyond the slack is told. A CPU that was never idle has a sample each period to
 * the dot: two samples and 1 % are slack for it. How many of a period's ends fall on the idle part
 * of another is a matter of luck: five standard deviations of that, the steps of the idle time, and
 * what interrupts take while a CPU is idle, are slack too. Nothing that is within the slack is
 * forgotten for BALANCE_WINDOWS windows, so that a small loss that stays is told in the end.
 *
 * Pure arithmetic, one thread.
 */
#ifndef DECIMA_EBPF_BALANCE_H
#define DECIMA_EBPF_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/input/ebpf/cpu_times.h"

enum { BALANCE_WINDOWS = 60 };

/* All since the event was opened, or the machine started. */
struct balance_reading {
	uint64_t enabled_ns; /* for which the event was on */
	uint64_t counted_ns; /* of these, not held up by the kernel (throttled) */
	uint64_t entries;    /* runs of the program */
	struct cpu_times times;
};

struct balance {
	bool is_known; /* `last` is one */
	struct balance_reading last;
	double open;	  /* samples due that have neither come nor been told */
	double noise;	  /* variance of that */
	double allowed;	  /* slack that grows with time */
	double throttled; /* the part of a sample that has not been told */
	uint32_t n_windows;
};

struct balance_missed {
	uint64_t throttled; /* while the kernel held up the timer */
	uint64_t not_run;
};

/*
 * What is missing since the last step, in samples of period_ns, added to *missed. The first step,
 * and one after which the event was opened anew, only sets out.
 */
void balance__step(struct balance *b, const struct balance_reading *now, uint64_t period_ns,
		   struct balance_missed *missed);

#endif
