/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/wall.h - whether something with a date was over when a record was made
 *
 * Files have dates (CLOCK_REALTIME), the kernel's records have times (CLOCK_MONOTONIC), and the
 * clock may be set between the one and the other, or jump when the machine wakes. So the least
 * distance between the two clocks counts that was seen since before the record: a date that was
 * over by that was over by any other. What is older than the last two spans is not answered. That
 * the clock was set back and forth again in between two looks would be missed.
 *
 * Pure but for the host's clocks; the reader thread's.
 */
#ifndef DECIMA_EBPF_WALL_H
#define DECIMA_EBPF_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

struct wall {
	struct wall_span {
		int64_t since_ns; /* mono */
		int64_t least_ns; /* real less mono */
	} now, before;
};

/* host's mono_ns and real_ns are used. */
void wall__init(struct wall *w, const struct dcm_host *host);

/* Looks at the clocks. */
void wall__look(struct wall *w, const struct dcm_host *host);

/* Looks, and begins a new span, so that the one before the last is forgotten. */
void wall__next(struct wall *w, const struct dcm_host *host);

/* The date was certainly over at that time. */
bool wall__was_over(const struct wall *w, int64_t real_ns, int64_t mono_ns);

#endif
