/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/dump.c - filled structs and trees as YAML text
 *
 * Block style: a member on a line, lists of single values in brackets. Every text that a YAML
 * reader might take for something else is written in double quotes. Threads: only the buffer is
 * written.
 */
#include "core/config/dump.h"

#include <string.h>

#include "core/base/str.h"
#include "core/config/expand.h"
#include "core/config/scalar.h"
#include "core/config/table.h"

struct dumper {
	struct buf *out;
	bool with_secrets;
};

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
static bool must_escape(const char *p, unsigned n, uint32_t *ret_code)
{
	const unsigned char *s = (const unsigned char *)p;
	uint32_t c = n == 2   ? (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f)
		     : n == 3 ? (uint32_t)(s[0] & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 |
					(s[2] & 0x3f)
			      : 0x10000;

	*ret_code = c;
	return c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static void quoted(struct dcm_str s, struct buf *out)
{
	buf__byte(out, '"');
	for (uint32_t i = 0; i < s.n;) {
		unsigned n = str__utf8_len(s.p + i, s.n - i);
		unsigned char c = (unsigned char)s.p[i];
		uint32_t code;

		if (n == 0) {
			buf__text(out, "\xef\xbf\xbd");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buf__printf(out, "\\%c", c);
		} else if (c == '\n' || c == '\t') {
			buf__text(out, c == '\n' ? "\\n" : "\\t");
		} else if (c < 0x20 || c == 0x7f) {
			buf__printf(out, "\\x%02x", c);
		} else if (n > 1 && must_escape(s.p + i, n, &code)) {
			buf__printf(out, "\\u%04x", code);
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
 * Structs
 */

static void value(struct dumper *d, const struct dcm_option *row, const void *at, unsigned indent,
		  bool no_env);
static uint32_t rows(struct dumper *d, const struct dcm_table *table, const char *base,
		     unsigned indent, bool no_env);

/* Would the row be read back without a line of its own? */
static bool is_absent(const struct dcm_option *row, const void *at)
{
	switch (row->type) {
	case DCM_OPT_STRING:
	case DCM_OPT_SECRET:
	case DCM_OPT_REGEX:
	case DCM_OPT_SELECTOR:
		return !*(const char *const *)at;
	case DCM_OPT_UNION:
		return !((const struct dcm_union *)at)->value;
	default:
		return false;
	}
}

static void scalar(struct dumper *d, const struct dcm_option *row, const void *at, bool no_env)
{
	struct buf raw = { 0 }, escaped = { 0 };

	if (row->type == DCM_OPT_SECRET && !d->with_secrets) {
		buf__text(d->out, "\"***\"");
		return;
	}
	scalar__print(row, at, &raw);
	if (no_env)
		buf__str(&escaped, buf__view(&raw));
	else
		expand__escape(buf__view(&raw), &escaped);
	if (raw.error || escaped.error)
		d->out->error = raw.error ? raw.error : escaped.error;
	else
		dump__scalar(buf__view(&escaped), d->out);
	buf__fini(&raw);
	buf__fini(&escaped);
}

/*
 * What stands for a struct, list or map behind "key:": on its own lines, indented, or {} and [] on
 * this one.
 */
static void list(struct dumper *d, const struct dcm_option *row, const struct dcm_list *l,
		 unsigned indent, bool no_env)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);

	if (l->n == 0) {
		buf__text(d->out, " []\n");
		return;
	}
	if (table__is_scalar(element.type)) {
		for (uint32_t i = 0; i < l->n; i++) {
			buf__text(d->out, i ? ", " : " [");
			scalar(d, &element, (const char *)l->items + i * size, no_env);
		}
		buf__text(d->out, "]\n");
		return;
	}
	buf__byte(d->out, '\n');
	for (uint32_t i = 0; i < l->n; i++) {
		spaces(d->out, indent);
		buf__byte(d->out, '-');
		size_t inside = d->out->n;
		value(d, &element, (const char *)l->items + i * size, indent + 2, no_env);
		join_dash(d->out, inside, indent + 2);
	}
}

static void map(struct dumper *d, const struct dcm_option *row, const struct dcm_map *m,
		unsigned indent, bool no_env)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);

	if (m->n == 0) {
		buf__text(d->out, " {}\n");
		return;
	}
	buf__byte(d->out, '\n');
	for (uint32_t i = 0; i < m->n; i++) {
		spaces(d->out, indent);
		dump__scalar(str__of(m->keys[i]), d->out);
		buf__byte(d->out, ':');
		value(d, &element, (const char *)m->items + i * size, indent + 2, no_env);
	}
}

static void structure(struct dumper *d, const struct dcm_table *table, const void *at,
		      unsigned indent, bool no_env)
{
	struct dcm_option inner;
	size_t before = d->out->n;

	if (table__is_transparent(table, &inner)) {
		value(d, &inner, (const char *)at + inner.offset, indent, no_env);
		return;
	}
	buf__byte(d->out, '\n');
	if (rows(d, table, at, indent, no_env) == 0 && !d->out->error) {
		d->out->n = before; /* the next append ends it in NUL again */
		buf__text(d->out, " {}\n");
	}
}

/* Behind "key:" or "-": the rest of the line, and more lines of what is inside. */
static void value(struct dumper *d, const struct dcm_option *row, const void *at, unsigned indent,
		  bool no_env)
{
	no_env |= row->flags & DCM_OPT_NO_ENV;
	if (row->type == DCM_OPT_STRUCT) {
		structure(d, row->table, at, indent, no_env);
	} else if (row->type == DCM_OPT_LIST) {
		list(d, row, at, indent, no_env);
	} else if (row->type == DCM_OPT_MAP) {
		map(d, row, at, indent, no_env);
	} else if (row->type == DCM_OPT_UNION) {
		const struct dcm_union *u = at;
		struct dcm_option kind = table__row(row->table, (uint32_t)u->which);

		buf__byte(d->out, '\n');
		spaces(d->out, indent);
		buf__printf(d->out, "%s:", kind.name);
		value(d, &kind, u->value, indent + 2, no_env);
	} else {
		buf__byte(d->out, ' ');
		scalar(d, row, at, no_env);
		buf__byte(d->out, '\n');
	}
}

/* The number of lines that begin a row. */
static uint32_t rows(struct dumper *d, const struct dcm_table *table, const char *base,
		     unsigned indent, bool no_env)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (!row.name[0]) {
			n += rows(d, row.table, base + row.offset, indent,
				  no_env || (row.flags & DCM_OPT_NO_ENV));
			continue;
		}
		if (is_absent(&row, base + row.offset))
			continue;
		spaces(d->out, indent);
		buf__printf(d->out, "%s:", row.name);
		value(d, &row, base + row.offset, indent + 2, no_env);
		n++;
	}
	return n;
}

void dump__struct(const struct dcm_table *table, const void *at, unsigned indent, bool with_secrets,
		  struct buf *out)
{
	struct dumper d = { out, with_secrets };

	if (rows(&d, table, at, indent, false) == 0) {
		spaces(out, indent);
		buf__text(out, "{}\n");
	}
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
