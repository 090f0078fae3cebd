/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/table_check.c - is an option table sound?
 *
 * Finds the mistakes of a plugin's author before a user does: what is asked here, filling and
 * describing rely on. Every default is filled in through options__fill(), so there is no second
 * opinion on what a default may be.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/config/options.h"
#include "core/config/scalar.h"
#include "core/config/shared.h"
#include "core/config/table.h"

enum {
	ROWS_MAX = 1000,
	NAME_MAX_BYTES = 64,
	STRUCT_MAX_BYTES = 1 << 20,
	/* Up to the members that every row needs; a table of the first version has them all. */
	ROW_MIN_BYTES = offsetof(struct dcm_option, doc) + sizeof(const char *)
};

struct checker {
	struct dcm_error *err;
	const struct dcm_table *above[TABLE_MAX_DEPTH];
	unsigned depth;
};

static int check_table(struct checker *c, const struct dcm_table *table, bool in_union);

__attribute__((format(printf, 3, 4))) static int fault(struct checker *c, const char *name,
						       const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error__set(c->err, -EINVAL, "option \"%.64s\": %s", name ? name : "", text);
}

static int check_name(struct checker *c, const struct dcm_option *row, uint32_t n_rows)
{
	const char *s = row->name;
	size_t n = s ? strlen(s) : 0;

	if (!s)
		return fault(c, s, "the row has no name");
	if (n > NAME_MAX_BYTES || (n && !(s[0] >= 'a' && s[0] <= 'z')))
		return fault(c, s, "a name begins with a lower-case letter and has 64 bytes at most");
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '_'))
			return fault(c, s, "a name has lower-case letters, digits and _ only");
	if (n == 0 && row->type != DCM_OPT_STRUCT && n_rows != 1)
		return fault(c, s, "a row without a name stands alone, or is a struct");
	if (n && (!row->doc || !row->doc[0]))
		return fault(c, s, "there is no doc");
	return 0;
}

static int check_bounds(struct checker *c, const struct dcm_option *row)
{
	struct dcm_option of = *row;
	union scalar min, max;

	if (row->type == DCM_OPT_LIST || row->type == DCM_OPT_MAP)
		of.type = row->element;
	bool ordered = of.type == DCM_OPT_INT || of.type == DCM_OPT_FLOAT ||
		       of.type == DCM_OPT_DURATION || of.type == DCM_OPT_SIZE;
	if ((row->min || row->max) && !ordered)
		return fault(c, row->name, "bounds have no meaning for its type");
	if (row->min && scalar__parse_any(&of, str__of(row->min), &min, NULL))
		return fault(c, row->name, "the minimum \"%s\" cannot be read", row->min);
	if (row->max && scalar__parse_any(&of, str__of(row->max), &max, NULL))
		return fault(c, row->name, "the maximum \"%s\" cannot be read", row->max);
	if (row->min && row->max && scalar__compare(&of, &min, &max) > 0)
		return fault(c, row->name, "the minimum is above the maximum");
	return 0;
}

static int check_type(struct checker *c, const struct dcm_option *row)
{
	bool holds = row->type == DCM_OPT_LIST || row->type == DCM_OPT_MAP;
	struct dcm_option of = holds ? table__element(row) : *row;
	struct dcm_option resolved = *row;

	if (row->type == DCM_OPT_SHARED && !shared__resolve(row->shared, &resolved))
		return fault(c, row->name, "there is no shared table %d", (int)row->shared);
	if (holds && (of.type == DCM_OPT_LIST || of.type == DCM_OPT_MAP || of.type == DCM_OPT_SHARED))
		return fault(c, row->name,
			     "a list or map holds no lists, maps or shared tables; use a struct "
			     "with one row named \"\"");
	if ((of.type == DCM_OPT_STRUCT || of.type == DCM_OPT_UNION) && !of.table)
		return fault(c, row->name, "there is no table");
	if (of.type == DCM_OPT_CHOICE && (!of.choices || !of.choices[0]))
		return fault(c, row->name, "there are no choices");
	if (table__size_of(&of) == 0 || table__size_of(row) == 0)
		return fault(c, row->name, "its type is not known");
	if (row->unit && of.type != DCM_OPT_INT && of.type != DCM_OPT_FLOAT)
		return fault(c, row->name, "a unit has no meaning for its type");
	if ((row->flags & DCM_OPT_ONE_IS_LIST) &&
	    (row->type != DCM_OPT_LIST || !table__is_scalar(of.type)))
		return fault(c, row->name, "only a list of single values can be written as one");
	if ((row->flags & DCM_OPT_UNIQUE) && row->type != DCM_OPT_STRING)
		return fault(c, row->name, "only a string can be one of each instance");
	if ((row->flags & DCM_OPT_PATH) && of.type != DCM_OPT_STRING)
		return fault(c, row->name, "only a string can be the path of a file");
	/* Whoever compares instances looks at their own rows alone: here nobody would. */
	if ((row->flags & DCM_OPT_UNIQUE) && c->depth > 1)
		return fault(c, row->name,
			     "only in the plugin's own table can a string be one of each instance; "
			     "move it there, or leave DCM_OPT_UNIQUE out");
	if ((of.type == DCM_OPT_STRUCT || of.type == DCM_OPT_UNION))
		return check_table(c, of.table, of.type == DCM_OPT_UNION);
	return 0;
}

