/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/pulse.c - whether a CPU's perf event still lives
 *
 * Sources: perf_event_open(2), "Reading results"; __perf_event_exit_context() in
 * kernel/events/core.c.
 */
#include "plugins/input/ebpf/pulse.h"

#include <linux/perf_event.h>
#include <unistd.h>

_Static_assert(PULSE_READ_FORMAT == PERF_FORMAT_TOTAL_TIME_RUNNING, "pulse.h says another bit");

bool pulse__beats(struct pulse *p, int event)
{
	struct {
		uint64_t value, running_ns;
	} now;
	uint64_t before = p->ran_ns;

	if (read(event, &now, sizeof(now)) != (ssize_t)sizeof(now))
		return true;
	p->ran_ns = now.running_ns;
	return now.running_ns > before;
}
