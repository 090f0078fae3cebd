/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/region.h - memory in pages of its own, for what is large, grows, and is replaced as a whole
 *
 * Growing moves pages and copies nothing; what is given up goes back to the kernel at once, where
 * free() may keep it for whoever asks next. Room that was never touched takes no memory, so a
 * region may grow in large steps. A region of all zeroes is an empty one. Single-threaded.
 */
#ifndef DECIMA_BASE_REGION_H
#define DECIMA_BASE_REGION_H

#include <stddef.h>

struct region {
	void *p;      /* [bytes], at the beginning of a page; NULL when there is none */
	size_t bytes; /* whole pages */
};

/*
 * Makes it at least that large, or as small as that allows; 0 gives all back. What it holds stays
 * as far as there is room, at another address perhaps; new bytes are zero. 0, or -ENOMEM with the
 * region as it was.
 */
int region__resize(struct region *r, size_t bytes);

/* The same, to twice its size at least when it must grow. */
int region__grow(struct region *r, size_t bytes);

void region__fini(struct region *r);

#endif
