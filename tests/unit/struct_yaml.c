/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/struct_yaml.c - filled structs as YAML text: the opposite of options__fill()
 *
 * Block style: a member on a line, lists of single values in brackets.
 */
#include "tests/unit/struct_yaml.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/units.h"
#include "core/config/dump.h"
#include "core/config/table.h"

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

static void value(struct buf *out, const struct dcm_option *row, const void *at, unsigned indent,
		  bool no_env);
static uint32_t rows(struct buf *out, const struct dcm_table *table, const char *base,
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

/* The fewest digits that read back as the same number. */
static void print_float(double v, struct buf *out)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf__text(out, text);
}

/* The value as it would stand in the file, not yet quoted. */
static void print(const struct dcm_option *row, const void *at, struct buf *out)
{
	char text[48];

	switch (row->type) {
	case DCM_OPT_BOOL:
		buf__text(out, *(const bool *)at ? "true" : "false");
		break;
	case DCM_OPT_INT:
		buf__printf(out, "%" PRId64 "%s", *(const int64_t *)at, row->unit ? row->unit : "");
		break;
	case DCM_OPT_FLOAT:
		print_float(*(const double *)at, out);
		buf__text(out, row->unit ? row->unit : "");
		break;
	case DCM_OPT_DURATION:
		buf__text(out, units__format_duration(*(const int64_t *)at, text));
		break;
	case DCM_OPT_SIZE:
		buf__text(out, units__format_size(*(const int64_t *)at, text));
		break;
	case DCM_OPT_CHOICE:
		buf__text(out, row->choices[*(const int32_t *)at]);
		break;
	default:
		buf__text(out, *(const char *const *)at ? *(const char *const *)at : "");
		break;
	}
}

/* The text such that expand__text() gives it back. */
static void escape(struct dcm_str text, struct buf *out)
{
	for (uint32_t i = 0; i < text.n; i++) {
		if (str__starts((struct dcm_str){ text.p + i, text.n - i }, STR("${")))
			buf__byte(out, '$');
		buf__byte(out, (uint8_t)text.p[i]);
	}
}

static void scalar(struct buf *out, const struct dcm_option *row, const void *at, bool no_env)
{
	struct buf raw = { 0 }, escaped = { 0 };

	print(row, at, &raw);
	if (no_env)
		buf__str(&escaped, buf__view(&raw));
	else
		escape(buf__view(&raw), &escaped);
	if (raw.error || escaped.error)
		out->error = raw.error ? raw.error : escaped.error;
	else
		dump__scalar(buf__view(&escaped), out);
	buf__fini(&raw);
	buf__fini(&escaped);
}

/*
 * What stands for a struct, list or map behind "key:": on its own lines, indented, or {} and [] on
 * this one.
 */
static void list(struct buf *out, const struct dcm_option *row, const struct dcm_list *l,
		 unsigned indent, bool no_env)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);

	if (l->n == 0) {
		buf__text(out, " []\n");
		return;
	}
	if (table__is_scalar(element.type)) {
		for (uint32_t i = 0; i < l->n; i++) {
			buf__text(out, i ? ", " : " [");
			scalar(out, &element, (const char *)l->items + i * size, no_env);
		}
		buf__text(out, "]\n");
		return;
	}
	buf__byte(out, '\n');
	for (uint32_t i = 0; i < l->n; i++) {
		spaces(out, indent);
		buf__byte(out, '-');
		size_t inside = out->n;
		value(out, &element, (const char *)l->items + i * size, indent + 2, no_env);
		join_dash(out, inside, indent + 2);
	}
}

static void map(struct buf *out, const struct dcm_option *row, const struct dcm_map *m,
		unsigned indent, bool no_env)
{
	struct dcm_option element = table__element(row);
	size_t size = table__size_of(&element);

	if (m->n == 0) {
		buf__text(out, " {}\n");
		return;
	}
	buf__byte(out, '\n');
	for (uint32_t i = 0; i < m->n; i++) {
		spaces(out, indent);
		dump__scalar(str__of(m->keys[i]), out);
		buf__byte(out, ':');
		value(out, &element, (const char *)m->items + i * size, indent + 2, no_env);
	}
}

static void structure(struct buf *out, const struct dcm_table *table, const void *at,
		      unsigned indent, bool no_env)
{
	struct dcm_option inner;
	size_t before = out->n;

	if (table__is_transparent(table, &inner)) {
		value(out, &inner, (const char *)at + inner.offset, indent, no_env);
		return;
	}
	buf__byte(out, '\n');
	if (rows(out, table, at, indent, no_env) == 0 && !out->error) {
		out->n = before; /* the next append ends it in NUL again */
		buf__text(out, " {}\n");
	}
}

/* Behind "key:" or "-": the rest of the line, and more lines of what is inside. */
static void value(struct buf *out, const struct dcm_option *row, const void *at, unsigned indent,
		  bool no_env)
{
	no_env |= row->flags & DCM_OPT_NO_ENV;
	if (row->type == DCM_OPT_STRUCT) {
		structure(out, row->table, at, indent, no_env);
	} else if (row->type == DCM_OPT_LIST) {
		list(out, row, at, indent, no_env);
	} else if (row->type == DCM_OPT_MAP) {
		map(out, row, at, indent, no_env);
	} else if (row->type == DCM_OPT_UNION) {
		const struct dcm_union *u = at;
		struct dcm_option kind = table__row(row->table, (uint32_t)u->which);

		buf__byte(out, '\n');
		spaces(out, indent);
		buf__printf(out, "%s:", kind.name);
		value(out, &kind, u->value, indent + 2, no_env);
	} else {
		buf__byte(out, ' ');
		scalar(out, row, at, no_env);
		buf__byte(out, '\n');
	}
}

/* The number of lines that begin a row. */
static uint32_t rows(struct buf *out, const struct dcm_table *table, const char *base,
		     unsigned indent, bool no_env)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (!row.name[0]) {
			n += rows(out, row.table, base + row.offset, indent,
				  no_env || (row.flags & DCM_OPT_NO_ENV));
			continue;
		}
		if (is_absent(&row, base + row.offset))
			continue;
		spaces(out, indent);
		buf__printf(out, "%s:", row.name);
		value(out, &row, base + row.offset, indent + 2, no_env);
		n++;
	}
	return n;
}

void struct_yaml__write(const struct dcm_table *table, const void *at, struct buf *out)
{
	if (rows(out, table, at, 0, false) == 0)
		buf__text(out, "{}\n");
}
