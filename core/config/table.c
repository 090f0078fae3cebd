/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/table.c - reading option tables, also those of plugins built against older headers
 *
 * Rows are found by the table's own stride. Threads: tables are constants.
 */
#include "core/config/table.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/config/shared.h"

/* Is a row of the table called as the secret's file would be? */
static bool has_own_file(const struct dcm_table *table, const char *secret)
{
	size_t n = strlen(secret);

	for (uint32_t i = 0; i < table->n_options; i++) {
		const struct dcm_option *other = (const void *)((const char *)table->options +
								i * (size_t)table->option_size);

		if (strncmp(other->name, secret, n) == 0 && strcmp(other->name + n, "_file") == 0)
			return true;
	}
	return false;
}

struct dcm_option table__row(const struct dcm_table *table, uint32_t i)
{
	struct dcm_option row = { 0 };
	size_t stride = table->option_size;

	memcpy(&row, (const char *)table->options + i * stride,
	       stride < sizeof(row) ? stride : sizeof(row));
	if (row.type == DCM_OPT_SHARED)
		shared__resolve(row.shared, &row);
	if (row.type == DCM_OPT_SECRET && row.name && has_own_file(table, row.name))
		row.flags |= TABLE_OWN_FILE;
	return row;
}

static bool find(const struct dcm_table *table, struct dcm_str name, unsigned depth,
		 struct dcm_option *ret_row)
{
	for (uint32_t i = 0; i < table->n_options; i++) {
		struct dcm_option row = table__row(table, i);

		if (str__eq(str__of(row.name), name)) {
			*ret_row = row;
			return true;
		}
		if (row.name[0] || row.type != DCM_OPT_STRUCT || depth == TABLE_MAX_DEPTH)
			continue;
		uint32_t base = row.offset;
		if (find(row.table, name, depth + 1, &row)) {
			row.offset += base;
			*ret_row = row;
			return true;
		}
	}
	return false;
}

bool table__find(const struct dcm_table *table, struct dcm_str name, struct dcm_option *ret_row)
{
	return name.n > 0 && find(table, name, 0, ret_row);
}

bool table__is_transparent(const struct dcm_table *table, struct dcm_option *ret_row)
{
	if (table->n_options != 1)
		return false;
	struct dcm_option row = table__row(table, 0);
	if (row.name[0] || row.type == DCM_OPT_STRUCT)
		return false;
	*ret_row = row;
	return true;
}

/* Bytes of the C type behind a type that is no struct; 0: not a known one. */
static const struct {
	const char *one, *many;
	size_t size;
	bool scalar;
} types[] = {
	[DCM_OPT_BOOL] = { "boolean", "booleans", sizeof(bool), true },
	[DCM_OPT_INT] = { "integer", "integers", sizeof(int64_t), true },
	[DCM_OPT_FLOAT] = { "number", "numbers", sizeof(double), true },
	[DCM_OPT_STRING] = { "text", "texts", sizeof(const char *), true },
	[DCM_OPT_SECRET] = { "secret", "secrets", sizeof(const char *), true },
	[DCM_OPT_CHOICE] = { "choice", "choices", sizeof(int32_t), true },
	[DCM_OPT_DURATION] = { "duration", "durations", sizeof(int64_t), true },
	[DCM_OPT_SIZE] = { "size", "sizes", sizeof(int64_t), true },
	[DCM_OPT_REGEX] = { "regular expression", "regular expressions", sizeof(const char *), true },
	[DCM_OPT_SELECTOR] = { "selector", "selectors", sizeof(const char *), true },
	[DCM_OPT_STRUCT] = { "map of options", "maps of options", 0, false },
	[DCM_OPT_LIST] = { "list", "lists", sizeof(struct dcm_list), false },
	[DCM_OPT_MAP] = { "map", "maps", sizeof(struct dcm_map), false },
	[DCM_OPT_JSON] = { "value of any kind", "values of any kind", sizeof(const char *), false },
	[DCM_OPT_UNION] = { "one of several", "ones of several", sizeof(struct dcm_union), false },
};

static bool is_known(enum dcm_option_type type)
{
	return (unsigned)type < sizeof(types) / sizeof(types[0]);
}

bool table__is_scalar(enum dcm_option_type type)
{
	return is_known(type) && types[type].scalar;
}

size_t table__size_of(const struct dcm_option *row)
{
	if (row->type == DCM_OPT_STRUCT)
		return row->table ? row->table->struct_size : 0;
	return is_known(row->type) ? types[row->type].size : 0;
}

struct dcm_option table__element(const struct dcm_option *row)
{
	struct dcm_option e = *row;

	e.type = row->element;
	e.offset = 0;
	e.def = NULL;
	e.flags &= DCM_OPT_NO_ENV | DCM_OPT_PATH;
	return e;
}

const char *table__type_text(const struct dcm_option *row, char buf[static 48])
{
	struct dcm_option inner;

	buf[0] = '\0';
	if (!is_known(row->type))
		return buf;
	if (row->type != DCM_OPT_LIST && row->type != DCM_OPT_MAP) {
		snprintf(buf, 48, "%s", types[row->type].one);
		return buf;
	}
	const char *of = is_known(row->element) ? types[row->element].many : "?";
	if (row->element == DCM_OPT_STRUCT && table__is_transparent(row->table, &inner) &&
	    is_known(inner.type))
		of = types[inner.type].many;
	snprintf(buf, 48, "%s of %s", types[row->type].one, of);
	return buf;
}

int table__run_check(const struct dcm_table *table, const void *value, struct dcm_error *err)
{
	return DCM_HAS(table, check) && table->check ? table->check(value, err) : 0;
}
