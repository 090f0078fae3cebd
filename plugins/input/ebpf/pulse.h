/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/pulse.h - whether a CPU's perf event still lives
 *
 * The kernel turns the events of a CPU off for good when the CPU goes offline. One that is back
 * before anybody looked at the list of CPUs, as all but the first are after the machine was
 * suspended, would never be sampled again. What an event tells of itself is for how long it has
 * run; that stands still then, and never while it is on, idle CPU or not.
 *
 * Reading it interrupts the CPU for a moment, so it is not done every second.
 */
#ifndef DECIMA_EBPF_PULSE_H
#define DECIMA_EBPF_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#define PULSE_EVERY_NS INT64_C(28000000000) /* with the reader's longest wait, half a minute */

/* The read_format of the event's attribute: PERF_FORMAT_TOTAL_TIME_RUNNING. */
#define PULSE_READ_FORMAT 2u

struct pulse {
	uint64_t ran_ns; /* when it was last looked at */
};

/*
 * Whether the event has run since the last call (the first: at all). True when it cannot be read:
 * what cannot be known is no reason to open it anew.
 */
bool pulse__beats(struct pulse *p, int event);

/*
 * For how long the event has been on so far, and what it has counted meanwhile. False when it cannot
 * be read: nothing is changed then.
 */
bool pulse__read(int event, uint64_t *ret_running_ns, uint64_t *ret_value);

#endif
