/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/text_sort.h - brings rows into the order of a text of theirs
 *
 * By bytes, as str__cmp() does. Names of one program begin alike ("libjvm.so+0x..."), so that
 * comparing whole texts looks at the same bytes again and again: here eight bytes at a time are
 * kept beside the row, compared as a number, and read once.
 *
 * Algorithm: multikey quicksort (see stacks.h), a position being eight bytes. Iterative over
 * positions: texts may be as long as they like.
 */
#ifndef DECIMA_QUERY_TEXT_SORT_H
#define DECIMA_QUERY_TEXT_SORT_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

struct text_row {
	uint64_t word; /* of the sorting */
	uint32_t row;
};

struct text_sort {
	struct dcm_str (*text)(const void *ctx, uint32_t row);
	/* Of two rows, as for qsort_r(): by text first, then by what tells those of one text apart. */
	int (*compare)(const void *a, const void *b, void *ctx);
	void *ctx;
};

/* The rows of v[n] are given. 0 or -ENOMEM. */
int text_sort__run(const struct text_sort *s, struct text_row *v, size_t n);

#endif
