/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/heap.h - memory that BPF programs read, in slabs made on demand
 *
 * An allocator of objects of up to 64 KiB that do not cross a chunk's end (bpf/tables.h). What is
 * freed rests for a second, because a program may be reading it, and is counted in `recycled`
 * before it is used again. Slabs are never given back. Any thread; an object is one thread's.
 */
#ifndef DECIMA_EBPF_TABLES_HEAP_H
#define DECIMA_EBPF_TABLES_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>

#include "core/base/cleanup.h"
#include "bpf/tables.h"

/*
 * Where slabs come from. make: a mapped, zeroed slab of 1 MiB that programs see as number `slab`,
 * or a negative errno. In order, one at a time; on the thread that allocates.
 */
struct heap_source {
	int (*make)(void *ctx, uint32_t slab, void **ret_memory);
	void (*unmake)(void *ctx, uint32_t slab, void *memory); /* at the end */
	void *ctx;
	volatile __u64 *recycled; /* what programs see */
};

struct heap;

/* limit_bytes: of slabs, rounded down, 1 MiB at least. NULL when memory ran out. */
struct heap *heap__new(const struct heap_source *source, uint64_t limit_bytes);
void heap__free(struct heap *h); /* NULL is fine */
DEFINE_CLEANUP(struct heap *, heap__free);

/*
 * The address of n zeroed bytes (1 to 65,536), aligned to 64. -ENOSPC: the limit is reached, or no
 * slab can be made.
 */
int heap__alloc(struct heap *h, uint32_t n, uint32_t *ret_address);

/* The object's memory, until it is given back. */
void *heap__at(const struct heap *h, uint32_t address);

/* The chunk that holds an address, whatever it is; NULL outside of the heap. */
void *heap__chunk(const struct heap *h, uint32_t address);

/* Gives back what heap__alloc(n) gave. -ENOMEM: it stays lost. */
int heap__release(struct heap *h, uint32_t address, uint32_t n, int64_t now_ns);

/* What has rested for a second may be used again. True when there was any. */
bool heap__recycle(struct heap *h, int64_t now_ns);

struct heap_stat {
	uint64_t slab_bytes;	/* of all slabs */
	uint64_t used_bytes;	/* of objects, rounded up to 64 */
	uint64_t resting_bytes; /* given back, not yet free */
};
struct heap_stat heap__stat(struct heap *h);

#endif
