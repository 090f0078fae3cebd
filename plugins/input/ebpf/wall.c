/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/wall.c - whether something with a date was over when a record was made
 */
#include "plugins/input/ebpf/wall.h"

/*
 * File systems take the date of the last tick: up to 10 ms before, where there are 100 in a second.
 */
#define TICK_NS 10000000ll

static struct wall_span span_of(const struct dcm_host *host)
{
	int64_t mono_ns = host->mono_ns(host);

	return (struct wall_span){ .since_ns = mono_ns, .least_ns = host->real_ns(host) - mono_ns };
}

void wall__init(struct wall *w, const struct dcm_host *host)
{
	w->now = w->before = span_of(host);
}

void wall__look(struct wall *w, const struct dcm_host *host)
{
	struct wall_span seen = span_of(host);

	if (seen.least_ns < w->now.least_ns)
		w->now.least_ns = seen.least_ns;
}

void wall__next(struct wall *w, const struct dcm_host *host)
{
	wall__look(w, host);
	w->before = w->now;
	w->now = span_of(host);
}

bool wall__was_over(const struct wall *w, int64_t real_ns, int64_t mono_ns)
{
	int64_t least_ns = w->now.least_ns < w->before.least_ns ? w->now.least_ns : w->before.least_ns;
	int64_t end_ns, then_ns;

	return mono_ns >= w->before.since_ns && !__builtin_add_overflow(real_ns, TICK_NS, &end_ns) &&
	       !__builtin_add_overflow(mono_ns, least_ns, &then_ns) && end_ns <= then_ns;
}
