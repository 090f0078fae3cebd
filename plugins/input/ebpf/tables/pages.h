/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/pages.h - the unwind rows of one file as code pages in the heap
 *
 * Pages count in file offsets, because that is what a mapping shows. Pages that are all under one
 * rule are one page. One thread at a time.
 */
#ifndef DECIMA_EBPF_TABLES_PAGES_H
#define DECIMA_EBPF_TABLES_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "plugins/input/ebpf/tables/heap.h"
#include "plugins/input/ebpf/unwind/rows.h"

struct pages_object {
	uint32_t address, bytes;
};

/* What a file has in the heap. A zeroed one has nothing. */
struct pages {
	uint32_t table; /* address of the struct tables_head; 0: none */
	VEC(struct pages_object) objects;
	uint64_t bytes;	     /* of all objects */
	uint64_t n_rows;     /* in all pages */
	uint64_t n_overfull; /* pages with more rows than fit: the rest has no rule */
};

/*
 * numbers[i] is what the dictionary calls rows->rules[i]. Nothing refers to the pages yet. -ENOMEM;
 * -ENOSPC as heap__alloc(); -E2BIG when the code spans more than 1 GiB; nothing is left behind.
 */
int pages__build(struct heap *h, const struct unwind_rows *rows, const uint16_t *numbers,
		 int64_t now_ns, struct pages *ret);

/* Gives the memory back; programs may go on reading for a moment. */
void pages__release(struct pages *p, struct heap *h, int64_t now_ns);

#endif
