/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/alloc.h - an allocator that counts and, on demand, fails
 *
 * The program defines malloc() and its relatives in front of glibc's, so that the plugin's calls
 * and those of the libraries it uses come here (glibc manual, "Replacing malloc"). Under a
 * sanitizer, which does the same, nothing is counted. All functions may be called from any thread.
 */
#ifndef DECIMA_PLUGIN_CHECK_ALLOC_H
#define DECIMA_PLUGIN_CHECK_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* False: built with a sanitizer; the functions below do nothing. */
bool alloc__works(void);

/* Blocks that were allocated and not freed. */
int64_t alloc__outstanding(void);

/*
 * From now on the n-th allocation (1: the next) of any thread fails, and with `sticky` each one
 * after it too.
 */
void alloc__fail_at(uint64_t n, bool sticky);
/* Allocations succeed again. Did one fail? */
bool alloc__disarm(void);

#endif
