/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/describe_walk.c - the one walk over option tables that every form of description
 * shares
 *
 * A table that stands inside itself is entered once.
 */
#include "core/config/describe_walk.h"

#include <string.h>

#include "core/base/str.h"
#include "core/config/table.h"

enum { WIDTH = 100 };

struct walk {
	const struct describe_form *form;
	const struct dcm_table *above[TABLE_MAX_DEPTH];
	unsigned depth; /* tables entered, also those of rows named "" */
	unsigned level; /* depth of rows */
	bool first;
	bool no_env; /* said of a row above */
};

const struct dcm_table *describe__inner(const struct dcm_option *row)
{
	struct dcm_option only;
	bool holds = row->type == DCM_OPT_LIST || row->type == DCM_OPT_MAP;
	enum dcm_option_type type = holds ? row->element : row->type;

	if ((type != DCM_OPT_STRUCT && type != DCM_OPT_UNION) || !row->table)
		return NULL;
	return table__is_transparent(row->table, &only) ? describe__inner(&only) : row->table;
}

const char *describe__intro(const struct dcm_option *row)
{
	if (row->type == DCM_OPT_LIST)
		return row->element == DCM_OPT_UNION ? "Each element is one of:" : "Each element:";
	if (row->type == DCM_OPT_MAP)
		return row->element == DCM_OPT_UNION ? "Each value is one of:" : "Each value:";
	return row->type == DCM_OPT_UNION ? "One of:" : "";
}

static void list_choices(const struct dcm_option *row, struct buf *out)
{
	for (size_t i = 0; row->choices && row->choices[i]; i++) {
		const char *before = i == 0 ? "" : row->choices[i + 1] ? ", " : " or ";
		buf__printf(out, "%s%s", before, row->choices[i]);
	}
}

void describe__facts(const struct dcm_option *row, bool with_default, bool of_program, struct buf *out)
{
	bool holds = row->type == DCM_OPT_LIST || row->type == DCM_OPT_MAP;
	enum dcm_option_type type = holds ? row->element : row->type;
	char text[48];

	if (type != DCM_OPT_CHOICE || holds)
		buf__text(out, table__type_text(row, text));
	if (type == DCM_OPT_CHOICE) {
		buf__text(out, holds ? ", each " : "");
		list_choices(row, out);
	}
	if (row->flags & DCM_OPT_ONE_IS_LIST)
		buf__text(out, " or a single one");
	if (row->unit && row->unit[0])
		buf__printf(out, " in %s", row->unit);
	if (row->min && row->max)
		buf__printf(out, ", %s to %s", row->min, row->max);
	else if (row->min || row->max)
		buf__printf(out, ", %s %s", row->min ? "at least" : "at most",
			    row->min ? row->min : row->max);
	if (row->flags & DCM_OPT_REQUIRED)
		buf__text(out, ", required");
	else if (row->def && with_default)
		buf__printf(out, ", default %s", row->def[0] ? row->def : "\"\"");
	else if (row->type == DCM_OPT_BOOL && with_default)
		buf__text(out, ", default false");
	if (row->flags & DCM_OPT_PATH)
		buf__text(out, holds ? ", each the path of a file" : ", the path of a file");
	if (row->type == DCM_OPT_SECRET && !(row->flags & TABLE_OWN_FILE))
		buf__printf(out, ", or %s_file with the path of a file that holds it", row->name);
	if (row->flags & DCM_OPT_RESTART)
		buf__text(out, of_program ? ", a change needs a restart of decima"
					  : ", a change restarts the instance");
	if (row->flags & DCM_OPT_NO_ENV)
		buf__text(out, ", ${NAME} is not replaced");
}

void describe__wrap(const char *text, unsigned indent, const char *mark, struct buf *out)
{
	size_t left = indent + strlen(mark), column = 0;

	while (*text) {
		size_t n = strcspn(text, " \n"), width = 0;

		for (size_t i = 0; i < n; i++)
			width += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (column && column + 1 + width > WIDTH) {
			buf__byte(out, '\n');
			column = 0;
		}
		if (!column)
			buf__printf(out, "%*s%s", (int)indent, "", mark);
		else
			buf__byte(out, ' ');
		column = (column ? column + 1 : left) + width;
		buf__append(out, text, n);
		text += n + strspn(text + n, " \n");
	}
	if (column)
		buf__byte(out, '\n');
}

static void walk_table(struct walk *w, const struct dcm_table *table);

static bool is_above(const struct walk *w, const struct dcm_table *table)
{
	for (unsigned i = 0; i < w->depth; i++)
		if (w->above[i] == table)
			return true;
	return w->depth == TABLE_MAX_DEPTH;
}

const char *describe__line(const struct buf *line, struct buf *out)
{
	if (line->error && !out->error)
		out->error = line->error;
	return line->data && !line->error ? (const char *)line->data : "";
}

static void walk_row(struct walk *w, const struct dcm_option *row)
{
	struct dcm_option said = *row;
	bool no_env = w->no_env;

	const struct dcm_table *inner = w->form->enter ? describe__inner(row) : NULL;
	struct buf facts = { 0 };

	if (inner && is_above(w, inner))
		inner = NULL;
	if (no_env)
		said.flags &= ~(uint32_t)DCM_OPT_NO_ENV;
	describe__facts(&said, true, w->form->of_program, &facts);
	struct describe_row r = {
		.row = row,
		.facts = describe__line(&facts, w->form->out),
		.depth = w->level,
		.has_inner = inner,
		.first = w->first,
	};
	w->first = false;
	w->form->row(w->form->ctx, &r);
	if (inner) {
		w->form->enter(w->form->ctx, &r, describe__intro(row));
		w->level++;
		w->first = true;
		w->no_env |= row->flags & DCM_OPT_NO_ENV;
		walk_table(w, inner);
		w->first = false;
		w->level--;
		w->no_env = no_env;
		w->form->leave(w->form->ctx, &r);
	}
	buf__fini(&facts);
}

static void walk_table(struct walk *w, const struct dcm_table *table)
{
	w->above[w->depth++] = table;
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (row.name[0])
			walk_row(w, &row);
		else if (row.type == DCM_OPT_STRUCT && !is_above(w, row.table))
			walk_table(w, row.table);
	}
	w->depth--;
}

void describe__walk(const struct dcm_table *table, const struct describe_form *form)
{
	struct walk w = { .form = form, .first = true };

	walk_table(&w, table);
}
