/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/heap.c - memory that BPF programs read, in slabs made on demand
 *
 * A chunk has a bit for each 64 bytes. The search is first fit, and each chunk keeps an upper bound
 * of its longest free run, so that full ones are passed by. Address 0 stands for nothing: the first
 * 64 bytes of the heap are never given out.
 *
 * The lock is held for a search, never while a slab is made: the kernel waits for all CPUs then
 * (synchronize_rcu(), kernel/bpf/syscall.c:maybe_wait_bpf_programs), tens of milliseconds on a busy
 * machine, and who has room in the slabs that are there must not wait with it.
 */
#include "plugins/input/ebpf/tables/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/vec.h"

enum {
	UNIT = 64,
	UNITS = TABLES_CHUNK_BYTES / UNIT,
	WORDS = UNITS / 64,
	SLAB_BYTES = TABLES_CHUNK_BYTES * TABLES_SLAB_CHUNKS,
};
#define REST_NS 1000000000ll

struct chunk {
	uint64_t taken[WORDS];
	uint32_t longest; /* free units in a row: at most this many */
};

struct resting {
	uint32_t address, units;
	int64_t since_ns;
};

struct heap {
	struct heap_source source;
	uint32_t limit_slabs;
	_Atomic uint32_t n_slabs; /* never fewer; changes with the lock */
	pthread_mutex_t lock;	  /* over what follows */
	pthread_cond_t grown;	  /* is_growing is over */
	bool is_growing;	  /* a slab is being made, without the lock */
	void *slabs[TABLES_SLABS];
	struct chunk *chunks;	     /* [n_slabs * TABLES_SLAB_CHUNKS] */
	VEC(struct resting) resting; /* oldest first */
	struct heap_stat stat;
};

struct heap *heap__new(const struct heap_source *source, uint64_t limit_bytes)
{
	struct heap *h = NEW(struct heap);
	uint64_t slabs = limit_bytes / SLAB_BYTES;

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->grown, NULL);
	h->source = *source;
	h->limit_slabs = slabs < 1 ? 1 : slabs > TABLES_SLABS ? TABLES_SLABS : (uint32_t)slabs;
	return h;
}

void heap__free(struct heap *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->n_slabs; i++)
		h->source.unmake(h->source.ctx, i, h->slabs[i]);
	free(h->chunks);
	vec__fini(&h->resting);
	pthread_cond_destroy(&h->grown);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void *heap__at(const struct heap *h, uint32_t address)
{
	return (char *)h->slabs[address / SLAB_BYTES] + address % SLAB_BYTES;
}

void *heap__chunk(const struct heap *h, uint32_t address)
{
	if (address / SLAB_BYTES >= h->n_slabs)
		return NULL;
	return heap__at(h, address / TABLES_CHUNK_BYTES * TABLES_CHUNK_BYTES);
}

static bool is_taken(const struct chunk *c, uint32_t unit)
{
	return c->taken[unit / 64] >> unit % 64 & 1;
}

static void mark(struct chunk *c, uint32_t unit, uint32_t n, bool taken)
{
	for (uint32_t i = unit; i < unit + n; i++) {
		uint64_t bit = 1ull << i % 64;

		c->taken[i / 64] = taken ? c->taken[i / 64] | bit : c->taken[i / 64] & ~bit;
	}
}

/* The first of n free units in a row, or UNITS; then `longest` becomes exact. */
static uint32_t find_run(struct chunk *c, uint32_t n)
{
	uint32_t run = 0, longest = 0;

	for (uint32_t i = 0; i < UNITS; i++) {
		run = is_taken(c, i) ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
		if (run > longest)
			longest = run;
	}
	c->longest = longest;
	return UNITS;
}

