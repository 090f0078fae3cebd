/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/numbered.c - names of the store's files: twenty digits and a suffix
 */
#include "core/disk/numbered.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 20 };

const char *numbered__path(char *to, size_t n, const char *dir, uint64_t number, const char *suffix)
{
	snprintf(to, n, "%s/%020" PRIu64 "%s", dir, number, suffix);
	return to;
}

int64_t numbered__parse(const char *name, const char *suffix)
{
	int64_t number = 0;

	if (strlen(name) != DIGITS + strlen(suffix) || strcmp(name + DIGITS, suffix) != 0)
		return -1;
	for (int i = 0; i < DIGITS; i++) {
		if (name[i] < '0' || name[i] > '9' || number > INT64_MAX / 10 - 1)
			return -1;
		number = number * 10 + (name[i] - '0');
	}
	return number;
}
