/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/mem.c - allocation with overflow checks
 *
 * Sizes of nothing become one byte, so that NULL has one meaning: out of memory. Thread-safe as
 * malloc is.
 */
#include "core/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* n * size, at least 1; 0 when the product does not fit. */
static size_t total_bytes(size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return 0;
	return total ? total : 1;
}

void *mem__zalloc(size_t n, size_t size)
{
	size_t total = total_bytes(n, size);

	return total ? calloc(1, total) : NULL;
}

void *mem__resize(void *p, size_t n, size_t size)
{
	size_t total = total_bytes(n, size);

	return total ? realloc(p, total) : NULL;
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
