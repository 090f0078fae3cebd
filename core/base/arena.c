/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/arena.c - bump allocation in chunks
 *
 * Chunks are small and all alike, so that malloc has them from the arena before: large ones come from the kernel
 * anew, and to have their pages given costs more than to fill them (decoding pprof took a quarter longer with chunks
 * of up to 1 MiB). A request that does not fit one gets a chunk of its own, which is linked behind the newest, so
 * that the room left in the newest is not lost. Single-threaded.
 */
#include "core/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 4096, ALIGN = 8 };

struct arena_chunk {
	struct arena_chunk *older;
	size_t cap; /* bytes of data */
	_Alignas(ALIGN) uint8_t data[];
};

/* Data bytes of a regular chunk. */
static const size_t regular_cap = CHUNK_BYTES - sizeof(struct arena_chunk);

static struct arena_chunk *chunk_new(struct arena *a, size_t cap)
{
	struct arena_chunk *chunk = malloc(sizeof(*chunk) + cap);

	if (!chunk)
		return NULL;
	chunk->cap = cap;
	a->total_bytes += sizeof(*chunk) + cap;
	return chunk;
}

void arena__fini(struct arena *a)
{
	struct arena_chunk *older;

	for (struct arena_chunk *c = a->chunk; c; c = older) {
		older = c->older;
		free(c);
	}
	*a = (struct arena){ 0 };
}

void arena__reset(struct arena *a)
{
	struct arena_chunk **at = &a->chunk, *keep;

	/* One made for a huge request might never be filled again. */
	while (*at && (*at)->cap != regular_cap)
		at = &(*at)->older;
	keep = *at;
	if (keep)
		*at = keep->older;
	arena__fini(a);
	if (keep) {
		keep->older = NULL;
		a->chunk = keep;
		a->total_bytes = sizeof(*keep) + keep->cap;
	}
}

void *arena__alloc(struct arena *a, size_t n)
{
	struct arena_chunk *chunk;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!a->chunk || a->chunk->cap - a->used_bytes < n) {
		chunk = chunk_new(a, n > regular_cap ? n : regular_cap);
		if (!chunk)
			return NULL;
		if (n > regular_cap && a->chunk) {
			chunk->older = a->chunk->older;
			a->chunk->older = chunk;
			return chunk->data;
		}
		chunk->older = a->chunk;
		a->chunk = chunk;
		a->used_bytes = 0;
	}
	a->used_bytes += n;
	return a->chunk->data + (a->used_bytes - n);
}

void *arena__zalloc(struct arena *a, size_t n, size_t size)
{
	size_t total;
	void *p;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	p = arena__alloc(a, total);
	return p ? memset(p, 0, total) : NULL;
}

struct dcm_str arena__str(struct arena *a, struct dcm_str s)
{
	char *copy = arena__alloc(a, (size_t)s.n + 1);

	if (!copy)
		return (struct dcm_str){ 0 };
	if (s.n)
		memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return (struct dcm_str){ copy, s.n };
}

char *arena__printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *text = NULL;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0)
		text = arena__alloc(a, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return text;
}
