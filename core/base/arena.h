/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/arena.h - many small things that live and die together
 *
 * Bump allocation in chunks of 4 KiB. Nothing is freed alone.
 * Single-threaded.
 */
#ifndef DECIMA_BASE_ARENA_H
#define DECIMA_BASE_ARENA_H

#include <stddef.h>

#include <decima/plugin.h>

struct arena_chunk;
struct arena {
	struct arena_chunk *chunk; /* newest */
	size_t used_bytes;	   /* in the newest */
	size_t total_bytes;	   /* of all chunks: what the arena costs */
};

/*
 * A zeroed struct is an empty arena. fini() frees every chunk; reset() keeps one for reuse.
 */
void arena__fini(struct arena *a);
void arena__reset(struct arena *a);

/* Bytes aligned to 8 (not zeroed) or NULL. */
void *arena__alloc(struct arena *a, size_t n);
void *arena__zalloc(struct arena *a, size_t n, size_t size);

/* A copy with a NUL behind it. p is NULL when memory ran out. */
struct dcm_str arena__str(struct arena *a, struct dcm_str s);
char *arena__printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
