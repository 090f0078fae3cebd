/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/cleanup.h - locals that free themselves when their scope ends
 *
 * A type `thing` with `void thing__free(struct thing *)` gets DEFINE_CLEANUP(struct thing *,
 * thing__free), which makes `thing__freep`; a local is then `CLEANUP(thing__freep) struct thing *t
 * = NULL;`. To hand the object over at the end: `*ret_thing = take_ptr(t);`.
 */
#ifndef DECIMA_BASE_CLEANUP_H
#define DECIMA_BASE_CLEANUP_H

#include <stdlib.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void fn##p(type *p)                                                          \
	{                                                                                          \
		if (*p)                                                                            \
			fn(*p);                                                                    \
	}                                                                                          \
	struct decima_swallow_semicolon

/* Yields the pointer and leaves NULL behind, so that the scope's cleanup does nothing. */
#define take_ptr(ptr)                                                                              \
	({                                                                                         \
		__typeof__(ptr) taken_ = (ptr);                                                    \
		(ptr) = NULL;                                                                      \
		taken_;                                                                            \
	})

/* The same for descriptors: yields it and leaves -1. */
#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})

static inline void mem__freep(void *p)
{
	free(*(void **)p);
}

#endif
