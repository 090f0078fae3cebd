/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/dump.h - filled structs and trees as YAML text
 *
 * What is written reads back to an equal struct or tree; options__fill() of it needs no
 * environment. Comments and anchors of the original are gone.
 */
#ifndef DECIMA_CONFIG_DUMP_H
#define DECIMA_CONFIG_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/config/tree.h"

/*
 * "key: value" lines of every row that has a value, each after `indent` spaces; "{}" alone when
 * none has one. Secrets are written as "***" unless with_secrets. A buffer that failed says so in
 * out->error.
 */
void dump__struct(const struct dcm_table *table, const void *value, unsigned indent,
		  bool with_secrets, struct buf *out);

/*
 * The node's block, each line after `indent` spaces; a scalar is one line. Knows no secrets: not
 * for showing.
 */
void dump__node(const struct node *n, unsigned indent, struct buf *out);

/* One scalar, in double quotes when anything less would read as something else. */
void dump__scalar(struct dcm_str text, struct buf *out);

#endif
