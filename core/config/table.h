/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/table.h - reading option tables, also those of plugins built against older headers
 *
 * A plugin's rows may be shorter than ours: they are copied out one at a time, and members that the
 * plugin did not know read as zero. A shared row comes out as what it stands for, so nobody else
 * meets DCM_OPT_SHARED.
 */
#ifndef DECIMA_CONFIG_TABLE_H
#define DECIMA_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

/* Tables nested deeper than this are refused by table__check(); walkers stop there. */
#define TABLE_MAX_DEPTH 16

/* In flags of a secret, beside enum dcm_option_flag: its NAME_file is a row of the table, which reads no file. */
#define TABLE_OWN_FILE (1u << 31)

/* Row i, i < table->n_options. */
struct dcm_option table__row(const struct dcm_table *table, uint32_t i);

/*
 * The row called so, also inside rows named ""; offset counts from `table`'s struct. False when
 * there is none.
 */
bool table__find(const struct dcm_table *table, struct dcm_str name, struct dcm_option *ret_row);

/* The only row, when its value stands in place of the struct (see options.h). */
bool table__is_transparent(const struct dcm_table *table, struct dcm_option *ret_row);

/* Bytes of the C type of a row, and of one element of a list or map. 0: not a known type. */
size_t table__size_of(const struct dcm_option *row);

/*
 * The row that describes one element of a list or map: same bounds, unit, choices and table; offset
 * 0, no default.
 */
struct dcm_option table__element(const struct dcm_option *row);

/* "integer", "list of strings", "map of sizes", ...: for people. Returns buf. */
const char *table__type_text(const struct dcm_option *row, char buf[static 48]);

/* A type whose value is one text in the file. */
bool table__is_scalar(enum dcm_option_type type);

/* Calls the table's check() when it has one. */
int table__run_check(const struct dcm_table *table, const void *value, struct dcm_error *err);

/*
 * Is the table itself sound: sizes, offsets inside the struct and not overlapping, names, bounds,
 * defaults that parse and are within the bounds, docs, depth? What a plugin's author must see.
 * -EINVAL with "row "x": fault".
 */
int table__check(const struct dcm_table *table, struct dcm_error *err);

#endif
