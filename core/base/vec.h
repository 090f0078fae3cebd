/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/vec.h - typed arrays that grow by half
 *
 *	VEC(struct frame) frames = { 0 };
 *	if (!vec__push(&frames, f)) return -ENOMEM;
 *	for (size_t i = 0; i < frames.n; i++) use(frames.v[i]);
 *	vec__fini(&frames);
 */
#ifndef DECIMA_BASE_VEC_H
#define DECIMA_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}

/* True when there is room for `more` further elements. */
#define vec__reserve(vec, more)                                                                    \
	vec__reserve_raw((void **)&(vec)->v, (vec)->n, &(vec)->cap, (more), sizeof(*(vec)->v))

/* Appends a copy of the value; false when memory ran out (the vector is then unchanged). */
#define vec__push(vec, ...)                                                                        \
	(((vec)->n < (vec)->cap || vec__reserve((vec), 1)) &&                                      \
	 (((vec)->v[(vec)->n++] = (__VA_ARGS__)), true))

#define vec__fini(vec)                                                                             \
	do {                                                                                       \
		free((vec)->v);                                                                    \
		(vec)->v = NULL;                                                                   \
		(vec)->n = (vec)->cap = 0;                                                         \
	} while (0)

bool vec__reserve_raw(void **v, size_t n, size_t *cap, size_t more, size_t size);

#endif
