/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/table.h - is an option table of a stranger's fit to be used?
 *
 * The table came out of a shared object that somebody else compiled, perhaps wrongly: every name,
 * type, offset, bound and default is checked before core/config walks it. Values must lie inside
 * the struct and must not overlap; bounds and defaults must parse as the row's type; sub-tables
 * obey the same rules, at most 8 deep.
 */
#ifndef DECIMA_PLUGIN_TABLE_H
#define DECIMA_PLUGIN_TABLE_H

#include <decima/plugin.h>

enum {
	TABLE_DEPTH_MAX = 8,
	TABLE_OPTIONS_MAX = 512,	/* rows of one table */
	TABLE_STRUCT_MAX = 1024 * 1024, /* bytes of the struct of one table */
};

/*
 * 0, or -EINVAL with a sentence that names the row: `option "rules.port": offset 48 lies outside
 * the struct of 40`.
 */
int table__check(const struct dcm_table *table, struct dcm_error *err);

/* Row i of a table whose rows may be shorter than ours: copied into *ret, the rest zero. */
void table__row(const struct dcm_table *table, uint32_t i, struct dcm_option *ret);

/* Bytes and alignment of a value of that row in a struct. 0 for a type that we do not know. */
size_t table__value_size(const struct dcm_option *row, size_t *ret_align);

#endif