/* Values lie inside the struct, where their type may, and no two share a byte. */
static int check_offsets(struct checker *c, const struct dcm_table *table)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);
		uint64_t from = row.offset, to = from + table__size_of(&row);
		size_t align = row.type == DCM_OPT_BOOL ? 1 : row.type == DCM_OPT_CHOICE ? 4 : 8;

		if (to > table->struct_size)
			return fault(c, row.name, "the value goes beyond the struct");
		if (row.type != DCM_OPT_STRUCT && from % align)
			return fault(c, row.name, "the offset is not aligned");
		for (uint32_t k = 0; k < i; k++) {
			struct dcm_option other = table__row(table, k);
			uint64_t other_to = (uint64_t)other.offset + table__size_of(&other);
			if (from < other_to && other.offset < to)
				return fault(c, row.name, "the value lies over that of \"%s\"",
					     other.name);
		}
	}
	return 0;
}

static int check_unique(struct checker *c, const struct dcm_table *table)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i), first;

		if (row.name[0] && table__find(table, str__of(row.name), &first) &&
		    (first.offset != row.offset || first.doc != row.doc))
			return fault(c, row.name, "the name stands twice");
	}
	return 0;
}

static int check_head(struct checker *c, const struct dcm_table *table, bool in_union)
{
	if (table->size < offsetof(struct dcm_table, check))
		return error__set(c->err, -EINVAL, "an option table says it has %u bytes", table->size);
	if (table->option_size < ROW_MIN_BYTES)
		return error__set(c->err, -EINVAL, "an option table's rows say they have %u bytes",
				  table->option_size);
	if (table->n_options > ROWS_MAX || (table->n_options && !table->options))
		return error__set(c->err, -EINVAL, "an option table has no rows, or more than %d",
				  ROWS_MAX);
	if (!in_union && (table->struct_size == 0 || table->struct_size > STRUCT_MAX_BYTES))
		return error__set(c->err, -EINVAL, "an option table's struct has %u bytes",
				  table->struct_size);
	return 0;
}

/* Every default must read and be within its own bounds. Required rows have none to try. */
static int check_defaults(const struct dcm_table *table, struct dcm_error *err)
{
	struct arena arena = { 0 };
	struct problems problems = { 0 };
	struct options_env env = { .arena = &arena, .problems = &problems, .elsewhere = true };
	int r = options__try_defaults(&env, table);

	if (r)
		problems__first(&problems, err);
	problems__fini(&problems);
	arena__fini(&arena);
	return r;
}

static int check_table(struct checker *c, const struct dcm_table *table, bool in_union)
{
	for (unsigned i = 0; i < c->depth; i++)
		if (c->above[i] == table)
			return 0;
	if (c->depth == TABLE_MAX_DEPTH)
		return error__set(c->err, -EINVAL, "option tables are nested deeper than %d",
				  TABLE_MAX_DEPTH);
	c->above[c->depth++] = table;
	int r = check_head(c, table, in_union);
	for (uint32_t i = 0; !r && i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		r = check_name(c, &row, table->n_options);
		if (!r && in_union && !row.name[0])
			r = fault(c, row.name, "the kinds of a union have names");
		if (!r)
			r = check_type(c, &row);
		if (!r)
			r = check_bounds(c, &row);
		/* A struct inside itself has no end; inside a list or map it has. */
		if (!r && row.type == DCM_OPT_STRUCT && row.table == table)
			r = fault(c, row.name, "the struct stands inside itself");
	}
	if (!r)
		r = check_unique(c, table);
	if (!r && !in_union)
		r = check_offsets(c, table);
	if (!r && !in_union)
		r = check_defaults(table, c->err);
	c->depth--;
	return r;
}

int table__check(const struct dcm_table *table, struct dcm_error *err)
{
	struct checker c = { .err = err };

	return check_table(&c, table, false);
}
