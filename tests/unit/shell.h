/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/shell.h - lines of shell in tests: folders to make and remove, tools to ask
 */
#ifndef DECIMA_TESTS_UNIT_SHELL_H
#define DECIMA_TESTS_UNIT_SHELL_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Formats `fmt` as printf() does and runs it as a line of shell. 0 when it succeeds, else what
 * system() says; -E2BIG, and nothing ran, for a line of more than 2047 bytes.
 */
static inline int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same in folder `dir`, and without what it prints but complaints. */
static inline int shell_in(const char *dir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * True when all tools of a list, with spaces between, can be called. Only of one that cannot, a test is
 * skipped: what is there and fails is a failed case.
 */
static inline bool shell_has(const char *tools)
{
	return shell("for tool in %s; do command -v $tool || exit; done >/dev/null 2>&1", tools) == 0;
}

static inline int shell(const char *fmt, ...)
{
	char line[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return n < (int)sizeof(line) ? system(line) : -E2BIG;
}

static inline int shell_in(const char *dir, const char *fmt, ...)
{
	char line[1800];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return n < (int)sizeof(line) ? shell("cd '%s' && ( %s ) >/dev/null", dir, line) : -E2BIG;
}

#endif
