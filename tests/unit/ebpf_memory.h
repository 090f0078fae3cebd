/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/ebpf_memory.h - the memory of unwind tables, as the kernel would give it
 *
 * Slabs come from calloc(), so that a sanitizer sees who leaves them. A zeroed struct is ready.
 */
#ifndef DECIMA_TESTS_UNIT_EBPF_MEMORY_H
#define DECIMA_TESTS_UNIT_EBPF_MEMORY_H

#include "plugins/input/ebpf/tables/tables.h"

struct ebpf_memory {
	struct unwind_rule rules[TABLES_RULES];
	struct tables_bucket buckets[TABLES_BUCKETS];
	volatile __u32 epoch;
	volatile __u64 recycled;
	uint32_t n_slabs;
};

/* Views `m`. */
struct tables_memory ebpf_memory__of(struct ebpf_memory *m);

#endif
