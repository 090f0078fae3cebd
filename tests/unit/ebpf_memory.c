/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/ebpf_memory.c - the memory of unwind tables, as the kernel would give it
 */
#include "tests/unit/ebpf_memory.h"

#include <errno.h>
#include <stdlib.h>

static int make_slab(void *ctx, uint32_t slab, void **ret_memory)
{
	struct ebpf_memory *m = ctx;

	/* They are asked for in order. */
	if (slab != m->n_slabs)
		return -EINVAL;
	*ret_memory = calloc(TABLES_SLAB_CHUNKS, TABLES_CHUNK_BYTES);
	if (!*ret_memory)
		return -ENOMEM;
	m->n_slabs++;
	return 0;
}

static void unmake_slab(void *ctx, uint32_t slab, void *memory)
{
	struct ebpf_memory *m = ctx;

	(void)slab;
	m->n_slabs--;
	free(memory);
}

struct tables_memory ebpf_memory__of(struct ebpf_memory *m)
{
	return (struct tables_memory){
		.heap = { make_slab, unmake_slab, m, &m->recycled },
		.rules = m->rules,
		.buckets = m->buckets,
		.epoch = &m->epoch,
	};
}
