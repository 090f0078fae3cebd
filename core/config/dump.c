/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/dump.c - trees as YAML text
 *
 * Block style: a member on a line, lists of single values in brackets. Every text that a YAML
 * reader might take for something else is written in double quotes. Threads: only the buffer is
 * written.
 */
#include "core/config/dump.h"

#include <string.h>

#include "core/base/str.h"

static void spaces(struct buf *out, unsigned n)
{
	while (n-- > 0)
		buf__byte(out, ' ');
}

/* "-", a line's end and the first key's spaces become "- ": what stands from `inside` on. */
static void join_dash(struct buf *out, size_t inside, unsigned indent)
{
	size_t gap = 1 + (size_t)indent;

	if (out->error || out->n < inside + gap || out->data[inside] != '\n')
		return;
	out->data[inside] = ' ';
	memmove(out->data + inside + 1, out->data + inside + gap, out->n - inside - gap);
	out->n -= gap - 1;
	out->data[out->n] = '\0';
}

/* ------------------------------------------------------------------------------------------------
 * Scalars
 */

/* Words that YAML 1.1 or 1.2 readers take for a boolean or null. */
static bool is_word(struct dcm_str s)
{
	static const char *const words[] = { "null", "true", "false", "yes", "no",
					     "on",   "off",  "y",     "n" };
	char lower[8];

	if (s.n >= sizeof(lower))
		return false;
	for (uint32_t i = 0; i < s.n; i++)
		lower[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
	lower[s.n] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(lower, words[i]) == 0)
			return true;
	return false;
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits with . / _ - + @ % between them, and a colon that no space follows. */
static bool is_plain(struct dcm_str s)
{
	if (s.n == 0 || s.n > 200 || is_word(s))
		return false;
	if (!is_alnum(s.p[0]) && s.p[0] != '/' && s.p[0] != '_')
		return false;
	for (uint32_t i = 1; i < s.n; i++) {
		bool inside = i + 1 < s.n;

		if (is_alnum(s.p[i]) || strchr("./_-+@%", s.p[i]))
			continue;
		if (s.p[i] != ':' || !inside || !(is_alnum(s.p[i + 1]) || s.p[i + 1] == '/'))
			return false;
	}
	return true;
}

/* A character that libyaml would not read raw inside quotes, or would fold as a line's end. */
static bool must_escape(uint32_t c)
{
	return c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static void quoted(struct dcm_str s, struct buf *out)
{
	buf__byte(out, '"');
	for (uint32_t i = 0; i < s.n;) {
		unsigned n = str__utf8_len(s.p + i, s.n - i);
		unsigned char c = (unsigned char)s.p[i];

		if (n == 0) {
			buf__text(out, "\xef\xbf\xbd");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buf__printf(out, "\\%c", c);
		} else if (c == '\n' || c == '\t') {
			buf__text(out, c == '\n' ? "\\n" : "\\t");
		} else if (c < 0x20 || c == 0x7f) {
			buf__printf(out, "\\x%02x", c);
		} else if (n > 1 && must_escape(str__utf8_char(s.p + i, n))) {
			buf__printf(out, "\\u%04x", str__utf8_char(s.p + i, n));
		} else {
			buf__append(out, s.p + i, n);
		}
		i += n;
	}
	buf__byte(out, '"');
}

void dump__scalar(struct dcm_str text, struct buf *out)
{
	if (is_plain(text))
		buf__str(out, text);
	else
		quoted(text, out);
}

/* ------------------------------------------------------------------------------------------------
 * Trees
 */

static void node_value(const struct node *n, unsigned indent, struct buf *out);

static void node_inside(const struct node *n, unsigned indent, struct buf *out)
{
	for (uint32_t i = 0; i < n->n; i++) {
		spaces(out, indent);
		if (n->kind == NODE_MAP) {
			dump__scalar(n->members[i].key, out);
			buf__byte(out, ':');
			node_value(n->members[i].value, indent + 2, out);
		} else {
			buf__byte(out, '-');
			size_t inside = out->n;
			node_value(n->items[i], indent + 2, out);
			join_dash(out, inside, indent + 2);
		}
	}
}

/* Plain texts stay plain: what they mean is the reader's to say. */
static void node_scalar(const struct node *n, struct buf *out)
{
	if (node__is_null(n))
		buf__text(out, "null");
	else if (n->plain && is_word(n->text) && !str__eq(n->text, STR("null")))
		buf__str(out, n->text);
	else
		dump__scalar(n->text, out);
}

static void node_value(const struct node *n, unsigned indent, struct buf *out)
{
	if (n->kind == NODE_SCALAR) {
		buf__byte(out, ' ');
		node_scalar(n, out);
		buf__byte(out, '\n');
	} else if (n->n == 0) {
		buf__text(out, n->kind == NODE_MAP ? " {}\n" : " []\n");
	} else {
		buf__byte(out, '\n');
		node_inside(n, indent, out);
	}
}

void dump__node(const struct node *n, unsigned indent, struct buf *out)
{
	if (n->kind != NODE_SCALAR && n->n > 0) {
		node_inside(n, indent, out);
		return;
	}
	spaces(out, indent);
	if (n->kind == NODE_SCALAR)
		node_scalar(n, out);
	else
		buf__text(out, n->kind == NODE_MAP ? "{}" : "[]");
	buf__byte(out, '\n');
}
