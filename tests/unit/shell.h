/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/shell.h - lines of shell in tests: folders to make and remove, tools to ask
 */
#ifndef DECIMA_TESTS_UNIT_SHELL_H
#define DECIMA_TESTS_UNIT_SHELL_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Formats `fmt` as printf() does and runs it as a line of shell. 0 when it succeeds, else what
 * system() says; -E2BIG, and nothing ran, for a line of more than 2047 bytes.
 */
static inline int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same in folder `dir`, and without a word of what it prints. */
static inline int shell_in(const char *dir, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

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
	return n < (int)sizeof(line) ? shell("cd '%s' && ( %s ) >/dev/null 2>&1", dir, line) : -E2BIG;
}

#endif
