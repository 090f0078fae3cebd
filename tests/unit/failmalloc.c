/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/failmalloc.c - the wrapped allocator behind failmalloc.h
 *
 * ld's --wrap=malloc turns calls of malloc into calls of __wrap_malloc, and __real_malloc into
 * malloc. strdup and strndup allocate inside the C library, out of reach of the wrapping, so they
 * are wrapped as well.
 */
#include "tests/unit/failmalloc.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static _Thread_local uint64_t countdown; /* 0: not armed */
static _Thread_local bool only_once;
static _Thread_local bool has_failed;

static bool must_fail(void)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	/* Either stay at the edge, so that the next one fails too, or be done. */
	countdown = only_once ? 0 : 1;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

void failmalloc__arm(uint64_t n)
{
	countdown = n;
	only_once = false;
	has_failed = false;
}

void failmalloc__arm_once(uint64_t n)
{
	failmalloc__arm(n);
	only_once = true;
}

bool failmalloc__disarm(void)
{
	countdown = 0;
	return has_failed;
}

bool failmalloc__failed(void)
{
	return has_failed;
}

bool failmalloc__sweep_next(uint64_t i)
{
	/* The turn before this one ran through without a failure: every allocation had its turn. */
	if (i > 1 && !failmalloc__disarm())
		return false;
	if (i > FAILMALLOC_SWEEP_MAX) {
		fprintf(stderr, "failmalloc: still failing after %u turns\n", FAILMALLOC_SWEEP_MAX);
		abort();
	}
	failmalloc__arm(i);
	return true;
}

void *__wrap_malloc(size_t size)
{
	return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return must_fail() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return must_fail() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	return __wrap_strndup(s, strlen(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = __wrap_malloc(len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}
