/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/describe_yaml.c - option tables as YAML with every option as a comment
 *
 * A '#' and a space begin a comment for people; a '#' right before a key switches that option off.
 * What a list or map holds is explained in comments of the first kind, because there is no element
 * whose lines could be switched on. The nesting follows the set node, so this is a recursion of its
 * own and not one of describe__walk()'s forms, except for those explanations.
 */
#include "core/config/describe.h"

#include <stdio.h>

#include "core/base/str.h"
#include "core/config/describe_walk.h"
#include "core/config/dump.h"
#include "core/config/shared.h"
#include "core/config/table.h"

/* Where the lines go, and what struct describe_subject says of restarts. */
struct yaml {
	struct buf *out;
	bool of_program;
};

struct explained {
	struct buf *out;
	unsigned indent;
};

static void explain_row(void *ctx, const struct describe_row *r)
{
	struct explained *e = ctx;
	struct buf line = { 0 }, prefix = { 0 };

	buf__printf(&line, "%s: %s. %s", r->row->name, r->facts, r->row->doc ? r->row->doc : "");
	buf__printf(&prefix, "#%*s", (int)(3 + 4 * r->depth), "");
	describe__wrap(describe__line(&line, e->out), e->indent, describe__line(&prefix, e->out), e->out);
	buf__fini(&prefix);
	buf__fini(&line);
}

static void explain_enter(void *ctx, const struct describe_row *r, const char *intro)
{
	(void)ctx;
	(void)r;
	(void)intro;
}

static void explain_leave(void *ctx, const struct describe_row *r)
{
	(void)ctx;
	(void)r;
}

/* Names only: the same rules stand in many places of a file. */
static void explain_shared(const struct dcm_table *table, unsigned indent, struct buf *out)
{
	struct buf line = { 0 };

	buf__text(&line, "Each element is a rule as in Prometheus:");
	for (uint32_t i = 0; i < table->n_options; i++)
		buf__printf(&line, "%s %s", i ? "," : "", table__row(table, i).name);
	describe__wrap(describe__line(&line, out), indent, "# ", out);
	buf__fini(&line);
}

/* The rows inside a list, map or union, which no line of its own stands for. */
static void explain_inner(const struct dcm_option *row, unsigned indent, const struct yaml *y)
{
	struct buf *out = y->out;
	const struct dcm_table *inner = describe__inner(row);
	struct explained e = { out, indent };
	struct describe_form form = { explain_row, explain_enter, explain_leave,
				      &e,	   out,		  y->of_program };

	if (inner == &shared__relabel_rule)
		explain_shared(inner, indent, out);
	if (!inner || inner == &shared__relabel_rule)
		return;
	describe__wrap(describe__intro(row), indent, "# ", out);
	describe__walk(inner, &form);
}

/* What stands behind "#key:" when nothing is set; nothing reads as absent. */
static void default_text(const struct dcm_option *row, struct buf *out)
{
	const char *empty = row->type == DCM_OPT_BOOL	? "false"
			    : row->type == DCM_OPT_LIST ? "[]"
			    : row->type == DCM_OPT_MAP	? "{}"
							: NULL;

	if (row->def || empty)
		buf__byte(out, ' ');
	if (row->def && table__is_scalar(row->type) && row->type != DCM_OPT_BOOL)
		dump__scalar(str__of(row->def), out);
	else if (row->def || empty)
		buf__text(out, row->def ? row->def : empty);
}

static void set_value(const struct node *n, unsigned indent, struct buf *out)
{
	bool block = n->kind != NODE_SCALAR && n->n > 0;

	buf__byte(out, block ? '\n' : ' ');
	dump__node(n, block ? indent + 2 : 0, out);
}

static void table_lines(const struct dcm_table *table, const struct node *set, unsigned indent,
			unsigned depth, const struct yaml *y);

static void row_lines(const struct dcm_option *row, const struct node *set, unsigned indent,
		      unsigned depth, const struct yaml *y)
{
	struct buf *out = y->out;
	bool nested = row->type == DCM_OPT_STRUCT && !row->def && depth < TABLE_MAX_DEPTH;
	struct buf comment = { 0 };

	buf__printf(&comment, "%s (", row->doc ? row->doc : "");
	/* Without `set` the line itself shows the default. */
	describe__facts(row, set, y->of_program, &comment);
	buf__byte(&comment, ')');
	describe__wrap(describe__line(&comment, out), indent, "# ", out);
	buf__fini(&comment);
	if (!nested)
		explain_inner(row, indent, y);
	buf__printf(out, "%*s%s%s:", (int)indent, "", set ? "" : "#", row->name);
	if (nested && (!set || set->kind == NODE_MAP)) {
		buf__byte(out, '\n');
		table_lines(row->table, set, indent + 2, depth + 1, y);
	} else if (set) {
		set_value(set, indent, out);
	} else {
		default_text(row, out);
		buf__byte(out, '\n');
	}
}

/* "NAME_file: PATH" where a secret is given so. */
static void secret_file_line(const struct dcm_option *row, const struct node *set, unsigned indent,
			     struct buf *out)
{
	char key[128];
	int n = snprintf(key, sizeof(key), "%s_file", row->name);
	const struct node *path = n > 0 && (size_t)n < sizeof(key) ? tree__get(set, key) : NULL;

	if (!path)
		return;
	buf__printf(out, "%*s%s:", (int)indent, "", key);
	set_value(path, indent, out);
}

static void table_lines(const struct dcm_table *table, const struct node *set, unsigned indent,
			unsigned depth, const struct yaml *y)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (!row.name[0] && row.type == DCM_OPT_STRUCT && depth < TABLE_MAX_DEPTH)
			table_lines(row.table, set, indent, depth + 1, y);
		else if (row.name[0])
			row_lines(&row, tree__get(set, row.name), indent, depth, y);
		if (row.type == DCM_OPT_SECRET && !(row.flags & TABLE_OWN_FILE))
			secret_file_line(&row, set, indent, y->out);
	}
}

void describe__yaml(const struct describe_subject *s, const struct node *set, unsigned indent,
		    struct buf *out)
{
	const struct yaml y = { out, s->of_program };

	for (uint32_t i = 0; i < s->n_tables; i++)
		table_lines(s->tables[i], set, indent, 0, &y);
}
