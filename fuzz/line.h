/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/line.h - inputs whose first parts are lines
 */
#ifndef DECIMA_FUZZ_LINE_H
#define DECIMA_FUZZ_LINE_H

#include <string.h>

#include <decima/plugin.h>

/* Up to the line's end, which is cut off too; all of it where there is none. */
static inline struct dcm_str line__take(struct dcm_str *rest)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
	struct dcm_str line = { rest->p, end ? (uint32_t)(end - rest->p) : rest->n };
	uint32_t used = line.n + (end ? 1 : 0);

	rest->p += used;
	rest->n -= used;
	return line;
}

#endif
