/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/str.c - comparing, measuring and checking (pointer, length) text
 *
 * Pure functions. Edit distance: optimal string alignment, three rows of the usual table, texts of
 * at most DISTANCE_MAX bytes (longer ones are never a misspelt key). UTF-8: RFC 3629 section 4,
 * table 3-7 of Unicode.
 */
#include "core/base/str.h"

#include <limits.h>
#include <stddef.h>

enum { DISTANCE_MAX = 128 };

int str__cmp(struct dcm_str a, struct dcm_str b)
{
	uint32_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

bool str__starts(struct dcm_str s, struct dcm_str prefix)
{
	return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool str__ends(struct dcm_str s, struct dcm_str suffix)
{
	return s.n >= suffix.n &&
	       (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct dcm_str str__trim(struct dcm_str s)
{
	while (s.n > 0 && is_blank(*s.p))
		s = (struct dcm_str){ s.p + 1, s.n - 1 };
	while (s.n > 0 && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct dcm_str str__media_type(struct dcm_str content_type)
{
	for (uint32_t i = 0; i < content_type.n; i++)
		if (memchr("; \t", content_type.p[i], 3))
			content_type.n = i;
	return content_type;
}

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned str__distance(struct dcm_str a, struct dcm_str b, unsigned limit)
{
	unsigned rows[3][DISTANCE_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *now = rows[2], *spare;
	uint32_t longer = a.n > b.n ? a.n : b.n, shorter = a.n > b.n ? b.n : a.n;
	unsigned over = limit < UINT_MAX ? limit + 1 : limit;

	if (longer > DISTANCE_MAX || longer - shorter > limit)
		return over;
	for (unsigned j = 0; j <= b.n; j++)
		last[j] = j;
	for (unsigned i = 1; i <= a.n; i++) {
		unsigned best = now[0] = i;

		for (unsigned j = 1; j <= b.n; j++) {
			unsigned cost = a.p[i - 1] != b.p[j - 1];
			unsigned d = min_of(min_of(last[j], now[j - 1]) + 1, last[j - 1] + cost);

			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				d = min_of(d, before[j - 2] + 1);
			now[j] = d;
			best = min_of(best, d);
		}
		/*
		 * No row's least is below the last one's: a swap reaches further back, but costs.
		 */
		if (best > limit)
			return over;
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return min_of(last[b.n], over);
}

unsigned str__utf8_len(const char *p, size_t n)
{
	const uint8_t *s = (const uint8_t *)p;
	uint8_t low = 0x80, high = 0xbf; /* bounds of the second byte */
	unsigned len;

	if (n == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	if (s[1] < low || s[1] > high)
		return 0;
	for (unsigned i = 2; i < len; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return len;
}

uint32_t str__utf8_char(const char *p, unsigned n)
{
	const uint8_t *s = (const uint8_t *)p;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (unsigned i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

unsigned str__utf8_put(uint32_t c, char to[static 4])
{
	unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (unsigned i = n; --i > 0; c >>= 6)
		to[i] = (char)(0x80u | (c & 0x3fu));
	to[0] = (char)(n == 1 ? c : (0xff00u >> n & 0xffu) | c);
	return n;
}

bool str__is_utf8(struct dcm_str s)
{
	unsigned len;

	for (uint32_t i = 0; i < s.n; i += len) {
		len = str__utf8_len(s.p + i, s.n - i);
		if (len == 0)
			return false;
	}
	return true;
}

bool str__is_label_name(struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++)
		if ((uint8_t)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return false;
	return s.n > 0 && str__is_utf8(s);
}

size_t str__utf8_cut(const char *p, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		uint8_t c = (uint8_t)p[n - back];

		if (c >= 0xc0) {
			unsigned len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

			return len > back ? n - back : n;
		}
		if (c < 0x80)
			break;
	}
	return n;
}

void str__clean(char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned len = str__utf8_len(p + i, n - i);
		uint8_t c = (uint8_t)p[i];

		if (len == 0 || c < 0x20 || c == 0x7f) {
			p[i++] = '?';
		} else if (len == 2 && c == 0xc2 && (uint8_t)p[i + 1] < 0xa0) {
			p[i++] = '?'; /* C1 controls: terminals obey U+009B as they do ESC [ */
			p[i++] = '?';
		} else {
			i += len;
		}
	}
}
