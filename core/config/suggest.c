/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/suggest.c - "did you mean": the nearest of the names that would have been right
 *
 * Pure functions over a struct of the caller's.
 */
#include "core/config/suggest.h"

#include <stdio.h>

#include "core/base/str.h"

enum {
	NAME_MAX_BYTES = 64, /* longer ones are no misspelt keys */
	DISTANCE_MAX = 4
};

/* Lower case with `_` for `-`: what people mix up without a typing error. */
static struct dcm_str folded(struct dcm_str s, char buf[static NAME_MAX_BYTES])
{
	for (uint32_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c >= 'A' && c <= 'Z')
			c = (char)(c + ('a' - 'A'));
		buf[i] = c == '-' ? '_' : c;
	}
	return (struct dcm_str){ buf, s.n };
}

/* Do they differ in that one says "size" and the other "bytes", whatever comes before? */
static bool is_size_of_bytes(struct dcm_str wrong, struct dcm_str right)
{
	const struct dcm_str size = STR("_size"), bytes = STR("_bytes");

	return str__ends(wrong, size) && str__ends(right, bytes) &&
	       str__eq((struct dcm_str){ wrong.p, wrong.n - size.n },
		       (struct dcm_str){ right.p, right.n - bytes.n });
}

void suggest__offer(struct suggest *s, const char *candidate)
{
	struct dcm_str right = str__of(candidate);
	char a[NAME_MAX_BYTES], b[NAME_MAX_BYTES];
	if (right.n == 0 || right.n > sizeof(a) || s->wrong.n == 0 || s->wrong.n > sizeof(b))
		return;

	if (is_size_of_bytes(s->wrong, right)) {
		s->best = candidate;
		s->distance = 0;
		return;
	}
	uint32_t longer = right.n > s->wrong.n ? right.n : s->wrong.n;
	unsigned limit = longer / 3;
	if (limit < 1)
		limit = 1;
	if (limit > DISTANCE_MAX)
		limit = DISTANCE_MAX;
	unsigned d = str__distance(folded(s->wrong, a), folded(right, b), limit);
	/* A distance as long as the text shares nothing with it: "x" is not a misspelt "y". */
	if (d > limit || d >= longer || (s->best && d >= s->distance))
		return;
	s->best = candidate;
	s->distance = d;
}

const char *suggest__nearest(struct dcm_str wrong, const char *const *names, uint32_t n)
{
	struct suggest s = suggest__begin(wrong);
	for (uint32_t i = 0; i < n; i++)
		suggest__offer(&s, names[i]);
	return s.best;
}

const char *suggest__text(const struct suggest *s, char buf[static 128])
{
	buf[0] = '\0';
	if (s->best)
		snprintf(buf, 128, "; did you mean \"%s\"?", s->best);
	return buf;
}
