/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/regex_reader.c - characters, escapes and classes of RE2's syntax, written as PCRE2's
 *
 * What differs: \v is one character here and a class there; \s has no vertical tab here; \1 to \7
 * with further octal digits are octal here; `[` inside a class and [: need no backslash here.
 */
#include "core/config/regex_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

int regex_reader__refuse(const struct regex_reader *r, uint32_t offset, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error__set(r->err, -EINVAL, "regular expression \"%.*s\": %s (offset %u)",
			  r->in.n > 200 ? (int)str__utf8_cut(r->in.p, 200) : (int)r->in.n, r->in.p,
			  text, offset);
}

uint32_t regex_reader__take(struct regex_reader *r)
{
	const char *p = r->in.p + r->at;
	unsigned n = str__utf8_len(p, r->in.n - r->at);

	/* A byte that is no character stands for itself. */
	r->at += n ? n : 1;
	return str__utf8_char(p, n ? n : 1);
}

static bool is_alnum(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void regex_reader__literal(struct regex_reader *r, uint32_t c)
{
	if (is_alnum(c) || c == '_')
		buf__byte(r->out, (uint8_t)c);
	else if (c > 0x20 && c < 0x7f)
		buf__printf(r->out, "\\%c", (int)c);
	else
		buf__printf(r->out, "\\x{%x}", c);
}

static int digit_of(char c, unsigned base)
{
	int v = str__hex_digit(c);

	return v < (int)base ? v : -1;
}

/* \xHH or \x{H...}; at the x. */
static int take_hex(struct regex_reader *r, uint32_t start, uint32_t *ret)
{
	bool brace = regex_reader__peek(r, 1) == '{';
	uint32_t v = 0, n = 0;

	r->at += 1 + brace;
	while (digit_of(regex_reader__peek(r, 0), 16) >= 0 && n < (brace ? 8u : 2u)) {
		v = v * 16 + (uint32_t)digit_of(regex_reader__peek(r, 0), 16);
		r->at++;
		n++;
	}
	if (n == 0 || (!brace && n != 2) || (brace && regex_reader__peek(r, 0) != '}') ||
	    v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return regex_reader__refuse(r, start,
					    "\\x needs two hexadecimal digits, or a character's "
					    "number in braces");
	r->at += brace;
	*ret = v;
	return REGEX_CHARACTER;
}

/* \0, \12, \123; at the first digit. A single one but 0 is a backreference. */
static int take_octal(struct regex_reader *r, uint32_t start, uint32_t *ret)
{
	uint32_t v = 0;

	if (regex_reader__peek(r, 0) != '0' && digit_of(regex_reader__peek(r, 1), 8) < 0)
		return regex_reader__refuse(r, start, "RE2's syntax has no backreferences: \\%c",
					    regex_reader__peek(r, 0));
	for (unsigned n = 0; n < 3 && digit_of(regex_reader__peek(r, 0), 8) >= 0; n++) {
		v = v * 8 + (uint32_t)digit_of(regex_reader__peek(r, 0), 8);
		r->at++;
	}
	*ret = v;
	return REGEX_CHARACTER;
}

/* \pL, \p{Greek}, \p{^Greek}, \P...; at the p. */
static int take_property(struct regex_reader *r, uint32_t start)
{
	bool negative = regex_reader__peek(r, 0) == 'P';
	const char *name = r->in.p + r->at + 1;
	uint32_t n = 1;

	if (regex_reader__peek(r, 1) == '{') {
		uint32_t left = r->in.n - r->at - 2;
		const char *end = memchr(++name, '}', left);
		n = end ? (uint32_t)(end - name) : 0;
		r->at += 3 + n;
		if (n && name[0] == '^') {
			negative = !negative;
			name++;
			n--;
		}
	} else {
		r->at += 2;
	}
	bool good = n > 0 && n < 64 && r->at <= r->in.n;
	for (uint32_t i = 0; good && i < n; i++)
		good = is_alnum((unsigned char)name[i]) || name[i] == '_';
	if (!good)
		return regex_reader__refuse(r, start, "\\p needs a Unicode class, as \\pL or \\p{Greek}");
	buf__printf(r->out, "\\%c{%.*s}", negative ? 'P' : 'p', (int)n, name);
	return REGEX_PROPERTY;
}

int regex_reader__escape(struct regex_reader *r, uint32_t *ret)
{
	static const char controls[] = "afnrtv", values[] = "\a\f\n\r\t\v";
	uint32_t start = r->at++;
	char c = regex_reader__peek(r, 0);
	const char *control;

	if (r->at == r->in.n)
		return regex_reader__refuse(r, start, "a backslash ends the pattern");
	if (c == 'x')
		return take_hex(r, start, ret);
	if (c >= '0' && c <= '7')
		return take_octal(r, start, ret);
	if (c == '8' || c == '9')
		return regex_reader__refuse(r, start, "RE2's syntax has no backreferences: \\%c", c);
	if (c == 'p' || c == 'P')
		return take_property(r, start);
	if (c && (control = strchr(controls, c))) {
		*ret = (unsigned char)values[control - controls];
	} else if (c && strchr("dDsSwW", c)) {
		r->at++;
		*ret = (unsigned char)c;
		return REGEX_PERL;
	} else if (is_alnum((unsigned char)c) || (unsigned char)c >= 0x80) {
		r->at = start;
		*ret = (unsigned char)c;
		return REGEX_OTHER;
	} else {
		*ret = (unsigned char)c;
	}
	r->at++;
	return REGEX_CHARACTER;
}

/* [:alpha:] or [:^alpha:]; 0 when what stands here is none, -EINVAL when it looks like one. */
static int take_posix(struct regex_reader *r)
{
	static const char *const names[] = { "alnum", "alpha", "ascii", "blank", "cntrl",
					     "digit", "graph", "lower", "print", "punct",
					     "space", "upper", "word",	"xdigit" };
	const char *from = r->in.p + r->at;
	const char *end = memmem(from, r->in.n - r->at, ":]", 2);

	if (regex_reader__peek(r, 1) != ':' || !end || end < from + 2)
		return 0;
	struct dcm_str name = { from + 2, (uint32_t)(end - from) - 2 };
	bool negative = str__starts(name, STR("^"));
	name.p += negative;
	name.n -= negative;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!str__eq(name, str__of(names[i])))
			continue;
		buf__printf(r->out, "[:%s%s:]", negative ? "^" : "", names[i]);
		r->at += (uint32_t)(end - from) + 2;
		return 1;
	}
	return regex_reader__refuse(r, r->at, "there is no class %.*s", (int)(end - from + 2), from);
}

/*
 * One character of a class, perhaps escaped; or a whole class, which has been written: *ret_is_set.
 */
static int take_member(struct regex_reader *r, bool *ret_is_set, uint32_t *ret)
{
	uint32_t start = r->at;

	*ret_is_set = false;
	if (regex_reader__peek(r, 0) != '\\') {
		*ret = regex_reader__take(r);
		return 0;
	}
	int kind = regex_reader__escape(r, ret);
	if (kind < 0)
		return kind;
	if (kind == REGEX_OTHER)
		return regex_reader__refuse(r, start, "\\%.*s has no meaning in a class",
					    (int)str__utf8_len(r->in.p + start + 1, r->in.n - start - 1),
					    r->in.p + start + 1);
	*ret_is_set = kind != REGEX_CHARACTER;
	if (kind == REGEX_PERL && *ret == 's')
		buf__text(r->out, "\\t\\n\\f\\r ");
	else if (kind == REGEX_PERL && *ret == 'S')
		buf__text(r->out, "\\S\\x{b}"); /* PCRE2's \s has the vertical tab */
	else if (kind == REGEX_PERL)
		buf__printf(r->out, "\\%c", (int)*ret);
	return 0;
}

/* A member, or a range of two. */
static int take_range(struct regex_reader *r)
{
	uint32_t start = r->at, low, high;
	bool is_set;
	int rc = take_member(r, &is_set, &low);

	if (rc)
		return rc;
	bool range = regex_reader__peek(r, 0) == '-' && regex_reader__peek(r, 1) != ']' &&
		     r->at + 1 < r->in.n;
	if (is_set && !range)
		return 0;
	if (!range) {
		regex_reader__literal(r, low);
		return 0;
	}
	if (!is_set) {
		r->at++;
		rc = take_member(r, &is_set, &high);
		if (rc)
			return rc;
	}
	if (is_set || high < low)
		return regex_reader__refuse(r, start,
					    "a range in a class must go from a lower character to "
					    "a higher one");
	regex_reader__literal(r, low);
	buf__byte(r->out, '-');
	regex_reader__literal(r, high);
	return 0;
}

int regex_reader__class(struct regex_reader *r)
{
	uint32_t start = r->at++;
	bool first = true;

	buf__byte(r->out, '[');
	if (regex_reader__peek(r, 0) == '^') {
		buf__byte(r->out, '^');
		r->at++;
	}
	for (; r->at < r->in.n; first = false) {
		if (regex_reader__peek(r, 0) == ']' && !first) {
			buf__byte(r->out, ']');
			r->at++;
			return 0;
		}
		int rc = regex_reader__peek(r, 0) == '[' ? take_posix(r) : 0;
		if (rc == 0)
			rc = take_range(r);
		if (rc < 0)
			return rc;
	}
	return regex_reader__refuse(r, start, "a [ has no ]");
}
