/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/native.h - walks a copied stack with the step that the kernel uses
 */
#ifndef DECIMA_EBPF_TABLES_NATIVE_H
#define DECIMA_EBPF_TABLES_NATIVE_H

#include <stdint.h>

#include <linux/types.h>

#include "bpf/unwind.h"
#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/tables/heap.h"

/* What the frames mean: the tables, and where the image's mappings lie in them. */
struct native_tables {
	const struct heap *heap;
	const struct unwind_rule *rules;
	uint32_t mappings, n_mappings;
	uint32_t epoch;
};

/*
 * Puts up to max frames, innermost first, as in struct sampler_sample, and says how the walk ended.
 * When that is SAMPLER_OUTCOME_PENDING, *ret_pending is an address in the mapping that has no
 * tables yet.
 */
uint32_t native__walk(const struct native_tables *tables, const struct sampler_raw *raw,
		      uint64_t *frames, uint32_t max, uint32_t *ret_n, uint64_t *ret_pending);

/* The number of the rule for an offset in the file whose table that is, and the table's flags; 0: none. */
uint32_t native__rule(const struct native_tables *tables, uint32_t table, uint64_t offset,
		      uint32_t *ret_flags);

#endif
