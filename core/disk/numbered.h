/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/numbered.h - names of files that are counted: twenty digits and a suffix
 */
#ifndef DECIMA_DISK_NUMBERED_H
#define DECIMA_DISK_NUMBERED_H

#include <stddef.h>
#include <stdint.h>

/* "DIR/00000000000000000007.wal" into to[n], which has room for it; returns `to`. */
const char *numbered__path(char *to, size_t n, const char *dir, uint64_t number, const char *suffix);

/* The number of a name with that suffix, or -1. */
int64_t numbered__parse(const char *name, const char *suffix);

#endif
