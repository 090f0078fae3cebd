/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_regex.c - a pattern, and a text behind a NUL: the ways to match must agree
 *
 * Shortcuts, JIT and interpreter must say the same, each way of asking too, and groups must lie in
 * the text.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/config/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 1024 };

static void check_groups(const struct dcm_regex *re, struct dcm_str text, int expected)
{
	struct regex_groups g;
	struct buf out = { 0 };
	int r = regex__groups(re, text, &g);

	/* Where groups cannot be told, there may still be a match. */
	if (r >= 0 && expected >= 0 && r != expected)
		abort();
	for (uint32_t i = 0; r == 1 && i < g.n; i++)
		if (g.v[i].p && (g.v[i].p < text.p || g.v[i].p + g.v[i].n > text.p + text.n))
			abort();
	if (r == 1)
		regex__expand(re, &g, text, &out);
	if (out.n > (size_t)TEXT_MAX * TEXT_MAX)
		abort();
	buf__fini(&out);
}

static void match_all_ways(struct dcm_str pattern, struct dcm_str text, uint32_t flags)
{
	static const uint32_t ways[] = { 0, REGEX_NO_JIT, REGEX_NO_SHORTCUT };
	int first = -1;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_regex *re = NULL;

		if (regex__new(pattern, flags | ways[i], &re, &err)) {
			if (!err.text[0] || i > 0)
				abort();
			return;
		}
		int r = regex__match(re, text);
		if (r >= 0 && first >= 0 && r != first)
			abort();
		first = r >= 0 ? r : first;
		check_groups(re, text, r);
		regex__free(re);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	if (!nul || data + size - nul > TEXT_MAX)
		return 0;
	struct dcm_str pattern = { (const char *)data, (uint32_t)(nul - data) };
	/* A copy of exactly its size, so that reading behind it is seen. */
	uint32_t n = (uint32_t)(data + size - nul) - 1;
	char *copy = malloc(n ? n : 1);

	if (copy) {
		memcpy(copy, nul + 1, n);
		for (uint32_t flags = 0; flags < 4; flags++)
			match_all_ways(pattern, (struct dcm_str){ copy, n }, flags);
	}
	free(copy);
	return 0;
}
