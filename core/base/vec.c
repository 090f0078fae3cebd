/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/vec.c - the growth of typed arrays
 *
 * Single-threaded. Room is at least 8 elements, then grows by half.
 */
#include "core/base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { CAP_MIN = 8 };

bool vec__reserve_raw(void **v, size_t n, size_t *cap, size_t more, size_t size)
{
	size_t need, want, bytes;
	void *p;

	if (__builtin_add_overflow(n, more, &need))
		return false;
	if (need <= *cap)
		return true;
	if (__builtin_add_overflow(*cap, *cap / 2, &want) || want < need)
		want = need;
	if (want < CAP_MIN)
		want = CAP_MIN;
	if (__builtin_mul_overflow(want, size, &bytes))
		return false;
	/*
	 * The caller's pointer is a `T *`: its bytes are copied, because reading it as `void *`
	 * would break aliasing.
	 */
	memcpy(&p, v, sizeof(p));
	p = realloc(p, bytes);
	if (!p)
		return false;
	memcpy(v, &p, sizeof(p));
	*cap = want;
	return true;
}
