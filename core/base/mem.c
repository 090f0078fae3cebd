/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/mem.c - allocation with overflow checks
 *
 * Sizes of nothing become one byte, so that NULL has one meaning: out of memory. Thread-safe as
 * malloc is.
 */
#include "core/base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* n * size, at least 1; 0 when the product does not fit. */
static size_t total_bytes(size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return 0;
	return total ? total : 1;
}

/*
 * Lets the kernel back a large block with huge pages, where it gives these on request: to touch new
 * memory page by page costs more than to fill it. All pages of the block, because mremap() moves
 * what is one mapping and of one kind, and realloc() copies where that fails.
 */
static void *with_huge_pages(void *p, size_t n)
{
	if (p && n >= 2 * HUGE_PAGE) {
		const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
		const uintptr_t from = (uintptr_t)p & ~(page - 1);
		const uintptr_t to = ((uintptr_t)p + malloc_usable_size(p) + page - 1) & ~(page - 1);

		madvise((void *)from, to - from, MADV_HUGEPAGE);
	}
	return p;
}

void *mem__zalloc(size_t n, size_t size)
{
	size_t total = total_bytes(n, size);

	return total ? calloc(1, total) : NULL;
}

void *mem__zalloc_large(size_t n, size_t size)
{
	return with_huge_pages(mem__zalloc(n, size), total_bytes(n, size));
}

void *mem__resize(void *p, size_t n, size_t size)
{
	size_t total = total_bytes(n, size);

	return total ? with_huge_pages(realloc(p, total), total) : NULL;
}

void *mem__dup(const void *p, size_t n)
{
	void *copy = malloc(n ? n : 1);

	if (copy && n)
		memcpy(copy, p, n);
	return copy;
}

char *mem__dup_str(const char *p, size_t n)
{
	char *copy;

	if (n == SIZE_MAX)
		return NULL;
	copy = malloc(n + 1);
	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}
