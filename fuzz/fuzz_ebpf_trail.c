/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_ebpf_trail.c - the kernel's side-band records, and what is made of them
 *
 * The input is a row of records as they lie in a ring; a record whose length goes beyond the end
 * gets what is left. After each, every process that it may have been about is asked for.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/input/ebpf/trail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The process at a moment, as processes do it: from its origin on. */
static void ask(const struct trail *t, uint32_t pid, int64_t time_ns)
{
	static struct trail_mappings told;
	struct trail_origin o = trail__origin(t, pid, time_ns);
	struct maps *m = NULL;

	if (o.kind == TRAIL_UNKNOWN || trail__mappings(t, pid, o.time_ns, time_ns, &told) < 0)
		return;
	if (o.time_ns > time_ns || told.last_ns > time_ns || told.n > TRAIL_MAPPINGS)
		abort();
	if (maps__apply(NULL, told.v, told.n, &m) < 0)
		return;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->ranges[i].start >= m->ranges[i].end ||
		    (i && m->ranges[i - 1].end > m->ranges[i].start))
			abort();
	/* The last one lies over all others. */
	if (told.n && !maps__find(m, told.v[told.n - 1].start))
		abort();
	maps__unref(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trail *t = trail__new();

	while (t && size >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		struct perf_record record;
		uint8_t *copy;

		memcpy(&h, data, sizeof(h));
		if (h.size < sizeof(h) || h.size > size)
			h.size = (uint16_t)(size < UINT16_MAX ? size : UINT16_MAX);
		/* Of just this size, so that a read beyond it is seen. */
		copy = malloc(h.size);
		if (!copy)
			break;
		memcpy(copy, data, h.size);
		if (perf_record__parse(copy, h.size, &record) == 0) {
			trail__add(t, &record);
			ask(t, record.pid, record.time_ns);
			ask(t, record.ppid, INT64_MAX);
			trail__replaced(t, record.pid, 0);
			trail__sweep(t, record.time_ns);
		}
		free(copy);
		data += h.size;
		size -= h.size;
	}
	trail__free(t);
	return 0;
}
