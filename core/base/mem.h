/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/mem.h - allocation with overflow checks; NULL means out of memory, never abort
 *
 * Plain malloc underneath, so free() frees. Tests make single allocations fail by wrapping malloc,
 * calloc and realloc at link time (tests/unit/failmalloc.c).
 */
#ifndef DECIMA_BASE_MEM_H
#define DECIMA_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* [n * size] zeroed bytes. n * size == 0 yields a pointer that may be freed. */
void *mem__zalloc(size_t n, size_t size) __attribute__((malloc, alloc_size(1, 2)));

/*
 * The same for what may be large and is touched here and there: nothing is filled, and a large
 * block may get huge pages, so that one that is touched all over is not paid for page by page.
 */
void *mem__zalloc_large(size_t n, size_t size) __attribute__((malloc, alloc_size(1, 2)));

/* Resizes to [n * size] bytes; the old block stays valid on NULL. */
void *mem__resize(void *p, size_t n, size_t size) __attribute__((alloc_size(2, 3)));

/* Copies n bytes; mem__dup_str() adds the NUL. */
void *mem__dup(const void *p, size_t n);
char *mem__dup_str(const char *p, size_t n);

#define NEW(type) ((type *)mem__zalloc(1, sizeof(type)))

#endif
