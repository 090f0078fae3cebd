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

bool pulse__read(int event, uint64_t *ret_running_ns, uint64_t *ret_value)
{
	struct {
		uint64_t value, running_ns;
	} now;

	if (read(event, &now, sizeof(now)) != (ssize_t)sizeof(now))
		return false;
	*ret_running_ns = now.running_ns;
	*ret_value = now.value;
	return true;
}

bool pulse__beats(struct pulse *p, int event)
{
	uint64_t before = p->ran_ns, value;

	return !pulse__read(event, &p->ran_ns, &value) || p->ran_ns > before;
}
