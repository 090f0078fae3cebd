/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_lines.c - text a line at a time, and what stands in a line
 */
#include "core/codec/legacy_lines.h"

#include <string.h>

#include "core/base/str.h"

bool legacy_lines__is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip(struct dcm_str *s, uint32_t n)
{
	s->p += n;
	s->n -= n;
}

void legacy_lines__skip_blanks(struct dcm_str *s)
{
	while (s->n && legacy_lines__is_blank(*s->p))
		skip(s, 1);
}

struct dcm_str legacy_lines__trim(struct dcm_str s)
{
	legacy_lines__skip_blanks(&s);
	while (s.n && legacy_lines__is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool legacy_lines__next(struct legacy_lines *l)
{
	if (l->p >= l->end) {
		l->line = l->text = STR("");
		return false;
	}
	const char *stop = memchr(l->p, '\n', (size_t)(l->end - l->p));
	size_t n = (size_t)((stop ? stop : l->end) - l->p);

	l->line = (struct dcm_str){ l->p, (uint32_t)n };
	if (n && l->p[n - 1] == '\r')
		l->line.n--;
	l->text = legacy_lines__trim(l->line);
	l->p += n + (stop != NULL);
	l->number++;
	return true;
}

bool legacy_lines__next_said(struct legacy_lines *l)
{
	while (legacy_lines__next(l))
		if (l->text.n && *l->text.p != '#')
			return true;
	return false;
}

bool legacy_lines__take(struct dcm_str *s, const char *literal)
{
	struct dcm_str prefix = str__of(literal);

	if (!str__starts(*s, prefix))
		return false;
	skip(s, prefix.n);
	return true;
}

bool legacy_lines__take_word(struct dcm_str *s, struct dcm_str *ret)
{
	struct dcm_str rest = *s;

	legacy_lines__skip_blanks(&rest);
	if (rest.n == 0 || rest.n == s->n)
		return false;
	uint32_t n = 0;
	while (n < rest.n && !legacy_lines__is_blank(rest.p[n]))
		n++;
	*ret = (struct dcm_str){ rest.p, n };
	skip(&rest, n);
	*s = rest;
	return true;
}

/* Digits are at [first, end); what is no number stays. */
static enum legacy_number take_digits(struct dcm_str *s, uint32_t first, uint32_t end, bool fits)
{
	if (end == first)
		return LEGACY_NO_NUMBER;
	if (!fits)
		return LEGACY_TOO_LARGE;
	skip(s, end);
	return LEGACY_NUMBER;
}

enum legacy_number legacy_lines__take_int(struct dcm_str *s, int64_t *ret)
{
	bool negative = s->n && *s->p == '-', fits = true;
	uint32_t first = negative, i = first;
	enum legacy_number r;
	int64_t v = 0;

	for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++) {
		int digit = s->p[i] - '0';
		fits = fits && !__builtin_mul_overflow(v, (int64_t)10, &v) &&
		       !__builtin_add_overflow(v, (int64_t)(negative ? -digit : digit), &v);
	}
	r = take_digits(s, first, i, fits);
	if (r == LEGACY_NUMBER)
		*ret = v;
	return r;
}

enum legacy_number legacy_lines__take_hex(struct dcm_str *s, uint64_t *ret)
{
	uint32_t first = str__starts(*s, STR("0x")) ? 2 : 0, i = first;
	enum legacy_number r;
	uint64_t v = 0;
	bool fits = true;

	for (int digit; i < s->n && (digit = str__hex_digit(s->p[i])) >= 0; i++) {
		fits = fits && v >> 60 == 0;
		v = v << 4 | (unsigned)digit;
	}
	r = take_digits(s, first, i, fits);
	if (r == LEGACY_NUMBER)
		*ret = v;
	return r;
}

static bool is_lower_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

enum legacy_number legacy_lines__find_address(struct dcm_str *s, uint64_t *ret)
{
	uint64_t v = 0;
	bool fits = true;

	while (s->n >= 3 && !(s->p[0] == '0' && s->p[1] == 'x' && is_lower_hex(s->p[2])))
		skip(s, 1);
	if (s->n < 3)
		return LEGACY_NO_NUMBER;
	for (skip(s, 2); s->n && is_lower_hex(*s->p); skip(s, 1)) {
		fits = fits && v >> 60 == 0;
		v = v << 4 | (unsigned)str__hex_digit(*s->p);
	}
	*ret = v;
	return fits ? LEGACY_NUMBER : LEGACY_TOO_LARGE;
}