/* One slab more, made by whoever comes first. With the lock, which it gives up meanwhile. */
static int grow(struct heap *h)
{
	const uint32_t slab = h->n_slabs;
	const size_t n = (size_t)(slab + 1) * TABLES_SLAB_CHUNKS;
	struct chunk *chunks;
	void *memory;
	int r;

	if (h->is_growing) {
		pthread_cond_wait(&h->grown, &h->lock);
		return 0;
	}
	if (slab == h->limit_slabs)
		return -ENOSPC;
	chunks = mem__resize(h->chunks, n, sizeof(*chunks));
	if (!chunks)
		return -ENOSPC;
	h->chunks = chunks;
	h->is_growing = true;
	pthread_mutex_unlock(&h->lock);
	r = h->source.make(h->source.ctx, slab, &memory);
	pthread_mutex_lock(&h->lock);
	h->is_growing = false;
	pthread_cond_broadcast(&h->grown);
	if (r < 0)
		return -ENOSPC;
	for (size_t i = n - TABLES_SLAB_CHUNKS; i < n; i++)
		h->chunks[i] = (struct chunk){ .longest = UNITS };
	if (slab == 0)
		mark(&h->chunks[0], 0, 1, true);
	h->slabs[slab] = memory;
	h->n_slabs = slab + 1;
	h->stat.slab_bytes += SLAB_BYTES;
	return 0;
}

/* With the lock. */
static int find(struct heap *h, uint32_t units, uint32_t *ret_address)
{
	for (uint32_t i = 0;; i++) {
		uint32_t at;

		while (i == h->n_slabs * TABLES_SLAB_CHUNKS) {
			int r = grow(h);

			if (r < 0)
				return r;
		}
		if (h->chunks[i].longest < units)
			continue;
		at = find_run(&h->chunks[i], units);
		if (at == UNITS)
			continue;
		mark(&h->chunks[i], at, units, true);
		h->stat.used_bytes += (uint64_t)units * UNIT;
		*ret_address = i * TABLES_CHUNK_BYTES + at * UNIT;
		return 0;
	}
}

int heap__alloc(struct heap *h, uint32_t n, uint32_t *ret_address)
{
	const uint32_t units = (n + UNIT - 1) / UNIT;
	int r;

	pthread_mutex_lock(&h->lock);
	r = find(h, units, ret_address);
	pthread_mutex_unlock(&h->lock);
	if (r == 0)
		memset(heap__at(h, *ret_address), 0, (size_t)units * UNIT);
	return r;
}

int heap__release(struct heap *h, uint32_t address, uint32_t n, int64_t now_ns)
{
	struct resting r = { address, (n + UNIT - 1) / UNIT, now_ns };
	bool kept;

	pthread_mutex_lock(&h->lock);
	kept = vec__push(&h->resting, r);
	if (kept) {
		h->stat.used_bytes -= (uint64_t)r.units * UNIT;
		h->stat.resting_bytes += (uint64_t)r.units * UNIT;
	}
	pthread_mutex_unlock(&h->lock);
	return kept ? 0 : -ENOMEM;
}

/* With the lock. */
static bool recycle(struct heap *h, int64_t now_ns)
{
	size_t n = 0;

	while (n < h->resting.n && now_ns - h->resting.v[n].since_ns >= REST_NS)
		n++;
	if (n == 0)
		return false;
	/* Whoever still reads there sees this before anything that is written there from now on. */
	__atomic_fetch_add(h->source.recycled, 1, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < n; i++) {
		const struct resting *r = &h->resting.v[i];
		struct chunk *c = &h->chunks[r->address / TABLES_CHUNK_BYTES];

		mark(c, r->address % TABLES_CHUNK_BYTES / UNIT, r->units, false);
		c->longest = UNITS;
		h->stat.resting_bytes -= (uint64_t)r->units * UNIT;
	}
	h->resting.n -= n;
	memmove(h->resting.v, h->resting.v + n, h->resting.n * sizeof(*h->resting.v));
	return true;
}

bool heap__recycle(struct heap *h, int64_t now_ns)
{
	bool any;

	pthread_mutex_lock(&h->lock);
	any = recycle(h, now_ns);
	pthread_mutex_unlock(&h->lock);
	return any;
}

struct heap_stat heap__stat(struct heap *h)
{
	struct heap_stat stat;

	pthread_mutex_lock(&h->lock);
	stat = h->stat;
	pthread_mutex_unlock(&h->lock);
	return stat;
}
