/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/alloc.c - an allocator that counts and, on demand, fails
 *
 * glibc's own functions stay reachable as __libc_malloc() and so on. Counting blocks, not bytes,
 * needs no headers in front of them. Everything is atomic: these run before main(), in any thread,
 * and in fork()ed children.
 */
#include "core/plugin_check/alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "core/base/sanitizer.h"

#if SANITIZER

bool alloc__works(void)
{
	return false;
}

int64_t alloc__outstanding(void)
{
	return 0;
}

void alloc__fail_at(uint64_t n, bool sticky)
{
	(void)n;
	(void)sticky;
}

bool alloc__disarm(void)
{
	return false;
}

#else

static _Atomic int64_t n_blocks;
static _Atomic uint64_t countdown; /* 0: not armed */
static _Atomic bool is_sticky, has_failed;

bool alloc__works(void)
{
	return true;
}

int64_t alloc__outstanding(void)
{
	return n_blocks;
}

void alloc__fail_at(uint64_t n, bool sticky)
{
	has_failed = false;
	is_sticky = sticky;
	countdown = n;
}

bool alloc__disarm(void)
{
	countdown = 0;
	return has_failed;
}

static bool must_fail(void)
{
	uint64_t n = countdown;

	/* One thread takes each step of the countdown. */
	while (n > 0 && !atomic_compare_exchange_weak(&countdown, &n, n == 1 && is_sticky ? 1 : n - 1))
		;
	if (n != 1)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

static void *counted(void *p)
{
	if (p)
		n_blocks++;
	return p;
}

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

EXPORT void *malloc(size_t size);
EXPORT void *calloc(size_t n, size_t size);
EXPORT void *realloc(void *p, size_t size);
EXPORT void *reallocarray(void *p, size_t n, size_t size);
EXPORT void *memalign(size_t alignment, size_t size);
EXPORT void *aligned_alloc(size_t alignment, size_t size);
EXPORT void *valloc(size_t size);
EXPORT void *pvalloc(size_t size);
EXPORT int posix_memalign(void **ret, size_t alignment, size_t size);
EXPORT void free(void *p);

void *malloc(size_t size)
{
	return must_fail() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return must_fail() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	void *new;

	if (!p)
		return malloc(size);
	if (size > 0 && must_fail())
		return NULL;
	new = __libc_realloc(p, size);
	/* glibc's realloc(p, 0) frees. */
	if (!new &&size == 0)
		n_blocks--;
	return new;
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

void *memalign(size_t alignment, size_t size)
{
	return must_fail() ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

void *valloc(size_t size)
{
	return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

void *pvalloc(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return memalign(page, (size + page - 1) / page * page);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *p;

	if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0)
		return EINVAL;
	p = memalign(alignment, size);
	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void free(void *p)
{
	if (p)
		n_blocks--;
	__libc_free(p);
}

#endif
