/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/trail_events.h - what the kernel tells a trail, in a line
 */
#ifndef DECIMA_TESTS_UNIT_TRAIL_EVENTS_H
#define DECIMA_TESTS_UNIT_TRAIL_EVENTS_H

#include "core/base/str.h"
#include "plugins/input/ebpf/trail.h"

static inline void trail_events__add(struct trail *t, enum perf_record_kind kind, uint32_t pid,
				     uint32_t ppid, int64_t time_ns)
{
	struct perf_record r = { .kind = kind, .pid = pid, .tid = pid, .ppid = ppid, .time_ns = time_ns };

	trail__add(t, &r);
}

static inline void trail_events__add_mapping(struct trail *t, uint32_t pid, uint64_t start,
					     const char *name, int64_t time_ns)
{
	struct perf_record r = {
		.kind = PERF_RECORD_OF_MMAP,
		.pid = pid,
		.tid = pid,
		.time_ns = time_ns,
		.start = start,
		.end = start + 0x1000,
		.ino = (uint8_t)name[1],
		.generation = 1,
		.name = str__of(name),
	};

	trail__add(t, &r);
}

#endif
