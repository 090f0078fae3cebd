/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_ebpf_walk.c - deferred samples of any content, walked by tables of any content
 *
 * Input, little-endian: struct head below; the rules and the bytes of tables that it counts; the
 * rest is the copy of the stack. Whatever they say, the walk ends with an outcome and within its
 * frames, each but the first in a mapping, and reads only tables and copy, behind which lies
 * nothing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/tables/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	FRAMES = 64,
	UNIT = 64,     /* of the heap: what lies below is never given out */
	MAPPINGS = 32, /* with more, frames are not looked up: that takes too long */
};

struct head {
	uint16_t n_rules;
	uint16_t n_tables; /* bytes, that lie at UNIT */
	uint32_t mappings, n_mappings;
	uint32_t has_code;
	uint64_t pc, start, regs[SAMPLER_REGS];
	uint8_t code[SAMPLER_CODE_BYTES];
};

/* One slab for all inputs: a new one for each would take longer than the walk. */
static _Alignas(4096) char slab_memory[TABLES_SLAB_CHUNKS * TABLES_CHUNK_BYTES];

static int make_slab(void *ctx, uint32_t slab, void **ret_memory)
{
	(void)ctx;
	if (slab)
		return -ENOMEM;
	memset(slab_memory, 0, sizeof(slab_memory));
	*ret_memory = slab_memory;
	return 0;
}

static void unmake_slab(void *ctx, uint32_t slab, void *memory)
{
	(void)ctx;
	(void)slab;
	(void)memory;
}

/* Takes at most n bytes of the input: how many. */
static size_t take(void *to, size_t n, const uint8_t **data, size_t *size)
{
	n = n < *size ? n : *size;
	memcpy(to, *data, n);
	*data += n;
	*size -= n;
	return n;
}

/* A record as the program makes it. */
static struct sampler_raw *record_of(const struct head *h, const uint8_t *stack, size_t n)
{
	struct sampler_raw *raw = calloc(1, sizeof(*raw) + n);
	const struct sampler_raw *checked;

	if (!raw)
		return NULL;
	raw->sample.head.size = (uint32_t)(sizeof(*raw) + n);
	raw->sample.head.kind = SAMPLER_RAW;
	raw->sample.outcome = SAMPLER_OUTCOME_DEFERRED;
	raw->pc = h->pc;
	raw->start = h->start;
	memcpy(raw->regs, h->regs, sizeof(raw->regs));
	memcpy(raw->code, h->code, sizeof(raw->code));
	raw->has_code = h->has_code;
	raw->n_bytes = (uint32_t)n;
	memcpy(raw + 1, stack, n);
	if (record__raw(raw, sizeof(*raw) + n, &checked))
		abort();
	return raw;
}

/* One of the mappings has the byte before the frame's address, or the one before that. */
static int is_mapped(const struct native_tables *t, uint64_t frame)
{
	const char *chunk = heap__chunk(t->heap, t->mappings);

	for (uint32_t i = 0; chunk && i < t->n_mappings; i++) {
		const struct tables_mapping *m = (const void *)(chunk +
								((t->mappings + i * sizeof(*m)) &
								 (TABLES_CHUNK_BYTES - sizeof(*m))));

		if ((frame - 1 >= m->start && frame - 1 < m->end) ||
		    (frame - 2 >= m->start && frame - 2 < m->end))
			return 1;
	}
	return 0;
}

static void walk(const struct native_tables *t, const struct sampler_raw *raw)
{
	uint64_t frames[FRAMES], pending;
	uint32_t n = 0, outcome = native__walk(t, raw, frames, FRAMES, &n, &pending);

	if (outcome == SAMPLER_OUTCOME_NONE || outcome >= SAMPLER_OUTCOME_N || n < 1 ||
	    n > FRAMES || frames[0] != raw->pc)
		abort();
	for (uint32_t i = 1; i < n && t->n_mappings <= MAPPINGS; i++)
		if (!is_mapped(t, frames[i]))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct unwind_rule rules[TABLES_RULES];
	static volatile __u64 recycled;
	const struct heap_source source = { make_slab, unmake_slab, NULL, &recycled };
	struct native_tables tables = { .rules = rules, .epoch = 1 };
	struct heap *heap = heap__new(&source, sizeof(slab_memory));
	struct sampler_raw *raw = NULL;
	struct head h = { 0 };
	uint32_t address;
	size_t n_rules;

	take(&h, sizeof(h), &data, &size);
	n_rules = h.n_rules < TABLES_RULES ? h.n_rules : TABLES_RULES;
	n_rules = take(rules, n_rules * sizeof(*rules), &data, &size);
	if (heap && heap__alloc(heap, TABLES_CHUNK_BYTES - UNIT, &address) == 0) {
		take(heap__at(heap, address),
		     h.n_tables < TABLES_CHUNK_BYTES - UNIT ? h.n_tables : TABLES_CHUNK_BYTES - UNIT,
		     &data, &size);
		raw = record_of(&h, data, size < SAMPLER_RAW_BYTES ? size : SAMPLER_RAW_BYTES);
	}
	tables.heap = heap;
	tables.mappings = h.mappings;
	tables.n_mappings = h.n_mappings;
	if (raw)
		walk(&tables, raw);
	memset(rules, 0, n_rules);
	free(raw);
	heap__free(heap);
	return 0;
}
